"""Sweeps on this machine: the bytes of the program, and going on after a stop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tandem_mptcp as tm

from conftest import ROOT
from sweeping import (
    COMMAND,
    LHS_COMMAND,
    RUNS,
    digest,
    parts,
    run_program,
    small_lhs,
    small_sweep,
    start_program,
    wait_until,
)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """SHA-256 of the dataset of ``tandem sweep``."""
    out = tmp_path_factory.mktemp("expected")
    run_program(COMMAND, out)
    return digest(out)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tm.Sweep:
    """The sweep, finished by ``tm.sweep``."""
    return small_sweep(tmp_path_factory.mktemp("finished"))


def test_grid_has_the_bytes_of_the_program(finished: tm.Sweep, expected: str) -> None:
    assert digest(finished.path) == expected


def test_latin_hypercube_has_the_bytes_of_the_program(tmp_path: Path) -> None:
    run_program(LHS_COMMAND, tmp_path / "program")
    small_lhs(tmp_path / "python", jobs=1)
    assert digest(tmp_path / "program") == digest(tmp_path / "python")


def test_program_finishes_a_killed_sweep(tmp_path: Path, expected: str) -> None:
    program = f"from pathlib import Path; from sweeping import *; small_sweep(Path({str(tmp_path)!r}), jobs=1)"
    run = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT / "python" / "tests")
    wait_until(lambda: len(parts(tmp_path)) > 1)
    run.kill()
    run.wait()
    assert parts(tmp_path) and not (tmp_path / "sweep.parquet").exists()
    run_program(COMMAND, tmp_path)
    assert digest(tmp_path) == expected


def test_python_finishes_a_killed_sweep_of_the_program(tmp_path: Path, expected: str) -> None:
    run = start_program([*COMMAND[:-1], "--jobs", "1", "--out"], tmp_path)
    wait_until(lambda: len(parts(tmp_path)) > 1)
    run.kill()
    run.wait()
    shares: list[float] = []
    small_sweep(tmp_path, progress=shares.append)
    assert digest(tmp_path) == expected and shares[-1] == 1.0


def test_exception_in_progress_stops_the_sweep_which_then_goes_on(tmp_path: Path, expected: str) -> None:
    def stop(share: float) -> None:
        if share > 0.2:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        small_sweep(tmp_path, progress=stop)
    shares: list[float] = []
    small_sweep(tmp_path, progress=shares.append)
    assert shares == sorted(shares) and 0 < next(share for share in shares if share > 0)
    assert digest(tmp_path) == expected


def test_result_has_figures_tables_and_a_report(finished: tm.Sweep) -> None:
    table = finished.to_arrow()
    assert table.num_rows == RUNS and table["index"].to_pylist() == list(range(RUNS))
    frame = finished.to_pandas(["policy", "energy_j"])
    assert set(frame["policy"]) == {"none", "wifi-first"} and frame["energy_j"].min() > 0
    assert finished.summary["runs"] == RUNS and finished.summary["sweep"] == finished.id
    assert finished.report() == (Path(finished.path) / "report.html").read_text()
    assert finished.charts() and "energy" in str(finished) and finished.id in repr(finished)


def test_directory_of_another_sweep_is_an_error(finished: tm.Sweep) -> None:
    with pytest.raises(tm.SweepError, match="another sweep: different .*varied keys") as caught:
        small_lhs(finished.path)
    assert "another directory" in caught.value.hint


def test_invalid_arguments_are_errors(scenario: tm.Scenario, tmp_path: Path) -> None:
    out = tmp_path / "none"
    with pytest.raises(tm.ScenarioError, match="rate") as caught:
        tm.sweep(scenario, {"wifi.down.rate": ["5Mbps", "fast"]}, out=out)
    assert caught.value.diagnostics[0].setting == "path.wifi.down.rate=fast"
    assert caught.value.file == "vary"
    with pytest.raises(tm.ScenarioError, match="wlan"):
        tm.sweep(scenario, {"wlan.down.rate": ["5Mbps"]}, out=out)
    with pytest.raises(tm.SweepError, match="a range, which a grid"):
        tm.sweep(scenario, {"wifi.down.rate": "1Mbps..5Mbps"}, out=out)
    with pytest.raises(tm.SweepError, match="has no values"):
        tm.sweep(scenario, {"wifi.down.rate": []}, out=out)
    with pytest.raises(tm.PolicyError, match="wifi-frist"):
        tm.sweep(scenario, {}, policies="wifi-frist", out=out)
    with pytest.raises(FileNotFoundError) as missing:
        tm.sweep(scenario, {}, policies="best-known:map=none.toml", out=out)
    assert missing.value.filename == "none.toml"
    with pytest.raises(OSError, match="/dev/zero: it is larger than 256 MiB"):
        tm.sweep(scenario, {}, policies="best-known:map=/dev/zero", out=out)
    with pytest.raises(tm.SweepError, match=r"`device.policy` cannot vary beside other policies"):
        tm.sweep(scenario, {"device.policy": ["none", "qoe"]}, policies="wifi-first", out=out)
    with pytest.raises(ValueError, match="seeds is 0"):
        tm.sweep(scenario, {}, seeds=0, out=out)
    with pytest.raises(ValueError, match="needs a path"):
        tm.sweep(scenario, {}, out="s3://bucket/sweep")
    assert not out.exists()
    out.write_text("a file")
    with pytest.raises(tm.SweepError, match="not a directory"):
        tm.sweep(scenario, {}, out=out)
