"""Fences: marks around a cell in a prompt that the cell can't end itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

SHORTEST: Final = 3
"""Backticks of a fence, where no cell has as many in a row."""

_RUN: Final = re.compile(r"`{3,}")


def fenced(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """The texts of every row, each between two lines of backticks.

    Parameters
    ----------
    columns
        One list of texts a place in the prompt, all of the same length.

    Returns
    -------
    list of list of str
        The same with fences. All texts of a row have the same fence, longer by one than the longest run of backticks
        in any of them: a text can neither end its own fence nor imitate another's.
    """
    fences = ["`" * _length(row) for row in zip(*columns, strict=True)]
    return [[f"{fence}\n{text}\n{fence}" for text, fence in zip(column, fences, strict=True)] for column in columns]


def fenced_text(text: str) -> str:
    """One text between its fences."""
    return fenced([[text]])[0][0]


def _length(texts: Sequence[str]) -> int:
    return max([SHORTEST, *(len(run) + 1 for text in texts for run in _RUN.findall(text))])
