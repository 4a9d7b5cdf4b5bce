"""Reading Delta tables."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow and deltalake are untyped at this seam: their values are Any.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as _untyped_dataset

from llmframe.errors import MissingExtraError, UsageError
from llmframe.frames.files.agreement import agreed
from llmframe.frames.files.faults import reading
from llmframe.frames.files.openings import INSTALL_LINE
from llmframe.frames.files.parquet_reader import BATCH_ROWS, BUFFER_BYTES
from llmframe.frames.files.ports import FileInfo

_dataset: Any = _untyped_dataset

_PHYSICAL: Final = b"delta.columnMapping.physicalName"


class DeltaReader:
    """The version of a Delta table that is current when this is made. Satisfies the `Reader` port.

    Parameters
    ----------
    address
        As deltalake takes it; object stores are reached by its own settings (`AWS_…` variables and the like).

    Raises
    ------
    UsageError
        If it can't be read, for instance because the table has a feature that this deltalake doesn't know.
    MissingExtraError
        If deltalake isn't installed.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        lake = deltalake()
        with reading(address, "a Delta table"):
            try:
                self._table = lake.DeltaTable(address)
                dataset = self._table.to_pyarrow_dataset()
            except lake.exceptions.DeltaError as error:
                raise UsageError(f"{address!r} can't be read as a Delta table: {said(error)}") from None
        self._schema = dataset.schema
        self._fragments: dict[str, Any] = {fragment.path: fragment for fragment in dataset.get_fragments()}
        self.version: int = self._table.version()
        """The version that is read, whatever is committed meanwhile."""

    def identity(self) -> str:
        """The table's id with its version."""
        return f"delta {self._table.metadata().id} {self.version}"

    def files(self) -> tuple[FileInfo, ...]:
        """The data files, by name: a Delta table has no order of its own."""
        return tuple(FileInfo(path, path, 0) for path in sorted(self._fragments))

    def schema(self, files: Sequence[FileInfo]) -> Any:
        """The table's schema."""
        del files
        plain = [_without_mapping(field) for field in self._schema]
        return agreed([(self._address, pa.schema(plain, metadata=self._schema.metadata))])

    def rows(self, files: Sequence[FileInfo]) -> int | None:
        """The sum of the data files' footers."""
        with reading(self._address, "a Delta table"):
            return sum(self._fragments[file.path].count_rows() for file in files)

    def pieces(self, file: FileInfo, *, skip: int) -> Iterator[Any]:
        """Tables of a data file, with its partition's columns; whole files are passed over unread."""
        fragment = self._fragments[file.path]
        with reading(self._address, "a Delta table"):
            rows = fragment.count_rows()
            if rows <= skip:
                yield rows
                return
            options = _dataset.ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=BUFFER_BYTES, pre_buffer=False
            )
            batches = fragment.to_batches(
                schema=pa.schema([_physical(field) for field in self._schema]),
                batch_size=BATCH_ROWS,
                batch_readahead=0,
                fragment_readahead=0,
                fragment_scan_options=options,
                use_threads=False,
            )
            values = _dataset.get_partition_keys(fragment.partition_expression)
            for batch in batches:
                yield self._named(pa.Table.from_batches([batch]), values)

    def _named(self, table: Any, values: dict[str, Any]) -> Any:
        """`table` by the columns' names instead of those in the files, which column mapping sets apart."""
        columns: list[Any] = []
        for at, field in enumerate(self._schema):
            column = table.column(at)
            if field.name in values and _physical(field).name != field.name:
                column = pa.chunked_array([pa.repeat(pa.scalar(values[field.name], field.type), len(table))])
            columns.append(column.cast(field.type))
        return pa.table(columns, names=self._schema.names)


def deltalake() -> Any:
    """The deltalake package.

    Raises
    ------
    MissingExtraError
        If it isn't installed.
    """
    try:
        import deltalake as lake  # noqa: PLC0415 - an extra, loaded only for Delta tables
    except ImportError:
        raise MissingExtraError(f"Delta tables need deltalake, which isn't installed: {INSTALL_LINE}") from None
    return lake


def said(error: Exception) -> str:
    """The first line of a message of deltalake's; a backtrace may follow it."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _physical(field: Any) -> Any:
    mapped = (field.metadata or {}).get(_PHYSICAL)
    return field if mapped is None else field.with_name(mapped.decode())


def _without_mapping(field: Any) -> Any:
    kept = {key: value for key, value in (field.metadata or {}).items() if not key.startswith(b"delta.columnMapping")}
    return field.with_metadata(kept or None)
