"""Reproductions of papers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

from . import _native
from ._page import Reported

__all__ = ["Reproduction", "reproduce"]


class Reproduction(Reported):
    """The figures of a paper beside reproduced ones, as ``tandem reproduce`` shows them."""

    def __init__(self, native: _native.Reproduction) -> None:
        self._native = native

    def _page(self) -> _native.Page:
        return self._native.page()

    def to_dict(self) -> dict[str, Any]:
        """The whole result, as in ``result.json`` (docs/reference/output.md)."""
        result: dict[str, Any] = json.loads(self._native.json())
        return result

    def runs_csv(self) -> str:
        """A row for each run, as in ``runs.csv``."""
        return self._native.runs_csv()


def reproduce(
    paper: Literal["emtcp", "lwi", "mptcp-rec"],
    *,
    seeds: int = 30,
    jobs: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Reproduction:
    """Reproduces a paper in the simulator, as ``tandem reproduce`` does.

    ``seeds`` is the number of seeds of each case, from 1 to 100,000. ``jobs`` is the number of runs at
    once, by default one per core; the result is the same for any number. ``progress`` gets the finished
    share, from 0 to 1.

    >>> import tandem_mptcp as tm
    >>> result = tm.reproduce("emtcp", seeds=1)
    >>> 0.16 <= result.to_dict()["best_share"] <= 0.32
    True
    """
    if not 1 <= seeds <= 100_000:
        raise ValueError(f"seeds is {seeds}; expected 1 to 100,000")
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs is {jobs}; expected at least 1")
    return Reproduction(_native.reproduce(paper, seeds, jobs, progress))
