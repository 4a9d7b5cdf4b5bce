"""Cells of Arrow columns as text in CSV files."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as _untyped_compute

from llmframe.core.cells import cell_text
from llmframe.frames.files.json_cells import json_cells

_compute: Any = _untyped_compute
_types: Any = pa.types

TEXT: Final = pa.large_string()
"""Offsets of 64 bits: the lines of a table may be more than 2 GB."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

_BLANK: Final = r"\x{00}-\x{20}\x{7F}-\x{A0}\x{1680}\x{2000}-\x{200F}\x{2028}-\x{202F}\x{205F}-\x{2064}\x{3000}\x{FEFF}"
"""Blanks, controls and characters without a width: what may stand before a formula unseen."""

FORMULA: Final = rf"^[{_BLANK}\"']*[=+\-@\x{{FF1D}}\x{{FF0B}}\x{{FF0D}}\x{{FF20}}]|^[\t\r\n]"
"""How a cell begins that a spreadsheet may take for a formula: the characters that OWASP's page on CSV injection lists,
their full-width forms too, also behind blanks and quotes."""

NUMBER: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""A number is no formula though it may begin with a sign."""


def text_cells(column: Any, field: Any) -> Any:
    """The cells of a column as large strings, null where they are null.

    Numbers stand as Arrow prints them, dates and times in ISO 8601, lists and structs as JSON text.
    """
    type_ = field.type
    if _types.is_dictionary(type_):
        return text_cells(column.cast(type_.value_type), field.with_type(type_.value_type))
    if _types.is_nested(type_):
        texts = [None if cell is None else _ENCODER.encode(cell) for cell in json_cells(column, field)]
        return pa.chunked_array([pa.array(texts, TEXT)])
    if any(test(type_) for test in (_types.is_temporal, _types.is_floating)) and not _types.is_float16(type_):
        return _printed(column, type_)
    return column.cast(TEXT)


def is_text(field: Any) -> bool:
    """Whether a column's cells are text of somebody's own, in which a formula may hide."""
    type_ = field.type.value_type if _types.is_dictionary(field.type) else field.type
    return _types.is_string(type_) or _types.is_large_string(type_) or _types.is_nested(type_)


def without_formulas(cells: Any) -> Any:
    """`cells` with an apostrophe before those that a spreadsheet would take for a formula."""
    formula = _compute.and_(
        _compute.match_substring_regex(cells, FORMULA), _compute.invert(_compute.match_substring_regex(cells, NUMBER))
    )
    marked = _compute.binary_join_element_wise(pa.scalar("'", TEXT), cells, pa.scalar("", TEXT))
    return _compute.if_else(formula, marked, cells)


def _printed(column: Any, type_: Any) -> Any:
    if _types.is_floating(type_):
        return column.cast(TEXT)
    return pa.chunked_array(
        [pa.array([None if cell is None else cell_text(cell) for cell in column.to_pylist()], TEXT)]
    )
