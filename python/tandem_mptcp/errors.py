"""Exceptions of the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CaptureError", "Diagnostic", "PolicyError", "ScenarioError", "SweepError", "TandemError"]


@dataclass(frozen=True)
class Diagnostic:
    """A problem of an input file: where it is, and how to correct it."""

    message: str
    """Description of the problem."""
    file: str
    """Name of the file."""
    line: int | None
    """Line, from 1; None if the problem has no place in the file."""
    column: int | None
    """Character within the line, from 1."""
    expected: str | None
    """The valid values at this place."""
    hint: str | None
    """A suggestion for a correction."""
    setting: str | None = None
    """The key and value that cause the problem: ``path.wifi.down.rate=fast``. ``file`` is then
    ``Scenario.set``, or ``vary`` for a sweep, and ``column`` counts in this text. None for a problem
    of the file."""


class TandemError(Exception):
    """Base class of the exceptions of this package."""


class ScenarioError(TandemError, ValueError):
    """A scenario has problems. ``str(error)`` shows all of them with their lines.

    >>> import tandem_mptcp as tm
    >>> try:
    ...     tm.Scenario.from_file("scenarios/wifi-lte.toml").set("transport.scheduler", "blast")
    ... except tm.ScenarioError as error:
    ...     print(error.diagnostics[0].message, error.hint, sep="; ")
    `scheduler` cannot be `blast`; did you mean `blest`?
    """

    diagnostics: tuple[Diagnostic, ...]
    """All problems, in the order of the file."""

    def __init__(self, text: str, diagnostics: list[tuple[Any, ...]]) -> None:
        super().__init__(text, diagnostics)
        self.diagnostics = tuple(Diagnostic(*members) for members in diagnostics)

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def file(self) -> str:
        """Name of the file with the first problem."""
        return self.diagnostics[0].file

    @property
    def line(self) -> int | None:
        """Line of the first problem, from 1."""
        return self.diagnostics[0].line

    @property
    def column(self) -> int | None:
        """Character of the first problem within its line, from 1."""
        return self.diagnostics[0].column

    @property
    def hint(self) -> str | None:
        """A suggestion for a correction of the first problem."""
        return self.diagnostics[0].hint


class CaptureError(TandemError, ValueError):
    """A file is not a capture of packets."""

    file: str
    """Name of the file."""
    hint: str
    """The next step."""

    def __init__(self, text: str, file: str, hint: str) -> None:
        super().__init__(text, file, hint)
        self.file = file
        self.hint = hint

    def __str__(self) -> str:
        return str(self.args[0])


class PolicyError(TandemError, ValueError):
    """A policy is unknown, or the device of the scenario cannot follow it."""

    hint: str
    """The next step."""

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text, hint)
        self.hint = hint

    def __str__(self) -> str:
        return str(self.args[0])


class SweepError(TandemError, ValueError):
    """A sweep is impossible, another one is in its directory, or its cluster is gone."""

    hint: str
    """The next step."""

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text, hint)
        self.hint = hint

    def __str__(self) -> str:
        return str(self.args[0])
