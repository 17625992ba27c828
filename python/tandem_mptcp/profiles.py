"""Power profiles of radios."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import _native

__all__ = ["Profile", "profiles"]


@dataclass(frozen=True)
class Profile:
    """Power profile of a radio, with its source. A stage or pulse is a dictionary with the members of
    ``tandem profiles --format json``."""

    name: str
    """Name for the key ``radio`` of a path."""
    radio: str
    """Kind of radio, such as ``wifi`` or ``lte``."""
    source: str
    """The publication."""
    note: str
    """Remarks on the figures."""
    active_mw: float
    """Base power of the active state, in mW."""
    down_mw_per_mbps: float
    """Further power per received Mbit/s, in mW."""
    up_mw_per_mbps: float
    """Further power per sent Mbit/s, in mW."""
    promotion: dict[str, Any] | None
    """Promotion from idle to active: power in mW, duration in ms."""
    inactivity_ms: float | None
    """Time without packets after which the tail begins, in ms; None if it never does."""
    tail: tuple[dict[str, Any], ...]
    """Stages of the tail: power in mW, duration in ms."""
    idle: dict[str, Any]
    """Power of the idle state, in mW, and its pulses."""
    origin: dict[str, str]
    """How each group of figures is known: ``read``, ``known``, ``fit`` or ``assumed``."""

    def toml(self) -> str:
        """The profile as TOML, to change and to name in a scenario: ``radio = { file = "mine.toml" }``."""
        return _native.profile_toml(self.name) or ""


def profiles() -> dict[str, Profile]:
    """The built-in power profiles by name.

    >>> import tandem_mptcp as tm
    >>> lte = tm.profiles()["huang2012.lte"]
    >>> lte.radio, lte.tail[0]["duration_ms"]
    ('lte', 11476.0)
    """
    found: list[dict[str, Any]] = json.loads(_native.profiles())
    return {one["name"]: _profile(one) for one in found}


def _profile(data: dict[str, Any]) -> Profile:
    tail: dict[str, Any] = {"tail": tuple(data["tail"])}
    return Profile(**{**data, **tail})
