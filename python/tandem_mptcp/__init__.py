"""Simulate Multipath TCP over several radios: which radio carries which byte, and what that costs.

>>> import tandem_mptcp as tm
>>> scenario = tm.Scenario.from_dict({
...     "duration": "2s",
...     "path": [{"name": "wifi", "radio": "huang2012.wifi",
...               "down": {"rate": "20Mbps", "delay": "10ms"},
...               "up": {"rate": "10Mbps", "delay": "10ms"}}],
...     "traffic": [{"kind": "bulk"}],
... })
>>> outcome = scenario.run(seed=1)
>>> f"{outcome.goodput_mbps:.0f} Mbit/s"
'18 Mbit/s'

Names carry their units: ``energy_j`` is in joules, ``goodput_mbps`` in Mbit/s, ``p95_s`` in seconds,
``delivered_bytes`` in bytes. ``tandem_mptcp.plot`` draws with matplotlib and is imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ._native import __version__
from .captures import (
    Capture,
    Carried,
    MptcpConnection,
    RoundTrip,
    Subflow,
    Transfer,
    capture,
)
from .errors import CaptureError, Diagnostic, PolicyError, ScenarioError, TandemError
from .outcome import Outcome
from .papers import Reproduction, reproduce
from .profiles import Profile, profiles
from .results import (
    Background,
    Connection,
    Distribution,
    Energy,
    HeadOfLine,
    Middlebox,
    Path,
    Paths,
    PowerState,
    Warning,
)
from .scenario import Scenario
from .series import Series

if TYPE_CHECKING:
    from types import ModuleType

    from . import plot as plot

__all__ = [
    "Background",
    "Capture",
    "CaptureError",
    "Carried",
    "Connection",
    "Diagnostic",
    "Distribution",
    "Energy",
    "HeadOfLine",
    "Middlebox",
    "MptcpConnection",
    "Outcome",
    "Path",
    "Paths",
    "PolicyError",
    "PowerState",
    "Profile",
    "Reproduction",
    "RoundTrip",
    "Scenario",
    "ScenarioError",
    "Series",
    "Subflow",
    "TandemError",
    "Transfer",
    "Warning",
    "__version__",
    "capture",
    "plot",
    "profiles",
    "reproduce",
]


def __getattr__(name: str) -> ModuleType:
    if name == "plot":
        return importlib.import_module(".plot", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
