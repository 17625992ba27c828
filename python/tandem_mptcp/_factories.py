"""Objects that steer a run, from an object, a class or a function that the caller gave."""

from __future__ import annotations

import copy
from typing import Any, Generic, TypeVar

__all__ = ["Factory", "factory"]

T = TypeVar("T")


class Factory(Generic[T]):
    """Makes a new object for each call, and has a name for results.

    ``given`` is an object to copy, or its class or a function to call.
    """

    def __init__(self, argument: str, given: object, base: type[T]) -> None:
        self._argument = argument
        self._given = given
        self._base = base
        self._first: T | None = self._make()
        self.name = _name(self._first)

    def __call__(self) -> T:
        first, self._first = self._first, None
        return self._make() if first is None else first

    def _make(self) -> T:
        expected = f"a tm.{self._base.__name__}, its class, or a function without arguments that returns one"
        given: Any = self._given
        if isinstance(given, self._base):
            pattern: T = given
            return copy.deepcopy(pattern)
        if not callable(given) or (isinstance(given, type) and not issubclass(given, self._base)):
            raise TypeError(f"{self._argument} is {expected}, not {given!r}")
        made: Any = given()
        if not isinstance(made, self._base):
            raise TypeError(f"{self._argument} is {expected}; {given!r} returned {made!r}")
        return made


def factory(argument: str, given: object, base: type[T]) -> Factory[T] | None:
    """The factory of a value for the argument; None for None. Raises ``TypeError`` for others."""
    return None if given is None else Factory(argument, given, base)


def _name(made: Any) -> str:
    name = made.name or type(made).__name__
    if not isinstance(name, str):
        raise TypeError(f"{type(made).__name__}.name is a str, not {name!r}")
    return name
