"""Chat messages made of texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from llmframe.errors import UsageError, did_you_mean

Message = dict[str, object]
"""One chat message: `role` and `content` (text, or a list of parts)."""

ROLES = ("system", "developer", "user", "assistant")
"""Roles that a prompt's messages may have."""

SYSTEM_ROLES = ("system", "developer")
"""Roles that stand before the few-shot examples."""

_EXPECTED = 'a message is {"role": ..., "content": ...}'

json_text = json.JSONEncoder().encode
"""A text as `canonical_json` writes it: ASCII only."""

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Turn(Generic[T]):
    """One message before it is text: its role and its texts, one or, when `parts`, one a content part."""

    role: str
    texts: tuple[T, ...]
    parts: bool = False

    def map(self, function: Callable[[T], U]) -> Turn[U]:
        """The same turn with each text replaced."""
        return Turn(self.role, tuple(map(function, self.texts)), self.parts)


def message(role: str, texts: Sequence[str], *, parts: bool = False) -> Message:
    """A fresh message; without `parts` of its one text."""
    if parts:
        return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}
    return {"role": role, "content": texts[0]}


def canonical_pieces(turns: Sequence[Turn[str | int]]) -> tuple[list[str], list[int]]:
    """The canonical JSON of messages around their slots: the constant texts, and the number of the slot between each.

    Written with `json_text` in place of its slots, it is `canonical_json` of the messages.

    Examples
    --------
    >>> canonical_pieces([Turn("user", (0,))])
    (['[{"content":', ',"role":"user"}]'], [0])
    """
    pieces: list[str | int] = ["["]
    for number, turn in enumerate(turns):
        pieces.append(',{"content":' if number else '{"content":')
        for part, text in enumerate(turn.texts):
            before = (',{"text":' if part else '[{"text":') if turn.parts else ""
            pieces += [before, json_text(text) if isinstance(text, str) else text]
            pieces.append(',"type":"text"}' if turn.parts else "")
        pieces.append("]" if turn.parts else "")
        pieces.append(f',"role":{json_text(turn.role)}' + "}")
    pieces.append("]")
    constants, slots = [""], list[int]()
    for piece in pieces:
        if isinstance(piece, str):
            constants[-1] += piece
        else:
            constants.append("")
            slots.append(piece)
    return constants, slots


def read_messages(messages: Sequence[object], *, what: str = "prompt") -> list[Turn[object]]:
    """The turns of a list of messages; their texts may be anything, which the caller checks.

    Raises
    ------
    UsageError
        If something is no message, has another role or key, no content, or a part that isn't text.
    """
    if not messages:
        raise UsageError(f"{what} is an empty list of messages; {_EXPECTED}")
    return [_turn(entry, f"{what} message {number}") for number, entry in enumerate(messages, 1)]


def _turn(entry: object, what: str) -> Turn[object]:
    if not isinstance(entry, Mapping):
        raise UsageError(f"{what} is of type {type(entry).__name__!r}; {_EXPECTED}")
    fields = cast("Mapping[object, object]", entry)
    if set(fields) != {"role", "content"}:
        raise UsageError(f"{what} has the keys {list(fields)!r}; {_EXPECTED}")
    role, content = fields["role"], fields["content"]
    if not isinstance(role, str) or role not in ROLES:
        close = did_you_mean(str(role), ROLES)
        raise UsageError(f"{what} has the role {role!r}{close or ';'} roles are {', '.join(ROLES)}")
    if not isinstance(content, list | tuple):
        return Turn(role, (content,))
    if not content:
        raise UsageError(f"{what} has no content parts")
    parts = cast("Sequence[object]", content)
    return Turn(role, tuple(_part_text(part, what) for part in parts), parts=True)


def _part_text(part: object, what: str) -> object:
    if not isinstance(part, Mapping):
        raise UsageError(
            f'{what} has a content part of type {type(part).__name__!r}; a part is {{"type": "text", ...}}'
        )
    fields = cast("Mapping[object, object]", part)
    if fields.get("type") != "text" or set(fields) != {"type", "text"}:
        raise UsageError(
            f"{what} has a content part of type {fields.get('type')!r} with the keys {list(fields)!r}; "
            'only {"type": "text", "text": ...} is supported'
        )
    return fields["text"]
