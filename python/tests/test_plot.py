"""Figures: size, contents, files."""

from __future__ import annotations

from pathlib import Path

import pytest
import tandem_mptcp as tm
from tandem_mptcp import plot


@pytest.fixture(scope="module")
def cases(scenario: tm.Scenario) -> dict[str, tm.Outcome]:
    """The run under two policies."""
    return {policy: scenario.run(policy=policy) for policy in ("none", "wifi-first")}


def test_figure_has_the_width_of_a_column_or_of_the_page(outcome: tm.Outcome) -> None:
    assert plot.timeline(outcome).get_figwidth() == pytest.approx(plot.COLUMN_MM / 25.4)
    wide = plot.timeline(outcome, width_mm=plot.PAGE_MM)
    assert wide.get_figwidth() == pytest.approx(plot.PAGE_MM / 25.4)
    with pytest.raises(ValueError, match="20 to 500"):
        plot.timeline(outcome, width_mm=3.3)


def test_timeline_has_a_panel_for_each_quantity(outcome: tm.Outcome) -> None:
    figure = plot.timeline(outcome, ["rate_down_mbps", "srtt_ms", "power_w"])
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["rate down (Mbit/s)", "srtt (ms)", "power (W)"]
    assert [len(axes.lines) for axes in figure.axes] == [2, 2, 3]
    for axes in figure.axes:
        highest = max(max(map(float, line.get_ydata())) for line in axes.lines)  # type: ignore[arg-type]
        assert axes.get_ylim()[0] == 0 and axes.get_ylim()[1] >= highest
    with pytest.raises(ValueError, match="srtt_ms"):
        plot.timeline(outcome, ["rtt"])


def test_timeline_of_an_upload_shows_the_rate_up(scenario: tm.Scenario) -> None:
    up = scenario.set("traffic.1.direction", "up").run()
    assert plot.timeline(up).axes[0].get_ylabel() == "rate up (Mbit/s)"


def test_timeline_of_datagrams_shows_their_direction() -> None:
    datagrams = tm.Scenario.from_toml("""
        duration = "1s"
        path = [{ name = "wifi", radio = "huang2012.wifi", down = { rate = "5Mbps", delay = "10ms" } }]
        traffic = [{ kind = "vbr", protocol = "udp", path = "wifi", rate = "2Mbps" }]
    """)
    for direction in ("down", "up"):
        outcome = datagrams.set("traffic.1.direction", direction).run()
        assert plot.timeline(outcome).axes[0].get_ylabel() == f"rate {direction} (Mbit/s)"


@pytest.mark.parametrize("what", ["delay", "jitter", "head_of_line"])
def test_cdf_has_a_line_for_each_case(cases: dict[str, tm.Outcome], what: str) -> None:
    axes = plot.cdf(cases, what).axes[0]  # type: ignore[arg-type]
    assert [line.get_label() for line in axes.lines] == list(cases)
    assert axes.get_ylim() == (0, 1)


def test_cdf_without_a_distribution_is_an_error(outcome: tm.Outcome) -> None:
    with pytest.raises(ValueError, match="no connection 2"):
        plot.cdf(outcome, connection=2)
    with pytest.raises(ValueError, match="delay, jitter"):
        plot.cdf(outcome, "rtt")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no outcome"):
        plot.cdf({})


def test_split_fills_each_bar(cases: dict[str, tm.Outcome]) -> None:
    axes = plot.split(cases).axes[0]
    right = max(patch.get_window_extent().x1 for patch in axes.patches)
    assert right == pytest.approx(axes.transData.transform((100, 0))[0])
    assert [label.get_text() for label in axes.get_yticklabels()] == list(cases)


def test_heat_map_takes_means_and_leaves_gaps() -> None:
    rows = [{"x": 1, "y": "a", "v": 1.0}, {"x": 1, "y": "a", "v": 3.0}, {"x": 2, "y": "b", "v": 4.0}]
    axes = plot.heat_map(rows, "x", "y", "v").axes[0]
    assert sorted(text.get_text() for text in axes.texts) == ["2", "4"]
    rows += [{"x": 1, "y": "a", "v": None}, {"x": 2, "y": "a", "v": float("nan")}, {"x": 3, "y": "a", "v": None}]
    axes = plot.heat_map(rows, "x", "y", "v").axes[0]
    assert sorted(text.get_text() for text in axes.texts) == ["2", "4"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "3"]
    with pytest.raises(ValueError, match="no row"):
        plot.heat_map(rows[3:], "x", "y", "v")
    with pytest.raises(KeyError, match="it has x, y, v"):
        plot.heat_map(rows, "x", "z", "v")
    with pytest.raises(ValueError, match="no row"):
        plot.heat_map([], "x", "y", "v")


@pytest.mark.parametrize("ending", ["pdf", "png", "svg"])
def test_equal_figures_give_equal_files(cases: dict[str, tm.Outcome], ending: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for file in files:
        plot.save(plot.split(cases), file)
    first, second = (file.read_bytes() for file in files)
    assert first == second and len(first) > 2000
    assert ending != "pdf" or b"/FontFile2" in first


def test_file_of_another_format_is_an_error(outcome: tm.Outcome, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.pdf, \.svg or \.png"):
        plot.save(plot.timeline(outcome), tmp_path / "figure.gif")
    assert list(tmp_path.iterdir()) == []


def test_notebook_shows_a_figure(outcome: tm.Outcome) -> None:
    assert plot.timeline(outcome)._repr_png_().startswith(b"\x89PNG")
