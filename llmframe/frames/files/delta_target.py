"""A target that is a Delta table."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow and deltalake are untyped at this seam: their values are Any.

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from llmframe.errors import StoreError, UsageError
from llmframe.frames.files.delta_files import NAME, DataFile, actions, fits, is_plain, write_files
from llmframe.frames.files.delta_reader import deltalake, said
from llmframe.frames.files.delta_types import delta_field, delta_schema
from llmframe.frames.files.file_target import PARTS, work_folder
from llmframe.frames.files.listing import DELTA_LOG
from llmframe.frames.files.ports import Storage
from llmframe.frames.files.workspace import Workspace

MODES: Final = ("error", "append", "overwrite")

STORES: Final = ("s3", "s3a", "gs", "az", "abfs", "abfss", "adl", "hdfs")
"""Protocols by which both fsspec and deltalake reach the same place; `memory://` is another place for each of them."""


class DeltaTarget(Workspace):
    """A Delta table that gets all parts in one commit; they lie in a hidden folder beside it until then.

    Satisfies the `Target` port.
    """

    format = "delta"
    single = True

    def __init__(self, storage: Storage, path: str) -> None:
        super().__init__(storage, work_folder(storage, path), PARTS)
        self._lake = deltalake()
        self._table_path = path
        self.address = storage.shown(path)
        protocol, found, _ = self.address.partition("://")
        if found and protocol not in STORES:
            raise UsageError(
                f"deltalake can't reach {self.address!r}: a Delta table lies on this machine or behind one of "
                f"{', '.join(STORES)}"
            )

    def check(self, schema: Any) -> None:
        """Raise `UsageError` for a column that Delta can't hold."""
        for field in schema:
            try:
                self._lake.Schema.from_arrow(pa.schema([delta_field(field)]))
            except Exception as error:
                if type(error) is not Exception:  # deltalake raises this very class for types that it doesn't know
                    raise
                raise UsageError(
                    f"column {field.name!r} is {field.type}, which Delta can't hold: write parquet, or make it text or "
                    "a number before"
                ) from None

    def occupied(self) -> str | None:
        """The table, or other files, that stand there, in words."""
        if self._is_there():
            return f"a Delta table (version {self._lake.DeltaTable(self.address).version()})"
        if self._storage.file(self._table_path) is not None:
            return "a file"
        unfinished = self.read_state() is not None
        found = [file.name for file in self._storage.files(self._table_path, deep=True)]
        others = sorted(name for name in found if not (unfinished and NAME.fullmatch(name)))
        return f"a folder with other files, e.g. {others[0]!r}" if others else None

    def publish(self, names: Sequence[str], schema: Any, *, mode: str = "error", token: str | None = None) -> None:
        """Commit all parts to the table at once.

        Parameters
        ----------
        names
            Parts in their order.
        schema
            The columns, with types as `delta_types.delta_type` makes them: labels become text, times microseconds.
        mode
            `"error"`: the table must be new; `"append"`: to its rows, the columns must be its own; `"overwrite"`: in
            place of its rows and columns.
        token
            The run's own name: a commit that bears it isn't made again, as after a kill between it and its note.

        Raises
        ------
        UsageError
            If there is a table and `mode` is `"error"`, or its columns don't fit.
        StoreError
            If it can't be written.
        """
        if mode not in MODES:
            raise UsageError(f"a Delta table is written with one of {', '.join(MODES)}, not {mode!r}")
        plain = delta_schema(schema)
        app = f"llmframe-{token}"
        table = self._lake.DeltaTable(self.address) if self._is_there() else None
        if table is not None and token is not None and table.transaction_version(app) is not None:
            return
        marks = None if token is None else [self._lake.Transaction(app, 1)]
        properties = self._lake.CommitProperties(app_transactions=marks)
        tables = self._tables(names, schema, plain)
        errors = self._lake.exceptions
        try:
            if table is None or (mode != "error" and self._takes_files(table, plain, mode)):
                self._commit(table, tables, plain, mode, properties)
            else:
                self._write(tables, plain, mode, properties)
        except errors.SchemaMismatchError as error:
            raise UsageError(f"{self.address!r} has other columns than this run: {said(error)}") from None
        except (errors.DeltaError, OSError) as error:
            if mode == "error" and self.occupied() is not None:
                raise UsageError(f"{self.address!r} is there already: append to it or overwrite it") from None
            raise StoreError(f"{self.address!r} can't be written: {said(error)}", reason="io") from error

    def clean(self) -> None:
        """Remove the parts, the state and their folder; the table stays."""
        self.dissolve()

    def _is_there(self) -> bool:
        return self._storage.is_folder(self._storage.join(self._table_path, DELTA_LOG))

    def _takes_files(self, table: Any, plain: Any, mode: str) -> bool:
        return is_plain(table) and fits(table, self._lake.Schema.from_arrow(plain), replaced=mode == "overwrite")

    def _commit(self, table: Any, tables: Iterator[Any], plain: Any, mode: str, properties: Any) -> None:
        """Write the files in the order of the rows, then name all of them in one commit."""
        schema = self._lake.Schema.from_arrow(plain)
        files: list[DataFile] = []
        try:
            for file in write_files(self._storage, self._table_path, tables, plain, through=self.temporary()):
                files.append(file)  # noqa: PERF402 - one by one, so that a failure knows those before it
            added = actions(self._lake, files, now_ms=time.time_ns() // 10**6)
            if table is None:
                self._lake.transaction.create_table_with_add_actions(
                    self.address, schema, added, mode=mode, commit_properties=properties
                )
            else:
                table.create_write_transaction(added, mode, schema, commit_properties=properties)
        except BaseException:
            for file in files:
                self._storage.remove(file.path)
            raise

    def _write(self, tables: Iterator[Any], plain: Any, mode: str, properties: Any) -> None:
        """Leave the files to deltalake, which knows partitions, checks and other features; it keeps no order."""
        batches = (batch for table in tables for batch in table.to_batches())
        reader = pa.RecordBatchReader.from_batches(plain, batches)
        how = "overwrite" if mode == "overwrite" else None
        self._lake.write_deltalake(self.address, reader, mode=mode, schema_mode=how, commit_properties=properties)

    def _tables(self, names: Sequence[str], schema: Any, plain: Any) -> Iterator[Any]:
        for name in names:
            for table in self.read_part(name, schema):
                # unsafe is only the step from nanoseconds to microseconds, all that Delta has: other types grow wider
                yield table.cast(plain, safe=False)
