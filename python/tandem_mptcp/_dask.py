"""Sweeps on the workers of a Dask cluster.

A batch is a task; ``Sweep.run_batch`` computes the same rows on any worker, so Dask may run it again
after a worker was lost. Rows come back to the client, or workers write them to storage they share.
"""

from __future__ import annotations

import importlib
import queue
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from . import _native
from .errors import SweepError

# Batches of each thread of a worker, running and waiting.
BATCHES_IN_FLIGHT = 2
# Maximum number of runs in a batch: a row has about a kilobyte before compression.
MAX_BATCH = 4096
# Beginning of the name of a file that is being written.
TEMPORARY = ".writing-"
# Time between two looks at the cluster, in seconds.
CHECK_INTERVAL_S = 0.5


class Client(Protocol):
    """The part of ``dask.distributed.Client`` that a sweep uses."""

    @property
    def status(self) -> str: ...
    def nthreads(self) -> Any: ...
    def submit(self, func: Any, *args: Any, **kwargs: Any) -> Any: ...
    def gather(self, futures: Any) -> Any: ...
    def cancel(self, futures: Any) -> Any: ...


class Folder:
    """A directory of this machine, to which the rows come back."""

    target = None

    def __init__(self, path: str, sweep: _native.Sweep) -> None:
        self._directory = _native.SweepDirectory(path, sweep)
        self.unfinished = self._directory.unfinished
        self.keep = self._directory.write_part
        self.finish = self._directory.finish
        self.close = self._directory.close


class SharedStorage:
    """A URL of fsspec to which the workers write. The merge happens in a temporary directory here."""

    def __init__(self, url: str, sweep: _native.Sweep) -> None:
        self.target = url
        self._fs, self._root = _filesystem(url)
        self._sweep = sweep
        self._copy = tempfile.TemporaryDirectory(prefix="tandem-sweep-")
        self._here = Path(self._copy.name)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        """Compares the description with one at the URL, or writes it there."""
        begun = self._fs.exists(f"{self._root}/sweep.json")
        if begun:
            self._get("sweep.json")
        elif not all(name.startswith(TEMPORARY) for name in self._names("")):
            hint = "name a new or empty directory"
            raise SweepError(f"{self.target} holds files but no sweep.json\nhint: {hint}", hint)
        _native.SweepDirectory(self._here, self._sweep).close()
        if not begun:
            self._put("sweep.json")
            self._fs.makedirs(f"{self._root}/parts", exist_ok=True)

    def unfinished(self) -> list[tuple[int, int]]:
        """Runs that are left, as ranges."""
        if self._fs.exists(f"{self._root}/sweep.parquet"):
            return []
        return self._sweep.unfinished(self._names("parts"))

    def keep(self, first: int, end: int, part: bytes) -> None:
        """Workers keep the parts themselves."""

    def finish(self) -> _native.SweepSummary:
        """Merges the parts, and puts the dataset and the report beside them."""
        if self._fs.exists(f"{self._root}/sweep.parquet"):
            self._get("sweep.parquet")
        for name in self._names("parts"):
            if not (self._here / "sweep.parquet").exists():
                self._get(f"parts/{name}")
        directory = _native.SweepDirectory(self._here, self._sweep)
        try:
            summary = directory.finish()
        finally:
            directory.close()
        for name in ("result.json", "report.html", "sweep.parquet"):
            self._put(name)
        if self._fs.exists(f"{self._root}/parts"):
            self._fs.rm(f"{self._root}/parts", recursive=True)
        # Only killed workers have left any: all parts are here.
        for name in self._names(""):
            if name.startswith(TEMPORARY):
                self._fs.rm_file(f"{self._root}/{name}")
        return summary

    def close(self) -> None:
        """Removes the temporary directory."""
        self._copy.cleanup()

    def _names(self, folder: str) -> list[str]:
        """Names of the files in a folder of the URL; none without such a folder."""
        path = f"{self._root}/{folder}".rstrip("/")
        self._fs.invalidate_cache()
        found: list[str] = self._fs.ls(path, detail=False) if self._fs.exists(path) else []
        return [name.rstrip("/").rpartition("/")[2] for name in found]

    def _get(self, name: str) -> None:
        (self._here / name).parent.mkdir(exist_ok=True)
        self._fs.get_file(f"{self._root}/{name}", str(self._here / name))

    def _put(self, name: str) -> None:
        write(self._fs, self._root, name, (self._here / name).read_bytes())


def _filesystem(url: str) -> tuple[Any, str]:
    fs, root = importlib.import_module("fsspec").core.url_to_fs(url)
    return fs, str(root).rstrip("/")


def write(fs: Any, root: str, name: str, content: bytes) -> None:
    """Writes a file as a whole: under a temporary name, and renamed."""
    temporary = f"{root}/{TEMPORARY}{uuid.uuid4().hex}"
    fs.makedirs(f"{root}/{name}".rpartition("/")[0], exist_ok=True)
    fs.pipe_file(temporary, content)
    fs.mv(temporary, f"{root}/{name}")


def description(json: str) -> str:
    """The description as the result of a task, so that each worker gets it once."""
    return json


@lru_cache(maxsize=4)
def _prepared(json: str) -> _native.Sweep:
    return _native.Sweep(json)


def batch(json: str, first: int, end: int, target: str | None) -> tuple[float, bytes]:
    """Runs a batch on a worker: the seconds that it took, and the rows unless they are at ``target``."""
    sweep = _prepared(json)
    begun = time.monotonic()
    part = sweep.run_batch(first, end)
    seconds = time.monotonic() - begun
    if target is None:
        return seconds, part
    fs, root = _filesystem(target)
    write(fs, root, f"parts/{_native.part_name(first, end)}", part)
    return seconds, b""


def run(
    sweep: _native.Sweep,
    out: str,
    client: Client,
    batch_s: float,
    progress: Callable[[float], object] | None,
) -> _native.SweepSummary:
    """Runs what is left of a sweep on the workers, then merges."""
    storage = SharedStorage(out, sweep) if "://" in out else Folder(out, sweep)
    try:
        left = storage.unfinished()
        if left:
            _Submission(sweep, storage, client, batch_s, out, progress).run(left)
        return storage.finish()
    finally:
        storage.close()


class _Submission:
    """The batches of a sweep on a cluster: some in flight, the others in the queue."""

    def __init__(
        self,
        sweep: _native.Sweep,
        storage: Folder | SharedStorage,
        client: Client,
        batch_s: float,
        out: str,
        progress: Callable[[float], object] | None,
    ) -> None:
        self._sweep, self._storage, self._client = sweep, storage, client
        self._batch_s, self._out, self._progress = batch_s, out, progress
        # Dask runs tasks of equal keys once. Rows that a worker writes to one target reach no other.
        self._batches_id = f"{sweep.id}-{uuid.uuid5(uuid.NAMESPACE_URL, storage.target or '').hex}"
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._running: dict[str, tuple[Any, int, int]] = {}
        self._finished = 0

    def run(self, left: list[tuple[int, int]]) -> None:
        """Runs the ranges; raises ``SweepError`` if the cluster is gone or a batch fails."""
        self._finished = self._sweep.runs - sum(end - first for first, end in left)
        description_task = None
        try:
            threads = self._threads()
            batches = _native.SweepQueue(left, threads, self._batch_s, MAX_BATCH)
            key = f"tandem-sweep-{self._sweep.id}"
            description_task = self._client.submit(description, self._sweep.json(), key=key)
            looked = time.monotonic()
            while self._submit(batches, description_task, threads) or self._running:
                self._collect(batches)
                if time.monotonic() - looked > CHECK_INTERVAL_S:
                    threads, looked = self._threads(), time.monotonic()
        finally:
            if self._running and self._client.status == "running":
                with suppress(Exception):
                    self._client.cancel([future for future, _, _ in self._running.values()])
            del description_task

    def _threads(self) -> int:
        """Threads of all workers, at least one: workers may still be on their way."""
        self._check_cluster()
        try:
            threads: dict[str, int] = self._client.nthreads()
            return max(1, sum(threads.values()))
        except (OSError, TimeoutError, RuntimeError) as error:
            raise self._gone() from error

    def _submit(self, batches: _native.SweepQueue, json: Any, threads: int) -> bool:
        """Fills the cluster; False once no batch is left."""
        while len(self._running) < threads * BATCHES_IN_FLIGHT:
            taken = batches.take()
            if taken is None:
                return False
            key = f"tandem-batch-{self._batches_id}-{taken[0]}-{taken[1]}"
            future = self._client.submit(batch, json, *taken, self._storage.target, key=key)
            self._running[key] = (future, *taken)
            future.add_done_callback(self._done.put)
        return True

    def _collect(self, batches: _native.SweepQueue) -> None:
        """Keeps the results that have arrived, after some time without one none."""
        arrived: list[Any] = []
        with suppress(queue.Empty):
            arrived.append(self._done.get(timeout=CHECK_INTERVAL_S))
            while True:
                arrived.append(self._done.get_nowait())
        self._check_cluster()
        good = [future for future in arrived if future.status == "finished"]
        for future, (seconds, part) in zip(good, self._gather(good), strict=True):
            _, first, end = self._running.pop(future.key)
            self._storage.keep(first, end, part)
            batches.record(end - first, seconds)
            self._finished += end - first
        for future in arrived:
            if future.key not in self._running:
                continue
            if future.status in ("error", "cancelled"):
                raise self._failure(future)
            # Its worker was lost with the result, which another one computes again or has by now.
            future.add_done_callback(self._done.put)
        if self._progress is not None:
            self._progress(self._finished / self._sweep.runs)

    def _gather(self, futures: list[Any]) -> Iterable[tuple[float, bytes]]:
        try:
            results: list[tuple[float, bytes]] = list(self._client.gather(futures))
            return results
        except OSError as error:
            raise self._gone() from error
        except Exception as error:
            self._check_cluster()
            raise self._stopped(f"a result was lost: {error!r}") from error

    def _check_cluster(self) -> None:
        if self._client.status != "running":
            raise self._gone()

    def _gone(self) -> SweepError:
        return self._stopped("Dask's scheduler is gone")

    def _failure(self, future: Any) -> Exception:
        if future.status != "error":
            return self._gone()
        error = future.exception()
        failure = self._stopped(f"a batch failed on a worker: {type(error).__name__}: {error}")
        failure.__cause__ = error
        return failure

    def _stopped(self, reason: str) -> SweepError:
        hint = (
            f"finished runs are kept in {self._out}; the same call goes on with the others, with "
            "another client" + ("" if self._storage.target else " or without one")
        )
        count = f"{reason}, after {self._finished} of {self._sweep.runs} runs"
        return SweepError(f"{count}\nhint: {hint}", hint)
