"""Writing parquet and Arrow IPC."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as _untyped_compute
import pyarrow.ipc as _untyped_ipc
import pyarrow.parquet as pq

from llmframe.frames.files.cutting import size_of

_arrow: Any = pa
_compute: Any = _untyped_compute
_ipc: Any = _untyped_ipc
_types: Any = pa.types

GROUP_ROWS: Final = 128 * 1024
"""Rows of a row group, at most."""

GROUP_BYTES: Final = 64 * 2**20
"""Size of a row group in memory, about: it is held until it is written."""

READS_NULL_VECTORS: Final = int(pa.__version__.split(".")[0]) >= 26  # noqa: PLR2004 - the first that does
"""Whether pyarrow reads nulls among lists of a fixed size in parquet, which it has always written (arrow#35692)."""

IPC_ROWS: Final = 16 * 1024
"""Rows of a record batch, which readers hold as a whole."""


class ParquetSink:
    """Parquet with zstd, in row groups of a sensible size whatever the tables'. Satisfies the `Sink` port.

    Notes
    -----
    With a pyarrow that couldn't read what it wrote, lists of a fixed size become lists: the same file but for a remark.
    """

    def __init__(self, file: BinaryIO, schema: Any) -> None:
        kept = schema if READS_NULL_VECTORS else _arrow.schema(map(_with_lists, schema), metadata=schema.metadata)
        self._writer: Any = pq.ParquetWriter(file, kept, compression="zstd")
        self._schema = kept
        self._held: list[Any] = []
        self._rows = self._bytes = 0

    def write(self, table: Any) -> None:
        """Append rows; they are written once a row group is full."""
        rest = table if READS_NULL_VECTORS or table.schema.equals(self._schema) else _cast(table, self._schema)
        while len(rest):
            part = rest.slice(0, GROUP_ROWS - self._rows)
            rest = rest.slice(len(part))
            self._held.append(part)
            self._rows, self._bytes = self._rows + len(part), self._bytes + size_of(part)
            if self._rows == GROUP_ROWS or self._bytes >= GROUP_BYTES:
                self._flush()

    def close(self) -> None:
        """Write what is held and the footer."""
        try:
            self._flush()
            self._writer.close()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Give the file up as it is: else pyarrow finishes it once the writer is collected, when `file` is closed."""
        self._writer.is_open = False

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(pa.concat_tables(self._held), row_group_size=GROUP_ROWS)
        self._held, self._rows, self._bytes = [], 0, 0


class IpcSink:
    """Arrow IPC with zstd, as a file or (`stream=True`) as a stream. Satisfies the `Sink` port.

    A file allows one dictionary a column, which may only grow: labels keep the codes of the tables before.
    """

    def __init__(self, file: BinaryIO, schema: Any, *, stream: bool = False) -> None:
        options = _ipc.IpcWriteOptions(compression="zstd", emit_dictionary_deltas=True, unify_dictionaries=False)
        opened = _ipc.new_stream if stream else _ipc.new_file
        self._writer: Any = opened(file, schema, options=options)
        self._schema = schema
        self._labels: dict[int, Any] = {
            at: pa.array([], field.type.value_type)
            for at, field in enumerate(schema)
            if _types.is_dictionary(field.type)
        }

    def write(self, table: Any) -> None:
        """Append rows as record batches of moderate size."""
        for at in self._labels:
            table = table.set_column(at, self._schema.field(at), self._coded(table.column(at), at))
        self._writer.write_table(table, max_chunksize=IPC_ROWS)

    def close(self) -> None:
        """Write the end mark, in a file its footer."""
        self._writer.close()

    def abandon(self) -> None:
        """Nothing: what isn't closed isn't finished."""

    def _coded(self, column: Any, at: int) -> Any:
        """`column` with the codes of all labels so far, new ones at their end."""
        type_ = column.type
        whole = column.unify_dictionaries() if column.num_chunks > 1 else column
        if whole.num_chunks:
            known, found = self._labels[at], whole.chunk(0).dictionary
            new = found.filter(_compute.invert(_compute.is_in(found, value_set=known)))
            self._labels[at] = known if not len(new) else pa.concat_arrays([known, new])
        labels = self._labels[at]
        chunks = []
        for chunk in whole.chunks:
            places = _compute.index_in(chunk.dictionary, value_set=labels).cast(type_.index_type)
            chunks.append(pa.DictionaryArray.from_arrays(places.take(chunk.indices), labels, ordered=type_.ordered))
        return pa.chunked_array(chunks, type_)


def _cast(table: Any, schema: Any) -> Any:
    """`table` with lists of any size; taken anew, for a cast null keeps the length that such a pyarrow won't write."""
    return table.cast(schema).take(pa.array(range(len(table)), pa.int64()))


def _with_lists(field: Any) -> Any:
    """A field with lists of any size for those of a fixed one, in structs too."""
    type_ = field.type
    if _types.is_fixed_size_list(type_):
        return field.with_type(pa.list_(_with_lists(type_.value_field)))
    if _types.is_struct(type_):
        return field.with_type(pa.struct([_with_lists(type_.field(at)) for at in range(type_.num_fields)]))
    return field
