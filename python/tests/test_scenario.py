"""Scenarios: three ways to read one, keys, errors, pickles."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import tandem_mptcp as tm

SHORT = {
    "duration": "1s",
    "path": [
        {
            "name": "lte",
            "radio": "huang2012.lte",
            "down": {"trace": "lte.csv", "delay": "30ms"},
            "up": {"rate": "5Mbps", "delay": "30ms"},
        }
    ],
    "traffic": [{"kind": "bulk"}],
}
TRACE = {"lte.csv": "time_s,rate_mbps\n0,4\n1,8\n2,4\n"}


def test_every_shipped_scenario_is_read(scenarios: Path) -> None:
    files = [path for path in sorted(scenarios.glob("*.toml")) if path.name != "film.toml"]
    one_device = [path for path in files if "[[device]]" not in path.read_text()]
    assert len(one_device) > 10
    for path in one_device:
        assert tm.Scenario.from_file(path).title


@pytest.mark.parametrize("name", ["bus", "cafe", "stadium"])
def test_scenario_of_several_devices_is_refused(scenarios: Path, name: str) -> None:
    with pytest.raises(tm.ScenarioError, match="several devices"):
        tm.Scenario.from_file(scenarios / f"{name}.toml")


def test_dictionary_gives_the_same_run_as_its_text() -> None:
    one = tm.Scenario.from_dict(SHORT, files=TRACE)
    other = tm.Scenario.from_toml(one.toml, files=TRACE)
    assert one == other
    assert one.run(seed=3).to_dict() == other.run(seed=3).to_dict()


def test_scenarios_with_equal_titles_texts_and_files_are_equal(tmp_path: Path) -> None:
    text = 'title = "LTE"\n' + tm.Scenario.from_dict(SHORT, files=TRACE).toml
    one = tm.Scenario.from_toml(text, files=TRACE)
    assert tm.Scenario.from_toml(text, files=TRACE, name="other.toml", folder=tmp_path) == one
    other = {"lte.csv": TRACE["lte.csv"].replace("8", "9")}
    assert tm.Scenario.from_toml(text, files=other) != one
    assert tm.Scenario.from_toml("seed = 2\n" + text, files=TRACE) != one


def test_set_leaves_the_scenario_as_it_is(scenario: tm.Scenario) -> None:
    changed = scenario.set("path.lte.down.rate", "5Mbps")
    assert "5Mbps" in changed.toml and "5Mbps" not in scenario.toml
    assert changed.title == scenario.title
    assert changed != scenario


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("path.wifi.down.loss", 0.25, "loss = 0.25"),
        ("transport.sack", False, "sack = false"),
        ("seed", 7, "seed = 7"),
        ("wifi.down.rate", "3Mbps", 'rate = "3Mbps"'),
        ("path.lte.down.queue", {"limit": "50 packets"}, 'limit = "50 packets"'),
    ],
)
def test_values_are_python_values_or_text(
    scenario: tm.Scenario, key: str, value: object, text: str
) -> None:
    try:
        assert text in scenario.set(key, value).toml
    except tm.ScenarioError as error:
        assert text in str(error)


def test_error_names_file_line_and_hint(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(tm.Scenario.from_dict(SHORT, files=TRACE).toml + '[transport]\nschedular = "blest"\n')
    line = file.read_text().count("\n")
    (tmp_path / "lte.csv").write_text(TRACE["lte.csv"])
    with pytest.raises(tm.ScenarioError) as caught:
        tm.Scenario.from_file(file)
    error = caught.value
    assert (error.file, error.line, error.column) == (str(file), line, 1)
    assert error.hint is not None and "scheduler" in error.hint
    assert isinstance(error, ValueError) and isinstance(error, tm.TandemError)
    assert pickle.loads(pickle.dumps(error)).diagnostics == error.diagnostics


def test_error_of_a_value_names_the_setting(scenario: tm.Scenario) -> None:
    with pytest.raises(tm.ScenarioError) as caught:
        scenario.set("seed", 3).set("wifi.down.rate", "10MBps").set("seed", 4)
    (problem,) = caught.value.diagnostics
    assert problem.setting == "path.wifi.down.rate=10MBps"
    assert (problem.file, problem.line, problem.column) == ("Scenario.set", 1, 21)
    assert problem.setting in str(caught.value) and "80Mbps" in str(problem.hint)
    assert pickle.loads(pickle.dumps(caught.value)).diagnostics == (problem,)


def test_error_in_a_chain_names_the_setting_it_came_from(scenario: tm.Scenario) -> None:
    chain = scenario.set("path.wifi.leave_at", "2s").set("transport.scheduler", "blest")
    for before in (chain, pickle.loads(pickle.dumps(chain))):
        with pytest.raises(tm.ScenarioError, match="not after `join_at` of 2.5s") as caught:
            before.set("path.wifi.join_at", "2.5s")
        assert caught.value.diagnostics[0].setting == "path.wifi.leave_at=2s"


def test_error_of_a_key_names_the_setting(scenario: tm.Scenario) -> None:
    for key, value, message in [
        ("path.wlan.down.rate", "1Mbps", "no entry `wlan`"),
        ("path.wifi.down.rat", 3, "unknown key `rat`"),
        ("transport.", "", "KEY=VALUE"),
    ]:
        with pytest.raises(tm.ScenarioError, match=message) as caught:
            scenario.set(key, value)
        assert caught.value.diagnostics[0].setting == f"{key}={value}"
        assert f"{key}={value}" in str(caught.value)


def test_problem_beside_the_settings_names_them(scenario: tm.Scenario) -> None:
    # The second path of that name is the problem.
    with pytest.raises(tm.ScenarioError, match="two paths are called `lte`") as caught:
        scenario.set("seed", 3).set("path.wifi.name", "lte")
    assert caught.value.diagnostics[0].setting is None
    assert caught.value.file.endswith(" with Scenario.set duration=3s seed=3 path.wifi.name=lte")


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(tm.ScenarioError) as caught:
        tm.Scenario.from_toml('duration = 5\nsample = "x"\n')
    assert {1, 2} <= {problem.line for problem in caught.value.diagnostics}


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
def test_value_that_toml_lacks_is_an_error(scenario: tm.Scenario, value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        scenario.set("seed", value)


def test_missing_file_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        tm.Scenario.from_file("no/such.toml")


def test_bytes_that_are_not_text_are_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"duration = \xff")
    with pytest.raises(tm.ScenarioError, match="UTF-8"):
        tm.Scenario.from_file(file)


def test_pickled_scenario_has_the_files_that_it_names(scenarios: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.toml"
    file.write_text(tm.Scenario.from_dict(SHORT, files=TRACE).toml)
    trace = tmp_path / "lte.csv"
    trace.write_text(TRACE["lte.csv"])
    scenario = tm.Scenario.from_file(file)
    trace.unlink()
    copy = pickle.loads(pickle.dumps(scenario))
    assert copy == scenario and hash(copy) == hash(scenario)
    assert copy.set("duration", "2s").run().duration_s == 2
