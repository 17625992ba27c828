"""Ends of episodes in the environment of Gymnasium: other processes, exits, Ctrl-C, lost objects."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import time

import pytest
import tandem_mptcp as tm

import tandem_mptcp.gym as tmgym
from conftest import ROOT


def test_forked_environments_work_in_a_program_of_their_own() -> None:
    program = """
import gymnasium, tandem_mptcp as tm, tandem_mptcp.gym
scenario = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "2s")
env = gymnasium.make_vec("tandem/Scenario-v0", 2, "async", scenario=scenario,
                         vector_kwargs={"context": "fork"})
env.reset(seed=1)
print(env.step(env.action_space.sample())[0].shape[0])
env.close()
"""
    run = [sys.executable, "-W", "error", "-c", program]
    assert subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout == "2\n"


@pytest.mark.parametrize("end", ["env.close(); env.close()", "del env", "pass", "env.reset()"])
def test_program_may_end_in_the_middle_of_an_episode(end: str) -> None:
    program = f"""
import tandem_mptcp as tm
scenario = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "3000s")
env = tm.gym.ScenarioEnv(scenario)
env.reset(seed=1)
env.step([1, 0])
{end}
print("end")
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "end\n", "")


def test_ctrl_c_ends_a_step_and_its_episode() -> None:
    program = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
import gymnasium, tandem_mptcp as tm
scenario = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("sample", "10s")
env = tm.gym.ScenarioEnv(scenario.set("duration", "300000s"), interval_s=300000)
env.reset(seed=1)
try:
    print("steps", flush=True)
    env.step([1, 1])
except KeyboardInterrupt:
    try:
        env.step([1, 1])
    except gymnasium.error.ResetNeeded:
        print("needs a reset")
    env.reset(seed=2)
    env.close()
    print([one.name for one in threading.enumerate()])
"""
    run = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "steps\n"
    # The step begins after the line is printed.
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    try:
        # The whole step would take minutes.
        output, _ = run.communicate(timeout=60)
    finally:
        run.kill()
        run.wait()
    assert (output, run.returncode) == ("needs a reset\n['MainThread']\n", 0)


def test_lost_environment_ends_its_thread(scenario: tm.Scenario) -> None:
    env = tmgym.ScenarioEnv(scenario.set("duration", "3000s"))
    env.reset(seed=1)
    assert "tandem-episode" in [one.name for one in threading.enumerate()]
    del env
    gc.collect()
    assert "tandem-episode" not in [one.name for one in threading.enumerate()]
