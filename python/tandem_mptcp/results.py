"""Results of a run, as the members of ``result.json`` (docs/reference/output.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, SupportsIndex, TypeVar, overload

__all__ = [
    "Background",
    "Connection",
    "Distribution",
    "Energy",
    "HeadOfLine",
    "Middlebox",
    "Path",
    "Paths",
    "PowerState",
    "Warning",
]

Json = dict[str, Any]


class Named(Protocol):
    """A thing with a name."""

    @property
    def name(self) -> str:
        """The name."""
        ...


T = TypeVar("T", bound=Named)


class ByName(tuple[T, ...], Generic[T]):
    """A tuple of named things, by number or by name."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[T, ...]: ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> T | tuple[T, ...]:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for one in self:
            if one.name == key:
                return one
        names = ", ".join(one.name for one in self)
        raise KeyError(f"no path {key!r}; the paths are {names}")

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            return any(one.name == key for one in self)
        if isinstance(key, int):
            return -len(self) <= key < len(self)
        return super().__contains__(key)


@dataclass(frozen=True)
class Distribution:
    """Distribution of durations, in seconds. Values are None without any duration.

    Count, mean, minimum and maximum are exact; a percentile is at most 0.4 % from the true one.
    """

    count: int
    """Number of durations."""
    mean_s: float | None
    """Mean, in seconds."""
    min_s: float | None
    """Minimum, in seconds."""
    p50_s: float | None
    """Median, in seconds."""
    p95_s: float | None
    """95th percentile, in seconds."""
    p99_s: float | None
    """99th percentile, in seconds."""
    max_s: float | None
    """Maximum, in seconds."""
    percentiles_s: tuple[float, ...] = ()
    """Percentiles 0 to 100, in seconds; empty beyond the first four connections."""

    @classmethod
    def _from_json(cls, data: Json) -> Distribution:
        return cls(**_with_percentiles(data))


@dataclass(frozen=True)
class HeadOfLine:
    """Head-of-line blocking: times that received bytes wait for earlier data.

    The distribution is over all delivered bytes, with zero for bytes that arrived in order.
    """

    count: int
    """Number of delivered bytes."""
    mean_s: float | None
    """Mean wait, in seconds."""
    min_s: float | None
    """Minimum, in seconds."""
    p50_s: float | None
    """Median, in seconds."""
    p95_s: float | None
    """95th percentile, in seconds."""
    p99_s: float | None
    """99th percentile, in seconds."""
    max_s: float | None
    """Maximum, in seconds."""
    waited_bytes: int
    """Delivered bytes that waited."""
    waited_share: float
    """Their share of all delivered bytes, from 0 to 1."""
    waited_for: dict[str, float]
    """Share of each path in the waiting time: the path on which the missing data arrived."""
    percentiles_s: tuple[float, ...] = ()
    """Percentiles 0 to 100, in seconds; empty beyond the first four connections."""

    @classmethod
    def _from_json(cls, data: Json) -> HeadOfLine:
        nested: Json = {"waited_for": {one["path"]: one["share"] for one in data["waited_for"]}}
        return cls(**{**_with_percentiles(data), **nested})


@dataclass(frozen=True)
class Energy:
    """Energy of a radio by cause, in joules."""

    radio: str
    """Name of the power profile."""
    total_j: float
    """Total energy, in joules."""
    idle_j: float
    """Energy in the idle state, in joules."""
    promotion_j: float
    """Energy of promotions from idle to active, in joules."""
    active_j: float
    """Base energy of the active state, in joules."""
    data_j: float
    """Energy in proportion to the data, in joules."""
    tail_j: float
    """Energy after the last packet until the radio sleeps, in joules."""


@dataclass(frozen=True)
class PowerState:
    """Time that a radio spent in a power state."""

    state: str
    """Name of the state, such as ``active``."""
    seconds: float
    """Time in the state, in seconds."""
    entered: int
    """Number of entries into the state."""


@dataclass(frozen=True)
class Middlebox:
    """Counters of a middlebox, in segments of both directions."""

    kind: str
    """Kind of middlebox."""
    seen: int
    """Segments received."""
    changed: int
    """Segments changed."""
    added: int
    """Additional segments made by splitting."""
    merged: int
    """Segments merged into another."""
    dropped: int
    """Segments dropped."""
    answered: int
    """Resets sent."""


@dataclass(frozen=True)
class Path:
    """Traffic and energy of a path. Packet counters are of both directions."""

    name: str
    """Name of the path."""
    radio: str
    """Name of the radio's power profile."""
    payload_down_bytes: int
    """Payload that the device received, in bytes."""
    payload_up_bytes: int
    """Payload that the device sent, in bytes."""
    wire_down_bytes: int
    """Traffic that the device received, in bytes with all headers."""
    wire_up_bytes: int
    """Traffic that the device sent, in bytes with all headers."""
    rate_down_mbps: float
    """Mean payload rate to the device over the whole run, in Mbit/s."""
    rate_up_mbps: float
    """Mean payload rate from the device over the whole run, in Mbit/s."""
    dropped_packets: int
    """Packets dropped at a full queue or by CoDel."""
    marked_packets: int
    """Packets marked by CoDel instead of dropped."""
    lost_packets: int
    """Packets lost in transit."""
    damaged_packets: int
    """Packets lost because they were damaged in transit."""
    doubled_packets: int
    """Packets duplicated in transit."""
    retransmissions: int
    """Retransmitted segments."""
    middleboxes: tuple[Middlebox, ...]
    """Counters of the middleboxes, in order from the device."""
    energy: Energy
    """Energy of the radio."""
    also: tuple[Energy, ...]
    """Energy of the same traffic under the profiles of ``also_measure``."""
    power_states: tuple[PowerState, ...]
    """Time in each power state of the radio."""

    @classmethod
    def _from_json(cls, data: Json, states: list[Json]) -> Path:
        nested: Json = {
            "middleboxes": tuple(Middlebox(**box) for box in data["middleboxes"]),
            "energy": Energy(**data["energy"]),
            "also": tuple(Energy(**energy) for energy in data["also"]),
            "power_states": tuple(PowerState(**state) for state in states),
        }
        return cls(**{**data, **nested})


class Paths(ByName[Path]):
    """The paths of a run in the order of the scenario, by number or by name.

    >>> import tandem_mptcp as tm
    >>> outcome = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "1s").run()
    >>> [path.name for path in outcome.paths]
    ['wifi', 'lte']
    >>> outcome.paths["lte"] is outcome.paths[1]
    True
    """

    __slots__ = ()


@dataclass(frozen=True)
class Connection:
    """An application and its connection."""

    kind: str
    """Kind of application: ``bulk``, ``cbr``, ``on-off``, ``vbr``, ``file`` or ``video``."""
    direction: str
    """``down`` or ``up``."""
    protocol: str
    """Protocol after the handshake and any fallback: ``mptcp``, ``mptcp-rec`` or ``tcp``."""
    offered_bytes: int
    """Data that the application offered, in bytes."""
    dropped_bytes: int
    """Data that the application dropped because the send buffer was full, in bytes."""
    delivered_bytes: int
    """Data that the receiving application read, in bytes."""
    corrupted_bytes: int
    """Part of it that a middlebox had changed undetected, in bytes."""
    goodput_mbps: float
    """Delivered data, in Mbit/s, over the time from start to last byte if complete, else to the end of
    the run, or to the later of stop and last byte."""
    completed_s: float | None
    """Time from start to last byte, in seconds; None unless everything was delivered and closed."""
    peak_out_of_order_bytes: int | None
    """Peak of the data held out of order, in bytes."""
    repeated_bytes: int | None
    """Data sent over more than one path, in bytes."""
    message: str
    """What one sample of a delay is: ``packet``, ``block`` or ``segment``."""
    delay: Distribution
    """Delay of the application's messages, from write to complete read."""
    jitter: Distribution
    """Absolute difference of the delays of successive messages."""
    head_of_line: HeadOfLine | None
    """Head-of-line blocking."""
    failed: bool
    """True if the connection was reset or timed out."""
    video: dict[str, Any] | None = None
    """Session record of a video (docs/reference/session.md), else None."""

    @classmethod
    def _from_json(cls, data: Json) -> Connection:
        waits = data["head_of_line"]
        nested: Json = {
            "delay": Distribution._from_json(data["delay"]),
            "jitter": Distribution._from_json(data["jitter"]),
            "head_of_line": None if waits is None else HeadOfLine._from_json(waits),
        }
        return cls(**{**data, **nested})


@dataclass(frozen=True)
class Background:
    """A background flow of datagrams."""

    path: str
    """Name of the path."""
    direction: str
    """``down`` or ``up``."""
    offered_packets: int
    """Datagrams sent."""
    offered_bytes: int
    """Bytes sent, with all headers."""
    delivered_packets: int
    """Datagrams that arrived, duplicates included."""
    delivered_bytes: int
    """Bytes that arrived, with all headers."""
    mean_delay_s: float | None
    """Mean delay, in seconds; None if no datagram arrived."""
    longest_delay_s: float
    """Longest delay, in seconds."""
    delay: Distribution
    """Delay of the datagrams that arrived."""
    jitter: Distribution
    """Absolute difference of the delays of datagrams that arrived one after the other."""

    @classmethod
    def _from_json(cls, data: Json) -> Background:
        nested: Json = {name: Distribution._from_json(data[name]) for name in ("delay", "jitter")}
        return cls(**{**data, **nested})


@dataclass(frozen=True)
class Warning:
    """A setting without effect, or a suspicious figure."""

    message: str
    """Description of the problem."""
    hint: str
    """A suggestion; may be empty."""


def _with_percentiles(data: Json) -> Json:
    percentiles: Iterable[float] = data.get("percentiles_s") or ()
    return {**data, "percentiles_s": tuple(percentiles)}
