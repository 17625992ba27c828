"""Policies, schedulers and congestion controls in Python."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest
import tandem_mptcp as tm

from conftest import ROOT
from steering import Lia, MinRtt, Reno, RoundRobin, WifiFirst

LONG = "3000s"
"""Simulated time of a run that an error stops."""


@pytest.fixture(scope="module")
def walk(scenarios_toml: tm.Scenario) -> tm.Scenario:
    """Losses, and Wi-Fi that goes away."""
    return scenarios_toml.set("path.wifi.leave_at", "6s").set("path.lte.down.loss", 0.005)


@pytest.fixture(scope="module")
def scenarios_toml() -> tm.Scenario:
    return tm.Scenario.from_file(ROOT / "scenarios" / "wifi-lte.toml").set("duration", "12s")


@pytest.mark.parametrize(("own", "name"), [(MinRtt, "min-rtt"), (RoundRobin, "round-robin")])
def test_scheduler_in_python_equals_the_built_in_one(
    walk: tm.Scenario, own: type[tm.Scheduler], name: str
) -> None:
    built_in = walk.set("transport.scheduler", name).run(seed=3)
    outcome = walk.run(seed=3, scheduler=own)
    assert outcome.to_dict() == built_in.to_dict()
    assert own.__name__ in outcome.report() and name in built_in.report()


def test_congestion_control_in_python_equals_the_built_in_one(walk: tm.Scenario) -> None:
    built_in = walk.run(seed=3, congestion="reno")
    assert walk.run(seed=3, congestion=Reno()).to_dict() == built_in.to_dict()
    assert walk.run(seed=3).to_dict() != built_in.to_dict()


def test_policy_in_python_equals_the_built_in_one(walk: tm.Scenario) -> None:
    built_in = walk.run(seed=3, policy="wifi-first")
    assert built_in.policy_changes > 1
    assert walk.run(seed=3, policy=WifiFirst).to_dict() == built_in.to_dict()


def test_coupled_congestion_control_sees_all_subflows(walk: tm.Scenario) -> None:
    coupled, alone = walk.run(congestion=Lia), walk.run(congestion=Reno)
    assert coupled.to_dict() == walk.run(congestion=Lia).to_dict() != alone.to_dict()


def test_name_is_that_of_the_class_or_of_the_object(scenario: tm.Scenario) -> None:
    class Named(WifiFirst):
        def __init__(self, name: str) -> None:
            self.name = name

    assert scenario.run(policy=Named("mine:2")).policy == "mine:2"
    assert scenario.run(policy=Named("")).policy == "Named"


def test_object_is_a_pattern_that_runs_leave_as_it_is(scenario: tm.Scenario) -> None:
    pattern = RoundRobin()
    first = scenario.run(scheduler=pattern)
    assert pattern.last == -1
    assert scenario.run(scheduler=pattern).to_dict() == first.to_dict()


def test_each_connection_and_each_subflow_has_its_own_object(scenario: tm.Scenario) -> None:
    schedulers: list[RoundRobin] = []
    controls: list[Reno] = []

    def scheduler() -> RoundRobin:
        schedulers.append(RoundRobin())
        return schedulers[-1]

    def control() -> Reno:
        controls.append(Reno())
        return controls[-1]

    scenario.run(scheduler=scheduler, congestion=control)
    # One connection over two paths, with two ends.
    assert len(schedulers) == 2 and len(controls) >= 4
    assert len([one for one in schedulers if one.last != -1]) == 1


def test_object_is_copied_by_deepcopy_for_each_connection(scenario: tm.Scenario) -> None:
    class Copied(RoundRobin):
        copies: ClassVar[list[RoundRobin]] = []

        def __deepcopy__(self, memo: dict[int, Any]) -> RoundRobin:
            copy = type(self)()
            copy.last = self.last
            self.copies.append(copy)
            return copy

    pattern = Copied()
    pattern.last = 7
    more = '\n[[traffic]]\nkind = "bulk"\nstart = "1s"\n'
    outcome = tm.Scenario.from_toml(scenario.toml + 2 * more).run(scheduler=pattern)
    assert [one.delivered_bytes > 0 for one in outcome.connections] == [True] * 3
    # A copy for each of the two ends. The device sends no data, and the pattern takes part in none.
    assert len(Copied.copies) == 6
    assert sorted(copy.last for copy in Copied.copies)[3:] == [7, 7, 7]
    assert [copy.last in (0, 1) for copy in Copied.copies].count(True) == 3
    assert pattern.last == 7


def test_policy_observes_the_device(scenario: tm.Scenario) -> None:
    states: list[tm.DeviceState] = []

    class Watch(tm.Policy):
        interval_s = 0.5

        def observe(self, state: tm.DeviceState) -> list[tm.Action]:
            states.append(state)
            return []

    outcome = scenario.run(policy=Watch)
    assert outcome.policy_changes == 0
    assert [state.now_s for state in states] == [0.5 * i for i in range(7)]
    wifi, lte = states[-1].paths
    assert states[-1].paths["lte"] is lte
    assert (wifi.kind, lte.kind, wifi.costly, lte.costly) == ("wifi", "lte", False, True)
    assert wifi.bytes_down > 1e6 and 1 < wifi.rate_down_mbps < 21 and wifi.awake and wifi.receiving
    assert wifi.srtt_s is not None and 0.02 < wifi.srtt_s < 1
    assert states[-1].app is None
    assert pickle.loads(pickle.dumps(states[-1])) == states[-1]


def test_actions_are_followed(scenario: tm.Scenario) -> None:
    def carried(*actions: tm.Action) -> int:
        class Fixed(tm.Policy):
            interval_s = None

            def observe(self, state: tm.DeviceState) -> Iterable[tm.Action]:
                return actions

        return scenario.run(policy=Fixed).paths["lte"].payload_down_bytes

    both = carried()
    assert carried(tm.Action.backup("lte")) == carried(tm.Action.backup(1)) < both / 10
    assert carried(tm.Action.close("lte")) < both / 10
    assert carried(tm.Action.close(1), tm.Action.open(1), tm.Action.regular("lte")) > both / 2
    assert 0 < carried(tm.Action.share([0.9, 0.1])) < both
    assert carried(tm.Action.offload([False, True], 1.0)) <= both


def raising(base: Any, method: str) -> Any:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("mine")

    return type("Failing", (base,), {method: fail, "uses_rate_samples": True})


@pytest.mark.parametrize(
    ("argument", "base", "method"),
    [
        ("scheduler", MinRtt, "pick"),
        ("scheduler", MinRtt, "on_scheduled"),
        ("congestion", Reno, "on_ack"),
        ("congestion", Reno, "on_loss"),
        ("congestion", Reno, "pacing_rate_bytes_per_s"),
        ("policy", WifiFirst, "observe"),
    ],
)
def test_exception_ends_the_run_with_its_traceback(
    scenario: tm.Scenario, argument: str, base: Any, method: str
) -> None:
    begun = time.monotonic()
    arguments: dict[str, Any] = {argument: raising(base, method)}
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        scenario.set("duration", LONG).run(**arguments)
    assert time.monotonic() - begun < 5
    assert "fail" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def test_exception_of_a_constructor_is_raised(scenario: tm.Scenario) -> None:
    built: list[int] = []

    def build() -> MinRtt:
        built.append(1)
        if len(built) > 1:
            raise RuntimeError("the second")
        return MinRtt()

    with pytest.raises(RuntimeError, match="the second"):
        scenario.run(scheduler=build)


def test_threads_give_the_same_outcomes(scenario: tm.Scenario) -> None:
    def run(seed: int) -> dict[str, Any]:
        return scenario.run(seed, WifiFirst, scheduler=RoundRobin, congestion=Reno).to_dict()

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(run, [1, 2, 1])) == [run(1), run(2), run(1)]


@pytest.mark.parametrize("argument", ["scheduler=MinRtt", "congestion=Reno", "policy=WifiFirst"])
def test_ctrl_c_stops_a_run_within_100_ms(argument: str) -> None:
    program = f"""
import sys, time, tandem_mptcp as tm
sys.path.insert(0, "python/tests")
from steering import MinRtt, Reno, WifiFirst
scenario = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "{LONG}")
print("runs", flush=True)
try:
    scenario.run({argument})
except KeyboardInterrupt:
    print(time.time())
"""
    command = [sys.executable, "-c", f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler){program}"]
    run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "runs\n"
    time.sleep(0.3)
    sent = time.time()
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert json.loads(output) - sent < 0.1


def test_run_inside_a_method_works(scenario: tm.Scenario) -> None:
    class Nested(MinRtt):
        def __init__(self) -> None:
            self.inner: float | None = None

        def pick(
            self, candidates: Sequence[tm.Candidate], context: tm.SchedulerContext
        ) -> tm.Candidate | None:
            if self.inner is None:
                self.inner = scenario.set("duration", "1s").run().goodput_mbps
            return super().pick(candidates, context)

    assert scenario.run(scheduler=Nested).to_dict() == scenario.run().to_dict()
