"""Runs: determinism, progress, signals, threads."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tandem_mptcp as tm

from conftest import ROOT

LONG = "600s"
"""Simulated time of a run that the test stops."""


def test_same_seed_gives_the_same_outcome(scenario: tm.Scenario, outcome: tm.Outcome) -> None:
    again = scenario.run(seed=1)
    assert again.to_dict() == outcome.to_dict()
    assert bytes(again.series["device.power_w"]) == bytes(outcome.series["device.power_w"])


def test_seed_defaults_to_that_of_the_scenario(scenario: tm.Scenario) -> None:
    assert scenario.set("seed", 9).run().seed == 9


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seed_out_of_range_is_an_error(scenario: tm.Scenario, seed: int) -> None:
    with pytest.raises(OverflowError):
        scenario.run(seed=seed)


def test_policy_replaces_that_of_the_scenario(scenario: tm.Scenario) -> None:
    outcome = scenario.run(policy="wifi-first")
    assert outcome.policy.startswith("wifi-first")
    assert outcome.paths["lte"].payload_down_bytes < outcome.paths["wifi"].payload_down_bytes


def test_unknown_policy_is_an_error_with_a_hint(scenario: tm.Scenario) -> None:
    with pytest.raises(tm.PolicyError) as caught:
        scenario.run(policy="wifi-frist")
    assert "wifi-first" in caught.value.hint


def map_file(folder: Path, policy: str) -> Path:
    """A map for ``best-known`` with this policy alone."""
    file = folder / "map.toml"
    file.write_text(
        '[[case]]\npreferred = "wifi"\ncostly = "lte"\nactivity = 1.0\nrate = "20Mbps"\n'
        f'costly_share = 0.2\npolicy = "{policy}"\n'
    )
    return file


def test_policy_reads_its_file(scenario: tm.Scenario, tmp_path: Path) -> None:
    def over_lte(policy: str) -> int:
        file = map_file(tmp_path, policy)
        return scenario.run(policy=f"best-known:look=200ms:map={file}").paths["lte"].payload_down_bytes

    assert over_lte("wifi-only") < over_lte("lte-only") / 2


def test_file_of_a_policy_that_is_missing_or_invalid_is_an_error(scenario: tm.Scenario, tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    with pytest.raises(FileNotFoundError) as caught:
        scenario.run(policy=f"best-known:map={missing}")
    assert caught.value.filename == str(missing)
    with pytest.raises(tm.ScenarioError, match="wifi-frist"):
        scenario.run(policy=f"best-known:map={map_file(tmp_path, 'wifi-frist')}")


def test_progress_rises_to_one(scenario: tm.Scenario) -> None:
    shares: list[float] = []
    scenario.set("duration", "60s").run(progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) > 1


def test_exception_in_progress_stops_the_run(scenario: tm.Scenario) -> None:
    def stop(_: float) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        scenario.set("duration", LONG).run(progress=stop)


def test_other_threads_run_meanwhile(scenario: tm.Scenario) -> None:
    counts = [0]
    done = threading.Event()

    def count() -> None:
        while not done.wait(0.001):
            counts[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    scenario.set("duration", "60s").run()
    done.set()
    thread.join()
    assert counts[0] > 10


def test_threads_give_the_same_outcomes(scenario: tm.Scenario) -> None:
    with ThreadPoolExecutor(2) as pool:
        parallel = list(pool.map(scenario.run, [1, 2, 3]))
    assert [one.to_dict() for one in parallel] == [scenario.run(seed=s).to_dict() for s in (1, 2, 3)]


def test_ctrl_c_stops_a_run_within_100_ms() -> None:
    program = f"""
import time, tandem_mptcp as tm
scenario = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "{LONG}")
print("runs", flush=True)
try:
    scenario.run()
except KeyboardInterrupt:
    print(time.time())
"""
    run = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "runs\n"
    time.sleep(0.3)
    sent = time.time()
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert json.loads(output) - sent < 0.1
