"""Forms with files in them, as uploads come."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from llmframe.testing.http import HEAD_END

_BOUNDARY = re.compile(r'boundary="?([^";]+)"?', re.IGNORECASE)
_PARAMETER = re.compile(r'\b(name|filename)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Part:
    """One field of a form, and the file's name where it is a file."""

    name: str
    data: bytes
    filename: str | None


def read_form(body: bytes, content_type: str) -> dict[str, Part]:
    """The fields of a `multipart/form-data` body by their names.

    Raises
    ------
    ValueError
        If it isn't one.
    """
    found = _BOUNDARY.search(content_type)
    if found is None or not content_type.lower().startswith("multipart/form-data"):
        msg = "expected multipart/form-data with a boundary"
        raise ValueError(msg)
    return {part.name: part for part in _parts(body, b"--" + found[1].strip().encode("latin-1"))}


def _parts(body: bytes, mark: bytes) -> Iterator[Part]:
    """A part's head is cut by itself, so that a large file is copied once."""
    at = body.find(mark)
    while at >= 0:
        start = at + len(mark) + len(b"\r\n")
        end = body.find(b"\r\n" + mark, start)
        head_end = body.find(HEAD_END, start, end)
        if end < 0 or head_end < 0:
            return
        head = body[start:head_end].decode("utf-8", "replace")
        words = dict(_PARAMETER.findall(head))
        yield Part(words.get("name", ""), body[head_end + len(HEAD_END) : end], words.get("filename"))
        at = end + len(b"\r\n")
