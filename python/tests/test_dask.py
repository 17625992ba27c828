"""Sweeps on a Dask cluster of processes: equal bytes, with workers and schedulers that go away."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import tandem_mptcp as tm
from distributed import Client, LocalCluster

from sweeping import digest, parts, small_lhs, small_sweep, wait_until

BATCH_S = 0.05


def connect(make: Any, *args: object, **options: object) -> Any:
    """Makes an object of Dask, whose classes have no types."""
    return make(*args, **options)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two worker processes with one thread each."""
    with (
        connect(LocalCluster, n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        connect(Client, cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """SHA-256 of the dataset of a sweep on this machine."""
    return digest(small_sweep(tmp_path_factory.mktemp("expected")).path)


def test_rows_come_back_to_the_client(client: Any, expected: str, tmp_path: Path) -> None:
    shares: list[float] = []
    finished = small_sweep(tmp_path, client=client, batch_s=BATCH_S, progress=shares.append)
    assert digest(tmp_path) == expected
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert finished.report() == (tmp_path / "report.html").read_text()


def test_workers_write_to_shared_storage(client: Any, expected: str, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/sweep"
    finished = small_sweep(url, client=client, batch_s=BATCH_S)
    assert digest(tmp_path / "sweep") == expected
    assert {file.name for file in (tmp_path / "sweep").iterdir()} == {
        "report.html",
        "result.json",
        "sweep.json",
        "sweep.parquet",
    }
    assert finished.to_arrow(["index"]).num_rows == finished.summary["runs"]
    assert small_sweep(url, client=client).id == finished.id
    with pytest.raises(tm.SweepError, match="another sweep"):
        small_lhs(url, client=client)


def test_shared_storage_goes_on_after_a_stop(client: Any, expected: str, tmp_path: Path) -> None:
    def stop(share: float) -> None:
        if share > 0.2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small_sweep(f"file://{tmp_path}/sweep", client=client, batch_s=BATCH_S, progress=stop)
    assert parts(tmp_path / "sweep")
    small_sweep(tmp_path / "sweep")
    assert digest(tmp_path / "sweep") == expected


def test_sweeps_of_two_places_share_no_results(client: Any, expected: str, tmp_path: Path) -> None:
    here: list[tm.Sweep] = []

    def begin_another(_: float) -> None:
        if not here:
            here.append(small_sweep(tmp_path / "here", client=client, batch_s=BATCH_S))

    small_sweep(f"file://{tmp_path}/there", client=client, batch_s=BATCH_S, progress=begin_another)
    assert digest(tmp_path / "here") == digest(tmp_path / "there") == expected


def test_files_of_killed_workers_are_removed_at_the_end(client: Any, expected: str, tmp_path: Path) -> None:
    left = tmp_path / ".writing-1"
    left.write_text("half a part")
    small_sweep(f"file://{tmp_path}", client=client, batch_s=BATCH_S)
    assert digest(tmp_path) == expected and not left.exists()


def test_files_that_are_no_sweep_are_not_touched(client: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(tm.SweepError, match=r"no sweep\.json"):
        small_sweep(f"file://{tmp_path}", client=client)


def test_killed_worker_costs_only_its_batch(client: Any, expected: str, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(share: float) -> None:
        if share > 0.2 and not killed:
            killed.append(min(client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    small_sweep(tmp_path, client=client, batch_s=BATCH_S, progress=kill)
    assert killed and digest(tmp_path) == expected


def test_results_lost_with_their_worker_are_computed_again(client: Any, expected: str, tmp_path: Path) -> None:
    lost: list[str] = []

    def kill(share: float) -> None:
        if share > 0.2 and not lost:
            wait_until(lambda: all(state.status == "finished" for state in client.futures.values()))
            pids = client.run(os.getpid)
            worker = min(pids, key=lambda address: pids[address])
            lost.extend(client.has_what()[worker])
            os.kill(pids[worker], signal.SIGKILL)
            wait_until(lambda: worker not in client.scheduler_info()["workers"])

    small_sweep(tmp_path, client=client, batch_s=BATCH_S, progress=kill)
    assert any(key.startswith("tandem-batch") for key in lost) and digest(tmp_path) == expected


def test_sweep_goes_on_after_the_scheduler_went_away(expected: str, tmp_path: Path) -> None:
    file, out = tmp_path / "scheduler.json", tmp_path / "sweep"
    with (
        program("dask_scheduler", "--scheduler-file", file, "--host", "127.0.0.1", "--no-dashboard", "--port", "0") as scheduler,
        program("dask_worker", "--scheduler-file", file, "--nthreads", "1", "--no-dashboard", "--no-nanny") as worker,
    ):
        wait_until(lambda: file.exists() and file.stat().st_size > 0)
        client = connect(Client, json.loads(file.read_text())["address"], timeout=60)

        def kill_after_two_parts() -> None:
            wait_until(lambda: len(parts(out)) > 1)
            scheduler.kill()

        killer = threading.Thread(target=kill_after_two_parts)
        killer.start()
        with pytest.raises(tm.SweepError, match="scheduler is gone, after") as caught:
            small_sweep(out, client=client, batch_s=BATCH_S)
        killer.join()
        # The end of a client whose scheduler was killed is Dask's affair, and sometimes hangs.
        with suppress(asyncio.TimeoutError):
            client.close(timeout=5)
        worker.kill()
    assert f"kept in {out}; the same call goes on" in caught.value.hint
    kept = parts(out)
    assert kept and not (out / "sweep.parquet").exists()
    small_sweep(out)
    assert digest(out) == expected


def program(name: str, *arguments: str | Path) -> subprocess.Popen[bytes]:
    """Starts a program of Dask."""
    module = [sys.executable, "-W", "ignore", "-m", f"distributed.cli.{name}"]
    return subprocess.Popen([*module, *map(str, arguments)], stderr=subprocess.DEVNULL)
