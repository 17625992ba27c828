"""Cost of Python: runs beside ``tandem run``, the import, algorithms in Python, steps of Gymnasium.

    cost.py PROGRAM SCENARIO

Times are processor times, the least of several turns, so that other load of the machine hardly
matters; only steps of Gymnasium, which two threads take in turns, are measured by the clock.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import tandem_mptcp as tm
from tandem_mptcp.gym import ScenarioEnv

from algorithms import MinRtt, Reno, WifiFirst

TURNS = 7
DURATION = "120s"


def in_python(file: str) -> float:
    """Processor time of a run in this process, in seconds."""
    begun = time.process_time()
    tm.Scenario.from_file(file).set("duration", DURATION).run(seed=1).to_dict()
    return time.process_time() - begun


def by_program(program: str, file: str) -> float:
    """Processor time of ``tandem run`` with its files, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        run = [program, "-q", "run", file, "--seed", "1", "--duration", DURATION, "--out", f"{folder}/out"]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_import() -> float:
    """Processor time of the import in a new process, in seconds."""
    program = "import time; t = time.process_time(); import tandem_mptcp; print(time.process_time() - t)"
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return float(run.stdout)


def least(measure: Callable[[], float]) -> float:
    """The least of several measurements."""
    return min(measure() for _ in range(TURNS))


def of_run(scenario: tm.Scenario, argument: str, value: object) -> float:
    """Processor time of a run, in seconds."""
    arguments: dict[str, Any] = {argument: value}
    begun = time.process_time()
    scenario.run(seed=1, **arguments)
    return time.process_time() - begun


def count_calls(scenario: tm.Scenario, argument: str, algorithm: type[Any], method: str) -> int:
    """Calls of a method in a run."""
    calls = [0]

    def counted(self: Any, *given: Any) -> Any:
        calls[0] += 1
        return getattr(algorithm, method)(self, *given)

    arguments: dict[str, Any] = {argument: type(algorithm.__name__, (algorithm,), {method: counted})}
    scenario.run(seed=1, **arguments)
    return calls[0]


def of_algorithms(scenario: tm.Scenario) -> None:
    """Prints the cost of algorithms in Python beside built-in ones that decide equally."""
    for argument, algorithm, built_in, method in (
        ("policy", WifiFirst, "wifi-first", "observe"),
        ("scheduler", MinRtt, "min-rtt", "pick"),
        ("congestion", Reno, "reno", "on_ack"),
    ):
        calls = count_calls(scenario, argument, algorithm, method)
        own = least(partial(of_run, scenario, argument, algorithm))
        other = least(partial(of_run, scenario, argument, built_in))
        print(
            f"{argument} {built_in}: in Python {own:.3f} s, built in {other:.3f} s, {own / other:.2f} times; "
            f"{calls} calls of {method}, {calls / own:.0f} a second, {1e6 * (own - other) / calls:.1f} us each"
        )


def of_steps(scenario: tm.Scenario, interval_s: float) -> tuple[float, float]:
    """Steps of an environment each second, and the time of a step beyond the simulation's."""

    def episode() -> float:
        env = ScenarioEnv(scenario, interval_s=interval_s)
        env.reset(seed=1)
        begun = time.perf_counter()
        while not env.step([1, 1])[3]:
            pass
        return time.perf_counter() - begun

    def run() -> float:
        begun = time.perf_counter()
        scenario.run(seed=1)
        return time.perf_counter() - begun

    steps = round(scenario.run(seed=1).duration_s / interval_s)
    taken, simulated = least(episode), least(run)
    return steps / taken, (taken - simulated) / steps


def main() -> None:
    program, file = sys.argv[1:]
    turns = [(in_python(file), by_program(program, file)) for _ in range(TURNS)]
    python, rust = (min(times) for times in zip(*turns, strict=True))
    print(f"Scenario.run: {python:.3f} s, tandem run: {rust:.3f} s, {100 * (python / rust - 1):+.1f} %")
    print(f"import tandem_mptcp: {1e3 * least(of_import):.0f} ms")
    scenario = tm.Scenario.from_file(file).set("duration", DURATION)
    of_algorithms(scenario)
    for interval_s in (0.1, 1.0):
        rate, more = of_steps(scenario, interval_s)
        print(f"Gymnasium: {rate:.0f} steps of {interval_s} s a second, {1e6 * more:.0f} us each beyond the run")


if __name__ == "__main__":
    main()
