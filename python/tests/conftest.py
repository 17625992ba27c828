"""Fixtures: the repository's files, and one short run."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import tandem_mptcp as tm

# A program that a shell starts in the background ignores Ctrl-C, unless it asks for it.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def scenarios() -> Path:
    """The shipped scenarios."""
    return ROOT / "scenarios"


@pytest.fixture(scope="session")
def scenario(scenarios: Path) -> tm.Scenario:
    """Three seconds over Wi-Fi and LTE."""
    return tm.Scenario.from_file(scenarios / "wifi-lte.toml").set("duration", "3s")


@pytest.fixture(scope="session")
def outcome(scenario: tm.Scenario) -> tm.Outcome:
    """A run of the scenario with seed 1."""
    return scenario.run(seed=1)
