"""Values that algorithms in Python return and get: errors, copies, pickles."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import tandem_mptcp as tm

from steering import MinRtt, Reno, RoundRobin, WifiFirst


def returning(base: Any, method: str, value: object) -> Any:
    def method_of_mine(*_: object) -> object:
        return value

    return type("Mine", (base,), {method: method_of_mine, "uses_rate_samples": True})


STRANGER = tm.Candidate(7, "x", 0.1, 0.1, 1400, 14000, False, 0, 14000)


@pytest.mark.parametrize(
    ("argument", "made", "error", "message"),
    [
        ("scheduler", returning(MinRtt, "pick", 1), TypeError, r"Mine.pick returned 1 \(int\); return one"),
        ("scheduler", returning(MinRtt, "pick", STRANGER), ValueError, "over path 7, which is not among"),
        ("policy", returning(WifiFirst, "observe", None), TypeError, "Mine.observe returned None; return tm"),
        ("policy", returning(WifiFirst, "observe", [3]), TypeError, r"3 \(int\) among the actions"),
        (
            "policy",
            returning(WifiFirst, "observe", [tm.Action.backup("wlan")]),
            ValueError,
            r'returned Action.backup\("wlan"\): no such path; use one of 0 `wifi`, 1 `lte`',
        ),
        ("policy", returning(WifiFirst, "observe", [tm.Action.open(2)]), ValueError, "no such path"),
        ("policy", returning(WifiFirst, "observe", [tm.Action.share([1.0])]), ValueError, "1 shares for 2"),
        ("policy", returning(WifiFirst, "observe", [tm.Action.share([1.0, 1.0])]), ValueError, "sum is 1"),
        ("policy", type("Mine", (WifiFirst,), {"interval_s": 0}), ValueError, "Mine.interval_s is a number"),
        ("policy", type("Mine", (WifiFirst,), {"interval_s": "1s"}), TypeError, "not '1s' .str."),
        (
            "congestion",
            returning(Reno, "pacing_rate_bytes_per_s", -1),
            ValueError,
            "Mine.pacing_rate_bytes_per_s returned -1",
        ),
        ("scheduler", 3, TypeError, "scheduler is a tm.Scheduler, its class, or a function .* not 3"),
        ("scheduler", WifiFirst, TypeError, "scheduler is a tm.Scheduler"),
        ("policy", lambda: 5, TypeError, "returned 5"),
        ("scheduler", "blast", tm.ScenarioError, "blest"),
        ("congestion", "ren", tm.ScenarioError, "reno"),
        ("policy", "wifi-frist", tm.PolicyError, "wifi-first"),
        ("policy", type("Mine", (WifiFirst,), {"name": 3}), TypeError, "Mine.name is a str, not 3"),
    ],
)
def test_wrong_values_are_clear_errors(
    scenario: tm.Scenario, argument: str, made: Any, error: type[Exception], message: str
) -> None:
    arguments: dict[str, Any] = {argument: made}
    with pytest.raises(error, match=message):
        scenario.run(**arguments)


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("cwnd_bytes", 1.5, TypeError, "int from 1 to .*, not 1.5"),
        ("cwnd_bytes", 0, ValueError, "int from 1 to"),
        ("cwnd_bytes", 2**41, ValueError, "int from 1 to"),
        ("ssthresh_bytes", -1, ValueError, "ssthresh_bytes is an int"),
    ],
)
def test_window_takes_only_valid_sizes(
    name: str, value: object, error: type[Exception], message: str
) -> None:
    window = tm.Window(14000, 2**64 - 1)
    with pytest.raises(error, match=message):
        setattr(window, name, value)
    with pytest.raises(ValueError, match="acked_bytes is an int"):
        window.slow_start(2**70)
    assert (window.cwnd_bytes, window.ssthresh_bytes) == (14000, 2**64 - 1)


def test_abstract_method_must_be_defined(scenario: tm.Scenario) -> None:
    with pytest.raises(TypeError, match="pick"):
        scenario.run(scheduler=type("Empty", (tm.Scheduler,), {}))


def test_scheduler_without_a_second_path_is_a_warning(scenario: tm.Scenario) -> None:
    tcp = scenario.set("transport", {"protocol": "tcp", "path": "wifi"})
    (warning,) = tcp.run(scheduler=RoundRobin).warnings
    assert "the scheduler `RoundRobin` has no effect" in warning.message
    (warning,) = tcp.run(policy=WifiFirst).warnings
    assert "the policy `wifi-first` has no effect" in warning.message


@pytest.mark.parametrize(
    "value",
    [
        STRANGER,
        tm.SchedulerContext(1.0, 1400, 2800, 65535),
        tm.Window(14000, 2**64 - 1),
        tm.Coupling((tm.CoupledSubflow(0, 14000, 0.1, 1e5, None, 0),), None),
        tm.Action.backup("lte"),
        tm.Action.offload([True, False], 0.5),
    ],
)
def test_values_can_be_copied_pickled_and_shown(value: object) -> None:
    assert repr(copy.deepcopy(value)) == repr(pickle.loads(pickle.dumps(value))) == repr(value)


def test_values_are_read_only() -> None:
    with pytest.raises(AttributeError):
        setattr(STRANGER, "path", 1)  # noqa: B010
