"""Gold that would give a wrong number in silence: labels spelt otherwise, rows picked with unequal probabilities."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Final

from llmframe.errors import UsageError
from llmframe.frames import Frame
from llmframe.judge.columns import numbers, read
from llmframe.judge.review import PROBABILITY

EQUAL: Final = 1e-6
"""Relative difference up to which probabilities count as equal: they may have been through a spreadsheet."""


def spelt_otherwise(golds: Collection[Hashable], answers: Collection[Hashable]) -> tuple[str, str] | None:
    """A text of the gold and one of the answers that differ in case or outer blanks only, and aren't two labels.

    They are two where both stand on either side.
    """
    told = {_folded(answer): answer for answer in answers if isinstance(answer, str) and answer not in golds}
    said = {_folded(answer): answer for answer in answers if isinstance(answer, str)}
    for gold in golds:
        if isinstance(gold, str):
            other = (told if gold in answers else said).get(_folded(gold))
            if other is not None and other != gold:
                return gold, other
    return None


def check_spelling(golds: Sequence[Hashable], answers: Sequence[Hashable], *, judge: str) -> None:
    """Raise `UsageError` where gold and answers have the same label in two spellings: neither would count as right."""
    pair = spelt_otherwise(set(golds), set(answers))
    if pair is not None:
        raise UsageError(
            f"the gold has {pair[0]!r} where {judge!r} has {pair[1]!r}, which would count as two labels; "
            "spell them alike"
        )


def unequally_picked(frame: Frame, rows: Sequence[int]) -> bool:
    """Whether `pick_for_review` picked these rows with unequal probabilities, as its column in the frame tells."""
    if not rows or frame.names.count(PROBABILITY) != 1:
        return False
    cells = numbers(read(frame, PROBABILITY))
    found = [cell for at in rows if (cell := cells[at]) is not None]
    return len(found) == len(rows) and max(found) - min(found) > EQUAL * max(found)


def _folded(text: str) -> str:
    return text.strip().casefold()
