"""Labels of rows: pandas has them, nobody else."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa

from llmframe.frames import wrap
from llmframe.frames.row_labels import row_labels


def test_an_index_comes_as_python_values():
    assert row_labels(wrap(pd.DataFrame({"x": [1, 2]}, index=["a", "a"]))) == ["a", "a"]
    assert row_labels(wrap(pd.Series([1, 2], name="x"))) == [0, 1]
    both = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    assert row_labels(wrap(pd.DataFrame({"x": [1, 2]}, index=both))) == [("a", 1), ("b", 2)]


def test_other_kinds_have_none():
    for native in (pl.DataFrame({"x": [1]}), pl.Series("x", [1]), pa.table({"x": [1]}), [{"x": 1}]):
        assert row_labels(wrap(native)) is None
