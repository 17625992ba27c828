"""Outcomes: attributes, series, reports."""

from __future__ import annotations

import json
import multiprocessing
import pickle
from collections.abc import Container
from concurrent.futures import ProcessPoolExecutor
from copy import copy as copy_of
from dataclasses import fields
from pathlib import Path

import pytest
import tandem_mptcp as tm
from tandem_mptcp import _native


def test_attributes_are_the_members_of_result_json(outcome: tm.Outcome) -> None:
    result = outcome.to_dict()
    for name in ("seed", "duration_s", "title", "policy", "segments"):
        assert getattr(outcome, name) == result[name]
    device = {name: value for name, value in result["device"].items() if name not in ("name", "policy")}
    assert device == {name: getattr(outcome, name) for name in device}
    assert outcome.paths["wifi"].energy.total_j == result["paths"][0]["energy"]["total_j"]
    assert outcome.connections[0].delay.p95_s == result["connections"][0]["delay"]["p95_s"]


@pytest.mark.parametrize(
    "name", ["video", "middleboxes", "codel-background", "emtcp-paper", "mptcp-rec"]
)
def test_every_member_has_an_attribute(scenarios: Path, name: str) -> None:
    outcome = tm.Scenario.from_file(scenarios / f"{name}.toml").set("duration", "3s").run()
    result = outcome.to_dict()
    assert len(outcome.paths) == len(result["paths"])
    assert len(outcome.connections) == len(result["connections"])
    assert len(outcome.background) == len(result["background"])
    assert len(outcome.warnings) == len(result["warnings"])
    own = {field.name for field in fields(tm.Path)} - {"power_states"}
    assert own == set(result["paths"][0])


def test_pickled_outcome_has_everything(scenarios: Path, tmp_path: Path) -> None:
    scenario = tm.Scenario.from_file(scenarios / "video.toml").set("duration", "10s")
    outcome = scenario.set("traffic.1.start", "1s").run(seed=3, capture=True)
    copy: tm.Outcome = pickle.loads(pickle.dumps(outcome))
    assert copy.to_dict() == outcome.to_dict() and repr(copy) == repr(outcome)
    assert {name: bytes(column) for name, column in copy.series.items()} == {
        name: bytes(column) for name, column in outcome.series.items()
    }
    assert copy.series.units == outcome.series.units
    assert copy.to_arrow() == outcome.to_arrow()
    assert copy.report() == outcome.report() and str(copy) == str(outcome)
    assert copy.charts() == outcome.charts()
    for chart in outcome.charts():
        assert copy.svg(chart, width_mm=120) == outcome.svg(chart, width_mm=120)
    for one, name in ((outcome, "one"), (copy, "copy")):
        one.save_capture(tmp_path / name)
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "one").read_bytes()
    assert copy_of(copy).report() == outcome.report()


def test_outcome_comes_back_from_another_process(scenario: tm.Scenario) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        outcome = pool.submit(scenario.run, 5).result()
    assert outcome.to_dict() == scenario.run(5).to_dict()


def test_damaged_pickle_is_an_error() -> None:
    with pytest.raises(ValueError):
        _native.Page(b"\x82")
    with pytest.raises(ValueError, match="length"):
        _native.Columns(1.0, [("a", "", bytes(8)), ("b", "", bytes(16))])


def test_path_is_found_by_name_or_number(outcome: tm.Outcome) -> None:
    assert outcome.paths["lte"] is outcome.paths[1]
    with pytest.raises(KeyError, match="wifi, lte"):
        outcome.paths["wlan"]
    paths: Container[object] = outcome.paths
    assert "lte" in paths and 1 in paths and outcome.paths[1] in paths
    assert "wlan" not in paths and 2 not in paths


def test_power_states_cover_the_run(outcome: tm.Outcome) -> None:
    for path in outcome.paths:
        total = sum(state.seconds for state in path.power_states)
        assert total == pytest.approx(outcome.duration_s)


def test_column_is_an_array_of_floats(outcome: tm.Outcome) -> None:
    column = outcome.series["wifi.rate_down_mbps"]
    assert len(column) == 30 and column.typecode == "d"
    assert outcome.series["time_s"][0] == outcome.series.interval_s
    assert outcome.series.units["wifi.rate_down_mbps"] == "Mbit/s"
    with pytest.raises(KeyError, match=r"wifi\.rate_down_mbps"):
        outcome.series["wifi.rate"]


def test_report_is_one_page(outcome: tm.Outcome, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    html = outcome.report(file)
    assert html.startswith("<!doctype html>") and file.read_text() == html
    assert list(tmp_path.iterdir()) == [file]


def test_report_in_a_missing_folder_is_an_error(outcome: tm.Outcome, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        outcome.report(tmp_path / "none" / "report.html")


def test_notebook_shows_tables_and_charts(outcome: tm.Outcome) -> None:
    html = outcome._repr_html_()
    assert html.count("<table>") >= 4 and html.count("<svg") >= 3
    assert "<script" not in html


def test_text_is_that_of_the_program(outcome: tm.Outcome) -> None:
    assert str(outcome).startswith("Device\n\ndevice  policy")


def test_chart_is_svg_in_the_width_of_a_column(outcome: tm.Outcome) -> None:
    assert "energy-parts" in outcome.charts()
    assert outcome.svg("energy-parts", width_mm=85).startswith("<svg")
    with pytest.raises(KeyError, match="energy-parts"):
        outcome.svg("parts")


def test_result_is_plain_json(outcome: tm.Outcome) -> None:
    assert json.loads(json.dumps(outcome.to_dict())) == outcome.to_dict()
