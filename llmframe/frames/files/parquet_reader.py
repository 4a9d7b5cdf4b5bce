"""Reading parquet files."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from llmframe.frames.files.agreement import agreed
from llmframe.frames.files.faults import reading
from llmframe.frames.files.ports import FileInfo, Storage

BATCH_BYTES: Final = 8 * 2**20
"""Decoded rows at once, by the row group's own average."""

BATCH_ROWS: Final = 8192
"""Rows at once, at most: the average of text that repeats is far below the size of its decoded rows."""

BUFFER_BYTES: Final = 2**20
"""What is read of a column at once, so that a row group of gigabytes never lies in memory as a whole."""


class ParquetReader:
    """Parquet in batches; finished row groups are passed over unread. Satisfies the `Reader` port."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._rows: dict[str, int] = {}

    def schema(self, files: Sequence[FileInfo]) -> Any:
        """The files' schema, from their footers."""
        return agreed((self._storage.shown(file.path), self._footer(file)) for file in files)

    def rows(self, files: Sequence[FileInfo]) -> int | None:
        """The sum of the footers, which the schema was taken from."""
        return sum(self._rows[file.path] for file in files)

    def pieces(self, file: FileInfo, *, skip: int) -> Iterator[Any]:
        """Tables that are cut at the same rows of each row group."""
        with reading(self._storage.shown(file.path), "parquet"), self._opened(file) as opened:
            found = self._open(opened)
            for number in range(found.num_row_groups):
                group = found.metadata.row_group(number)
                if group.num_rows <= skip:
                    skip -= group.num_rows
                    yield group.num_rows
                    continue
                batch = batch_rows(group.num_rows, group.total_byte_size)
                for rows in found.iter_batches(batch_size=batch, row_groups=[number], use_threads=False):
                    skip = max(0, skip - len(rows))
                    yield pa.Table.from_batches([rows])

    def _footer(self, file: FileInfo) -> Any:
        with reading(self._storage.shown(file.path), "parquet"), self._opened(file) as opened:
            found = self._open(opened)
            self._rows[file.path] = found.metadata.num_rows
            return found.schema_arrow

    def _opened(self, file: FileInfo) -> BinaryIO:
        return self._storage.reader(file.path, scattered=True)

    def _open(self, opened: Any) -> Any:
        return pq.ParquetFile(opened, buffer_size=BUFFER_BYTES, pre_buffer=False)


def batch_rows(rows: int, size: int) -> int:
    """Rows to decode at once of a row group with so many rows and bytes."""
    return max(1, min(BATCH_ROWS, BATCH_BYTES * rows // max(size, 1)))
