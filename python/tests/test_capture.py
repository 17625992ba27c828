"""Captures: what the analysis finds is what the run counted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import pytest
import tandem_mptcp as tm


def test_capture_counts_what_the_run_counted(scenario: tm.Scenario, tmp_path: Path) -> None:
    file = tmp_path / "run.pcapng"
    outcome = scenario.run(seed=1, capture=True)
    outcome.save_capture(file)
    shares: list[float] = []
    found = tm.capture(file, progress=shares.append)
    assert shares[-1] == 1.0
    (connection,) = found.connections
    assert [one.path for one in connection.subflows] == ["wifi", "lte"]
    for subflow in connection.subflows:
        assert subflow.down.payload_bytes == outcome.paths[subflow.path].payload_down_bytes
    result = found.to_dict()["connections"][0]
    assert {field.name for field in fields(tm.MptcpConnection)} == set(result)
    assert {field.name for field in fields(tm.Subflow)} == set(result["subflows"][0])
    assert found.report().startswith("<!doctype html>")
    assert "MPTCP connections" in repr(found) and str(found)


def test_series_of_a_capture_are_those_of_its_csv(scenario: tm.Scenario, tmp_path: Path) -> None:
    file = tmp_path / "run.pcapng"
    outcome = scenario.run(seed=1, capture=True)
    outcome.save_capture(file)
    found = tm.capture(file)
    table = found.to_arrow()
    lines = [line.split(",") for line in found.series_csv().splitlines()]
    assert table.column_names == lines[0] == list(found.series)
    for line, row in zip(lines[1:], table.to_pylist(), strict=True):
        assert [None if text == "" else float(text) for text in line] == pytest.approx(list(row.values()))
    carried = sum(found.series["connection1.lte.down.payload_bytes"])
    assert carried == outcome.paths["lte"].payload_down_bytes
    assert found.series.units["connection1.lte.down.payload_bytes"] == "bytes"
    assert found.series["time_s"][0] == found.series.interval_s
    assert found.series.to_polars().height == len(lines) - 1


def test_run_without_capture_has_none(outcome: tm.Outcome, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="capture=True"):
        outcome.save_capture(tmp_path / "run.pcapng")


def test_file_that_is_no_capture_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no packets here")
    with pytest.raises(tm.CaptureError) as caught:
        tm.capture(file)
    assert caught.value.file == str(file) and "tcpdump" in caught.value.hint
    with pytest.raises(FileNotFoundError) as missing:
        tm.capture(tmp_path / "none.pcap")
    assert missing.value.filename == str(tmp_path / "none.pcap")


def test_ctrl_c_ends_the_wait_for_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = f"""
import tandem_mptcp as tm
print("waits", flush=True)
try:
    tm.capture({str(pipe)!r})
except KeyboardInterrupt:
    print("interrupted")
"""
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert run.stdout is not None and run.stdout.readline() == "waits\n"
        time.sleep(0.2)
        run.send_signal(signal.SIGINT)
        assert run.communicate(timeout=20)[0] == "interrupted\n"
    finally:
        run.kill()
