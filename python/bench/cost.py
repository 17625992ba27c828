"""What Python costs: a run beside ``tandem run``, in turns, and the import of the package.

    cost.py PROGRAM SCENARIO

Times are processor times, the least of several, so that other load of the machine hardly matters.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time

import tandem_mptcp as tm

TURNS = 7
DURATION = "120s"


def in_python(file: str) -> float:
    """Processor time of a run in this process, in seconds."""
    begun = time.process_time()
    tm.Scenario.from_file(file).set("duration", DURATION).run(seed=1).to_dict()
    return time.process_time() - begun


def by_program(program: str, file: str) -> float:
    """Processor time of ``tandem run`` with its files, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        run = [program, "-q", "run", file, "--seed", "1", "--duration", DURATION, "--out", f"{folder}/out"]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_import() -> float:
    """Processor time of the import in a new process, in seconds."""
    program = "import time; t = time.process_time(); import tandem_mptcp; print(time.process_time() - t)"
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return float(run.stdout)


def main() -> None:
    program, file = sys.argv[1:]
    turns = [(in_python(file), by_program(program, file)) for _ in range(TURNS)]
    python, rust = (min(times) for times in zip(*turns, strict=True))
    print(f"Scenario.run: {python:.3f} s, tandem run: {rust:.3f} s, {100 * (python / rust - 1):+.1f} %")
    print(f"import tandem_mptcp: {1e3 * min(of_import() for _ in range(TURNS)):.0f} ms")


if __name__ == "__main__":
    main()
