"""Episodes: runs in threads whose policies wait for actions from outside."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Optional, Union

from ._native import Action
from .outcome import Outcome
from .policies import DeviceState, Policy
from .scenario import Scenario

__all__ = ["MIN_INTERVAL_S", "End", "Episode"]

MIN_INTERVAL_S = 0.001
"""Shortest time between two observations of a policy."""


@dataclass(frozen=True)
class End:
    """End of a run."""

    state: DeviceState | None
    """State at the end; None if the policy did not observe then."""
    outcome: Outcome
    """Outcome of the run."""


States = SimpleQueue[Union[DeviceState, End, BaseException]]
Decisions = SimpleQueue[Optional[Sequence[Action]]]


class _Stopped(Exception):
    """Ends a run whose episode nobody continues."""


class _Handover(Policy):
    """Hands each state over and waits for the actions. Needs no actions at the end of the run."""

    name = "gym"

    def __init__(self, states: States, decisions: Decisions, interval_s: float, end_s: float) -> None:
        self._states = states
        self._decisions = decisions
        self._step_s = interval_s
        self._end_s = end_s
        self.last: DeviceState | None = None
        self.stopped = threading.Event()

    def check(self, share: float) -> None:
        """Ends a run that is to stop between two observations."""
        if self.stopped.is_set():
            raise _Stopped

    def observe(self, state: DeviceState) -> Sequence[Action]:
        left_s = self._end_s - state.now_s
        if left_s <= 0:
            self.last = state
            return ()
        self._states.put(state)
        actions = self._decisions.get()
        if actions is None:
            raise _Stopped
        # The last interval ends with the run, so that there is an observation at its end, unless it
        # would be too short.
        if left_s < MIN_INTERVAL_S:
            self.interval_s = None
        else:
            self.interval_s = left_s if left_s < self._step_s + MIN_INTERVAL_S else self._step_s
        return actions


class Episode:
    """A run that continues by one observation of its policy at a time."""

    def __init__(self, scenario: Scenario, seed: int, interval_s: float) -> None:
        self._states: States = SimpleQueue()
        self._decisions: Decisions = SimpleQueue()
        end_s = scenario._native.duration_s
        policy = _Handover(self._states, self._decisions, interval_s, end_s)
        thread = threading.Thread(
            target=_run, args=(scenario, seed, policy, self._states), name="tandem-episode", daemon=True
        )
        # Also called for an object that is lost, and when Python exits.
        self._stop = weakref.finalize(self, _stop, thread, policy.stopped, self._decisions)
        thread.start()

    def first(self) -> DeviceState:
        """State at the start."""
        state = self._take()
        assert isinstance(state, DeviceState), "a policy observes at the start"
        return state

    def next(self, actions: Sequence[Action]) -> DeviceState | End:
        """Continues with these actions, up to the next state or the end."""
        return self._take(actions)

    def close(self) -> None:
        """Ends the run and its thread."""
        self._stop()

    def _take(self, actions: Sequence[Action] | None = None) -> DeviceState | End:
        try:
            if actions is not None:
                self._decisions.put(actions)
            taken = self._states.get()
        except BaseException:
            # After Ctrl-C the next state would pass for that of a later step.
            self.close()
            raise
        if isinstance(taken, BaseException):
            self.close()
            raise taken
        return taken


def _run(scenario: Scenario, seed: int, policy: _Handover, states: States) -> None:
    try:
        outcome = scenario.run(seed, policy=lambda: policy, progress=policy.check)
        states.put(End(policy.last, outcome))
    except _Stopped:
        pass
    except BaseException as error:  # noqa: BLE001
        states.put(error)


def _stop(thread: threading.Thread, stopped: threading.Event, decisions: Decisions) -> None:
    stopped.set()
    decisions.put(None)
    # The garbage collector may run in this very thread.
    if thread is not threading.current_thread():
        thread.join()
