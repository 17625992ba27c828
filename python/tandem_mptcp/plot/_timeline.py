"""Time series in panels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from ..outcome import Outcome
from ._figure import COLUMN_MM, PaperFigure, figure, legend_above, style

_PANEL_MM = 26.0
_MARGIN_MM = 14.0


def timeline(
    outcome: Outcome, quantities: Sequence[str] | None = None, *, width_mm: float = COLUMN_MM
) -> PaperFigure:
    """Draws time series: a panel for each quantity, in it a line for each path or connection.

    ``quantities`` are the ends of names of columns, such as ``srtt_ms`` or ``queue_kb``. By default the
    panels are the rate on the wire in the direction of the traffic, and the power.
    """
    chosen = list(quantities or _usual(outcome))
    series = outcome.series
    known = sorted({name.rpartition(".")[2] for name in series if "." in name})
    for quantity in chosen:
        if quantity not in known:
            raise ValueError(f"no quantity {quantity!r}; the quantities are {', '.join(known)}")
    owners = list(dict.fromkeys(name.rpartition(".")[0] for name in series if "." in name))
    with figure(width_mm, _MARGIN_MM + _PANEL_MM * len(chosen)) as drawn:
        # An array of axes, whose element type older versions of numpy leave open.
        panels = cast(Any, drawn.subplots(len(chosen), sharex=True, squeeze=False))[:, 0]
        for panel, quantity in zip(panels, chosen, strict=True):
            lowest = 0.0
            for owner in owners:
                column = f"{owner}.{quantity}"
                if column in series:
                    values = series[column]
                    panel.plot(series["time_s"], values, label=owner, **style(owners.index(owner)))
                    panel.set_ylabel(_label(quantity, series.units[column]))
                    lowest = min([lowest, *(value for value in values if not math.isnan(value))])
            if lowest >= 0:
                # After all lines: a limit ends the automatic scale.
                panel.set_ylim(bottom=0)
            panel.set_xlim(0, outcome.duration_s)
            legend_above(panel, columns=4)
        panels[-1].set_xlabel("time (s)")
        drawn.align_ylabels()
    return drawn


def _usual(outcome: Outcome) -> tuple[str, ...]:
    flows = outcome.connections or outcome.background
    up = bool(flows) and all(flow.direction == "up" for flow in flows)
    return ("rate_up_mbps" if up else "rate_down_mbps", "power_w")


def _label(quantity: str, unit: str) -> str:
    """``rate_down_mbps`` as ``rate down (Mbit/s)``."""
    if not unit:
        return quantity.replace("_", " ")
    return f"{quantity.rpartition('_')[0].replace('_', ' ')} ({unit})"
