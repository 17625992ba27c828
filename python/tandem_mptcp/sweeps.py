"""Sweeps: many runs of one scenario, and their dataset."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from ._page import Reported
from .scenario import Scenario

if TYPE_CHECKING:
    from ._dask import Client

__all__ = ["Sweep", "sweep"]

DATASET = "sweep.parquet"


class Sweep(Reported):
    """A finished sweep. ``print(sweep)`` shows the tables of ``tandem sweep``."""

    def __init__(self, path: str, sweep_id: str, summary: _native.SweepSummary) -> None:
        self._path = path
        self._id = sweep_id
        self._summary = summary

    def __repr__(self) -> str:
        return f"<Sweep {self.id}: {self.summary['runs']} runs in {self.path!r}>"

    def _page(self) -> _native.Page:
        return self._summary.page()

    @property
    def path(self) -> str:
        """Directory or URL of the sweep."""
        return self._path

    @property
    def dataset(self) -> str:
        """Path or URL of the dataset, with a row for each run in the order of the points."""
        return f"{self._path.rstrip('/')}/{DATASET}"

    @property
    def id(self) -> str:
        """First digits of the SHA-256 of the description: equal sweeps have equal datasets."""
        return self._id

    @property
    def summary(self) -> dict[str, Any]:
        """Number of runs, and each figure's mean, median and extremes, as in ``result.json``."""
        summary: dict[str, Any] = json.loads(self._summary.json())
        return summary

    def to_arrow(self, columns: Sequence[str] | None = None) -> Any:
        """The dataset as a ``pyarrow.Table``, or some of its columns; read at each call."""
        parquet = importlib.import_module("pyarrow.parquet")
        columns = None if columns is None else list(columns)
        if "://" not in self._path:
            return parquet.read_table(self.dataset, columns=columns)
        with importlib.import_module("fsspec").open(self.dataset, "rb") as file:
            return parquet.read_table(file, columns=columns)

    def to_pandas(self, columns: Sequence[str] | None = None) -> Any:
        """The dataset as a ``pandas.DataFrame``; needs pyarrow and pandas."""
        return self.to_arrow(columns).to_pandas()


def sweep(
    scenario: Scenario,
    vary: Mapping[str, str | Iterable[Any]],
    *,
    out: str | os.PathLike[str],
    seeds: int = 10,
    policies: Iterable[str] = (),
    points: int | None = None,
    jobs: int | None = None,
    client: Client | None = None,
    batch_s: float = 5.0,
    progress: Callable[[float], object] | None = None,
) -> Sweep:
    """Runs a scenario at many points, and keeps a row for each run in ``out/sweep.parquet``.

    ``vary`` has the values of each key, as in ``Scenario.set``; every combination is a point. With
    ``points``, the design is a Latin hypercube of so many points over the keys with a range, such as
    ``"5Mbps..50Mbps"``. Each point runs with each of ``policies``, by default the scenario's, and
    with ``seeds`` seeds, counted up from the scenario's.

    The dataset has the bytes of ``tandem sweep`` with the same arguments. A sweep that was stopped
    goes on with the same call or command: finished runs are kept in ``out`` and never run again.

    Without a ``client``, the sweep runs on ``jobs`` cores, by default all. With a
    ``dask.distributed.Client``, its workers run batches of about ``batch_s`` seconds. If ``out`` is a
    path, the rows come back to this process, and only this machine needs the directory. If it is a
    URL of fsspec, such as ``"s3://bucket/sweep"`` or ``"file:///shared/sweep"``, the workers write
    to it.

    ``progress`` gets the finished share, from 0 to 1. Ctrl-C, or an exception in ``progress``, stops
    the sweep.

    Raises ``ScenarioError`` for a value that is invalid, ``PolicyError`` for an unknown policy,
    ``SweepError`` for an impossible design, another sweep in ``out``, or a cluster that is gone, and
    ``OSError`` if ``out`` cannot be written, or the file of a policy cannot be read.

    >>> import tandem_mptcp as tm
    >>> base = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "1s")
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     grid = tm.sweep(base, {"wifi.down.rate": ["5Mbps", "10Mbps"]}, seeds=2, out=out)
    ...     table = grid.to_arrow(["path.wifi.down.rate_bps", "seed", "goodput_mbps"])
    >>> grid.summary["runs"], table["path.wifi.down.rate_bps"].to_pylist()
    (4, [5000000.0, 5000000.0, 10000000.0, 10000000.0])
    """
    _check("seeds", seeds, 1_000_000)
    if points is not None:
        _check("points", points, 100_000_000)
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs is {jobs}; expected at least 1")
    if isinstance(policies, str):
        policies = [policies]
    axes = [(key, _texts(values)) for key, values in vary.items()]
    described = _native.Sweep.describe(scenario._native, axes, points, list(policies), seeds)
    path = os.fspath(out)
    if client is not None:
        from . import _dask

        return Sweep(path, described.id, _dask.run(described, path, client, batch_s, progress))
    if "://" in path:
        raise ValueError(f"out is the URL {path!r}; a sweep without a client needs a path")
    directory = _native.SweepDirectory(path, described)
    try:
        directory.run_local(jobs, progress)
        return Sweep(path, described.id, directory.finish())
    finally:
        directory.close()


def _check(name: str, number: int, most: int) -> None:
    if not 1 <= number <= most:
        raise ValueError(f"{name} is {number}; expected 1 to {most:,}")


def _texts(values: str | Iterable[Any]) -> list[str]:
    """Values of a key as text; a text alone is a range or a single value."""
    values = [values] if isinstance(values, str) else values
    return [one if isinstance(one, str) else _native.value(json.dumps(one, allow_nan=False)) for one in values]
