"""Observations: the state of a device as numbers with names, units and bounds."""

from __future__ import annotations

from dataclasses import dataclass

from .policies import AppState, DeviceState, PathState

__all__ = ["KINDS", "Feature", "features", "numbers"]

KINDS = ("wifi", "lte", "3g", "5g", "bluetooth", "ethernet", "satellite", "other")
"""Kinds of radio, by their numbers in observations."""


@dataclass(frozen=True)
class Feature:
    """A number of an observation. The lower bound is 0; a larger value than ``high`` becomes ``high``."""

    name: str
    """Name, with its unit; that of a path begins with the path's name: ``wifi.rate_down_mbps``."""
    unit: str
    """Unit; empty without one."""
    high: float
    """Upper bound."""
    text: str
    """Meaning, and the number that stands for an unknown value."""


MAX_MBPS, MAX_S, MAX_MB, MAX_J = 1e5, 1e7, 1e6, 1e7

PATH = (
    Feature("kind", "", len(KINDS) - 1, "Kind of radio: its place in ``KINDS``, from 0."),
    Feature("costly", "", 1, "1 for a cellular or satellite network."),
    Feature("up", "", 1, "1 if the interface has a link."),
    Feature("backup", "", 1, "1 for a backup path."),
    Feature("awake", "", 1, "1 unless the radio is idle."),
    Feature("receiving", "", 1, "1 if data arrived since the last observation."),
    Feature("down_mb", "MB", MAX_MB, "Traffic received since the start, with headers."),
    Feature("up_mb", "MB", MAX_MB, "Traffic sent since the start, with headers."),
    Feature("rate_down_mbps", "Mbit/s", MAX_MBPS, "Receive rate since the last observation."),
    Feature("rate_up_mbps", "Mbit/s", MAX_MBPS, "Send rate since the last observation."),
    Feature("srtt_s", "s", 600, "Smoothed round-trip time; 0 without a subflow."),
    Feature("queued_mb", "MB", MAX_MB, "Data assigned to the path that has not arrived."),
    Feature("cwnd_mb", "MB", MAX_MB, "Congestion window of the subflows; 0 without a subflow."),
    Feature("energy_j_per_mbit", "J/Mbit", 1e4, "Energy per megabit at this rate; 0 without data."),
    Feature("energy_j", "J", MAX_J, "Energy of the radio since the start; 0 if unknown."),
    Feature("allowance_left_mb", "MB", MAX_MB, "Remaining data allowance; the bound without a limit."),
    Feature("allowance_for_s", "s", MAX_S, "Time until its renewal; the bound without a limit."),
)
"""Numbers of a path, before its name is added."""

DEVICE = (
    Feature("now_s", "s", MAX_S, "Simulated time."),
    Feature("energy_j", "J", MAX_J, "Energy of all radios since the start; 0 if unknown."),
    Feature("delivered_mb", "MB", MAX_MB, "Data read by applications since the start; 0 if unknown."),
    Feature("app", "", 1, "1 if a video player reports its state; the next numbers are 0 otherwise."),
    Feature("app.buffer_s", "s", 1e5, "Playback time in the player's buffer."),
    Feature("app.deadline_in_s", "s", 1e5, "Time left for the data it waits for; 0 while playback waits."),
    Feature("app.missing_mb", "MB", 1e4, "Missing part of that data."),
    Feature("app.bitrate_mbps", "Mbit/s", MAX_MBPS, "Bitrate at which it plays that data."),
    Feature("app.stalled_s", "s", MAX_S, "Total length of the stalls so far."),
    Feature("app.done", "", 1, "1 if it needs nothing more."),
)
"""Numbers of the device and the application."""


def features(paths: list[str]) -> tuple[Feature, ...]:
    """The numbers for these paths: path by path, then device and application."""
    own = [Feature(f"{path}.{one.name}", one.unit, one.high, one.text) for path in paths for one in PATH]
    return (*own, *DEVICE)


def numbers(state: DeviceState) -> list[float]:
    """The numbers of a state, in the order of ``features``, without regard to their bounds."""
    of_paths = [number for path in state.paths for number in _path(path, state.now_s)]
    return [
        *of_paths,
        state.now_s,
        state.energy_j or 0.0,
        (state.delivered_bytes or 0) * 1e-6,
        *_app(state.app, state.now_s),
    ]


def _path(path: PathState, now_s: float) -> list[float]:
    left, until = path.allowance_left_bytes, path.allowance_until_s
    return [
        KINDS.index(path.kind),
        path.costly,
        path.up,
        path.backup,
        path.awake,
        path.receiving,
        path.bytes_down * 1e-6,
        path.bytes_up * 1e-6,
        path.rate_down_mbps,
        path.rate_up_mbps,
        path.srtt_s or 0.0,
        path.queued_bytes * 1e-6,
        (path.cwnd_bytes or 0) * 1e-6,
        path.energy_j_per_mbit or 0.0,
        path.energy_j or 0.0,
        MAX_MB if left is None else left * 1e-6,
        MAX_S if until is None else max(until - now_s, 0.0),
    ]


def _app(app: AppState | None, now_s: float) -> list[float]:
    if app is None:
        return [0.0] * 7
    return [
        1.0,
        app.buffer_s or 0.0,
        0.0 if app.deadline_s is None else max(app.deadline_s - now_s, 0.0),
        (app.missing_bytes or 0) * 1e-6,
        app.bitrate_mbps or 0.0,
        app.stalled_s or 0.0,
        app.done,
    ]
