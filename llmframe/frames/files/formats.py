"""The format of a file by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from llmframe.errors import UsageError, did_you_mean

FORMATS: Final = ("parquet", "csv", "tsv", "jsonl", "ipc", "delta")
"""The words that `format=` takes."""

TEXT_FORMATS: Final = ("csv", "tsv", "jsonl")
"""Formats whose files may be compressed as a whole; parquet and Arrow compress inside."""

EXTENSIONS: Final[Mapping[str, str]] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".arrows": "ipc",
}
"""What the names of files end with, and the format that it tells."""

_COMPRESSIONS: Final[dict[str, str]] = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}

_USUAL: Final[dict[str, str]] = {
    "parquet": ".parquet",
    "csv": ".csv",
    "tsv": ".tsv",
    "jsonl": ".jsonl",
    "ipc": ".arrow",
}
"""The extension that files of a format get from us."""

KNOWN_EXTENSIONS: Final = (
    f"{', '.join(EXTENSIONS)}, and .csv, .tsv, .jsonl and .ndjson followed by {', '.join(_COMPRESSIONS)}"
)


@dataclass(frozen=True, slots=True)
class Named:
    """What a file's name says.

    Parameters
    ----------
    format
        One of `FORMATS`; None when the name tells nothing.
    compression
        `"gzip"`, `"zstd"`, `"bz2"` or `"xz"` around a text format.
    extension
        The part of the name that says so.
    """

    format: str | None
    compression: str | None = None
    extension: str = ""


def named(name: str) -> Named:
    """Format and compression by the extension of `name`, in any case of letters."""
    stem = name.lower()
    around = next((end for end in _COMPRESSIONS if stem.endswith(end)), "")
    inner = next((end for end in EXTENSIONS if stem.removesuffix(around).endswith(end)), "")
    format_ = EXTENSIONS.get(inner)
    if around and format_ is not None and format_ not in TEXT_FORMATS:
        format_ = None
    return Named(format_, _COMPRESSIONS.get(around), inner + around if format_ else "")


def usual_extension(format_: str) -> str:
    """The extension of a format's files, with its dot."""
    return _USUAL[format_]


def checked_format(format_: str | None) -> str | None:
    """`format_` when it is one of `FORMATS`, or None; else raises `UsageError`."""
    if format_ is not None and format_ not in FORMATS:
        raise UsageError(
            f"`format={format_!r}` isn't known{did_you_mean(format_, FORMATS)}; formats: {', '.join(FORMATS)}"
        )
    return format_


def format_of(address: str, name: str, format_: str | None) -> str:
    """The format of one file: what was said, else what its name says.

    Raises
    ------
    UsageError
        If neither says anything; the message lists the extensions.
    """
    found = format_ or named(name).format
    if found is None:
        lines = " (of lines: `format='jsonl'`)" if name.lower().endswith(".json") else ""
        raise UsageError(
            f"the name of {address!r} doesn't tell a format{lines}; known extensions: {KNOWN_EXTENSIONS}; "
            f"or say `format=`, one of {', '.join(FORMATS)}"
        )
    return found
