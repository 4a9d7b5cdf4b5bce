"""What goes wrong with files, as errors that name the file."""

from __future__ import annotations

import lzma
import sys
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa

from llmframe.errors import TROUBLE_BY_ERRNO, StoreError, StoreTrouble, UsageError

_arrow: Any = pa
ARROW_ERRORS: Final[tuple[type[Exception], ...]] = (_arrow.lib.ArrowException,)
"""What pyarrow raises for content it can't take."""

_BROKEN: Final = (*ARROW_ERRORS, EOFError, lzma.LZMAError, zlib.error)

_REMEDY: Final[dict[StoreTrouble, str]] = {
    "full": "no room is left; what is finished stays, and the same call goes on where it stopped",
    "readonly": "it can't be written there by this user",
    "io": "what is finished stays, and the same call goes on where it stopped",
}

_MESSAGE_CHARS: Final = 200
"""Most characters of another library's message."""


@contextmanager
def writing(shown: str) -> Generator[None]:
    """Turn faults of the operating system or an object store into a `StoreError` that names what was written."""
    try:
        yield
    except _system_errors() as error:
        if isinstance(error, StoreError):
            raise
        reason = TROUBLE_BY_ERRNO.get(getattr(error, "errno", None) or 0, "io")
        if isinstance(error, PermissionError):
            reason = "readonly"
        raise StoreError(f"{shown!r} can't be written ({_said(error)}): {_REMEDY[reason]}", reason=reason) from error


@contextmanager
def reading(shown: str, format_: str) -> Generator[None]:
    """Turn faults of a file that is read into a `UsageError` that names it; a missing file is one too."""
    try:
        yield
    except FileNotFoundError:
        raise UsageError(f"{shown!r} is gone: no such file") from None
    except _BROKEN as error:
        raise UsageError(f"{shown!r} can't be read as {format_}: {_said(error)}") from error
    except _system_errors() as error:
        raise UsageError(f"{shown!r} can't be read: {_said(error)}") from error


def _system_errors() -> tuple[type[Exception], ...]:
    """Faults of the operating system, and those of an object store's library that aren't `OSError`s."""
    loaded = sys.modules.get("botocore.exceptions")  # whoever raised it has imported it
    return (OSError,) if loaded is None else (OSError, loaded.BotoCoreError)


def _said(error: Exception) -> str:
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    line = text.strip().splitlines()[0]
    return line if len(line) <= _MESSAGE_CHARS else line[: _MESSAGE_CHARS - 1] + "…"
