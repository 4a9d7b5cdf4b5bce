"""The only place that imports pandas, polars or pyarrow; an adapter is loaded with the first frame of its library."""

from __future__ import annotations

import sys
from typing import Any, cast

from llmframe.errors import UsageError
from llmframe.frames.base import Frame, SeriesFrame
from llmframe.frames.records import RecordsFrame

__all__ = ["Frame", "SeriesFrame", "wrap"]


def wrap(native: object) -> Frame:
    """The frame port over a user's own object.

    Parameters
    ----------
    native
        A pandas or polars DataFrame or Series, a `pyarrow.Table`, or a list of dicts (`[]` has no columns).

    Raises
    ------
    UsageError
        If it is anything else.

    Notes
    -----
    Whoever holds an object has imported its library, so the test reads `sys.modules` and imports none of them.
    """
    if _is(native, "pandas", "DataFrame", "Series"):
        from llmframe.frames.pandas import PandasFrame, PandasSeries  # noqa: PLC0415 - loads pandas

        return PandasFrame(native) if _is(native, "pandas", "DataFrame") else PandasSeries(native)
    if _is(native, "polars", "DataFrame", "Series"):
        from llmframe.frames.polars import PolarsFrame, PolarsSeries  # noqa: PLC0415 - loads polars

        found = cast("Any", native)
        return PolarsFrame(found) if _is(native, "polars", "DataFrame") else PolarsSeries(found)
    if _is(native, "pyarrow", "Table"):
        from llmframe.frames.arrow import ArrowFrame  # noqa: PLC0415 - loads pyarrow

        return ArrowFrame(native)
    if isinstance(native, list) and _all_dicts(cast("list[object]", native)):
        return RecordsFrame(cast("list[dict[Any, Any]]", native))
    raise UsageError(_refusal(cast("object", native)))


def _all_dicts(rows: list[object]) -> bool:
    return all(isinstance(row, dict) for row in rows)


def _is(native: object, module: str, *names: str) -> bool:
    """Whether `native` is an instance of one of these classes; False where the library isn't loaded."""
    loaded = sys.modules.get(module)
    classes = [getattr(loaded, name, None) for name in names]
    return isinstance(native, tuple(kind for kind in classes if isinstance(kind, type)))


def _refusal(native: object) -> str:
    kind = type(native)
    named = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    accepted = (
        f"expected a pandas or polars DataFrame or Series, a pyarrow.Table or a list of dicts (one a row), got {named}"
    )
    if _is(native, "polars", "LazyFrame", "Expr"):
        return f"{accepted}; a lazy query has its own way: use its `.llm`, or collect it first"
    if isinstance(native, list):
        return f"{accepted} with other things in it"
    if isinstance(native, dict):
        return f"{accepted}; of a dict of columns make a frame first, for instance `pandas.DataFrame(data)`"
    convert = next((name for name in ("to_pandas", "to_arrow", "compute", "collect") if hasattr(native, name)), None)
    return f"{accepted}; call its `.{convert}()` first" if convert else accepted
