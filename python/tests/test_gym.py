"""The environment of Gymnasium: its contract, determinism, rewards, and ends in every place."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import tandem_mptcp as tm
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import tandem_mptcp.gym as tmgym
from conftest import ROOT

ID = "tandem_mptcp.gym:tandem/Scenario-v0"


def make(scenario: tm.Scenario, **arguments: Any) -> Any:
    return gymnasium.make(ID, scenario=scenario, **arguments)


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    gc.collect()
    assert [one for one in threading.enumerate() if one.name == "tandem-episode"] == []


@pytest.fixture(scope="module")
def video() -> tm.Scenario:
    """A video that stalls on weak Wi-Fi, and LTE that leaves."""
    scenario = tm.Scenario.from_file(ROOT / "scenarios" / "video.toml").set("duration", "30s")
    return scenario.set("wifi.down.rate", "0.6Mbps").set("path.lte.leave_at", "12.34s")


def episode(env: Any, seed: int, action: Callable[[int], Any]) -> list[Any]:
    """All that an episode returns, action by action."""
    returned: list[Any] = [env.reset(seed=seed)]
    while not (len(returned) > 1 and returned[-1][3]):
        returned.append(env.step(action(len(returned))))
    return returned


def same(one: list[Any], other: list[Any]) -> bool:
    return repr([(a[0].tolist(), a[1:]) for a in one]) == repr([(a[0].tolist(), a[1:]) for a in other])


@pytest.mark.parametrize("action", ["priorities", "shares"])
def test_environment_passes_the_checker_of_gymnasium(scenario: tm.Scenario, action: str) -> None:
    check_env(make(scenario, action=action).unwrapped)


def test_rewards_add_up_to_the_outcome(video: tm.Scenario) -> None:
    env = make(video, interval_s=0.7, weights={"mos": 3.0})
    returned = episode(env, 5, lambda _: [1, 1])
    outcome = env.unwrapped.outcome
    kpis = outcome.connections[0].video["kpis"]
    costly = outcome.paths["lte"].wire_down_bytes + outcome.paths["lte"].wire_up_bytes
    expected = {
        "delivered_mbit": outcome.connections[0].delivered_bytes * 8e-6,
        "energy_j": outcome.energy_j,
        "costly_mbit": costly * 8e-6,
        "stalled_s": kpis["stalled_s"],
        "mos": kpis["mok"]["mos"],
    }
    assert min(expected.values()) > 0, "every part of the reward occurs"
    weights = env.unwrapped.weights
    for name, total in expected.items():
        assert sum(step[4][name] for step in returned[1:]) == pytest.approx(total)
    reward = sum(getattr(weights, name) * total for name, total in expected.items())
    assert sum(step[1] for step in returned[1:]) == pytest.approx(reward)
    assert weights.mos == 3.0
    # A stall is charged while it lasts.
    assert len([step for step in returned[1:] if step[4]["stalled_s"] > 0]) > 1


def test_observation_is_the_state_of_a_policy(video: tm.Scenario) -> None:
    states: list[tm.DeviceState] = []

    class Watch(tm.Policy):
        interval_s = 0.5

        def observe(self, state: tm.DeviceState) -> list[tm.Action]:
            states.append(state)
            return []

    video.run(seed=3, policy=Watch)
    env = make(video, interval_s=0.5)
    returned = episode(env, 3, lambda _: [1, 1])
    index = env.unwrapped.index
    # LTE leaves between two ticks, so the environment adds a shorter step up to the end.
    assert len(returned) == len(states) + 1 and returned[-1][4]["now_s"] == 30
    for (observation, *_), state in zip(returned[:-1], states, strict=True):
        assert observation in env.observation_space

        def shows(name: str, value: float | None, observed: Any = observation) -> None:
            assert observed[index[name]] == pytest.approx(float(value or 0), rel=1e-6), name

        shows("now_s", state.now_s)
        shows("energy_j", state.energy_j)
        shows("delivered_mb", (state.delivered_bytes or 0) / 1e6)
        for path in state.paths:
            shows(f"{path.name}.kind", tmgym.KINDS.index(path.kind))
            shows(f"{path.name}.up", path.up)
            shows(f"{path.name}.rate_down_mbps", path.rate_down_mbps)
            shows(f"{path.name}.srtt_s", path.srtt_s)
            shows(f"{path.name}.energy_j", path.energy_j)
            shows(f"{path.name}.allowance_left_mb", 1e6)
        assert state.app is not None
        shows("app.buffer_s", state.app.buffer_s)
        shows("app.stalled_s", state.app.stalled_s)
    energies = [sum(path.energy_j or 0 for path in state.paths) for state in states]
    assert energies == sorted(energies) and energies[0] < energies[-1]


def test_last_state_is_that_at_the_end(scenario: tm.Scenario) -> None:
    env = make(scenario, interval_s=0.7)
    returned = episode(env, 1, lambda _: [1, 1])
    times = [step[-1]["now_s"] for step in returned]
    assert times == pytest.approx([0, 0.7, 1.4, 2.1, 2.8, 3.0])
    assert [step[3] for step in returned[1:]] == [False] * 4 + [True]
    assert not any(step[2] for step in returned[1:])
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.unwrapped.step([1, 1])


def test_path_may_leave_in_the_last_millisecond(scenario: tm.Scenario) -> None:
    env = make(scenario.set("path.lte.leave_at", "2.9995s"), interval_s=0.7)
    returned = episode(env, 1, lambda _: [1, 1])
    # No observation follows the one at which LTE leaves.
    assert [step[-1]["now_s"] for step in returned[-3:]] == pytest.approx([2.8, 2.9995, 2.9995])
    delivered = env.unwrapped.outcome.connections[0].delivered_bytes * 8e-6
    assert sum(step[4]["delivered_mbit"] for step in returned[1:]) == pytest.approx(delivered)


@pytest.mark.parametrize("action", ["priorities", "shares"])
def test_episode_depends_on_seed_and_actions_only(scenario: tm.Scenario, action: Any) -> None:
    lossy = scenario.set("path.wifi.down.loss", 0.02)

    choices: list[list[float]] = [[1, 0], [0, 1], [1, 1], [0.25, 0.75]]

    def chosen(at: int) -> list[float]:
        return choices[at % 4]

    env, other = (make(lossy, action=action, interval_s=0.25) for _ in range(2))
    first = episode(env, 7, chosen)
    other.reset(seed=99)
    other.step(np.array([1, 1], env.action_space.dtype))
    assert same(episode(other, 7, chosen), first)
    assert not same(episode(other, 8, chosen), first)
    assert not same(episode(other, 7, lambda _: [1, 1]), first)


def test_later_seeds_follow_from_the_first(scenario: tm.Scenario) -> None:
    def seeds(first: int) -> list[int]:
        env = make(scenario)
        found = [env.reset(seed=first)[1]["seed"], *(env.reset()[1]["seed"] for _ in range(3))]
        env.close()
        return found

    assert seeds(4) == seeds(4) != seeds(5)
    assert seeds(4)[0] == 4 and len(set(seeds(4))) == 4


def test_actions_are_carried_out(scenario: tm.Scenario) -> None:
    def lte_bytes(chosen: list[float], **arguments: Any) -> int:
        env = make(scenario, **arguments)
        episode(env, 1, lambda _: chosen)
        return int(env.unwrapped.outcome.paths["lte"].payload_down_bytes)

    assert lte_bytes([1, 0]) < lte_bytes([1, 1]) / 10
    assert lte_bytes([1, 1]) == scenario.run(seed=1).paths["lte"].payload_down_bytes
    few, many = (lte_bytes([1 - part, part], action="shares") for part in (0.1, 0.9))
    assert few < many / 3
    assert lte_bytes([0, 0], action="shares") == lte_bytes([0.3, 0.3], action="shares")


def vector_makers(scenario: tm.Scenario) -> list[Callable[[], Any]]:
    return [partial(gymnasium.make, ID, scenario=scenario, interval_s=0.5) for _ in range(3)]


def test_vector_environments_agree(scenario: tm.Scenario) -> None:
    lossy = scenario.set("path.wifi.down.loss", 0.02)
    made = SyncVectorEnv(vector_makers(lossy)), AsyncVectorEnv(vector_makers(lossy), context="spawn")
    rows: list[list[Any]] = []
    for env in made:
        observation, info = env.reset(seed=11)
        assert info["seed"].tolist() == [11, 12, 13]
        own: list[Any] = [observation.tolist()]
        # Further than one episode of six steps.
        for at in range(10):
            observation, reward, _, truncated, _ = env.step(np.full((3, 2), [1, at % 2]))
            own.append((observation.tolist(), reward.tolist(), truncated.tolist()))
        own.append([outcome.to_dict() for outcome in env.get_attr("outcome")])
        rows.append(own)
        env.close()
    assert rows[0] == rows[1]
    assert [outcome["seed"] for outcome in rows[0].pop()] == [11, 12, 13]
    assert [sum(row[2]) for row in rows[0][1:]] == [0, 0, 0, 0, 0, 3, 0, 0, 0, 0]


def test_another_scenario_with_equal_paths_follows(scenario: tm.Scenario) -> None:
    env = make(scenario)
    slow = scenario.set("wifi.down.rate", "1Mbps")
    env.reset(seed=1, options={"scenario": slow})
    episode(env, 1, lambda _: [1, 1])
    assert env.unwrapped.outcome.to_dict()["paths"] == slow.run(seed=1).to_dict()["paths"]
    other = tm.Scenario.from_file(ROOT / "scenarios" / "3g-bluetooth.toml")
    with pytest.raises(ValueError, match="paths of the scenario"):
        env.reset(options={"scenario": other})


def test_wrong_arguments_are_clear_errors(scenario: tm.Scenario) -> None:
    env = tmgym.ScenarioEnv(scenario, action="shares")
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.step([1, 1])
    env.reset(seed=1)
    with pytest.raises(ValueError, match="3 numbers for 2 paths"):
        env.step([1, 1, 1])
    with pytest.raises(ValueError, match="finite and at least 0"):
        env.step([1, float("nan")])
    with pytest.raises(ValueError, match="finite and at least 0"):
        env.step([1, -1])
    env.step([1, 1])
    env.close()
    with pytest.raises(ValueError, match="'priorities' or 'shares', not 'paths'"):
        tmgym.ScenarioEnv(scenario, action="paths")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="0.001 to 1e6, not 0"):
        tmgym.ScenarioEnv(scenario, interval_s=0)
    with pytest.raises(ValueError, match="the weights are delivered_mbit, energy_j"):
        tmgym.ScenarioEnv(scenario, weights={"joy": 1})
    with pytest.raises(FileNotFoundError):
        tmgym.ScenarioEnv("no/such.toml")


def test_error_without_gymnasium_names_the_package() -> None:
    program = "import sys; sys.modules['gymnasium'] = None; import tandem_mptcp as tm; tm.gym"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 1 and "pip install 'tandem-mptcp[gym]'" in run.stderr


def test_features_have_units_and_finite_bounds(scenario: tm.Scenario) -> None:
    env = tmgym.ScenarioEnv(scenario)
    names = [feature.name for feature in env.features]
    assert len(set(names)) == len(names) == np.prod(env.observation_space.shape or ())
    for feature in env.features:
        assert 0 < feature.high < float("inf") and feature.text
        suffix = {"s": "_s", "Mbit/s": "_mbps", "MB": "_mb", "J": "_j", "J/Mbit": "_mbit", "": ""}
        assert feature.name.endswith(suffix[feature.unit])
