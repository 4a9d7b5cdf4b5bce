"""Prompts that are a function of the row."""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from pathlib import PurePath
from types import CodeType
from typing import cast

from llmframe.core.cells import CellError, OnNull, checked_text
from llmframe.core.messages import SYSTEM_ROLES, Message, message, read_messages
from llmframe.core.outcome import Failure
from llmframe.errors import UsageError

Tail = tuple[str, ...]
"""What a callable gave for a row, as texts: one is the user's message, two are a mark and messages in JSON."""

_MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class CallablePrompt:
    """A user's function from a row to its prompt.

    Parameters
    ----------
    function
        Gets a fresh dict from column name to value; returns a text or a list of messages.
    on_null
        Under `"render"` nulls are empty text in the dict; otherwise a row whose null was read fails.
    own_system
        Whether the call has a system text beside it, so that returned messages may hold none.
    """

    function: Callable[[dict[str, object]], object]
    on_null: OnNull = "skip"
    own_system: bool = False

    def __post_init__(self) -> None:
        """Refuse a coroutine function, whose result is no prompt."""
        if inspect.iscoroutinefunction(self.function):
            raise UsageError("prompt is an async function; a prompt callable is a plain one: row -> str or messages")

    def tail(self, row: Mapping[str, object]) -> Tail | Failure:
        """The texts of one row.

        Returns
        -------
        tuple of str or Failure
            A failure tells the type and the line of what went wrong and never a cell.
        """
        blank = self.on_null == "render"
        seen = _Row({name: "" if blank and value is None else value for name, value in row.items()})
        result: object = None
        failure: Failure | None = None
        try:
            result = self.function(seen)
        except Exception as error:  # noqa: BLE001 - the user's code: whatever it raises is this row's failure
            failure = Failure("render", _told(error, seen))
        if seen.null is not None:
            return Failure("null", f"missing value in {seen.null!r}")
        if failure is not None:
            return failure
        try:
            return self._texts(result)
        except CellError as error:
            return Failure(error.kind, f"{error.detail} in what the prompt callable returned")

    def _texts(self, result: object) -> Tail:
        if isinstance(result, str):
            return (checked_text(str.__str__(result)),)
        if not isinstance(result, list | tuple):
            raise CellError("render", f"a value of type {type(result).__name__!r} and no text or messages")
        try:
            turns = read_messages(cast("Sequence[object]", result))
        except UsageError:  # its message may quote the row
            raise CellError("render", "a list of something else than text messages") from None
        if self.own_system and any(turn.role in SYSTEM_ROLES for turn in turns):
            raise CellError("render", "a system message beside `system=`")
        told = [message(turn.role, [_message_text(text) for text in turn.texts], parts=turn.parts) for turn in turns]
        return _MESSAGES, json.dumps(told)


def tail_messages(tail: Sequence[str]) -> list[Message]:
    """The messages that a callable's texts stand for."""
    if len(tail) == 1:
        return [message("user", tail)]
    return cast("list[Message]", json.loads(tail[1]))


def _message_text(text: object) -> str:
    if not isinstance(text, str):
        raise CellError("render", f"a message whose content is of type {type(text).__name__!r}")
    return checked_text(str.__str__(text))


def _told(error: Exception, row: _Row) -> str:
    """The error's type and line; a name only where it is a column that the user's code asked for, and no cell."""
    name = type(error).__name__
    code, line = _place(error)
    where = "in the prompt callable"
    if code is not None:
        where += f", line {line} of {PurePath(code.co_filename).name}"
    if isinstance(error, KeyError) and row.absent is not None and error.args == (row.absent,):
        return f"{name}: {row.absent!r} {where}"
    # `r.review` stands in the code, where a cell can't; `getattr(r, cell)` doesn't.
    if isinstance(error, AttributeError) and error.obj is row and code is not None and error.name in code.co_names:
        return f"{name}: the row is a dict, r[{error.name!r}] and not r.{error.name} {where}"
    return f"{name} {where}"


def _place(error: Exception) -> tuple[CodeType | None, int]:
    """The innermost line that was reached in the file of the user's function."""
    found: tuple[CodeType | None, int] = (None, 0)
    for frame, line in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        if code.co_filename != _told.__code__.co_filename and (
            found[0] is None or found[0].co_filename == code.co_filename
        ):
            found = code, line
    return found


class _Row(dict[str, object]):
    """A dict that notices which null was read first, and which absent column was asked for.

    Writing is left alone, for it belongs to the user. `__iter__` is overridden (with nothing new in it) so that
    `dict(row)` and `f(**row)` read through `__getitem__` instead of copying in C.
    """

    __slots__ = ("absent", "null")

    def __init__(self, values: Mapping[str, object]) -> None:
        super().__init__(values)
        self.null: str | None = None
        self.absent: str | None = None

    def __getitem__(self, key: str) -> object:
        return self._read(key, super().__getitem__(key))

    def __missing__(self, key: str) -> object:
        if not any(key == value for value in super().values() if isinstance(value, str)):
            self.absent = key
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return super().__iter__()

    def get(self, key: str, default: object = None) -> object:
        return self._read(key, super().get(key, default)) if key in self else default

    def pop(self, key: str, *default: object) -> object:
        return self._read(key, super().pop(key, *default)) if key in self else super().pop(key, *default)

    def values(self) -> ValuesView[object]:  # type: ignore[override]
        self._read_all()
        return super().values()

    def items(self) -> ItemsView[str, object]:  # type: ignore[override]
        self._read_all()
        return super().items()

    def copy(self) -> dict[str, object]:
        return dict(self.items())

    def __or__(self, other: dict[str, object]) -> dict[str, object]:  # type: ignore[override]
        return self.copy() | other

    def __ror__(self, other: dict[str, object]) -> dict[str, object]:  # type: ignore[override]
        return other | self.copy()

    def _read(self, key: str, value: object) -> object:
        if value is None and self.null is None:
            self.null = key
        return value

    def _read_all(self) -> None:
        for key in self:
            self._read(key, super().__getitem__(key))
