"""A target that is a Delta table."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow and deltalake are untyped at this seam: their values are Any.

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from llmframe.errors import StoreError, UsageError
from llmframe.frames.files.delta_reader import deltalake, said
from llmframe.frames.files.delta_types import delta_field, delta_schema
from llmframe.frames.files.file_target import PARTS, work_folder
from llmframe.frames.files.listing import DELTA_LOG
from llmframe.frames.files.ports import Storage
from llmframe.frames.files.workspace import Workspace

MODES: Final = ("error", "append", "replace")

_DATA_FILE: Final = re.compile(r"part-\d{5}-[0-9a-f-]{36}-c\d{3}(\.\w+)?\.parquet")
"""What deltalake calls the files of a table: a killed run of ours may leave some that no commit names."""


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
        if self._storage.is_folder(self._storage.join(self._table_path, DELTA_LOG)):
            return f"a Delta table (version {self._lake.DeltaTable(self.address).version()})"
        if self._storage.file(self._table_path) is not None:
            return "a file"
        unfinished = self.read_state() is not None
        found = [file.name for file in self._storage.files(self._table_path, deep=True)]
        others = sorted(name for name in found if not (unfinished and _DATA_FILE.fullmatch(name)))
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
            `"error"`: the table must be new; `"append"`: to its rows, the columns must be its own; `"replace"`: in
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
        if token is not None and self._committed(app):
            return
        batches = pa.RecordBatchReader.from_batches(plain, self._batches(names, schema, plain))
        options: dict[str, Any] = (
            {"mode": "overwrite", "schema_mode": "overwrite"} if mode == "replace" else {"mode": mode}
        )
        if token is not None:
            options["commit_properties"] = self._lake.CommitProperties(
                app_transactions=[self._lake.Transaction(app, 1)]
            )
        errors = self._lake.exceptions
        try:
            self._lake.write_deltalake(self.address, batches, **options)
        except errors.SchemaMismatchError as error:
            raise UsageError(f"{self.address!r} has other columns than this run: {said(error)}") from None
        except (errors.DeltaError, OSError) as error:
            if mode == "error" and self.occupied() is not None:
                raise UsageError(f"{self.address!r} is there already: append to it or replace it") from None
            raise StoreError(f"{self.address!r} can't be written: {said(error)}", reason="io") from error

    def clean(self) -> None:
        """Remove the parts, the state and their folder; the table stays."""
        self.dissolve()

    def _committed(self, app: str) -> bool:
        if not self._storage.is_folder(self._storage.join(self._table_path, DELTA_LOG)):
            return False
        return self._lake.DeltaTable(self.address).transaction_version(app) is not None

    def _batches(self, names: Sequence[str], schema: Any, plain: Any) -> Iterator[Any]:
        for name in names:
            for table in self.read_part(name, schema):
                # unsafe is only the step from nanoseconds to microseconds, all that Delta has: other types grow wider
                yield from table.cast(plain, safe=False).to_batches()
