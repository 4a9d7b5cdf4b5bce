"""Reading files of JSON lines."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import pyarrow as pa

from llmframe.errors import UsageError
from llmframe.frames.files.compression import decompressed
from llmframe.frames.files.faults import ARROW_ERRORS, reading
from llmframe.frames.files.formats import named
from llmframe.frames.files.jsonl_shape import MAX_FIELDS, Shape
from llmframe.frames.files.ports import FileInfo, Storage

BATCH_ROWS: Final = 4096
"""Lines that become one table, at most."""

BATCH_BYTES: Final = 4 * 2**20
"""Text of lines that become one table, about."""

_BLANK: Final = b" \t\r\n"
_BOM: Final = b"\xef\xbb\xbf"


class JsonlReader:
    """One JSON object a line. Satisfies the `Reader` port.

    The types are found by one pass over all lines, so that a field that first comes in the last line has its column.
    Whole numbers beside others are floats where none loses a digit; what fits no single type, keys without end and
    whole numbers beyond 64 bits are JSON text. Blank lines are no rows.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._shape = Shape()
        self._rows: dict[str, int] = {}

    def schema(self, files: Sequence[FileInfo]) -> Any:
        """The columns that come anywhere in the files."""
        shape = Shape()
        for file in files:
            rows = 0
            for number, line in self._lines(file):
                shape.observe(self._parsed(file, number, line))
                rows += 1
            self._rows[file.path] = rows
        if len(shape.fields) > MAX_FIELDS:
            raise UsageError(f"the lines have more than {MAX_FIELDS} different keys: these are data, not columns")
        self._shape = shape
        return pa.schema(shape.fields_of())

    def rows(self, files: Sequence[FileInfo]) -> int | None:
        """The lines that were seen while their types were found."""
        return sum(self._rows[file.path] for file in files)

    def pieces(self, file: FileInfo, *, skip: int) -> Iterator[Any]:
        """Tables of some thousand lines; lines among the first `skip` aren't parsed."""
        for lines in _batches(self._lines(file)):
            if len(lines) <= skip:
                skip -= len(lines)
                yield len(lines)
                continue
            skip = 0
            try:
                yield self._table([self._parsed(file, number, line) for number, line in lines])
            except (KeyError, OverflowError, *ARROW_ERRORS):  # the types were found for what stood there before
                raise UsageError(f"{self._storage.shown(file.path)!r} has changed while it was read") from None

    def _table(self, rows: list[dict[str, object]]) -> Any:
        columns: list[Any] = []
        fields = self._shape.fields_of()
        for field, (name, shape) in zip(fields, self._shape.fields.items(), strict=True):
            values = [row.get(name) for row in rows]
            if shape.has_text():
                values = [shape.stored(value) for value in values]
            columns.append(pa.array(values, field.type))
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))

    def _lines(self, file: FileInfo) -> Iterator[tuple[int, bytes]]:
        shown, compression = self._storage.shown(file.path), named(file.name).compression
        with reading(shown, "JSON lines"), decompressed(self._storage.reader(file.path), compression) as stream:
            for number, line in enumerate(stream, 1):
                text = line.removeprefix(_BOM) if number == 1 else line
                text = text.strip(_BLANK)
                if text:
                    yield number, text

    def _parsed(self, file: FileInfo, number: int, line: bytes) -> dict[str, object]:
        reason = "isn't JSON"
        try:
            value = json.loads(line.decode())
            if rb"\ud" in line.lower():
                json.dumps(value, ensure_ascii=False).encode()
        except UnicodeDecodeError:
            reason = "isn't UTF-8 text"
        except UnicodeEncodeError:
            reason = "has half a surrogate pair (`\\ud8…` alone), which is no text"
        except RecursionError:
            reason = "is nested too deeply"
        except ValueError:
            pass
        else:
            if isinstance(value, dict):
                return cast("dict[str, object]", value)
            reason = f"isn't a JSON object but {'a list' if isinstance(value, list) else 'a single value'}"
        raise UsageError(f"{self._storage.shown(file.path)!r}: line {number} {reason}") from None


def _batches(lines: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    held: list[tuple[int, bytes]] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line[1])
        if len(held) == BATCH_ROWS or size >= BATCH_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held
