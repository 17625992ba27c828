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
``delivered_bytes`` in bytes. ``tandem_mptcp.plot`` draws with matplotlib, and ``tandem_mptcp.gym`` has an
environment of Gymnasium; both are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ._native import (
    Action,
    Candidate,
    CoupledSubflow,
    Coupling,
    RateSample,
    SchedulerContext,
    SubflowView,
    Window,
    __version__,
)
from .captures import (
    Capture,
    Carried,
    MptcpConnection,
    RoundTrip,
    Subflow,
    Transfer,
    capture,
)
from .congestion import CongestionControl
from .errors import CaptureError, Diagnostic, PolicyError, ScenarioError, SweepError, TandemError
from .outcome import Outcome
from .papers import Reproduction, reproduce
from .policies import AppState, DeviceState, PathState, PathStates, Policy
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
)
from .results import Warning as Warning
from .scenario import Scenario
from .schedulers import Scheduler
from .series import Series
from .sweeps import Sweep, sweep

if TYPE_CHECKING:
    from types import ModuleType

    from . import gym as gym
    from . import plot as plot

__all__ = [
    "Action",
    "AppState",
    "Background",
    "Candidate",
    "Capture",
    "CaptureError",
    "Carried",
    "CongestionControl",
    "Connection",
    "CoupledSubflow",
    "Coupling",
    "DeviceState",
    "Diagnostic",
    "Distribution",
    "Energy",
    "HeadOfLine",
    "Middlebox",
    "MptcpConnection",
    "Outcome",
    "Path",
    "PathState",
    "PathStates",
    "Paths",
    "Policy",
    "PolicyError",
    "PowerState",
    "Profile",
    "RateSample",
    "Reproduction",
    "RoundTrip",
    "Scenario",
    "ScenarioError",
    "Scheduler",
    "SchedulerContext",
    "Series",
    "Subflow",
    "SubflowView",
    "Sweep",
    "SweepError",
    "TandemError",
    "Transfer",
    "Window",
    "__version__",
    "capture",
    "profiles",
    "reproduce",
    "sweep",
]


def __getattr__(name: str) -> ModuleType:
    if name in ("gym", "plot"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
