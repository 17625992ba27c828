"""Time series in pyarrow, polars and pandas."""

from __future__ import annotations

import gc
import importlib
import math
from collections.abc import Iterable
from typing import Any

import tandem_mptcp as tm

# These packages have no types.
pandas: Any = importlib.import_module("pandas")
pyarrow: Any = importlib.import_module("pyarrow")


def test_table_has_the_columns_and_their_units(outcome: tm.Outcome) -> None:
    table = outcome.to_arrow()
    assert table.column_names == list(outcome.series)
    assert table.schema.field("wifi.rate_down_mbps").metadata == {b"unit": b"Mbit/s"}
    assert table["lte.energy_j"].to_pylist() == list(outcome.series["lte.energy_j"])


def test_polars_and_pandas_take_the_series(outcome: tm.Outcome) -> None:
    def known(values: Iterable[float]) -> list[float | None]:
        return [None if math.isnan(value) else value for value in values]

    expected = {name: known(column) for name, column in outcome.series.items()}
    assert None in expected["connection1.delay_ms"]
    assert outcome.series.to_polars().to_dict(as_series=False) == expected
    # pandas reads the interface since version 3; before, by pyarrow.
    if hasattr(pandas.DataFrame, "from_arrow"):
        frame = pandas.DataFrame.from_arrow(outcome.series)
    else:
        frame = pyarrow.table(outcome.series).to_pandas()
    assert {name: known(frame[name]) for name in frame.columns} == expected


def test_buffers_are_shared_and_outlive_the_outcome(scenario: tm.Scenario) -> None:
    outcome = scenario.run(seed=2)
    expected = list(outcome.series["device.energy_j"])
    first, second = outcome.to_arrow(), outcome.to_arrow()
    addresses = [t["device.energy_j"].chunk(0).buffers()[1].address for t in (first, second)]
    assert addresses[0] == addresses[1]
    del outcome
    gc.collect()
    assert first["device.energy_j"].to_pylist() == expected


def test_missing_value_is_nan_in_an_array_and_null_in_arrow(scenario: tm.Scenario) -> None:
    late = scenario.set("traffic.1.start", "1s").run()
    column = "connection1.delay_ms"
    assert math.isnan(late.series[column][0])
    assert late.to_arrow()[column][0].as_py() is None
    assert late.to_arrow()[column].null_count == sum(map(math.isnan, late.series[column]))
    assert late.series.to_polars()[column][0] is None
