"""Reproductions, and the built-in profiles."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
import tandem_mptcp as tm

from conftest import ROOT


def test_unknown_paper_is_an_error() -> None:
    with pytest.raises(ValueError, match="emtcp, lwi and mptcp-rec"):
        tm.reproduce("ecmtcp")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [0, 100_001])
def test_number_of_seeds_is_checked(number: int) -> None:
    with pytest.raises(ValueError, match="1 to 100,000"):
        tm.reproduce("emtcp", seeds=number)


def test_reproduction_is_that_of_the_program() -> None:
    shares: list[float] = []
    result = tm.reproduce("emtcp", seeds=1, progress=shares.append)
    assert result.to_dict()["paper"] == "emtcp" and result.to_dict()["seeds"] == 1
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert result.runs_csv().startswith("case,seed,throughput_mbps")
    assert "Predictions" in str(result) and "fig-4" in result.charts()


def test_ctrl_c_stops_a_reproduction_within_100_ms() -> None:
    program = """
import sys, time, tandem_mptcp as tm
print("runs", flush=True)
try:
    tm.reproduce("mptcp-rec")
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""
    run = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "runs\n"
    time.sleep(0.5)
    sent = time.time()
    run.send_signal(signal.SIGINT)
    stopped = float(run.stdout.readline())
    run.communicate(timeout=60)
    assert stopped - sent < 0.1


def test_profile_is_toml_for_a_scenario(scenario: tm.Scenario) -> None:
    lte = tm.profiles()["huang2012.lte"]
    mine = scenario.toml.replace('"huang2012.lte"', '{ file = "mine.toml" }')
    assert mine != scenario.toml
    with_file = tm.Scenario.from_toml(mine, files={"mine.toml": lte.toml()})
    own, built_in = with_file.run(seed=1), scenario.run(seed=1)
    assert own.paths["lte"].energy.total_j == built_in.paths["lte"].energy.total_j
