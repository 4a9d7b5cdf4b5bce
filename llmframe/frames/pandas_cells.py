"""pandas columns as lists of plain Python values."""

# pyright: reportUnknownMemberType=false
# pandas is typed in part: what it leaves open is Any at this seam.

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from llmframe.frames.arrow_cells import arrow_cells
from llmframe.frames.cells import plain


def pandas_values(series: Any) -> Any:
    """The array behind a Series: its slices cost a microsecond, those of the Series thirty."""
    return series.to_numpy() if isinstance(series.dtype, np.dtype) else series.array


def pandas_cells(values: Any) -> list[object]:
    """The values of a numpy or extension array of any dtype; NaN, NaT, NA and None are `None`."""
    dtype = values.dtype
    if isinstance(dtype, np.dtype):
        return _numpy_cells(values)
    if isinstance(dtype, pd.StringDtype):
        return values.to_numpy(dtype=object, na_value=None).tolist()
    if isinstance(dtype, pd.CategoricalDtype):
        return _categorical_cells(values)
    if isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
        return [None if missing else str(value) for value, missing in zip(values, values.isna(), strict=True)]
    if isinstance(dtype, pd.SparseDtype):
        return pandas_cells(np.asarray(values))
    if isinstance(dtype, pd.ArrowDtype | pd.DatetimeTZDtype) or hasattr(dtype, "numpy_dtype"):
        return _through_arrow(values)
    return [plain(value, nan_is_null=True) for value in values]


def pandas_nulls(series: Any) -> int:
    """How many cells of a Series `pandas_cells` gives as `None`."""
    missing = int(series.isna().sum())
    if isinstance(series.dtype, pd.ArrowDtype) and series.dtype.kind == "f":  # pandas counts no NaN inside Arrow
        return sum(cell is None for cell in pandas_cells(series.array))
    return missing


def _numpy_cells(array: Any) -> list[object]:
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind in "biu":
        return array.tolist()
    if kind == "f" and size >= 8:  # noqa: PLR2004 - bytes of a double
        if not np.isnan(array).any():
            return array.tolist()
        return [None if value != value else value for value in array.tolist()]  # noqa: PLR0124 - NaN
    if kind in "fmM":
        return _through_arrow(array)
    return [plain(value, nan_is_null=True) for value in array.tolist()]


def _through_arrow(array: Any) -> list[object]:
    """Arrow knows the shortest text of narrow floats, and nanoseconds beside microseconds."""
    return arrow_cells(pa.array(array, from_pandas=True), nan_is_null=True)


def _categorical_cells(array: Any) -> list[object]:
    """Only the categories that occur are converted: a chunk of rows costs no more than its rows."""
    codes = array.codes.tolist()
    used = sorted(set(codes) - {-1})
    values: dict[int, object] = dict(zip(used, pandas_cells(pandas_values(array.categories.take(used))), strict=True))
    values[-1] = None
    return [values[code] for code in codes]
