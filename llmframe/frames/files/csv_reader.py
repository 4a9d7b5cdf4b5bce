"""Reading CSV and TSV files."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, cast

import pyarrow as pa
import pyarrow.csv as _untyped_csv

from llmframe.errors import UsageError
from llmframe.frames.files.agreement import agreed
from llmframe.frames.files.compression import decompressed
from llmframe.frames.files.faults import reading
from llmframe.frames.files.formats import named
from llmframe.frames.files.lending import lent
from llmframe.frames.files.ports import FileInfo, Storage
from llmframe.frames.files.text_types import converted

_csv: Any = _untyped_csv

BLOCK_BYTES: Final = 8 * 2**20
"""What is parsed at once; no row may be larger."""

_END_BYTES: Final = 4096

_OTHER_LENGTH = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
_NOT_UTF8 = re.compile(r"In CSV column #(\d+).*invalid UTF8", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Header:
    names: list[str]
    rows: int
    """Rows up to the names, theirs included: blank lines may stand before them."""
    is_all: bool
    """Whether the file ends with them."""


class CsvReader:
    """Delimited text; every column is text unless a type was said. Satisfies the `Reader` port.

    An empty cell is null, an empty cell in quotes is empty text. Blank lines are no rows.

    Parameters
    ----------
    storage
        Where the files lie.
    delimiter
        One character between cells.
    types
        pyarrow types of some columns.
    """

    def __init__(self, storage: Storage, *, delimiter: str, types: Mapping[str, Any] | None = None) -> None:
        self._storage = storage
        self._delimiter = delimiter
        self._types = types or {}

    def typed(self, types: Mapping[str, Any]) -> CsvReader:
        """The same files with the types of some columns."""
        return CsvReader(self._storage, delimiter=self._delimiter, types=types)

    def schema(self, files: Sequence[FileInfo]) -> Any:
        """The columns, by the files' headers."""
        return agreed((self._storage.shown(file.path), self._schema(file)) for file in files)

    def rows(self, files: Sequence[FileInfo]) -> int | None:
        """Nobody knows before the files are parsed."""
        del files

    def pieces(self, file: FileInfo, *, skip: int) -> Iterator[Any]:
        """Tables of a block of text each; their rows are only known once they are parsed."""
        header = self._header(file)
        if header.is_all:
            return
        done = 0
        for batch in self._batches(file, header):
            if done + len(batch) <= skip:
                yield len(batch)
            elif len(batch):
                yield self._converted(pa.Table.from_batches([batch]), file, done)
            done += len(batch)

    def _schema(self, file: FileInfo) -> Any:
        return pa.schema([(name, self._types.get(name, pa.string())) for name in self._header(file).names])

    def _converted(self, table: Any, file: FileInfo, done: int) -> Any:
        for name, type_ in self._types.items():
            column = converted(
                table.column(name), type_, file=self._storage.shown(file.path), column=name, first_row=done + 1
            )
            table = table.set_column(table.column_names.index(name), name, column)
        return table

    def _batches(self, file: FileInfo, header: _Header) -> Iterator[Any]:
        shown = self._storage.shown(file.path)
        reader = functools.partial(
            _csv.open_csv,
            read_options=_csv.ReadOptions(
                use_threads=False,  # several blocks in flight would be several times the memory
                block_size=BLOCK_BYTES,
                column_names=header.names,
                skip_rows_after_names=header.rows,
            ),
            parse_options=_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=_csv.ConvertOptions(
                column_types=dict.fromkeys(header.names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        cell = None
        with self._opened(file) as stream:
            text = _Text(stream)
            try:
                with lent(cast("BinaryIO", text), reader) as readers:
                    for batch in readers.pop():
                        yield batch
                        if len(batch):
                            cell = batch.column(batch.num_columns - 1)[-1].as_py()
            except pa.ArrowInvalid as error:
                if str(error).startswith("Empty CSV file"):  # nothing after the header
                    return
                raise UsageError(_reason(shown, str(error), header)) from None  # its text quotes cells
        if text.ends_within(cell):
            raise UsageError(f"{shown!r} ends within a cell: a double quote is never closed, or the file is cut off")

    def _header(self, file: FileInfo) -> _Header:
        shown = self._storage.shown(file.path)
        with self._opened(file) as stream:
            # more than the header is decoded at once: what is wrong further down is told when it's read
            text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
            try:
                for number, names in enumerate(csv.reader(text, delimiter=self._delimiter), 1):
                    if names:
                        "".join(names).encode()
                        return _Header(names, number, not text.read(1))
            except UnicodeEncodeError:
                raise UsageError(_encoding(shown, "its header")) from None
            except csv.Error as error:
                raise UsageError(f"{shown!r} has no header that can be read: {error}") from None
        raise UsageError(f"{shown!r} is empty: a CSV file begins with the names of its columns")

    @contextmanager
    def _opened(self, file: FileInfo) -> Generator[BinaryIO]:
        compression = named(file.name).compression
        with (
            reading(self._storage.shown(file.path), "CSV"),
            decompressed(self._storage.reader(file.path), compression) as stream,
        ):
            yield stream


class _Text:
    """A stream that remembers its end, for pyarrow takes the end of the file for that of a cell."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._end = file, b""

    def readinto(self, buffer: memoryview) -> int:
        """Read from the stream."""
        count = cast("Any", self._file).readinto(buffer)
        if count:
            self._end = (self._end + bytes(buffer[max(0, count - _END_BYTES) : count]))[-_END_BYTES:]
        return count

    def ends_within(self, cell: str | None) -> bool:
        """Whether the last cell of the last row was begun by a quote, and not ended by one."""
        if not cell or self._end.rstrip(b"\r\n").endswith(b'"'):
            return False
        written = '"' + cell.replace('"', '""')
        return "\n" in cell or "\r" in cell or self._end.endswith(written.encode())


def _reason(shown: str, said: str, header: _Header) -> str:
    wrong = _OTHER_LENGTH.match(said)
    if wrong:
        row, expected, actual = wrong.groups()
        where = f"line {row} (counted in rows)" if row is not None else "a line"
        return (
            f"{shown!r}: {where} has {actual} cells, the header has {expected}; a cell with the delimiter or a line "
            "break in it stands in double quotes"
        )
    coded = _NOT_UTF8.search(said)
    if coded is not None:
        return _encoding(shown, f"column {header.names[int(coded[1])]!r}")
    if "straddl" in said:
        return (
            f"{shown!r} has a row of more than {BLOCK_BYTES // 2**20} MB, or a double quote that is never closed; "
            "larger rows can be read from parquet"
        )
    return f"{shown!r} isn't CSV that can be read"


def _encoding(shown: str, where: str) -> str:
    return f"{shown!r} isn't UTF-8 text ({where}): convert it first, for instance `iconv -f latin1 -t utf-8`"
