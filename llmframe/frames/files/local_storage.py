"""Files of this machine."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from llmframe.frames.files.ports import FileInfo


class LocalStorage:
    """The operating system's own paths; satisfies the `Storage` port."""

    def shown(self, path: str) -> str:
        """The path itself."""
        return path

    def join(self, folder: str, *names: str) -> str:
        """A path below a folder."""
        return str(Path(folder, *names))

    def split(self, path: str) -> tuple[str, str]:
        """Folder and last name of a path."""
        found = Path(path)
        return str(found.parent), found.name

    def file(self, path: str) -> FileInfo | None:
        """Size and time of the last change, in nanoseconds; None where there is no file."""
        found = Path(path)
        return _info(found, found.name) if found.is_file() else None

    def is_folder(self, path: str) -> bool:
        """Whether it is a folder."""
        return Path(path).is_dir()

    def files(self, folder: str, *, deep: bool) -> list[FileInfo]:
        """The files in a folder, links to files included; links to folders aren't followed."""
        found: list[FileInfo] = []
        for place, folders, names in os.walk(folder):
            here = Path(place)
            below = here.relative_to(folder)
            found += [_info(here / name, (below / name).as_posix()) for name in names if (here / name).is_file()]
            if not deep:
                folders.clear()
        return found

    def glob(self, pattern: str) -> list[FileInfo]:
        """The files that match; hidden ones only where the pattern writes their dot."""
        root = _fixed_part(pattern)
        paths = [Path(each) for each in glob.glob(pattern, recursive=True)]  # noqa: PTH207 - a Path's glob has no `[!a]` with a root of its own
        return [_info(path, path.relative_to(root).as_posix()) for path in paths if path.is_file()]

    def reader(self, path: str, *, scattered: bool = False) -> BinaryIO:
        """A file open for reading."""
        del scattered  # the operating system's own cache knows
        return Path(path).open("rb")

    @contextmanager
    def writer(self, path: str, *, through: str) -> Generator[BinaryIO]:
        """Write `through`, bring it to the disk, and only then give it its name."""
        temporary, target = Path(through), Path(path)
        try:
            with temporary.open("wb") as file:
                yield cast("BinaryIO", file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)

    def remove(self, path: str) -> None:
        """Remove a file."""
        Path(path).unlink(missing_ok=True)

    def make_folder(self, path: str) -> None:
        """Make a folder."""
        Path(path).mkdir(parents=True, exist_ok=True)

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        with contextlib.suppress(OSError):  # not empty, or gone
            Path(path).rmdir()


def _info(path: Path, name: str) -> FileInfo:
    known = path.stat()
    return FileInfo(str(path), name, known.st_size, str(known.st_mtime_ns))


def _fixed_part(pattern: str) -> Path:
    """The folder above a pattern's first wildcard."""
    parts = Path(pattern).parts
    wild = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:wild])


def _sync_folder(folder: Path) -> None:
    """Bring a new name to the disk; Windows can't open folders, and needn't."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
