"""Time series of runs and captures."""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _native

__all__ = ["Series"]


class Series(Mapping[str, "array[float]"]):
    """Time series of a run or a capture: columns of equal length, by name.

    A column is an array of 64-bit floats, which numpy and matplotlib take as it is. A missing value is
    NaN. The first column is ``time_s``; the others are named ``owner.quantity_unit``.

    The series has the Arrow PyCapsule interface: ``pyarrow.table(series)`` and
    ``pandas.DataFrame.from_arrow(series)`` take it without a copy. There, a missing value is null. For
    polars, ``to_polars`` does so; ``polars.DataFrame(series)`` may copy it as a mapping, with NaN.

    >>> import tandem_mptcp as tm
    >>> series = tm.Scenario.from_file("scenarios/wifi-lte.toml").set("duration", "1s").run().series
    >>> series.units["wifi.rate_down_mbps"], len(series["wifi.rate_down_mbps"])
    ('Mbit/s', 10)
    >>> max(series["wifi.rate_down_mbps"]) < 25
    True
    """

    def __init__(self, columns: _native.Columns) -> None:
        self._columns = columns
        self._units = dict(columns.units())

    @property
    def interval_s(self) -> float:
        """Time between rows, in seconds. The first row is at one interval."""
        return self._columns.interval_s

    @property
    def units(self) -> Mapping[str, str]:
        """Unit of each column, for the label of an axis; empty for a number without unit."""
        return self._units

    def __getitem__(self, name: str) -> array[float]:
        column = self._columns.column(name)
        if column is None:
            raise KeyError(f"no column {name!r}; the columns are {', '.join(self._units)}")
        return array("d", column)

    def __iter__(self) -> Iterator[str]:
        return iter(self._units)

    def __len__(self) -> int:
        """Number of columns, with ``time_s``."""
        return len(self._units)

    def __repr__(self) -> str:
        return f"<Series of {len(self)} columns, {self._columns.rows} rows every {self.interval_s:g} s>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule with an Arrow stream; a requested schema is ignored, as the interface allows."""
        return self._columns.arrow_stream()

    def to_arrow(self) -> Any:
        """The series as a ``pyarrow.Table``, which shares the memory of the run."""
        return importlib.import_module("pyarrow").table(self)

    def to_polars(self) -> Any:
        """The series as a ``polars.DataFrame``, which shares the memory of the run."""
        return importlib.import_module("polars").DataFrame(_Stream(self))


class _Stream:
    """A series that is no mapping, which polars would prefer to the Arrow interface."""

    def __init__(self, series: Series) -> None:
        self._series = series

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._series.__arrow_c_stream__(requested_schema)
