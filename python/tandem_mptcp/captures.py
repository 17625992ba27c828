"""Captures of Multipath TCP: which subflow carried which data."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import _native
from ._page import Reported
from .series import Series

__all__ = ["Capture", "Carried", "MptcpConnection", "RoundTrip", "Subflow", "Transfer", "capture"]

Json = dict[str, Any]


@dataclass(frozen=True)
class Carried:
    """Traffic of one direction of a subflow."""

    segments: int
    """Segments."""
    data_segments: int
    """Segments with payload."""
    wire_bytes: int
    """Traffic, in bytes with all headers."""
    payload_bytes: int
    """Payload, in bytes."""
    new_bytes: int
    """Payload with data that no subflow had carried before, in bytes."""
    share: float | None
    """Part of all new payload of the connection, from 0 to 1."""
    reinjected_bytes: int
    """Payload with data that another subflow had carried before, in bytes."""
    reinjected_segments: int
    """Segments with such payload."""
    retransmitted_bytes: int
    """Payload with sequence numbers that this subflow had carried before, in bytes."""
    retransmitted_segments: int
    """Segments with such payload."""
    late_segments: int
    """Segments that fill a gap of their subflow."""
    repeated_bytes: int
    """Payload with data that this subflow had carried under another sequence number, in bytes."""
    unmapped_bytes: int
    """Payload without a mapping in the capture, in bytes."""
    in_order_bytes: int | None
    """Payload up to the first gap, in bytes; None without the beginning of the subflow."""
    acknowledged_bytes: int | None
    """Payload that the other end acknowledged, in bytes; None without the beginning."""


@dataclass(frozen=True)
class RoundTrip:
    """Round trips of a subflow, from the place of the capture to one end and back."""

    to: str
    """``server`` or ``client``."""
    by: str
    """``timestamps`` or ``data``."""
    samples: int
    """Number of samples."""
    min_ms: float
    """Minimum, in ms."""
    median_ms: float
    """Median, in ms."""
    p95_ms: float
    """95th percentile, in ms."""


@dataclass(frozen=True)
class Subflow:
    """A subflow of a connection. Times are seconds since the first packet."""

    number: int
    """Number within the connection, from 1."""
    path: str
    """Name of the path: that of the interface, else addresses."""
    interface: str
    """Name of the interface; may be empty."""
    client: str
    """Address and port of the client."""
    server: str
    """Address and port of the server."""
    opened_by: str
    """``client`` or ``server``."""
    joined_by: str
    """How the subflow was assigned: ``mp_capable``, ``token``, ``data`` or ``alone``."""
    backup: bool
    """True if it began as a backup."""
    from_s: float
    """First packet, in seconds."""
    to_s: float
    """Last packet, in seconds."""
    closed: str | None
    """How it ended: ``fin`` or ``reset``; None if it did not."""
    handshake: dict[str, Any] | None
    """Number of SYNs, and times to the SYN/ACK and to the third segment, in ms."""
    rtt: RoundTrip | None
    """Round trips; None without a sample."""
    seen_elsewhere: int
    """Segments that the file has twice; they count once."""
    up: Carried
    """From the client to the server."""
    down: Carried
    """From the server to the client."""

    @classmethod
    def _from_json(cls, data: Json) -> Subflow:
        nested: Json = {
            "rtt": None if data["rtt"] is None else RoundTrip(**data["rtt"]),
            "up": Carried(**data["up"]),
            "down": Carried(**data["down"]),
        }
        return cls(**{**data, **nested})


@dataclass(frozen=True)
class Transfer:
    """Data of one direction of a connection, over all subflows."""

    bytes: int
    """Data, in bytes."""
    peak_out_of_order_bytes: int
    """Peak of the data beyond a gap, in bytes."""
    peak_at_s: float | None
    """Time of the peak, in seconds."""
    seen_near: str | None
    """Place of the capture: ``receiver``, ``sender`` or ``between``; None if unknown."""
    missing_bytes: int
    """Gaps in the data at the end of the capture, in bytes."""
    finished_s: float | None
    """Time at which all data had passed, in seconds; None without a DATA_FIN."""


@dataclass(frozen=True)
class MptcpConnection:
    """A connection of Multipath TCP in a capture. Times are seconds since the first packet."""

    number: int
    """Number in the capture, from 1."""
    beginning: str
    """``handshake`` if the keys were seen, ``missing`` if it began before the capture."""
    tokens: tuple[str | None, ...]
    """Tokens of client and server."""
    checksums: bool
    """True if the data has checksums."""
    fell_back: bool
    """True if the connection fell back to TCP."""
    from_s: float
    """First packet, in seconds."""
    to_s: float
    """Last packet, in seconds."""
    up: Transfer
    """From the client, which opened the connection, to the server."""
    down: Transfer
    """From the server to the client."""
    subflows: tuple[Subflow, ...]
    """The subflows, in the order of their first packets."""

    @classmethod
    def _from_json(cls, data: Json) -> MptcpConnection:
        nested: Json = {
            "tokens": tuple(data["tokens"]),
            "up": Transfer(**data["up"]),
            "down": Transfer(**data["down"]),
            "subflows": tuple(Subflow._from_json(one) for one in data["subflows"]),
        }
        return cls(**{**data, **nested})


class Capture(Reported):
    """An analysed capture, as ``tandem capture`` shows it."""

    def __init__(self, native: _native.Capture) -> None:
        self._native = native
        self._result: Json = json.loads(native.json())

    def __repr__(self) -> str:
        return f"<Capture of {self.packets} packets, {len(self.connections)} MPTCP connections>"

    def _page(self) -> _native.Page:
        return self._native.page()

    def to_dict(self) -> dict[str, Any]:
        """The whole result, as in ``result.json`` (docs/reference/output.md)."""
        result: Json = json.loads(self._native.json())
        return result

    @cached_property
    def series(self) -> Series:
        """Bytes over time of the busiest directions: the columns of ``series.csv``. Progress that is
        unknown in an interval is NaN."""
        return Series(self._native.series())

    def to_arrow(self) -> Any:
        """The time series as a ``pyarrow.Table``."""
        return self.series.to_arrow()

    def series_csv(self) -> str:
        """Bytes over time of the busiest directions, as in ``series.csv``."""
        return self._native.series_csv()

    @property
    def packets(self) -> int:
        """Number of packets."""
        return int(self._result["packets"])

    @property
    def duration_s(self) -> float:
        """Time from the first packet to the last, in seconds."""
        return float(self._result["duration_s"])

    @property
    def notes(self) -> tuple[str, ...]:
        """Omissions, and limits that were reached."""
        return tuple(self._result["notes"])

    @cached_property
    def connections(self) -> tuple[MptcpConnection, ...]:
        """The connections of Multipath TCP."""
        return tuple(MptcpConnection._from_json(one) for one in self._result["connections"])


def capture(
    path: str | os.PathLike[str], *, progress: Callable[[float], object] | None = None
) -> Capture:
    """Analyses a pcap or pcapng file of any program.

    ``progress`` gets the read share of the file, from 0 to 1. Raises ``OSError`` if the file cannot be
    read, and ``CaptureError`` if it is not a capture. A damaged file is read up to the damage, which
    ``notes`` name.
    """
    return Capture(_native.capture(path, progress))
