"""How a command ends: its exit status, and one line for what went wrong."""

from __future__ import annotations

import errno
import json
import re
import signal
import sys
import threading
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import FrameType, MappingProxyType
from typing import Final

import typer

from llmframe.errors import LlmframeError, LlmframeWarning, StoreError, UsageError
from llmframe.report import RunReport

ALL_ROWS: Final = 0
BROKEN: Final = 1
WRONG_USE: Final = 2
SOME_FAILED: Final = 3
BUDGET_REACHED: Final = 4
STILL_RUNNING: Final = 5
GATE_BROKEN: Final = 5
INTERRUPTED: Final = 130
TERMINATED: Final = 143

MEANINGS: Final[Mapping[int, str]] = MappingProxyType(
    {
        ALL_ROWS: "every row that was asked has its answer",
        BROKEN: "the machine failed: disk full, a file damaged",
        WRONG_USE: "it can't work as called; nothing was sent",
        SOME_FAILED: "some rows failed; their error column says why",
        BUDGET_REACHED: "a budget was reached; the same command goes on",
        INTERRUPTED: "interrupted by Ctrl-C; the same command goes on",
        TERMINATED: "ended by SIGTERM; the same command goes on",
    }
)
"""Every exit status of `map`, with what it tells a script."""

OF_JOBS: Final[Mapping[int, str]] = MappingProxyType(
    {
        ALL_ROWS: "done as asked",
        BROKEN: "the provider said no, or the machine failed",
        WRONG_USE: "it can't work as called; nothing was sent",
        SOME_FAILED: "some requests came to nothing; `jobs answers` says why",
        STILL_RUNNING: "batches still run",
        INTERRUPTED: "interrupted by Ctrl-C; the batches go on",
    }
)
"""The same of `jobs`."""

OF_JUDGE: Final[Mapping[int, str]] = MappingProxyType(
    {
        ALL_ROWS: "the card is told, and passes every gate",
        BROKEN: "the machine failed: disk full, a file damaged",
        WRONG_USE: "it can't work as called: no such column, no such number",
        GATE_BROKEN: "a number breaks its gate, or is unknown; stderr says which",
    }
)
"""The same of `judge`."""

_BROKEN_NUMBERS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENOMEM, errno.EFBIG})
"""Faults of the system's own: another command line wouldn't help."""

_CALLS: Final = re.compile(r'^    \S+\(\.\.\., (\w+)=(?:True|"(.*)")\)$', re.MULTILINE)
"""Remedies that a message shows as calls of Python, a line each."""

_BROKEN_STORES: Final = frozenset({"damaged", "full", "io"})


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a run as Ctrl-C does: what was answered is kept."""


def status_of(report: RunReport) -> int:
    """The exit status of a run that came to its end."""
    if report.failed.get("budget"):
        return BUDGET_REACHED
    return SOME_FAILED if report.failures or report.state != "done" else ALL_ROWS


def meanings(of: Mapping[int, str] = MEANINGS) -> str:
    """The table of exit statuses for a command's help."""
    return "\n".join(["  Exit status", *(f"  {status:>5}  {meaning}" for status, meaning in of.items())])


@contextmanager
def told(*, as_json: bool = False) -> Generator[None]:
    """Tell what can't work in one line on stderr, and end with its exit status; SIGTERM interrupts meanwhile.

    Parameters
    ----------
    as_json
        Whether stdout is for a JSON object, which then holds the line too.

    Raises
    ------
    typer.Exit
        Instead of an error of llmframe's, an `OSError` or an interrupt.
    """
    try:
        with _terminable(), _plain_warnings():
            yield
    except (LlmframeError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # `| head` has seen enough
            raise
        _fail(_line(error), _status(error), as_json=as_json)
    except Terminated:
        _fail("ended by SIGTERM", TERMINATED, as_json=as_json)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED, as_json=as_json)


def say(text: str) -> None:
    """One line for people, on stderr."""
    typer.echo(text, err=True)


def _fail(line: str, status: int, *, as_json: bool) -> None:
    say(f"error: {line}")
    if as_json:
        typer.echo(json.dumps({"error": line, "exit_code": status}))
    raise typer.Exit(status) from None


def _status(error: LlmframeError | OSError) -> int:
    if isinstance(error, StoreError):
        return BROKEN if error.reason in _BROKEN_STORES else WRONG_USE
    if isinstance(error, LlmframeError) and not isinstance(error, UsageError):
        return BROKEN
    return BROKEN if isinstance(error, OSError) and error.errno in _BROKEN_NUMBERS else WRONG_USE


def _line(error: LlmframeError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror and not isinstance(error, UsageError):
        return error.strerror + (f": {str(error.filename)!r}" if error.filename is not None else "")
    return _CALLS.sub(_as_option, str(error)) or type(error).__name__


def _as_option(call: re.Match[str]) -> str:
    name, value = call.groups()
    return f"    --{name}" if value is None else f"    --{name} {value}"


@contextmanager
def _terminable() -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():  # only there can handlers be set
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise Terminated


@contextmanager
def _plain_warnings() -> Generator[None]:
    """Warnings of ours as `warning: ...`, without the line of code that nobody here wrote."""
    with warnings.catch_warnings():
        shown = warnings.showwarning
        warnings.simplefilter("always", LlmframeWarning)
        if not sys.warnoptions:
            warnings.simplefilter("ignore", DeprecationWarning)

        def show(message: Warning | str, category: type[Warning], filename: str, lineno: int, *rest: object) -> None:
            if issubclass(category, LlmframeWarning):
                say(f"warning: {message}")
            else:
                shown(message, category, filename, lineno, *rest)  # pyright: ignore[reportArgumentType] - passed on

        warnings.showwarning = show
        yield
