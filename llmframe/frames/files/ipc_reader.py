"""Reading Arrow IPC files and streams."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as _untyped_dataset
import pyarrow.ipc as _untyped_ipc

from llmframe.frames.files.agreement import agreed
from llmframe.frames.files.faults import reading
from llmframe.frames.files.ports import FileInfo, Storage

_ipc: Any = _untyped_ipc

_dataset: Any = _untyped_dataset

_MAGIC: Final = b"ARROW1"
"""What a file begins with, and a stream doesn't; the name tells nothing sure."""


class IpcReader:
    """Arrow IPC by its own record batches. Satisfies the `Reader` port.

    A record batch is in memory as a whole; files are written with batches of moderate size for that reason.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def schema(self, files: Sequence[FileInfo]) -> Any:
        """The files' schema."""
        return agreed((self._storage.shown(file.path), self._first(file)) for file in files)

    def rows(self, files: Sequence[FileInfo]) -> int | None:
        """By the batches' own heads; a stream has none that can be read apart."""
        rows = 0
        for file in files:
            with (
                reading(self._storage.shown(file.path), "Arrow IPC"),
                self._storage.reader(file.path, scattered=True) as opened,
            ):
                if opened.read(len(_MAGIC)) != _MAGIC:
                    return None
                opened.seek(0)
                rows += _dataset.IpcFileFormat().make_fragment(pa.PythonFile(opened, mode="r")).count_rows()
        return rows

    def pieces(self, file: FileInfo, *, skip: int) -> Iterator[Any]:
        """The file's own batches; nothing tells their rows beforehand, so all are read."""
        del skip
        with self._opened(file) as found:
            if hasattr(found, "num_record_batches"):
                batches = (found.get_batch(number) for number in range(found.num_record_batches))
            else:
                batches = iter(found)
            for batch in batches:
                yield pa.Table.from_batches([batch])

    def _first(self, file: FileInfo) -> Any:
        with self._opened(file) as found:
            return found.schema

    @contextmanager
    def _opened(self, file: FileInfo) -> Generator[Any]:
        with reading(self._storage.shown(file.path), "Arrow IPC"), self._storage.reader(file.path) as opened:
            start = opened.read(len(_MAGIC))
            opened.seek(0)
            yield _ipc.open_file(opened) if start == _MAGIC else _ipc.open_stream(opened)
