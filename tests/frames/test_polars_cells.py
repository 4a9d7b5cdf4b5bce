from __future__ import annotations

from datetime import datetime

import polars as pl
import pytest

from llmframe.frames.polars_cells import polars_cells


def test_objects_and_wide_integers_are_read():
    assert polars_cells(pl.Series([{"a": (1, 2)}, None], dtype=pl.Object)) == [{"a": [1, 2]}, None]
    assert polars_cells(pl.Series([2**100], dtype=pl.Int128)) == [2**100]


def test_the_last_day_that_python_has_is_a_datetime_and_the_next_is_text():
    last = datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001
    series = pl.Series([last, None]).dt.cast_time_unit("ms")
    assert polars_cells(series) == [last, None]
    assert polars_cells((series.to_physical() + 1000).cast(pl.Datetime("ms"))) == ["10000-01-01T00:00:00.000000", None]


@pytest.mark.parametrize(
    "dtype",
    [
        pl.Float32,
        pl.Datetime("ns", "UTC"),
        pl.Datetime("us"),
        pl.Duration("ns"),
        pl.Time,
        pl.List(pl.Float32),
        pl.Object,
    ],
)
def test_no_values_are_an_empty_list_in_every_dtype(dtype):
    assert polars_cells(pl.Series([], dtype=dtype)) == []
    if dtype != pl.Object:
        assert polars_cells(pl.Series([None], dtype=dtype)) == [None]
