"""Policies in Python, and the state that they observe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from ._native import Action
from .results import ByName

__all__ = ["AppState", "DeviceState", "PathState", "PathStates", "Policy"]

COSTLY = frozenset({"lte", "3g", "5g", "satellite"})


@dataclass(frozen=True)
class PathState:
    """State of one path: an interface of the device, and the subflows over it."""

    name: str
    """Name of the path."""
    kind: str
    """Kind of radio: ``wifi``, ``lte``, ``3g``, ``5g``, ``bluetooth``, ``ethernet``, ``satellite`` or
    ``other``."""
    up: bool
    """The interface has a link, so a subflow over it exists or can be opened."""
    backup: bool
    """The subflow is marked as backup."""
    awake: bool
    """The radio has left its idle state, so a transfer costs no promotion."""
    receiving: bool
    """Data arrived since the previous observation."""
    bytes_down: int
    """Bytes received on the interface since the start, with headers."""
    bytes_up: int
    """Bytes sent on the interface since the start, with headers."""
    rate_down_mbps: float
    """Receive rate since the previous observation, in Mbit/s."""
    rate_up_mbps: float
    """Send rate since the previous observation, in Mbit/s."""
    srtt_s: float | None
    """Smoothed round-trip time of the subflow, in seconds."""
    queued_bytes: int
    """Bytes that the sender has assigned to the path and that have not arrived."""
    cwnd_bytes: int | None
    """Congestion window of the path's subflows, in bytes."""
    energy_j_per_mbit: float | None
    """Energy per megabit at the present rate, in joules; None without data."""
    energy_j: float | None
    """Energy of the radio since the start, in joules."""
    allowance_left_bytes: int | None
    """Remaining data allowance, in bytes; None without a limit."""
    allowance_until_s: float | None
    """Time at which the allowance is renewed, in seconds; None without a limit."""

    @property
    def costly(self) -> bool:
        """True for cellular and satellite networks."""
        return self.kind in COSTLY


class PathStates(ByName[PathState]):
    """The paths of a device in the order of the scenario, by number or by name."""

    __slots__ = ()


@dataclass(frozen=True)
class AppState:
    """State of the video players."""

    buffer_s: float | None
    """Playback time in the buffer, in seconds."""
    deadline_s: float | None
    """Time by which the player needs the data it waits for, in seconds."""
    missing_bytes: int | None
    """Missing bytes of the data it waits for."""
    bitrate_mbps: float | None
    """Bitrate at which it plays that data, in Mbit/s."""
    stalled_s: float | None
    """Total length of the stalls of all players, present ones included, in seconds."""
    done: bool
    """It needs nothing more from the network."""


@dataclass(frozen=True)
class DeviceState:
    """State of a device at one moment."""

    now_s: float
    """Simulated time, in seconds."""
    paths: PathStates
    """The paths."""
    app: AppState | None
    """State of the application; None if none reports one."""
    energy_j: float | None
    """Energy of all radios since the start, in joules, with their joint activity."""
    delivered_bytes: int | None
    """Data that the receiving applications have read since the start, in bytes."""


class Policy(ABC):
    """Decides which paths of a device are open, regular or backup. Subclasses define ``observe``.

    >>> import tandem_mptcp as tm
    >>> class LteBelow(tm.Policy):
    ...     def __init__(self, floor_mbps):
    ...         self.floor_mbps = floor_mbps
    ...         self.name = f"lte-below:{floor_mbps}Mbps"
    ...     def observe(self, state):
    ...         weak = state.paths["wifi"].rate_down_mbps < self.floor_mbps
    ...         yield tm.Action.regular("lte") if weak else tm.Action.backup("lte")
    >>> scenario = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "5s")
    >>> outcome = scenario.run(policy=LteBelow(5))
    >>> outcome.policy, outcome.paths["lte"].payload_down_bytes < outcome.paths["wifi"].payload_down_bytes
    ('lte-below:5Mbps', True)
    """

    name: str = ""
    """Name in results; empty for the name of the class. Parameters belong into it."""
    interval_s: float | None = 0.1
    """Time between observations, in seconds, from 0.001 to 1e6. None observes only at the start and
    when a path comes or goes. Read after each observation."""

    @abstractmethod
    def observe(self, state: DeviceState) -> Iterable[Action]:
        """Reads the state of the device and returns actions, or yields them.

        Called at the start, every ``interval_s``, and when a path comes or goes. An action that
        changes nothing is allowed.
        """
