"""The rows of a file that a judge is measured on."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.frames.derived import position_of
from llmframe.frames.files.sources import open_source
from llmframe.judge.columns import answer_columns

BATCH_ROWS: Final = 20_000
"""Rows read at once."""

BATCH_BYTES: Final = 32_000_000
"""About how many bytes."""

TEXT_FORMATS: Final = frozenset({"csv", "tsv"})
"""Formats whose cells are all text unless a type is said."""


def judged_rows(  # noqa: PLR0913 - what a call names
    path: str,
    *,
    pred: str,
    gold: Sequence[str],
    confidence: str | None = None,
    beside: Sequence[str] = (),
    format: str | None = None,  # noqa: A002 - the option's name
    types: Mapping[str, str] | None = None,
) -> list[dict[str, object]]:
    """The rows with the columns that a card needs: answers, gold, confidence, error, what each took.

    Parameters
    ----------
    path
        Anything that `llmframe map` reads.
    pred, gold
        The column with the answers, and one or several with gold.
    confidence
        The column of confidences; `None`: the one beside the answers.
    beside
        Further columns that are needed.
    format, types
        As `map` takes them. Of CSV, columns of numbers are read as such unless their type is said.

    Raises
    ------
    UsageError
        If there is no such file or column, or not one row.
    """
    source = open_source(path, format=format, types=types)
    columns = answer_columns(source.names, pred)
    named = [pred, *gold, *beside, *([confidence] if confidence is not None else [])]
    places = [position_of(name, source.names) for name in named]
    found = [name for name in (columns.error, columns.shown, columns.confidence, columns.meta) if name is not None]
    places = sorted({*places, *(source.names.index(name) for name in found)})
    names = [source.names[at] for at in places]
    cells: list[list[object]] = [[] for _ in places]
    for table in source.tables(BATCH_ROWS, BATCH_BYTES):
        frame = wrap(table)
        for column, part in zip(cells, frame.cells(places, 0, len(frame)), strict=True):
            column.extend(part)
    if not cells[0]:
        raise UsageError(f"{path!r} has no rows: there is nothing to judge")
    by_name = dict(zip(names, cells, strict=True))
    if source.format in TEXT_FORMATS:
        shares = [name for name in (confidence, columns.shown, columns.confidence) if name in by_name]
        _read_numbers(by_name, [[pred, *gold], *([name] for name in shares)], but=types or {})
    if columns.meta is not None:
        by_name[columns.meta] = [_parsed(cell) for cell in by_name[columns.meta]]
    return [dict(zip(by_name, row, strict=True)) for row in zip(*by_name.values(), strict=True)]


def as_numbers(cells: Sequence[object]) -> list[float | None] | None:
    """Texts as the numbers that they are; `None` where any isn't one.

    Examples
    --------
    >>> as_numbers(["1", None, "2.5"]), as_numbers(["1", "good"]), as_numbers([None])
    ([1.0, None, 2.5], None, None)
    """
    found: list[float | None] = []
    for cell in cells:
        number = _number(cell)
        if number is None and cell is not None:
            return None
        found.append(number)
    return found if any(number is not None for number in found) else None


def _read_numbers(columns: dict[str, list[object]], together: Sequence[Sequence[str]], *, but: Collection[str]) -> None:
    """Read columns that stand together as numbers where all cells of all of them are."""
    for names in together:
        filled = [name for name in names if any(cell is not None for cell in columns[name])]
        read = {name: as_numbers(columns[name]) for name in filled}
        if not set(names) & set(but) and all(numbers is not None for numbers in read.values()):
            columns.update({name: list(numbers) for name, numbers in read.items() if numbers is not None})


def _number(cell: object) -> float | None:
    """A finite number; words that Python takes for one, such as `nan`, are text, and so is `1_000`."""
    if not isinstance(cell, str) or "_" in cell:
        return None
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _parsed(cell: object) -> object:
    """What a row took, which text formats hold as JSON."""
    if not isinstance(cell, str):
        return cell
    try:
        return json.loads(cell)
    except ValueError:
        return None
