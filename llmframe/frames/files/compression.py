"""Compression around text files."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

import io
import lzma
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, cast

import pyarrow as pa


@contextmanager
def decompressed(file: BinaryIO, compression: str | None) -> Generator[BinaryIO]:
    """The content of a file that is compressed as a whole; several compressed streams may follow each other."""
    with ExitStack() as stack:
        stack.enter_context(file)
        if compression is None:
            yield file
        elif compression == "xz":
            yield cast("BinaryIO", stack.enter_context(lzma.open(file, "rb")))
        else:
            inner = stack.enter_context(pa.CompressedInputStream(file, compression))
            yield cast("BinaryIO", io.BufferedReader(inner))


@contextmanager
def compressed(file: BinaryIO, compression: str | None) -> Generator[BinaryIO]:
    """A file whose content is compressed; equal content gives equal bytes, and `file` stays open."""
    if compression is None:
        yield file
    elif compression == "xz":
        with lzma.open(file, "wb") as inner:
            yield cast("BinaryIO", inner)
    else:
        with pa.CompressedOutputStream(cast("Any", _Unclosed(file)), compression) as inner:
            yield inner


class _Unclosed(io.RawIOBase):
    """A file for pyarrow, which closes what it gets."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, data: Any) -> int:
        """Write to the file under it."""
        return self._file.write(data)
