"""Files of an fsspec file system."""

# pyright: reportUnknownMemberType=false
# fsspec ships no types: its values are Any at this seam.

from __future__ import annotations

import contextlib
import glob
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Final

from llmframe.frames.files.ports import FileInfo

_STAMPS: Final = ("ETag", "etag", "md5Hash", "md5", "generation", "LastModified", "last_modified")
"""Where file systems say that a file has changed, the surest first."""

_OBJECT_STORES: Final = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss"})
"""Object stores: a path needs no folder (to make one may create a bucket under a mistyped name), and a file
is there once its upload is complete."""

_TIMES: Final = ("mtime", "modified", "created")

READ_BLOCK_BYTES: Final = 8 * 2**20
"""What is fetched at once of a file that is read from its beginning to its end."""

WRITE_BLOCK_BYTES: Final = 16 * 2**20
"""A block of an upload in parts; S3 allows 10,000 of them."""


class RemoteStorage:
    """An fsspec file system; satisfies the `Storage` port.

    Parameters
    ----------
    system
        The file system.
    """

    def __init__(self, system: Any) -> None:
        self._system = system

    def shown(self, path: str) -> str:
        """The path with its protocol."""
        return str(self._system.unstrip_protocol(path))

    def join(self, folder: str, *names: str) -> str:
        """A path below a folder."""
        return "/".join((folder.rstrip("/"), *names))

    def split(self, path: str) -> tuple[str, str]:
        """Folder and last name of a path."""
        folder, _, name = path.rstrip("/").rpartition("/")
        return folder, name

    def file(self, path: str) -> FileInfo | None:
        """What is known of a file, asked anew; None where there is none."""
        self._forget()
        try:
            known = self._system.info(path)
        except FileNotFoundError:
            return None
        return self._info(known, self.split(path)[1]) if known["type"] == "file" else None

    def is_folder(self, path: str) -> bool:
        """Whether anything lies below such a prefix."""
        self._forget()
        return bool(self._system.isdir(path))

    def files(self, folder: str, *, deep: bool) -> list[FileInfo]:
        """The files below a prefix."""
        self._forget()
        try:
            found: dict[str, Any] = self._system.find(folder, maxdepth=None if deep else 1, detail=True)
        except FileNotFoundError:
            return []
        root = folder.strip("/")
        below = {path.strip("/").removeprefix(root).strip("/"): known for path, known in found.items()}
        return [self._info(known, name) for name, known in below.items() if name and known["type"] == "file"]

    def glob(self, pattern: str) -> list[FileInfo]:
        """The files that match; hidden ones only where the pattern's last part begins with a dot."""
        self._forget()
        parts = PurePosixPath(pattern).parts
        root = "/".join(parts[: next(at for at, part in enumerate(parts) if glob.has_magic(part))]).strip("/")
        found: dict[str, Any] = self._system.glob(pattern, detail=True)
        hidden = parts[-1].startswith(".")
        names = {path.strip("/").removeprefix(root).strip("/"): known for path, known in found.items()}
        return [
            self._info(known, name)
            for name, known in names.items()
            if known["type"] == "file" and (hidden or not name.rpartition("/")[2].startswith("."))
        ]

    def reader(self, path: str, *, scattered: bool = False) -> BinaryIO:
        """A file open for reading; where it is read here and there, no more is fetched than what is asked for."""
        # a cache that reads ahead would fetch a block for each of the columns in turn, and drop it for the next
        cache = "none" if scattered else "readahead"
        return self._system.open(path, "rb", block_size=READ_BLOCK_BYTES, cache_type=cache)

    @contextmanager
    def writer(self, path: str, *, through: str) -> Generator[BinaryIO]:
        """Upload a file; an object store makes it by one last request, other file systems by a new name for `through`.

        What raises leaves out that last step.
        """
        renamed = not self._is_object_store()
        file = self._system.open(
            through if renamed else path,
            "wb",
            block_size=WRITE_BLOCK_BYTES,
            **({} if renamed else {"autocommit": False}),
        )
        try:
            yield file
        except BaseException:
            self._discard(file, through if renamed else None)
            raise
        file.close()
        if renamed:
            self._system.mv(through, path)
        else:
            file.commit()
        self._forget()

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._forget()
        with contextlib.suppress(FileNotFoundError):
            self._system.rm_file(path)

    def make_folder(self, path: str) -> None:
        """Make a folder where the file system has such a thing; a bucket is never made."""
        if not self._is_object_store():
            self._system.makedirs(path, exist_ok=True)

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder where the file system has such a thing."""
        with contextlib.suppress(OSError, NotImplementedError):
            if not self._is_object_store() and not self.files(path, deep=True):
                self._system.rmdir(path)

    def _discard(self, file: Any, temporary: str | None) -> None:
        if temporary is not None:
            with contextlib.suppress(OSError):
                file.close()
                self._system.rm_file(temporary)
            return
        with contextlib.suppress(NotImplementedError):
            file.discard()
        file.closed = True  # else the garbage collector closes it, which in some file systems uploads the rest

    def _is_object_store(self) -> bool:
        protocol = self._system.protocol
        return not _OBJECT_STORES.isdisjoint({protocol} if isinstance(protocol, str) else protocol)

    def _forget(self) -> None:
        """Another process may have written since the last listing."""
        self._system.invalidate_cache()

    def _info(self, known: dict[str, Any], name: str) -> FileInfo:
        stamp = next((str(known[key]) for key in (*_STAMPS, *_TIMES) if known.get(key) is not None), "")
        return FileInfo(str(known["name"]), name, int(known.get("size") or 0), stamp)
