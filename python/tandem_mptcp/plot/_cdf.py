"""Distribution functions."""

from __future__ import annotations

from typing import Literal

from ._figure import COLUMN_MM, Cases, PaperFigure, figure, legend_above, named, style

_TITLES = {
    "delay": "application delay (ms)",
    "jitter": "jitter (ms)",
    "head_of_line": "wait for earlier data (ms)",
}
# Ratio of the largest to the smallest value from which the axis is logarithmic.
_LOG_FROM = 50


def cdf(
    cases: Cases,
    what: Literal["delay", "jitter", "head_of_line"] = "delay",
    *,
    connection: int = 1,
    width_mm: float = COLUMN_MM,
) -> PaperFigure:
    """Draws a distribution function: a line for each outcome.

    ``cases`` is an outcome, or a dictionary of outcomes by their names in the legend. ``connection``
    counts from 1; the first four have distributions. The axis is logarithmic if the values differ
    by more than a factor of 50.
    """
    if what not in _TITLES:
        raise ValueError(f"no distribution {what!r}; choose one of {', '.join(_TITLES)}")
    lines: dict[str, list[float]] = {}
    for name, outcome in named(cases).items():
        if not 1 <= connection <= len(outcome.connections):
            raise ValueError(f"no connection {connection}; {name!r} has {len(outcome.connections)}")
        distribution = getattr(outcome.connections[connection - 1], what)
        if distribution is None or not distribution.percentiles_s:
            raise ValueError(f"connection {connection} of {name!r} has no distribution of its {what}")
        lines[name] = [1e3 * value for value in distribution.percentiles_s]
    with figure(width_mm, 50.0) as drawn:
        axes = drawn.subplots()
        shares = [percent / 100 for percent in range(101)]
        for index, (name, values) in enumerate(lines.items()):
            axes.plot(values, shares, label=name, **style(index))
        smallest = min(values[0] for values in lines.values())
        largest = max(values[-1] for values in lines.values())
        if smallest > 0 and largest / smallest > _LOG_FROM:
            axes.set_xscale("log")
        elif smallest >= 0:
            axes.set_xlim(left=0)
        axes.set_ylim(0, 1)
        axes.set_xlabel(_TITLES[what])
        axes.set_ylabel("share of " + ("bytes" if what == "head_of_line" else "messages"))
        legend_above(axes, columns=3)
    return drawn
