"""Heat maps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ._figure import COLUMN_MM, PaperFigure, figure

# Number of cells up to which each shows its value.
_MAX_NUMBERS = 80


def heat_map(
    rows: Iterable[Mapping[str, Any]],
    x: str,
    y: str,
    value: str,
    *,
    label: str | None = None,
    width_mm: float = COLUMN_MM,
) -> PaperFigure:
    """Draws a value over two keys, such as the results of a sweep.

    ``rows`` are dictionaries with the members ``x``, ``y`` and ``value``. A cell is the mean of its rows,
    such as those of several seeds, that have a value; a failed run has none. A cell without a value
    stays empty. ``label`` names the value in the figure.

    >>> import tandem_mptcp as tm
    >>> rows = [{"rate": r, "loss": l, "energy_j": r + l} for r in (1, 2) for l in (0.0, 0.1)]
    >>> tm.plot.heat_map(rows, "rate", "loss", "energy_j").axes[0].get_xlabel()
    'rate'
    """
    cells: dict[tuple[Any, Any], list[float]] = {}
    for row in rows:
        for key in (x, y, value):
            if key not in row:
                raise KeyError(f"a row has no {key!r}; it has {', '.join(row)}")
        values = cells.setdefault((row[x], row[y]), [])
        if row[value] is not None and not math.isnan(float(row[value])):
            values.append(float(row[value]))
    columns, lines = _axis(at for at, _ in cells), _axis(at for _, at in cells)
    means = {at: sum(values) / len(values) for at, values in cells.items() if values}
    if not means:
        raise ValueError("there is no row with a value to draw")
    grid = [[means.get((column, line), float("nan")) for column in columns] for line in lines]
    with figure(width_mm, 24.0 + min(7.0 * len(lines), 0.8 * width_mm)) as drawn:
        axes = drawn.subplots()
        image = axes.imshow(grid, cmap="cividis", aspect="auto", origin="lower")
        axes.set_xticks(range(len(columns)), [str(column) for column in columns])
        axes.set_yticks(range(len(lines)), [str(line) for line in lines])
        axes.grid(visible=False)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        drawn.colorbar(image, ax=axes, label=label or value)
        if len(columns) * len(lines) <= _MAX_NUMBERS:
            middle = (min(means.values()) + max(means.values())) / 2
            for (column, line), mean in means.items():
                at = (columns.index(column), lines.index(line))
                axes.text(
                    *at, f"{mean:.3g}", ha="center", va="center", fontsize=6, color="white" if mean < middle else "black"
                )
    return drawn


def _axis(values: Iterable[Any]) -> list[Any]:
    """Distinct values: numbers in ascending order, others in the order of the rows."""
    distinct = list(dict.fromkeys(values))
    numbers = all(isinstance(value, (int, float)) for value in distinct)
    return sorted(distinct) if numbers else distinct
