from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from llmframe.errors import UsageError
from llmframe.frames import wrap


@pytest.mark.parametrize(
    ("native", "told"),
    [
        (pl.LazyFrame({"a": [1]}), r"got polars.LazyFrame; a lazy query has its own way"),
        (pl.col("a"), r"got polars.Expr; a lazy query has its own way"),
        ({"a": [1]}, r"got dict; of a dict of columns make a frame first"),
        ([1, 2], r"got list with other things in it"),
        ([{"a": 1}, None], r"got list with other things in it"),
        (pa.record_batch({"a": [1]}), r"got pyarrow.RecordBatch; call its `.to_pandas\(\)` first"),
        (np.array([1]), r"got numpy.ndarray"),
        (pd.Index([1]), r"got pandas.Index"),
        (None, r"got NoneType"),
        ("a", r"got str"),
        (pd.DataFrame, r"got type"),
    ],
)
def test_what_cannot_be_wrapped_is_named_with_what_can(native, told):
    with pytest.raises(UsageError, match=told) as caught:
        wrap(native)
    assert str(caught.value).startswith(
        "expected a pandas or polars DataFrame or Series, a pyarrow.Table or a list of dicts (one a row)"
    )


def test_wrapping_loads_no_library_but_the_frames_own():
    code = """
import sys
from llmframe.frames import wrap
assert wrap([{"a": 1}, {}]).cells([0], 0, 2) == [[1, None]]
assert not {"pandas", "polars", "pyarrow"} & set(sys.modules)
import polars
frame = wrap(polars.DataFrame({"a": [1]}))
assert frame.cells([0], 0, 1) == [[1]]
assert not {"pandas", "pyarrow"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
