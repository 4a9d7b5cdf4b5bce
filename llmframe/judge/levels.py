"""The levels of a rubric, with the codes that stand for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from llmframe.errors import UsageError

Scale = Literal["ordinal", "nominal", "binary"]

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_BINARY: Final = 2


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a rubric.

    Parameters
    ----------
    value
        What stands in the column `level`.
    code
        What the model says for it: a digit or a capital letter, one token with every usual tokenizer.
    meaning
        What the prompt says about it; may be empty.
    number
        Its place on the scale; `None` on a nominal one.
    """

    value: int | str
    code: str
    meaning: str
    number: float | None


def levels_of(levels: object, scale: Scale) -> tuple[Level, ...]:
    """The levels that a rubric says, with their codes, in order.

    Parameters
    ----------
    levels
        A dict of levels and meanings; a list of levels; a range.

    Raises
    ------
    UsageError
        If they are none, too many, of two kinds, or one is there twice.
    """
    if isinstance(levels, Mapping):
        meanings = dict(cast("Mapping[object, object]", levels))
    elif isinstance(levels, Sequence) and not isinstance(levels, (str, bytes)):
        given = cast("Sequence[object]", levels)
        twice = [level for place, level in enumerate(given) if level in given[:place]]
        if twice:
            raise UsageError(f"`levels` has {twice[0]!r} twice")
        meanings = dict.fromkeys(given, "")
    else:
        raise UsageError(f"`levels` is a dict of levels and meanings, a list or a range, got {levels!r}")
    values = list(meanings)
    _check(values, list(meanings.values()), scale)
    whole = all(isinstance(value, int) for value in values)
    digits = whole and all(0 <= value <= 9 for value in cast("list[int]", values))  # noqa: PLR2004 - one digit
    steps: list[Level] = []
    for place, (value, meaning) in enumerate(meanings.items()):
        number = float(cast("int", value)) if whole else place + (0.0 if scale == "binary" else 1.0)
        steps.append(
            Level(
                value=cast("int | str", value),
                code=str(value) if digits else LETTERS[place],
                meaning=str(meaning).strip(),
                number=None if scale == "nominal" else number,
            )
        )
    return tuple(steps)


def _check(values: list[object], meanings: list[object], scale: Scale) -> None:
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values) and not all(
        isinstance(value, str) and value.strip() for value in values
    ):
        raise UsageError(f"`levels` are whole numbers or texts, all of one kind, got {values!r}; for bools say 0 and 1")
    if not all(isinstance(meaning, str) for meaning in meanings):
        raise UsageError("the meaning of a level is text: {1: 'unusable', 2: 'usable'}")
    if not 2 <= len(values) <= len(LETTERS):  # noqa: PLR2004 - a choice
        raise UsageError(f"`levels` has {len(values)}; a rubric has 2 to {len(LETTERS)}, each one token")
    if scale == "binary" and len(values) != _BINARY:
        raise UsageError(f'`scale="binary"` has two levels, got {len(values)}: {values!r}')
