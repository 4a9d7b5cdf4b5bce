from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from llmframe.frames.pandas_cells import pandas_cells, pandas_nulls, pandas_values


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (pd.Series(["ok", None, float("nan"), pd.NA, pd.NaT, "", " "], dtype=object), ["ok", *[None] * 4, "", " "]),
        (pd.Series(pd.PeriodIndex(["2024-01", None], freq="M")), ["2024-01", None]),
        (pd.Series(pd.PeriodIndex(["2024-01", None], freq="M"), dtype=object), ["2024-01", None]),
        (pd.Series(pd.IntervalIndex.from_tuples([(0, 1), None])), ["(0.0, 1.0]", None]),
        (pd.Series([1.5, np.nan], dtype="Sparse[float]"), [1.5, None]),
        (pd.Series([pd.Timestamp("2024-01-01"), None]).astype("category"), [pd.Timestamp("2024-01-01"), None]),
        (pd.Series([1, None], dtype="Int64"), [1, None]),
        (pd.Series([[1, None], np.nan], dtype=object), [[1, None], None]),
    ],
    ids=["missing", "periods", "period-objects", "intervals", "sparse", "categories", "nullable", "lists"],
)
def test_cells_and_nulls_agree(series, expected):
    assert pandas_cells(pandas_values(series)) == expected
    assert pandas_cells(pandas_values(series)[1:]) == expected[1:]
    assert pandas_nulls(series) == sum(value is None for value in expected)


def test_only_the_categories_of_the_chunk_are_looked_at():
    series = pd.Series(["b", "a", None]).astype("category").cat.set_categories(["z", "a", "b"])
    assert pandas_cells(pandas_values(series)[:1]) == ["b"]
