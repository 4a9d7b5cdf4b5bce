"""Ports of files: where they lie, how a format is read, how it is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file that is there.

    Parameters
    ----------
    path
        As its storage opens it.
    name
        Below the folder that was looked in, with `/` between its parts.
    size
        In bytes.
    stamp
        Changes with the content: the time of the last change, or an object store's tag.
    """

    path: str
    name: str
    size: int
    stamp: str = ""


@runtime_checkable
class Storage(Protocol):
    """A file system; paths are in its own form, as `openings.storage_of` gives them."""

    def shown(self, path: str) -> str:
        """`path` as its user writes it."""
        ...

    def join(self, folder: str, *names: str) -> str:
        """A path below a folder."""
        ...

    def split(self, path: str) -> tuple[str, str]:
        """Folder and last name of a path."""
        ...

    def file(self, path: str) -> FileInfo | None:
        """What is known of a file; None where there is none."""
        ...

    def is_folder(self, path: str) -> bool:
        """Whether a folder stands there, or in an object store anything below such a prefix."""
        ...

    def files(self, folder: str, *, deep: bool) -> list[FileInfo]:
        """The files in a folder, hidden ones too, those of its subfolders when `deep`; none without the folder."""
        ...

    def glob(self, pattern: str) -> list[FileInfo]:
        """The files that a pattern of `*`, `?`, `[…]` and `**` matches."""
        ...

    def reader(self, path: str, *, scattered: bool = False) -> BinaryIO:
        """A file open for reading; `scattered` says that its parts are read here and there, by way of a buffer."""
        ...

    def writer(self, path: str, *, through: str) -> AbstractContextManager[BinaryIO]:
        """A file that is at `path` in full after the block, or not at all if the block raises.

        `through` is a temporary name on the same file system; object stores, which are whole by nature, need none.
        """
        ...

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens where there is none."""
        ...

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it; nothing happens where it stands already."""
        ...

    def remove_folder(self, path: str) -> None:
        """Remove a folder if it is empty."""
        ...


@runtime_checkable
class Reader(Protocol):
    """How the files of one format are read."""

    def schema(self, files: Sequence[FileInfo]) -> Any:
        """The pyarrow schema that all of `files` have; raises `UsageError` where they differ."""
        ...

    def rows(self, files: Sequence[FileInfo]) -> int | None:
        """How many rows `files` have, if that can be told without reading them."""
        ...

    def pieces(self, file: FileInfo, *, skip: int) -> Iterator[Any]:
        """The rows of a file in order, as tables that are cut at the same places every time.

        An integer instead of tables stands for so many rows that were passed over, because they are among the first
        `skip` rows.
        """
        ...


@runtime_checkable
class Sink(Protocol):
    """A file of one format in the making."""

    def write(self, table: Any) -> None:
        """Append the rows of a table."""
        ...

    def close(self) -> None:
        """Write what a file of the format ends with; the file under it stays open."""
        ...

    def abandon(self) -> None:
        """Write nothing more: something has failed, and the file is going to be removed."""
        ...


@runtime_checkable
class Target(Protocol):
    """Where a run's parts go, and how they become what was asked for; see `llmframe.frames.files.targets`."""

    @property
    def format(self) -> str:
        """`"parquet"`, `"csv"`, `"tsv"`, `"jsonl"`, `"ipc"` or `"delta"`."""
        ...

    @property
    def address(self) -> str:
        """The target as its user writes it."""
        ...

    @property
    def single(self) -> bool:
        """Whether the parts become one file or table; else they are files of a folder themselves."""
        ...

    def check(self, schema: Any) -> None:
        """Raise `UsageError` for a column that the format can't hold."""
        ...

    def occupied(self) -> str | None:
        """What stands there that isn't this run's own, in words; None when the place is free."""
        ...

    def part_name(self, number: int) -> str:
        """The name of a part, counted from 0."""
        ...

    def write_part(self, name: str, table: Any) -> int:
        """Write a part, whole or not at all; its size in bytes."""
        ...

    def parts(self) -> dict[str, int]:
        """The parts that are there, in order, with their sizes in bytes."""
        ...

    def remove_part(self, name: str) -> None:
        """Remove a part, if it is there."""
        ...

    def read_state(self) -> dict[str, Any] | None:
        """What `write_state` wrote last; None where there is nothing, or nothing that can be read."""
        ...

    def write_state(self, state: dict[str, Any]) -> None:
        """Keep what JSON can say, whole or not at all."""
        ...

    def publish(self, names: Sequence[str], schema: Any, *, mode: str = "error", token: str | None = None) -> None:
        """Make the target of the parts `names` in their order."""
        ...

    def clean(self) -> None:
        """Remove what only a run needs."""
        ...
