"""Figures for papers, with matplotlib: ``pip install 'tandem-mptcp[plot]'``.

A figure has the width of one column (85 mm) or of both (176 mm), text of 8 points, and colours that
colour-blind readers tell apart, with dashes and hatching for print in black and white. ``save`` writes
PDF with embedded fonts, SVG, or PNG with 600 dots per inch; equal figures give equal files.

>>> import tandem_mptcp as tm
>>> base = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "2s")
>>> cases = {name: base.run(policy=name) for name in ("none", "wifi-first")}
>>> tm.plot.split(cases).axes[0].get_xlabel()
'share of the payload (%)'
"""

from ._cdf import cdf
from ._figure import COLUMN_MM, PAGE_MM, PaperFigure, save
from ._heat import heat_map
from ._split import split
from ._timeline import timeline

__all__ = ["COLUMN_MM", "PAGE_MM", "PaperFigure", "cdf", "heat_map", "save", "split", "timeline"]
