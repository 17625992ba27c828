"""Documents: their programs run, and the reference agrees with the docstrings.

``UPDATE_DOCS=1 sh scripts/python-test.sh -k reference`` writes the reference.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import tandem_mptcp as tm

from conftest import ROOT
from reference import reference

PAGE = ROOT / "docs" / "reference" / "python.md"
MARK = "<!-- generated from the docstrings -->\n"


PAGES = ["README.md", "python/README.md", "docs/reference/python.md", "docs/how-to/python-algorithms.md"]


@pytest.mark.parametrize("name", PAGES)
def test_programs_of_documents_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("scenarios", "traces"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    programs: list[str] = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
    assert programs
    names: dict[str, object] = {}
    for program in programs:
        exec(compile(program, name, "exec"), names)


def test_program_of_the_readme_draws_in_six_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len([line for line in program.splitlines() if line]) <= 6
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "README.md", "exec"), {})
    assert [file.name for file in tmp_path.glob("*.pdf")] == ["split.pdf"]


def test_examples_of_the_reference_are_code_blocks() -> None:
    prose = re.sub(r"^```\w+\n.*?^```$", "", reference(), flags=re.DOTALL | re.MULTILINE)
    assert ">>>" not in prose and "``" not in prose


@pytest.mark.parametrize("item", [tm.Candidate, tm.Coupling, tm.SubflowView, tm.Window])
def test_reference_has_every_member_of_a_native_class(item: type) -> None:
    section = reference().partition(f"## tm.{item.__name__}\n")[2].partition("\n## ")[0]
    missing = [
        name
        for name in vars(item)
        if name[0] != "_" and f"| `{name}` |" not in section and f".{name}(" not in section
    ]
    assert missing == []


def test_reference_agrees_with_the_docstrings() -> None:
    written, _, old = PAGE.read_text().partition(MARK)
    new = "\n" + reference()
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(written + MARK + new)
    else:
        assert old == new, "UPDATE_DOCS=1 sh scripts/python-test.sh -k reference writes the page"
