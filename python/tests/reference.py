"""The reference of the package in Markdown, from its docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import tandem_mptcp as tm
from tandem_mptcp import gym, plot
from tandem_mptcp._observed import DEVICE, PATH


def reference() -> str:
    """All public names: functions and classes of the package, then those of ``gym`` and ``plot``."""
    # `Warning` is not in `__all__`, where it would hide the builtin of that name.
    names = sorted([*tm.__all__, "Warning"])
    sections = [_section(f"tm.{name}", getattr(tm, name)) for name in names if name[0] != "_"]
    sections += [_section(f"tm.gym.{name}", getattr(gym, name)) for name in gym.__all__]
    sections.append(_observation())
    sections += [_section(f"tm.plot.{name}", getattr(plot, name)) for name in plot.__all__]
    return "\n".join(section for section in sections if section)


def _section(name: str, item: Any) -> str:
    if inspect.isclass(item):
        return f"## {name}\n\n{_class(item)}"
    if inspect.isfunction(item):
        return f"## {name}{_signature(item)}\n\n{_text(item)}"
    if item is gym.KINDS:
        kinds = ", ".join(f"`{kind}`" for kind in gym.KINDS)
        return f"## {name}\n\n{kinds}: kinds of radio by number, from 0.\n"
    if isinstance(item, float):
        return f"## {name}\n\n{item:g} mm.\n"
    return ""


def _is_of_matplotlib(value: object) -> bool:
    return str(getattr(value, "__module__", "")).startswith("matplotlib")


def _observation() -> str:
    """Tables of the numbers of an observation."""
    parts = ["## Observation of tm.gym.ScenarioEnv", "Each number is from 0 to its bound."]
    for title, rows in (("each path, after its name and a dot", PATH), ("the device", DEVICE)):
        table = [f"| Of {title} | Unit | Bound | |", "|---|---|---|---|"]
        table += [f"| `{one.name}` | {one.unit} | {one.high:g} | {_inline(one.text)} |" for one in rows]
        parts.append("\n".join(table))
    return "\n\n".join(parts) + "\n"


def _class(item: type) -> str:
    inherited = [base for base in item.__mro__ if base.__module__.startswith("tandem_mptcp")]
    members = {name: value for base in reversed(inherited) for name, value in vars(base).items()}
    if _is_native(item):
        members = {name: members[name] for name in sorted(members)}
    # matplotlib adds `set` to each class of figures, with a text that depends on its version.
    members = {name: value for name, value in members.items() if not _is_of_matplotlib(value)}
    parts = [_text(item)]
    attributes = _fields(item) | {
        name: inspect.getdoc(value) or ""
        for name, value in members.items()
        if name[0] != "_" and not callable(value) and _is_computed(value)
    }
    if attributes:
        rows = (f"| `{name}` | {_inline(doc)} |" for name, doc in attributes.items())
        parts.append("| Attribute | |\n|---|---|\n" + "\n".join(rows) + "\n")
    for name, value in members.items():
        function: Any = getattr(value, "__func__", value)
        if isinstance(value, staticmethod):
            function = value.__func__
        if name[0] != "_" and (inspect.isfunction(function) or _is_native_method(function)):
            parts.append(f"### {item.__name__}.{name}{_signature(function)}\n\n{_text(function)}")
    return "\n".join(parts)


def _is_computed(value: object) -> bool:
    is_descriptor = inspect.isgetsetdescriptor(value) or inspect.ismemberdescriptor(value)
    return is_descriptor or isinstance(value, property) or type(value).__name__ == "cached_property"


def _is_native(item: type) -> bool:
    return item.__module__ == "tandem_mptcp._native"


def _is_native_method(value: object) -> bool:
    return type(value).__name__ in ("method_descriptor", "builtin_function_or_method")


def _fields(item: type) -> dict[str, str]:
    """Fields of a class with the text below each."""
    if _is_native(item):
        return {}
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(item))).body
    assert isinstance(definition, ast.ClassDef)
    return dict(_documented(definition.body))


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, text in zip(body, body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            assert isinstance(field.target, ast.Name) and isinstance(text.value, ast.Constant)
            yield field.target.id, str(text.value.value)


def _signature(function: Callable[..., object]) -> str:
    signature = inspect.signature(function)
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _text(item: object) -> str:
    """A docstring in Markdown, its examples as blocks."""
    paragraphs = (inspect.getdoc(item) or "").split("\n\n")
    marked = (f"```pycon\n{p}\n```" if p.startswith(">>>") else _code(p) for p in paragraphs)
    return "\n\n".join(marked) + "\n"


def _inline(text: str) -> str:
    return _code(" ".join(text.split())).replace("|", "\\|")


def _code(text: str) -> str:
    """Prose with the code of reStructuredText as that of Markdown."""
    return re.sub(r"``([^`]+)``", r"`\1`", text)
