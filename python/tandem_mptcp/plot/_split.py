"""Division of the payload over the paths."""

from __future__ import annotations

from ..outcome import Outcome
from ._figure import COLOURS, COLUMN_MM, HATCHES, Cases, PaperFigure, figure, legend_above, named

_BAR_MM = 7.0
_MARGIN_MM = 18.0
# Narrowest part of a bar that has room for its number, in percent.
_NUMBER_FROM = 8


def split(cases: Cases, *, width_mm: float = COLUMN_MM) -> PaperFigure:
    """Draws which path carried which share of the payload: a bar for each outcome.

    ``cases`` is an outcome, or a dictionary of outcomes by their names. Payload is that of both
    directions, in percent of all paths.
    """
    outcomes = named(cases)
    names = list(dict.fromkeys(path.name for one in outcomes.values() for path in one.paths))
    rows = range(len(outcomes))
    with figure(width_mm, _MARGIN_MM + _BAR_MM * len(outcomes)) as drawn:
        axes = drawn.subplots()
        left = [0.0] * len(outcomes)
        for index, name in enumerate(names):
            shares = [_share(outcome, name) for outcome in outcomes.values()]
            colour = COLOURS[index % len(COLOURS)]
            hatch = HATCHES[index % len(HATCHES)]
            axes.barh(
                rows, shares, left=left, height=0.65, label=name, color=colour, hatch=hatch, edgecolor="white"
            )
            for row, share in enumerate(shares):
                if share >= _NUMBER_FROM:
                    axes.text(
                        left[row] + share / 2,
                        row,
                        f"{share:.0f}",
                        ha="center",
                        va="center",
                        fontsize=7,
                        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                    )
            left = [start + share for start, share in zip(left, shares, strict=True)]
        axes.set_yticks(rows, list(outcomes))
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("share of the payload (%)")
        legend_above(axes, columns=4)
    return drawn


def _share(outcome: Outcome, name: str) -> float:
    """Share of the path with this name, in percent; 0 without payload."""
    payload = {path.name: path.payload_down_bytes + path.payload_up_bytes for path in outcome.paths}
    return 100 * payload.get(name, 0) / max(sum(payload.values()), 1)
