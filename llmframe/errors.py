"""The exception tree, with the closed list of kinds that the error column speaks.

LlmframeError
    UsageError (also a ValueError)       change your code; raised before anything is sent
        MissingExtraError (an ImportError too)
    StoreError                           a store or an output that can't be used; what was paid for is kept elsewhere
    RowError                             `on_error="raise"`: a row failed; `.frame` holds what is there
LlmframeWarning (a UserWarning)          counts of failed rows, once a run

A failed row is not an exception but a value in the error column: null, or `"<kind>: <what happened>"`.
"""

from __future__ import annotations

import difflib
import errno
import functools
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, get_args

ErrorKind = Literal[
    "null",
    "render",
    "encoding",
    "timeout",
    "connection",
    "rate_limit",
    "server",
    "auth",
    "quota",
    "not_found",
    "bad_request",
    "context_length",
    "content_filter",
    "refusal",
    "truncated",
    "empty",
    "invalid",
    "tool_call",
    "budget",
    "cancelled",
    "batch_expired",
    "batch_missing",
    "internal",
]

ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
"""Every word that may stand before the colon in the error column."""

StoreTrouble = Literal["damaged", "foreign", "newer", "locked", "network", "readonly", "full", "io"]
"""Why a store can't be used: damaged content, somebody else's file, written by a newer version, locked by another
program, on a network drive, not writable, no room left, anything else of the operating system's."""

TROUBLE_BY_ERRNO: Final[dict[int | None, StoreTrouble]] = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EFBIG: "full",
    errno.EROFS: "readonly",
    errno.EACCES: "readonly",
    errno.EPERM: "readonly",
}
"""What the system's own numbers of errors mean for a store or an output; others are `"io"`."""

Place = tuple[str, int]
"""A file and a line in it."""

_PACKAGE: Final = str(Path(__file__).parent)

EXCERPT_CHARS = 80
"""Most characters of a cell or reply that an entry of the error column quotes."""


class LlmframeError(Exception):
    """Base of what llmframe raises."""


class UsageError(LlmframeError, ValueError):
    """The call can't work as written; nothing was sent."""


class StoreError(LlmframeError):
    """A store of answers can't be used; `reason` says why in one word, the message how to go on."""

    def __init__(self, message: str, *, reason: StoreTrouble) -> None:
        super().__init__(message)
        self.reason: StoreTrouble = reason


class MissingExtraError(UsageError, ImportError):
    """A package that the call needs isn't installed; the message holds its install line."""


class RowError(LlmframeError):
    """A row failed under `on_error="raise"`.

    Attributes
    ----------
    kind
        The row's error kind, one of `ERROR_KINDS`.
    frame
        The frame as far as it got: answered rows filled, the others with their errors.
    """

    def __init__(self, message: str, *, kind: ErrorKind, frame: object = None) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.frame = frame

    def __reduce__(self) -> tuple[functools.partial[RowError], tuple[str]]:
        """For pickle, which calls without keywords: pools and Ray send exceptions home."""
        return functools.partial(RowError, kind=self.kind, frame=self.frame), (str(self),)


class LlmframeWarning(UserWarning):
    """One line at the end of a run that counts failed rows by kind, or names a clash."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`"; did you mean 'review'?"` for the closest of `known` whatever their case, or an empty string."""
    folded = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    swapped = [each for each in near if sorted(each) == sorted(name.casefold())]  # 'modle' is 'model', never 'mode'
    close = [folded[each] for each in swapped or near]
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def excerpt(text: str) -> str:
    """`text` on one line, cut to `EXCERPT_CHARS`."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT_CHARS else line[: EXCERPT_CHARS - 1] + "…"


def callers_place() -> Place:
    """File and line of the first frame outside llmframe, so that a warning names the user's line."""
    frame = sys._getframe(1)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as `warnings` itself walks the stack
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
