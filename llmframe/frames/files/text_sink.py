"""Writing CSV, TSV and JSON lines."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as _untyped_compute

from llmframe.frames.files.json_cells import is_absent, json_cells
from llmframe.frames.files.jsonl_shape import json_text
from llmframe.frames.files.text_cells import TEXT, is_text, text_cells, without_formulas

_compute: Any = _untyped_compute

WRITE_ROWS: Final = 8192
"""Rows that are text in memory at once."""

_EMPTY = pa.scalar("", TEXT)


class CsvSink:
    """Delimited text in UTF-8 with a header, lines end with a line feed. Satisfies the `Sink` port.

    A cell is quoted where it has to be; null is an empty cell, empty text is `""`.

    Parameters
    ----------
    file
        Stays open.
    schema
        The pyarrow schema of all tables.
    delimiter
        One character between cells.
    safe
        Put an apostrophe before text that a spreadsheet would take for a formula, and quote all text, so that another
        delimiter of the spreadsheet's makes no cell out of its middle. All text columns are treated, names too: who
        opens the file can't see which of them a model wrote.
    """

    def __init__(self, file: BinaryIO, schema: Any, *, delimiter: str, safe: bool = False) -> None:
        self._file, self._schema, self._safe = file, schema, safe
        self._delimiter = delimiter
        self._special = f'[{delimiter}"\\r\\n]|^$|^\\s|\\s$'
        names = pa.chunked_array([pa.array(schema.names, TEXT)])
        cells = self._quoted(without_formulas(names) if safe else names, always=safe)
        file.write((delimiter.join(cells.to_pylist()) + "\n").encode())

    def write(self, table: Any) -> None:
        """Append rows."""
        for rows in _slices(table):
            cells = [self._cells(rows.column(at), field) for at, field in enumerate(self._schema)]
            if cells:
                self._lines(cells)

    def close(self) -> None:
        """Nothing: a CSV file has no end of its own."""

    def abandon(self) -> None:
        """Nothing."""

    def _cells(self, column: Any, field: Any) -> Any:
        cells = text_cells(column, field)
        text = is_text(field)
        if self._safe and text:
            cells = without_formulas(cells)
        return self._quoted(cells, always=self._safe and text)

    def _quoted(self, cells: Any, *, always: bool) -> Any:
        """`cells` in quotes where CSV wants them; null stays null."""
        doubled = _compute.replace_substring(cells, '"', '""')
        quoted = _compute.binary_join_element_wise(pa.scalar('"', TEXT), doubled, pa.scalar('"', TEXT), _EMPTY)
        return quoted if always else _compute.if_else(self._needs(cells), quoted, cells)

    def _needs(self, cells: Any) -> Any:
        return _compute.match_substring_regex(cells, self._special)

    def _lines(self, cells: list[Any]) -> None:
        joined = _compute.binary_join_element_wise(
            *cells, pa.scalar(self._delimiter, TEXT), null_handling="replace", null_replacement=""
        )
        lines = _compute.binary_join_element_wise(joined, pa.scalar("\n", TEXT), _EMPTY)
        for chunk in lines.chunks:
            data = chunk.buffers()[2]
            if data is not None:
                first, last = _bounds(chunk)
                self._file.write(memoryview(data)[first:last])


class JsonlSink:
    """One JSON object a line, in UTF-8. Satisfies the `Sink` port.

    Parameters
    ----------
    file
        Stays open.
    schema
        The pyarrow schema of all tables; what its fields' metadata says of JSON lines is heeded.
    """

    def __init__(self, file: BinaryIO, schema: Any) -> None:
        self._file, self._schema = file, schema

    def write(self, table: Any) -> None:
        """Append rows."""
        names = [(field.name, is_absent(field)) for field in self._schema]
        for rows in _slices(table):
            columns = [json_cells(rows.column(at), field) for at, field in enumerate(self._schema)]
            lines: list[str] = []
            for cells in zip(*columns, strict=True):
                pairs = zip(names, cells, strict=True)
                row = {name: cell for (name, absent), cell in pairs if cell is not None or not absent}
                lines.append(json_text(row) + "\n")
            self._file.write("".join(lines).encode())

    def close(self) -> None:
        """Nothing: the last line is the end."""

    def abandon(self) -> None:
        """Nothing."""


def _slices(table: Any) -> Iterator[Any]:
    for start in range(0, len(table), WRITE_ROWS):
        yield table.slice(start, WRITE_ROWS)


def _bounds(chunk: Any) -> tuple[int, int]:
    """Where the text of a chunk of large strings begins and ends in its buffer."""
    offsets = memoryview(chunk.buffers()[1]).cast("q")
    return offsets[chunk.offset], offsets[chunk.offset + len(chunk)]
