"""The package as a whole: imports, names, documentation."""

from __future__ import annotations

import inspect
import subprocess
import sys

import tandem_mptcp as tm
from tandem_mptcp import gym, plot

OPTIONAL = ["matplotlib", "numpy", "pandas", "polars", "pyarrow", "gymnasium", "dask"]


def python(program: str) -> str:
    """Output of a program in a new process."""
    run = [sys.executable, "-c", program]
    return subprocess.run(run, capture_output=True, check=True, text=True).stdout


def test_import_takes_no_optional_package() -> None:
    loaded = python(f"import sys, tandem_mptcp; print([n for n in {OPTIONAL} if n in sys.modules])")
    assert loaded == "[]\n"


def test_star_import_takes_no_optional_package_and_hides_no_builtin() -> None:
    program = f"""
import builtins, sys
from tandem_mptcp import *
print([name for name in vars(builtins) if name[0] != "_" and name in globals()])
print([name for name in {OPTIONAL} if name in sys.modules])
"""
    assert python(program) == "[]\n[]\n"


def test_import_is_fast() -> None:
    program = "import time; t = time.process_time(); import tandem_mptcp; print(time.process_time() - t)"
    assert min(float(python(program)) for _ in range(5)) < 0.1


def test_every_public_name_is_documented() -> None:
    for module in (tm, gym, plot):
        for name in module.__all__:
            item = getattr(module, name)
            if not callable(item):
                continue
            assert inspect.getdoc(item), name
            if not inspect.isclass(item):
                continue
            for member, value in vars(item).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert inspect.getdoc(value), f"{name}.{member}"
