"""Scenarios."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import _native
from ._factories import factory
from .congestion import CongestionControl
from .outcome import Outcome
from .policies import Policy
from .schedulers import Scheduler

__all__ = ["Scenario"]


class Scenario:
    """A valid scenario: paths, radios, transport, traffic. It never changes.

    docs/reference/scenario.md describes every key. Scenarios are equal if their titles, texts and files
    are, and can be pickled with the files that they name.

    >>> import tandem_mptcp as tm
    >>> scenario = tm.Scenario.from_file("scenarios/wifi-lte.toml")
    >>> slower = scenario.set("path.lte.down.rate", "5Mbps")
    >>> slower.run().goodput_mbps < scenario.run().goodput_mbps
    True
    """

    def __init__(self, native: _native.Scenario) -> None:
        self._native = native

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Scenario:
        """Reads a scenario file. Files that it names are relative to its folder.

        Raises ``OSError`` if the file cannot be read, and ``ScenarioError`` with file, line and hint
        of every problem in it.
        """
        file = Path(path)
        return cls(_native.Scenario(str(file), file.read_bytes(), file.parent, {}))

    @classmethod
    def from_toml(
        cls,
        text: str,
        *,
        name: str = "scenario.toml",
        folder: str | os.PathLike[str] = "",
        files: Mapping[str, str] | None = None,
    ) -> Scenario:
        """Reads the text of a scenario.

        ``name`` stands for the text in messages, and is the title of a scenario without one.
        ``files`` has the texts of files that the scenario names, such as traces; others are read
        from ``folder``.

        >>> import tandem_mptcp as tm
        >>> tm.Scenario.from_toml('''
        ... duration = "1s"
        ... path = [{ name = "lte", radio = "huang2012.lte", down = { trace = "lte.csv", delay = "30ms" },
        ...           up = { rate = "5Mbps", delay = "30ms" } }]
        ... traffic = [{ kind = "bulk" }]
        ... ''', files={"lte.csv": "time_s,rate_mbps\\n0,4\\n1,8\\n2,4\\n"}).run().paths[0].name
        'lte'
        """
        return cls(_native.Scenario(name, text.encode(), Path(folder), dict(files or {})))

    @classmethod
    def from_dict(
        cls,
        data: Mapping[str, Any],
        *,
        name: str = "scenario.toml",
        folder: str | os.PathLike[str] = "",
        files: Mapping[str, str] | None = None,
    ) -> Scenario:
        """Reads a scenario from dictionaries and lists that mirror the TOML file.

        Quantities are strings with a unit, such as ``"20Mbps"``. Lines in errors are those of
        ``toml``, the text made from the data. The other arguments are those of ``from_toml``.
        """
        text = _native.document(_json(data))
        return cls.from_toml(text, name=name, folder=folder, files=files)

    def set(self, key: str, value: Any) -> Scenario:
        """A copy of the scenario with one key set; the scenario itself stays as it is.

        The key is that of ``tandem run --set``: ``transport.scheduler``, or
        ``path.wifi.down.rate`` for the path with that name. Parts that only one key has may be left
        out: ``wifi.down.rate``. The value is a string, with its unit or as TOML, a number, a bool,
        a list or a dictionary.

        >>> import tandem_mptcp as tm
        >>> base = tm.Scenario.from_file("scenarios/wifi-lte.toml")
        >>> base.set("path.wifi.down.loss", 0.01).set("transport.scheduler", "blest").run().seed
        1
        >>> base.set("path.wlan.down.rate", "1Mbps")
        Traceback (most recent call last):
        ...
        tandem_mptcp.errors.ScenarioError: Scenario.set path.wlan.down.rate=1Mbps: `path` has no entry `wlan`
        hint: use one of `wifi`, `lte`, or a number from 1 to 2
        """
        text = value if isinstance(value, str) else _native.value(_json(value))
        return Scenario(self._native.set(key, text))

    def run(
        self,
        seed: int | None = None,
        policy: str | Policy | Callable[[], Policy] | None = None,
        progress: Callable[[float], object] | None = None,
        *,
        scheduler: str | Scheduler | Callable[[], Scheduler] | None = None,
        congestion: str | CongestionControl | Callable[[], CongestionControl] | None = None,
        capture: bool = False,
    ) -> Outcome:
        """Simulates the scenario. The same seed gives the same outcome, byte for byte.

        ``seed`` is from 0 to 2**64 - 1, by default the scenario's. ``policy`` replaces the scenario's, such
        as ``"wifi-first"``, ``"emtcp:0.1"`` or ``"best-known:map=FILE"`` with a path from the current
        directory. ``progress`` gets the finished share, from 0 to 1, at most 50 times a second; an
        exception in it stops the run. With ``capture``, the outcome has the packets of
        connections at the device's interfaces, in memory. Other threads run meanwhile, and Ctrl-C stops the run.

        ``policy``, ``scheduler`` and ``congestion`` are also objects of ``tm.Policy``,
        ``tm.Scheduler`` and ``tm.CongestionControl`` in Python. An object is a pattern: the run uses
        copies by ``copy.deepcopy``, one for the device, for each end of a connection, for each
        subflow of an end. A class, or a function without arguments, is called for each instead. An
        exception in their methods ends the run and is raised here.

        Raises ``PolicyError`` if the policy is unknown, or the device cannot follow it, ``OSError`` if
        its file cannot be read, and ``ScenarioError`` for an invalid file or an unknown name of a
        scheduler or a congestion control.
        """
        scenario = self
        if isinstance(scheduler, str):
            scenario, scheduler = scenario.set("transport.scheduler", scheduler), None
        if isinstance(congestion, str):
            scenario, congestion = scenario.set("transport.congestion", congestion), None
        run = scenario._native.run(
            seed,
            policy if isinstance(policy, str) else factory("policy", policy, Policy),
            progress,
            factory("scheduler", scheduler, Scheduler),
            factory("congestion", congestion, CongestionControl),
            capture,
        )
        return Outcome(run)

    @property
    def title(self) -> str:
        """Title; the name of the file if the scenario has none."""
        return self._native.title

    @property
    def description(self) -> str | None:
        """Longer description."""
        return self._native.description

    @property
    def toml(self) -> str:
        """Text of the scenario, with the keys that were set."""
        return self._native.toml

    def __repr__(self) -> str:
        return f"<Scenario {self.title!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self.toml)

    def _compared(self) -> tuple[str, str, dict[str, str]]:
        return self.title, self.toml, self._native.files

    def __reduce__(self) -> tuple[Callable[..., Scenario], tuple[Any, ...]]:
        native = self._native
        toml = native.toml.encode()
        state = (native.name, toml, native.folder, native.files, native.title, native.settings)
        return _restored, state


def _restored(
    name: str,
    toml: bytes,
    folder: Path,
    files: dict[str, str],
    title: str,
    settings: list[tuple[str, str]],
) -> Scenario:
    """Makes a pickled scenario again."""
    return Scenario(_native.Scenario(name, toml, folder, files, title, settings))


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
