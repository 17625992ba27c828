"""Rewards: weighted sums of what a run delivers and costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from .outcome import Outcome
from .policies import DeviceState

__all__ = ["Totals", "Weights", "weights"]


@dataclass(frozen=True)
class Weights:
    """Weights of the reward."""

    delivered_mbit: float = 1.0
    """For each megabit that the applications read; by default 1."""
    energy_j: float = -1.0
    """For each joule of the radios; by default -1."""
    costly_mbit: float = -0.25
    """For each megabit over a cellular or satellite network, with headers, in both directions; by
    default -0.25."""
    stalled_s: float = -10.0
    """For each second of a video's stalls; by default -10."""
    mos: float = 0.0
    """For each point of the mean MOS of the videos, at the end of the episode; by default 0. A video
    without a picture has 0 points."""


def weights(given: Mapping[str, float] | None) -> Weights:
    """The weights with some replaced. Raises ``ValueError`` for an unknown name."""
    names = [field.name for field in fields(Weights)]
    for name in given or {}:
        if name not in names:
            raise ValueError(f"no weight {name!r}; the weights are {', '.join(names)}")
    return Weights(**(given or {}))


@dataclass(frozen=True)
class Totals:
    """Totals of a run since its start, by the names of the weights."""

    delivered_mbit: float = 0.0
    energy_j: float = 0.0
    costly_mbit: float = 0.0
    stalled_s: float = 0.0
    mos: float = 0.0

    @classmethod
    def at(cls, state: DeviceState) -> Totals:
        """The totals at a moment of the run."""
        costly_bytes = sum(path.bytes_down + path.bytes_up for path in state.paths if path.costly)
        stalled_s = None if state.app is None else state.app.stalled_s
        return cls(
            delivered_mbit=(state.delivered_bytes or 0) * 8e-6,
            energy_j=state.energy_j or 0.0,
            costly_mbit=costly_bytes * 8e-6,
            stalled_s=stalled_s or 0.0,
        )

    @classmethod
    def of(cls, outcome: Outcome, costly: Mapping[str, bool]) -> Totals:
        """The totals of a whole run."""
        paths = (path for path in outcome.paths if costly[path.name])
        videos = [one.video["kpis"] for one in outcome.connections if one.video is not None]
        scores: list[float] = [video["mok"]["mos"] or 0.0 for video in videos]
        return cls(
            delivered_mbit=sum(one.delivered_bytes for one in outcome.connections) * 8e-6,
            energy_j=outcome.energy_j,
            costly_mbit=sum(path.wire_down_bytes + path.wire_up_bytes for path in paths) * 8e-6,
            stalled_s=sum(video["stalled_s"] for video in videos),
            mos=sum(scores) / len(scores) if scores else 0.0,
        )

    def since(self, before: Totals) -> dict[str, float]:
        """The part since an earlier moment."""
        own, other = vars(self), vars(before)
        return {name: own[name] - other[name] for name in own}
