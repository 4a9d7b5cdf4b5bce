"""A target that is one file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmframe.errors import StoreError
from llmframe.frames.files.agreement import conformed
from llmframe.frames.files.faults import writing
from llmframe.frames.files.formats import Named
from llmframe.frames.files.ports import Storage
from llmframe.frames.files.sinks import STREAM_EXTENSION, check_columns, sink_of
from llmframe.frames.files.workspace import Workspace

PARTS = Named("ipc", None, STREAM_EXTENSION)
"""Parts that become something else keep exact types, whatever the target's format. A stream, for the file form can't
hold labels inside of lists that differ from batch to batch."""


class FileTarget(Workspace):
    """One file, made of parts that lie in a hidden folder beside it. Satisfies the `Target` port.

    Parameters
    ----------
    storage, path
        Where the file is to be.
    kind
        Its format and compression.
    safe
        For CSV and TSV: no cell becomes a formula in a spreadsheet.
    """

    single = True

    def __init__(self, storage: Storage, path: str, kind: Named, *, safe: bool = False) -> None:
        super().__init__(storage, work_folder(storage, path), PARTS)
        self._path_of_file, self._file_kind, self._file_safe = path, kind, safe
        self.address = storage.shown(path)
        self.format = str(kind.format)

    def check(self, schema: Any) -> None:
        """Raise `UsageError` for a column that the format can't hold."""
        check_columns(schema, self._file_kind)

    def occupied(self) -> str | None:
        """The file that stands there, in words."""
        file = self._storage.file(self._path_of_file)
        return None if file is None else f"a file of {file.size:,} bytes"

    def publish(self, names: Sequence[str], schema: Any, *, mode: str = "error", token: str | None = None) -> None:
        """Write the file from the parts `names`; it takes the place of an older one in one step.

        Parameters
        ----------
        names
            Parts in their order; without any the file has no rows.
        schema
            The file's schema with its metadata.
        mode
            `"error"`: a file that has come to stand there meanwhile isn't overwritten.
        token
            For Delta only.

        Raises
        ------
        StoreError
            If it can't be written; an older file stays as it was.
        """
        del token
        there = self.occupied() if mode == "error" else None
        if there is not None:
            raise StoreError(
                f"{self.address!r} is {there} now, which wasn't there before; it stays, and so do the parts of this "
                "run: move it away, and the same call goes on",
                reason="foreign",
            )
        with writing(self.address):
            self._storage.make_folder(self._folder)
            with (
                self._storage.writer(self._path_of_file, through=self.temporary()) as file,
                sink_of(file, schema, self._file_kind, safe=self._file_safe) as sink,
            ):
                for name in names:
                    for table in self.read_part(name, schema):
                        sink.write(conformed(table, schema))

    def clean(self) -> None:
        """Remove the parts, the state and their folder; the file stays."""
        self.dissolve()


def work_folder(storage: Storage, path: str) -> str:
    """The hidden folder beside `path`."""
    folder, name = storage.split(path)
    return storage.join(folder, f".{name}.llmframe")
