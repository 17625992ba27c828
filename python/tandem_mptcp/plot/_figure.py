"""Size and style of figures."""

from __future__ import annotations

import io
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .._page import write_whole
from ..outcome import Outcome

COLUMN_MM = 85.0
"""Width of one column of most papers, in millimetres."""
PAGE_MM = 176.0
"""Width of two columns with the gap between them, in millimetres."""

MM_PER_INCH = 25.4
# Okabe and Ito, "Color Universal Design", 2008, without the yellow, which is too light for a line.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9")
# Their number has no common factor with that of the colours, so pairs recur only after 35 lines.
DASHES: tuple[Any, ...] = (
    "solid",
    (0, (4.5, 1.6)),
    (0, (1.4, 1.4)),
    (0, (6, 1.5, 1.4, 1.5)),
    (0, (2.8, 1.4)),
)
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx")

_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "grid.color": "#dcdcdc",
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.5,
    "lines.linewidth": 1.0,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "tandem",
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}

Cases = Outcome | Mapping[str, Outcome]
"""One outcome, or several by their names in the legend."""


class PaperFigure(Figure):
    """A figure of matplotlib that notebooks show, without the global state of pyplot."""

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        self.savefig(image, format="png", dpi=150)
        return image.getvalue()


@contextmanager
def figure(width_mm: float, height_mm: float) -> Generator[PaperFigure]:
    """A new figure; what is drawn in the block has the style of papers."""
    if not 20 <= width_mm <= 500:
        raise ValueError(f"width_mm is {width_mm:g}; expected 20 to 500, such as {COLUMN_MM:g} for a column")
    with matplotlib.rc_context(_STYLE):
        yield PaperFigure(figsize=(width_mm / MM_PER_INCH, height_mm / MM_PER_INCH))


def style(index: int) -> dict[str, Any]:
    """Colour and dashes of a line."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}


def named(cases: Cases) -> dict[str, Outcome]:
    """The cases by name; one outcome has the name of its policy."""
    found = {cases.policy: cases} if isinstance(cases, Outcome) else dict(cases)
    if not found:
        raise ValueError("there is no outcome to draw")
    return found


def legend_above(axes: Axes, columns: int) -> None:
    """Puts the legend above the axes, where it hides no data."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, borderaxespad=0.2)


def save(figure: Figure, path: str | os.PathLike[str], *, dpi: float = 600) -> None:
    """Writes a figure as a whole or not at all; the ending gives the format: .pdf, .svg or .png.

    ``dpi`` is the resolution of a PNG, in dots per inch. The file has no date.
    """
    ending = Path(path).suffix.lower()
    dates: dict[str, dict[str, Any]] = {
        ".pdf": {"CreationDate": None},
        ".svg": {"Date": None},
        ".png": {"Software": None},
    }
    if ending not in dates:
        raise ValueError(f"{str(path)!r} has to end with .pdf, .svg or .png")
    image = io.BytesIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(image, format=ending[1:], dpi=dpi, metadata=dates[ending])
    write_whole(path, image.getvalue())
