"""A small sweep for tests: as arguments of ``tm.sweep``, and as a command."""

from __future__ import annotations

import hashlib
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tandem_mptcp as tm

from conftest import ROOT

PROGRAM = ROOT / "target" / "debug" / "tandem"
SCENARIO = ROOT / "scenarios" / "wifi-lte.toml"
DURATION = "300ms"
RATES = ["5Mbps", "10Mbps"]
POLICIES = ["none", "wifi-first"]
SEEDS = 20
RUNS = len(RATES) * len(POLICIES) * SEEDS

COMMAND = (
    f"sweep {SCENARIO} --duration {DURATION} --vary wifi.down.rate={','.join(RATES)} "
    f"--policies {','.join(POLICIES)} --seeds {SEEDS} --quiet --out"
).split()
LHS_COMMAND = (
    f"sweep {SCENARIO} --duration {DURATION} --vary wifi.down.rate=1Mbps..50Mbps "
    "--vary transport.scheduler=min-rtt,blest --design lhs --points 5 --seeds 2 --quiet --out"
).split()


def small_sweep(out: Path | str, **arguments: Any) -> tm.Sweep:
    """Runs the sweep of ``COMMAND``."""
    scenario = tm.Scenario.from_file(SCENARIO).set("duration", DURATION)
    vary = {"wifi.down.rate": RATES}
    return tm.sweep(scenario, vary, policies=POLICIES, seeds=SEEDS, out=out, **arguments)


def small_lhs(out: Path | str, **arguments: Any) -> tm.Sweep:
    """Runs the sweep of ``LHS_COMMAND``."""
    scenario = tm.Scenario.from_file(SCENARIO).set("duration", DURATION)
    vary = {"wifi.down.rate": "1Mbps..50Mbps", "transport.scheduler": ["min-rtt", "blest"]}
    return tm.sweep(scenario, vary, points=5, seeds=2, out=out, **arguments)


def start_program(command: list[str], out: Path) -> subprocess.Popen[bytes]:
    """Starts ``tandem`` as the tests of the workspace built it."""
    assert PROGRAM.exists(), "no program to compare with: cargo build -p tandem-cli"
    return subprocess.Popen([PROGRAM, *command, out], stdout=subprocess.DEVNULL)


def run_program(command: list[str], out: Path) -> None:
    """Runs ``tandem`` to its end."""
    assert start_program(command, out).wait() == 0


def digest(out: Path | str) -> str:
    """SHA-256 of the dataset."""
    return hashlib.sha256((Path(out) / "sweep.parquet").read_bytes()).hexdigest()


def parts(out: Path) -> list[str]:
    """Names of the finished parts."""
    return sorted(file.name for file in out.glob("parts/*.parquet"))


def wait_until(holds: Callable[[], object], seconds: float = 20) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "the condition never held"
        time.sleep(0.005)
