"""Measures what a sweep costs on Dask, and simulates the same sweep on a cluster of up to 1,000 cores.

Measured here: the time of a run, the size of a batch's rows, and the time of Dask's scheduler and client
for a task that does nothing, on two worker processes. Simulated: workers that ask one scheduler for
batches. The scheduler handles one task after the other, and the rows of each batch pass one link.
"""

from __future__ import annotations

import heapq
import time
from typing import Any

from dask.distributed import Client, LocalCluster

import tandem_mptcp as tm
from tandem_mptcp import _dask, _native

RUNS = 200
TASKS = 2000
# Tasks in flight for each worker, as a sweep has them.
IN_FLIGHT = _dask.BATCHES_IN_FLIGHT
# The sweep that is simulated.
PAPER_RUNS = 10_000_000
CORES = (1, 10, 100, 1000)
BATCH_S = 5.0
LINK_BYTES_PER_S = 125e6


def nothing(description: str, number: int) -> int:
    """A batch without runs."""
    return number


def task_s(client: Any) -> float:
    """Time that scheduler and client need for a task that does nothing, in seconds."""
    description = client.submit(_dask.description, "x" * 10_000, key="description")
    begun = time.monotonic()
    keys = [f"nothing-{number}" for number in range(TASKS)]
    client.gather([client.submit(nothing, description, number, key=key) for number, key in enumerate(keys)])
    return (time.monotonic() - begun) / TASKS


def run_cost() -> tuple[float, int]:
    """Time of a run of one core, in seconds, and bytes of the rows of a batch of ``RUNS`` runs."""
    scenario = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "5s")
    axes = [("wifi.down.rate", ["5Mbps", "20Mbps"]), ("lte.down.delay", ["10ms", "40ms"])]
    described = _native.Sweep.describe(scenario._native, axes, None, [], RUNS // 4)
    begun = time.monotonic()
    part = described.run_batch(0, RUNS)
    return (time.monotonic() - begun) / RUNS, len(part)


def simulated_s(cores: int, run_s: float, row_bytes: float, overhead_s: float) -> float:
    """Time of the whole sweep, in seconds: an event for each batch that a core finishes."""
    runs_per_batch = max(1, round(BATCH_S / run_s))
    left = -(-PAPER_RUNS // runs_per_batch)
    compute_s = runs_per_batch * run_s
    scheduler_free = link_free = 0.0
    cores_free = [0.0] * cores
    heapq.heapify(cores_free)
    while left > 0:
        left -= 1
        asked = heapq.heappop(cores_free)
        # The next batch already waits at the worker, so the scheduler delays only the one after it.
        scheduler_free = max(scheduler_free, asked) + overhead_s
        begun = max(asked, scheduler_free - (IN_FLIGHT - 1) * compute_s)
        ended = begun + compute_s
        link_free = max(link_free, ended) + runs_per_batch * row_bytes / LINK_BYTES_PER_S
        heapq.heappush(cores_free, ended)
    return max(link_free, *cores_free)


def main() -> None:
    """Prints the measured figures, then the simulated table."""
    run_s, batch_bytes = run_cost()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,  # type: ignore[no-untyped-call]
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        overhead_s = task_s(client)
    rows = f"rows of {RUNS} runs {batch_bytes / 1000:.1f} kB"
    print(f"measured: a run {1000 * run_s:.2f} ms, {rows}, a task of Dask {1000 * overhead_s:.2f} ms")
    print(f"simulated: {PAPER_RUNS:,} runs in batches of {BATCH_S:.0f} s, rows over 1 Gbit/s")
    print(f"{'cores':>6} {'time, h':>9} {'of ideal, %':>12}")
    for cores in CORES:
        took = simulated_s(cores, run_s, batch_bytes / RUNS, overhead_s)
        print(f"{cores:6} {took / 3600:9.3f} {100 * PAPER_RUNS * run_s / cores / took:12.1f}")


if __name__ == "__main__":
    main()
