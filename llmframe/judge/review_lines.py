"""Lines of a review file: sealed when they are written, checked when they come back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from llmframe.core.columns import TypeKind
from llmframe.errors import UsageError, did_you_mean
from llmframe.frames.files.sheets import Sheet
from llmframe.judge.gold_rows import label_name

TOLD: Final = 5
"""Lines that an error names."""

CHECK: Final = 8
"""Hex digits by which an edited id is found out."""

REMEDY: Final = "export anew and copy the labels over"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLine:
    """One line of a file.

    Attributes
    ----------
    number
        Where it stands, counted from 1.
    sealed
        Its id as `sealed` made it.
    name
        What the row is called.
    count
        How many lines were written; 0 where the id doesn't tell.
    label
        What was filled in; empty where nothing was.
    chance
        The row's probability; nan where it is no number.
    """

    number: int
    sealed: str
    name: str
    count: int
    label: str
    chance: float


def sealed(name: str, count: int, chance: str, cells: Mapping[str, str]) -> str:
    """An id that tells how many lines there are, and whether it and its row are as they were.

    Parameters
    ----------
    name
        What the row is called.
    count
        How many lines are written.
    chance
        The row's probability.
    cells
        What people see of the row, by column.
    """
    facts = json.dumps([name, count, f"{float(chance):.6g}", sorted(cells.items())], ensure_ascii=False)
    return f"{name}-{count}-{hashlib.sha256(facts.encode('utf-8', 'surrogatepass')).hexdigest()[:CHECK]}"


def review_lines(sheet: Sheet, label: str, *, own: tuple[str, str]) -> list[ReviewLine]:
    """The lines of a file that was read.

    Parameters
    ----------
    label
        The column that was filled in.
    own
        Names of the columns with ids and with probabilities.

    Raises
    ------
    UsageError
        If a column is missing or stands twice, or a line has no id.
    """
    id_name, chance_name = own
    for name in (id_name, label, chance_name):
        if sheet.names.count(name) != 1:
            raise UsageError(
                f"the file has {'several columns' if name in sheet.names else 'no column'} {name!r}"
                f"{did_you_mean(name, sheet.names)}; columns: {list(sheet.names)}; the names must stay as exported, "
                "and `label=` is the one that was exported"
            )
    at_id, at_label, at_chance = (sheet.names.index(name) for name in (id_name, label, chance_name))
    empty = [number for number, cells in zip(sheet.lines, sheet.rows, strict=True) if not cells[at_id]]
    if empty:
        raise UsageError(
            f"{_told(empty)} {_have(empty)} no {id_name!r}: without it nothing tells whose label stands there; copy "
            f"the ids from the file that was exported, or {REMEDY}"
        )
    return [
        _line(number, cells[at_id], cells[at_label], cells[at_chance])
        for number, cells in zip(sheet.lines, sheet.rows, strict=True)
    ]


def matched(lines: Sequence[ReviewLine], places: Mapping[str, int], cells: Mapping[str, Sequence[str]]) -> list[int]:
    """The row of each line; every id must be one that was written for its row.

    Parameters
    ----------
    places
        Of each row, by what it is called.
    cells
        What people saw, by column, of all rows as they are now.

    Raises
    ------
    UsageError
        If an id stands twice, was edited, or its row has changed.
    """
    by_name: dict[str, list[int]] = {}
    for line in lines:
        by_name.setdefault(line.name, []).append(line.number)
    twice = next((told for told in by_name.values() if len(told) > 1), None)
    if twice is not None:
        raise UsageError(f"{_told(twice)} have the same id; keep one of them, with the label that holds")
    strange = [line.number for line in lines if not _is_as_written(line, places, cells)]
    if 2 * len(strange) > len(lines):
        raise UsageError(
            f"{len(strange):,} of {len(lines):,} ids aren't those of rows as they are now: pass the frame that was "
            "picked from, in its order and with the exported columns as they were; picking with `row_id=...` makes the "
            "order free"
        )
    if strange:
        raise UsageError(
            f"{_told(strange)} {_have(strange)} an id or a probability that was edited, or the row has changed since; "
            f"copy them from the file that was exported, or {REMEDY}"
        )
    return [places[line.name] for line in lines]


def check_together(
    lines: Sequence[ReviewLine],
    rows: Sequence[int],
    cells: Mapping[str, Sequence[str]],
    told: Mapping[str, Sequence[str]],
) -> None:
    """Raise `UsageError` where ids and what people saw went apart, as when a sheet's columns are sorted by themselves.

    Parameters
    ----------
    rows
        The row of each line.
    cells
        What people saw, by column, of all rows.
    told
        What stands there now, by column, of all lines. Spreadsheets change texts and numbers: what is no row's says
        nothing, and columns in which several rows are alike are passed over.
    """
    for name, seen in told.items():
        own = [_bare(cells[name][row]) for row in rows]
        if len(set(own)) < len(own):
            continue
        known = set(own)
        moved = [
            line.number
            for line, text, mine in zip(lines, map(_bare, seen), own, strict=True)
            if text != mine and text in known
        ]
        if moved:
            raise UsageError(
                f"{_told(moved)} {_have(moved)} another row's {name!r} beside the id: some columns were sorted without "
                f"the others, so labels may stand at the wrong rows; undo that and sort all together, or {REMEDY}"
            )


def check_complete(lines: Sequence[ReviewLine], *, partial: bool) -> None:
    """Raise `UsageError` where lines that were written aren't there, unless `partial`."""
    if not lines:
        raise UsageError("the file has no line below its columns' names; nothing was labelled")
    expected = max(line.count for line in lines)
    if len(lines) < expected and not partial:
        raise UsageError(
            f"{expected - len(lines):,} of {expected:,} picked rows are missing in the file: a row that nobody can "
            "label stays in it, with an empty label; put them back, or say `partial=True` if they were left by chance"
        )


def typed(lines: Sequence[ReviewLine], labels: Sequence[object] | None) -> tuple[list[object], TypeKind]:
    """The labels with their types, null where empty, and the type of their column.

    Parameters
    ----------
    labels
        What may stand there, whatever its case; `None`: numbers where all are numbers, else text.

    Raises
    ------
    UsageError
        If a label is none of `labels`.
    """
    texts = [line.label for line in lines]
    if labels is None:
        return _guessed(texts)
    known = {label_name(each): each for each in labels}
    folded = {name.casefold(): name for name in known}
    if len(folded) == len(known):
        texts = [folded.get(text.casefold(), text) for text in texts]
    unknown = [(line.number, text) for line, text in zip(lines, texts, strict=True) if text and text not in known]
    if unknown:
        raise UsageError(
            f"{_told([number for number, _ in unknown])}: {unknown[0][1]!r} is none of the labels {list(known)}"
            f"{did_you_mean(unknown[0][1], known)}; correct the file, or leave the label empty"
        )
    return [known[text] if text else None for text in texts], _kind(list(known.values()))


def _line(number: int, told: str, label: str, chance: str) -> ReviewLine:
    name, count, _ = [*told.rsplit("-", 2), "", ""][:3]
    found = _number(chance)
    return ReviewLine(
        number=number,
        sealed=told,
        name=name,
        count=int(count) if count.isdecimal() else 0,
        label=label,
        chance=math.nan if found is None else found,
    )


def _is_as_written(line: ReviewLine, places: Mapping[str, int], cells: Mapping[str, Sequence[str]]) -> bool:
    if line.name not in places or not line.count or math.isnan(line.chance):
        return False
    seen = {name: column[places[line.name]] for name, column in cells.items()}
    return line.sealed == sealed(line.name, line.count, str(line.chance), seen)


def _bare(text: str) -> str:
    """Without what a spreadsheet changes: kinds of blanks, an apostrophe before what looks like a formula."""
    return " ".join(text.split()).removeprefix("'")


def _guessed(texts: Sequence[str]) -> tuple[list[object], TypeKind]:
    numbers = [_number(text) for text in texts]
    told = [number for number, text in zip(numbers, texts, strict=True) if text]
    found = [number for number in told if number is not None]
    if not told or len(found) < len(told):
        return [text or None for text in texts], "string"
    if all(number.is_integer() for number in found):
        return [None if number is None else int(number) for number in numbers], "int"
    return list(numbers), "float"


def _number(text: str) -> float | None:
    """A finite number, with the comma of half of Europe's spreadsheets too."""
    try:
        found = float(text.replace(",", "."))
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _kind(labels: Sequence[object]) -> TypeKind:
    if all(isinstance(each, bool) for each in labels):
        return "bool"
    if all(isinstance(each, int) for each in labels):
        return "int"
    return "float" if all(isinstance(each, int | float) for each in labels) else "string"


def _have(lines: Sequence[int]) -> str:
    return "has" if len(lines) == 1 else "have"


def _told(lines: Sequence[int]) -> str:
    """`"line 7"`, `"lines 7, 9 and 12 more"`."""
    more = len(lines) - TOLD
    text = ", ".join(map(str, lines[:TOLD]))
    return f"{'line' if len(lines) == 1 else 'lines'} {text}{f' and {more:,} more' if more > 0 else ''}"
