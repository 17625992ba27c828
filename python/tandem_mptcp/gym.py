"""A Gymnasium environment over a scenario: ``pip install 'tandem-mptcp[gym]'``.

Its import registers ``tandem/Scenario-v0``. A process that has not imported it names the module too:
``gymnasium.make("tandem_mptcp.gym:tandem/Scenario-v0", scenario=scenario)``.

>>> import gymnasium
>>> import tandem_mptcp as tm
>>> import tandem_mptcp.gym
>>> scenario = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "2s")
>>> env = gymnasium.make("tandem/Scenario-v0", scenario=scenario, interval_s=1.0)
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step([1, 0])  # LTE is a backup
>>> bool(observation[env.unwrapped.index["wifi.rate_down_mbps"]] > 5), truncated
(True, False)
>>> env.close()
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

try:
    import gymnasium
    import numpy as np
except ImportError as error:
    hint = "tandem_mptcp.gym needs gymnasium: pip install 'tandem-mptcp[gym]'"
    raise ImportError(hint, name=error.name) from error
from gymnasium import spaces
from numpy.typing import NDArray

from ._episode import MIN_INTERVAL_S, End, Episode
from ._native import Action
from ._observed import KINDS, Feature, features, numbers
from . import _reward
from ._reward import Totals, Weights
from .outcome import Outcome
from .policies import COSTLY, DeviceState
from .scenario import Scenario

__all__ = ["KINDS", "Feature", "ScenarioEnv", "Weights"]

MAX_INTERVAL_S = 1e6

Observation = NDArray[np.float32]
Info = dict[str, Any]


class ScenarioEnv(gymnasium.Env[Observation, NDArray[Any]]):
    """An episode is a run of the scenario; a step is one decision of its policy.

    ``ScenarioEnv(scenario, *, action="priorities", interval_s=0.1, weights=None)`` takes a scenario or
    the path of its file. A step simulates ``interval_s``, or less if a path comes or goes meanwhile.
    The last step of the run has ``truncated``: the network would go on. No state is terminal.

    **Observation**: the state that a ``tm.Policy`` observes, as a flat ``Box`` of 32-bit floats.
    ``features`` describes each number, with its unit and bounds; ``index`` finds it by its name.

    **Action**: with ``action="priorities"`` a ``MultiBinary`` with 1 for a regular path and 0 for a
    backup. With ``action="shares"`` a ``Box`` from 0 to 1 with a weight for each path: its share of
    the data is its part of the sum, and all shares are equal if the sum is 0. A device cannot set
    shares; they are for models that include the sender.

    **Reward**: the sum of what the step delivered and cost, each times its weight. ``weights`` replaces
    some of ``Weights``, such as ``{"energy_j": -2}``. ``info`` has the parts without weights. The
    rewards of an episode add up to the weighted totals of its ``outcome``.

    **Seeds**: ``reset(seed=7)`` runs the scenario with seed 7, later resets draw their seeds from it.
    ``info["seed"]`` of a reset is the seed of the run. ``reset(options={"scenario": other})`` runs
    another scenario with equal paths from then on.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    features: tuple[Feature, ...]
    """The numbers of an observation."""
    index: dict[str, int]
    """Place of each number in an observation, by its name."""
    weights: Weights
    """Weights of the reward."""
    outcome: Outcome | None
    """Outcome of the last finished episode."""

    def __init__(
        self,
        scenario: Scenario | str | os.PathLike[str],
        *,
        action: Literal["priorities", "shares"] = "priorities",
        interval_s: float = 0.1,
        weights: Mapping[str, float] | None = None,
        render_mode: None = None,
    ) -> None:
        if action not in ("priorities", "shares"):
            raise ValueError(f"action is 'priorities' or 'shares', not {action!r}")
        if not MIN_INTERVAL_S <= interval_s <= MAX_INTERVAL_S:
            raise ValueError(f"interval_s is from 0.001 to 1e6, not {interval_s!r}")
        self._scenario = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
        self._paths = self._scenario._native.paths
        self._action = action
        self._interval_s = interval_s
        self._episode: Episode | None = None
        self._totals = Totals()
        self._last: DeviceState | None = None
        names = [name for name, _ in self._paths]
        self.features = features(names)
        self.index = {feature.name: at for at, feature in enumerate(self.features)}
        self.weights = _reward.weights(weights)
        self.outcome = None
        self.render_mode = render_mode
        high = np.array([feature.high for feature in self.features], np.float32)
        self._high = high
        self.observation_space = spaces.Box(np.zeros_like(high), high)
        self.action_space = (
            spaces.MultiBinary(len(names))
            if action == "priorities"
            else spaces.Box(0.0, 1.0, (len(names),))
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Ends a run that is under way and starts another one."""
        super().reset(seed=seed)
        self.close()
        if options and "scenario" in options:
            self._take_scenario(options["scenario"])
        run_seed = int(self.np_random.integers(2**63)) if seed is None else seed
        episode = Episode(self._scenario, run_seed, self._interval_s)
        state = episode.first()
        self._episode, self._last, self._totals = episode, state, Totals.at(state)
        return self._observation(state), {"now_s": state.now_s, "seed": run_seed}

    def step(
        self, action: NDArray[Any] | Sequence[float]
    ) -> tuple[Observation, float, bool, bool, Info]:
        """Takes an action and simulates up to the next decision.

        Raises ``gymnasium.error.ResetNeeded`` before the first reset and after the end of an episode,
        which is also that of a step that was interrupted or failed.
        """
        if self._episode is None or self._last is None:
            raise gymnasium.error.ResetNeeded("no episode is under way; call reset")
        actions = self._actions(action, self._last)
        episode, self._episode = self._episode, None
        taken = episode.next(actions)
        if isinstance(taken, End):
            self.outcome = taken.outcome
            costly = {name: kind in COSTLY for name, kind in self._paths}
            state, totals = taken.state or self._last, Totals.of(taken.outcome, costly)
            episode.close()
        else:
            self._episode = episode
            state, totals = taken, Totals.at(taken)
        parts = totals.since(self._totals)
        self._last, self._totals = state, totals
        reward = sum(weight * parts[name] for name, weight in vars(self.weights).items())
        info = {"now_s": state.now_s, **parts}
        return self._observation(state), float(reward), False, isinstance(taken, End), info

    def close(self) -> None:
        """Ends a run that is under way."""
        episode, self._episode = self._episode, None
        if episode is not None:
            episode.close()

    def _take_scenario(self, scenario: Scenario) -> None:
        paths = scenario._native.paths
        if paths != self._paths:
            raise ValueError(f"the paths of the scenario are {paths}; those of the environment {self._paths}")
        self._scenario = scenario

    def _observation(self, state: DeviceState) -> Observation:
        return np.minimum(np.array(numbers(state), np.float32), self._high)

    def _actions(self, action: NDArray[Any] | Sequence[float], state: DeviceState) -> list[Action]:
        given = [float(one) for one in action]
        if len(given) != len(self._paths):
            raise ValueError(f"{len(given)} numbers for {len(self._paths)} paths")
        if self._action == "priorities":
            return [
                Action.regular(path.name) if path.backup else Action.backup(path.name)
                for regular, path in zip(given, state.paths, strict=True)
                if (regular == 0) != path.backup
            ]
        total = sum(given)
        if not min(given) >= 0 or not total < float("inf"):
            raise ValueError(f"weights of paths are finite and at least 0, not {given}")
        equal = 1 / len(given)
        return [Action.share([one / total if total > 0 else equal for one in given])]


gymnasium.register(id="tandem/Scenario-v0", entry_point="tandem_mptcp.gym:ScenarioEnv")
