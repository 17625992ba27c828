"""Reports: the page in HTML, and its tables and charts in a notebook."""

from __future__ import annotations

import os
import tempfile
from abc import abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import _native

_STYLE = """
.tandem table { border-collapse: collapse; font-variant-numeric: tabular-nums }
.tandem th, .tandem td { padding: .15em .6em; text-align: left }
.tandem .r { text-align: right }
.tandem .unit, .tandem .note, .tandem .ci { opacity: .7; font-weight: normal }
.tandem figure { margin: 0 1em 1em 0; overflow-x: auto }
.tandem figcaption { font-weight: bold }
.tandem .charts { display: flex; flex-wrap: wrap; background: #fff; color: #000 }
"""


class Reported:
    """A result with a report: tables and charts."""

    @abstractmethod
    def _page(self) -> _native.Page: ...

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as one HTML page without external resources.

        With a path, the page is also written to that file, as a whole or not at all.
        """
        html = self._page().html()
        if path is not None:
            write_whole(path, html.encode())
        return html

    def charts(self) -> list[str]:
        """Names of the report's charts, the main one first."""
        return self._page().charts()

    def svg(self, chart: str | None = None, *, width_mm: float = 85.0) -> str:
        """A chart of the report as SVG, in the width of a column of a paper, in millimetres.

        ``chart`` is one of ``charts()``, by default the main one.
        """
        page = self._page()
        names = page.charts()
        name = names[0] if chart is None and names else chart
        drawing = None if name is None else page.svg(name, width_mm)
        if drawing is None:
            raise KeyError(f"no chart {name!r}; the charts are {', '.join(names)}")
        return drawing

    def __str__(self) -> str:
        return self._page().text()

    def _repr_html_(self) -> str:
        page = self._page()
        charts = "".join(f"<figure>{svg}</figure>" for svg in page.drawings())
        tables = "".join(page.tables_html())
        return (
            f'<div class="tandem"><style>{_STYLE}</style>{tables}'
            f'<div class="charts">{charts}</div></div>'
        )


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file by way of a temporary one, so that a killed program leaves no half of it."""
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".tandem-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
