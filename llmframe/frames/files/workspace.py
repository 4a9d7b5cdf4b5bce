"""The folder that holds a run's parts and its state."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, cast
from uuid import uuid4

import pyarrow as pa

from llmframe.frames.files.agreement import conformed
from llmframe.frames.files.faults import reading, writing
from llmframe.frames.files.formats import Named
from llmframe.frames.files.ports import FileInfo, Storage
from llmframe.frames.files.sinks import sink_of

_arrow: Any = pa

STATE_NAME: Final = "_llmframe.json"
"""Begins with `_`, so that readers of folders leave it out."""

_PART = re.compile(r"part-\d{5,}\.[a-z0-9.]+")
_TEMPORARY = re.compile(r"\.llmframe-[0-9a-f]{32}\.tmp")


class Workspace:
    """Parts and state of one run, each there as a whole or not at all.

    Parameters
    ----------
    storage, folder
        Where; the folder is made with the first thing that is written.
    kind
        The parts' format.
    safe
        As `sinks.sink_of` takes it.
    """

    def __init__(self, storage: Storage, folder: str, kind: Named, *, safe: bool = False) -> None:
        self._storage, self._folder, self._kind, self._safe = storage, folder, kind, safe

    def part_name(self, number: int) -> str:
        """The name of a part, counted from 0."""
        return f"part-{number:05d}{self._kind.extension}"

    def write_part(self, name: str, table: Any) -> int:
        """Write a part; its size in bytes."""
        path = self._path(name)
        with writing(self._storage.shown(path)):
            self._storage.make_folder(self._folder)
            with (
                self._storage.writer(path, through=self.temporary()) as file,
                sink_of(file, table.schema, self._kind, safe=self._safe) as sink,
            ):
                sink.write(table)
            found = self._storage.file(path)
            return found.size if found is not None else 0

    def parts(self) -> dict[str, int]:
        """The parts that are there, in order, with their sizes in bytes."""
        found = [file for file in self._files() if self.is_part(file.name)]
        return {file.name: file.size for file in sorted(found, key=lambda file: (len(file.name), file.name))}

    def is_part(self, name: str) -> bool:
        """Whether a part of this workspace has such a name."""
        return _PART.fullmatch(name) is not None and name.endswith(self._kind.extension)

    def remove_part(self, name: str) -> None:
        """Remove a part, if it is there."""
        path = self._path(name)
        with writing(self._storage.shown(path)):
            self._storage.remove(path)

    def read_part(self, name: str, schema: Any) -> Iterable[Any]:
        """The tables of a part that is Arrow IPC, with the columns of `schema`."""
        path = self._path(name)
        with reading(self._storage.shown(path), "a part"), self._storage.reader(path) as file:
            for batch in _arrow.ipc.open_stream(file):
                yield conformed(_arrow.Table.from_batches([batch]), schema)

    def read_state(self) -> dict[str, Any] | None:
        """What was written last; None where there is nothing, or something else than a JSON object."""
        path = self._path(STATE_NAME)
        if self._storage.file(path) is None:
            return None
        with reading(self._storage.shown(path), "a run's state"), self._storage.reader(path) as file:
            text = file.read()
        try:
            state = json.loads(text)
        except ValueError:
            return None
        return cast("dict[str, Any]", state) if isinstance(state, dict) else None

    def write_state(self, state: dict[str, Any]) -> None:
        """Keep what JSON can say."""
        path = self._path(STATE_NAME)
        with writing(self._storage.shown(path)):
            self._storage.make_folder(self._folder)
            with self._storage.writer(path, through=self.temporary()) as file:
                file.write((json.dumps(state, ensure_ascii=False, indent=1) + "\n").encode())

    def strangers(self) -> list[str]:
        """Names of files and folders below the folder that aren't this run's, sorted."""
        ours = self._storage.file(self._path(STATE_NAME)) is not None
        return sorted(
            {
                file.name.partition("/")[0]
                for file in self._files(deep=True)
                if not (
                    file.name == STATE_NAME or _TEMPORARY.fullmatch(file.name) or (ours and self.is_part(file.name))
                )
            }
        )

    def sweep(self) -> None:
        """Remove what a run that was killed was just writing."""
        for file in self._files():
            if _TEMPORARY.fullmatch(file.name):
                self._storage.remove(file.path)

    def dissolve(self) -> None:
        """Remove parts, state and the folder, if nothing else is in it."""
        with writing(self._storage.shown(self._folder)):
            self.sweep()
            for name in self.parts():
                self._storage.remove(self._path(name))
            self._storage.remove(self._path(STATE_NAME))
            if self._storage.is_folder(self._folder):
                self._storage.remove_folder(self._folder)

    def temporary(self) -> str:
        """A new name in the folder for a file in the making."""
        return self._path(f".llmframe-{uuid4().hex}.tmp")

    def _files(self, *, deep: bool = False) -> list[FileInfo]:
        return self._storage.files(self._folder, deep=deep)

    def _path(self, name: str) -> str:
        return self._storage.join(self._folder, name)
