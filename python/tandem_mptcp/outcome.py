"""Outcome of a run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ._page import Reported, write_whole
from .results import Background, Connection, Path, Paths, Warning
from .series import Series

if TYPE_CHECKING:
    from . import _native

__all__ = ["Outcome"]


class Outcome(Reported):
    """Outcome of a run. Names carry their units, as in ``result.json``.

    ``print(outcome)`` shows the tables of ``tandem run``; a notebook shows tables and charts. An outcome
    can be pickled, with its series, report and capture.

    >>> import tandem_mptcp as tm
    >>> outcome = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "5s").run(seed=1)
    >>> outcome
    <Outcome of 'Wi-Fi and LTE together': policy none, seed 1, 44.41 Mbit/s, 29.73 J>
    >>> outcome.paths["wifi"].energy.total_j < outcome.energy_j
    True
    """

    def __init__(self, run: _native.Run | _Kept) -> None:
        self._run = run
        self._result: dict[str, Any] = json.loads(run.json())
        self._device: dict[str, Any] = self._result["device"]

    def __repr__(self) -> str:
        return (
            f"<Outcome of {self.title!r}: policy {self.policy}, seed {self.seed}, "
            f"{self.goodput_mbps:.4g} Mbit/s, {self.energy_j:.4g} J>"
        )

    def _page(self) -> _native.Page:
        return self._run.page()

    def __reduce__(self) -> tuple[Callable[..., Outcome], tuple[Any, ...]]:
        run = self._run
        return _restored, (run.json(), run.page(), run.series(), run.capture())

    def to_dict(self) -> dict[str, Any]:
        """The whole result, as in ``result.json`` (docs/reference/output.md)."""
        result: dict[str, Any] = json.loads(self._run.json())
        return result

    @property
    def title(self) -> str:
        """Title of the scenario."""
        return str(self._result["title"])

    @property
    def policy(self) -> str:
        """Policy with its parameters."""
        return str(self._result["policy"])

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return int(self._result["seed"])

    @property
    def duration_s(self) -> float:
        """Simulated time, in seconds."""
        return float(self._result["duration_s"])

    @property
    def segments(self) -> int:
        """Segments that reached an end of a connection."""
        return int(self._result["segments"])

    @property
    def goodput_mbps(self) -> float:
        """Data delivered to all applications over the whole run, in Mbit/s."""
        return self.delivered_bytes * 8e-6 / self.duration_s

    @property
    def delivered_bytes(self) -> int:
        """Data delivered to all applications, in bytes."""
        return sum(connection.delivered_bytes for connection in self.connections)

    @property
    def energy_j(self) -> float:
        """Energy of all radios, in joules."""
        return float(self._device["energy_j"])

    @property
    def joint_energy_j(self) -> float:
        """Part of the energy drawn because several radios were active at once, in joules."""
        return float(self._device["joint_energy_j"])

    @property
    def energy_rate_w(self) -> float:
        """Mean power of all radios, in watts."""
        return float(self._device["energy_rate_w"])

    @property
    def lifespan_s(self) -> float | None:
        """Life of a full battery at the mean power, in seconds; None without any energy."""
        return _optional(self._device["lifespan_s"])

    @property
    def battery_left(self) -> float:
        """Charge of the battery at the end, from 0 to 1."""
        return float(self._device["battery_left"])

    @property
    def efficiency_mbit_per_j(self) -> float | None:
        """Megabits delivered to applications per joule; None without any energy."""
        return _optional(self._device["efficiency_mbit_per_j"])

    @property
    def policy_changes(self) -> int:
        """Number of times the policy changed a priority or the shares."""
        return int(self._device["policy_changes"])

    @cached_property
    def paths(self) -> Paths:
        """Traffic and energy of each path, by number or by name."""
        states = [one["states"] for one in self._result["power_states"]]
        paths = zip(self._result["paths"], states, strict=True)
        return Paths(Path._from_json(path, own) for path, own in paths)

    @cached_property
    def connections(self) -> tuple[Connection, ...]:
        """The applications with their connections, one for each ``[[traffic]]``."""
        return tuple(Connection._from_json(one) for one in self._result["connections"])

    @cached_property
    def background(self) -> tuple[Background, ...]:
        """The flows of datagrams."""
        return tuple(Background._from_json(one) for one in self._result["background"])

    @cached_property
    def warnings(self) -> tuple[Warning, ...]:
        """Settings without effect, and suspicious figures."""
        return tuple(Warning(**one) for one in self._result["warnings"])

    @cached_property
    def series(self) -> Series:
        """Time series of paths, connections and device."""
        return Series(self._run.series())

    def save_capture(self, path: str | os.PathLike[str]) -> None:
        """Writes the packets of a run with ``capture=True`` as a pcapng file.

        Raises ``ValueError`` if the run did not capture.
        """
        packets = self._run.capture()
        if packets is None:
            raise ValueError("the run has no capture; run the scenario with capture=True")
        write_whole(path, packets)

    def to_arrow(self) -> Any:
        """The time series as a ``pyarrow.Table``, which shares the memory of the run."""
        return self.series.to_arrow()


class _Kept:
    """Results of a run without its simulation, as pickle restores them."""

    def __init__(
        self, json: str, page: _native.Page, series: _native.Columns, capture: bytes | None
    ) -> None:
        self.json = lambda: json
        self.page = lambda: page
        self.series = lambda: series
        self.capture = lambda: capture


def _restored(
    json: str, page: _native.Page, series: _native.Columns, capture: bytes | None
) -> Outcome:
    """Makes a pickled outcome again."""
    return Outcome(_Kept(json, page, series, capture))


def _optional(value: float | None) -> float | None:
    return None if value is None else float(value)
