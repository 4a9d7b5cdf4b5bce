"""Picked rows as a file that people fill in, and their labels back in the frame."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar, cast

from llmframe.core.cells import CellError, cell_text
from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.frames.derived import Table, position_of
from llmframe.frames.files.sheets import read_sheet, write_sheet
from llmframe.judge.columns import is_own, numbers, read
from llmframe.judge.gold_rows import label_name
from llmframe.judge.review import ID, PROBABILITY, row_ids
from llmframe.judge.review_lines import check_complete, check_together, matched, review_lines, sealed, typed

N = TypeVar("N")


def to_review_file(  # noqa: PLR0913 - the facts of an export
    frame: object,
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    hide: Sequence[str] = (),
    label: str = "human",
    labels: Sequence[object] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write picked rows as CSV, TSV or XLSX, with an empty column for the labels.

    Parameters
    ----------
    frame
        What `pick_for_review` gave.
    path
        Ends in .csv, .tsv or .xlsx. Text that looks like a formula stays text.
    columns
        What people see, in this order. `None`: all but what llmframe put beside answers, `hide` and `label`.
    hide
        Columns that people don't see, best the judge's answer: who sees it tends to agree with it.
    label
        The column to be filled in.
    labels
        What may stand there; XLSX offers them in a list.
    overwrite
        Whether a file that is there may go, with the labels in it.

    Returns
    -------
    Path
        Of the file. `review_id` in it holds what `from_review_file` checks, so it must stay as it is.

    Raises
    ------
    UsageError
        If the rows weren't picked by `pick_for_review`, a column is missing, or the file is there.
    MissingExtraError
        Without openpyxl, for XLSX: `pip install 'llmframe[files]'`.
    """
    place = Path(path)
    table = _table(frame, "to_review_file")
    lacking = [name for name in (ID, PROBABILITY) if name not in table.names]
    if lacking:
        raise UsageError(f"the frame has no column {lacking[0]!r}: pass what `llmframe.pick_for_review` gave")
    shown = _shown(table, columns, hide, label)
    if place.exists() and not overwrite:
        raise UsageError(
            f"{os.fspath(path)!r} is there already, perhaps with labels in it; take another name, or say "
            "`overwrite=True`"
        )
    rows = list(range(len(table)))
    ids = [str(cell) for cell in read(table, ID)]
    chances = [f"{chance:.10g}" for chance in _chances(table)]
    cells = {name: _texts(table, name) for name in shown}
    filled = _texts(table, label) if label in table.names else [""] * len(rows)
    lines = [
        [
            sealed(ids[at], len(rows), chances[at], {name.strip(): cells[name][at] for name in shown}),
            *(cells[name][at] for name in shown),
            filled[at],
            chances[at],
        ]
        for at in rows
    ]
    choices = None if labels is None else (label, [label_name(each) for each in labels])
    write_sheet(place, [ID, *shown, label, PROBABILITY], lines, choices=choices)
    return place


def from_review_file(  # noqa: PLR0913 - the facts of an import
    frame: N,
    path: str | os.PathLike[str],
    *,
    label: str = "human",
    labels: Sequence[object] | None = None,
    row_id: str | None = None,
    partial: bool = False,
    overwrite: bool = False,
) -> N:
    """The frame with the labels of a file that people filled in, row by row.

    Parameters
    ----------
    frame
        The frame that was picked from, or what `pick_for_review` gave. It is never changed.
    path
        What `to_review_file` wrote and people saved.
    label
        The column that was filled in; the frame gets one of this name.
    labels
        What may stand there, with the types that the frame should get. `None`: numbers where all are numbers, else
        text.
    row_id
        As in `pick_for_review`; not needed for what it gave.
    partial
        Whether lines may be missing; the rows of those have no label.
    overwrite
        Whether a column `label` in the frame is replaced.

    Returns
    -------
    frame
        With `label` and `review_probability`; null in rows that weren't picked, `label` also where people left it
        empty.

    Raises
    ------
    UsageError
        If lines are missing or stand twice, an id was edited, columns were sorted by themselves, rows have changed
        since, or a label is unknown; it names the lines.
    MissingExtraError
        Without openpyxl, for XLSX.
    """
    table = _table(frame, "from_review_file")
    sheet = read_sheet(Path(path))
    lines = review_lines(sheet, label, own=(ID, PROBABILITY))
    if label in table.names and not overwrite:
        raise UsageError(
            f"the frame has a column {label!r} already; say `overwrite=True` to replace it, or `label=` another one "
            "that the file has"
        )
    ids = [str(cell) for cell in read(table, ID)] if ID in table.names and row_id is None else row_ids(table, row_id)
    shown = [name for name in table.names if name.strip() in sheet.names and name not in (ID, label, PROBABILITY)]
    cells = {name.strip(): _texts(table, name) for name in shown}
    places = matched(lines, {name: at for at, name in enumerate(ids)}, cells)
    told = {
        name: [row[sheet.names.index(name)] for row in sheet.rows] for name in cells if sheet.names.count(name) == 1
    }
    check_together(lines, places, cells, told)
    check_complete(lines, partial=partial)
    values, kind = typed(lines, labels)
    filled: list[object] = [None] * len(table)
    chances: list[object] = [None] * len(table)
    for line, at, value in zip(lines, places, values, strict=True):
        filled[at], chances[at] = value, line.chance
    columns = [Column(label, ColumnType(kind), filled), Column(PROBABILITY, ColumnType("float"), chances)]
    return cast("N", table.attach(columns, replace=True))


def _table(frame: object, verb: str) -> Table:
    table = wrap(frame)
    if not isinstance(table, Table):
        raise UsageError(f"`{verb}` takes a frame, not a Series")
    return table


def _shown(table: Table, columns: Sequence[str] | None, hide: Sequence[str], label: str) -> list[str]:
    if isinstance(columns, str) or isinstance(hide, str):
        raise UsageError("`columns` and `hide` are lists of names; put a single one into brackets")
    own = (ID, PROBABILITY, label)
    if columns is None:
        for name in hide:
            position_of(name, table.names)
        return [name for name in table.names if name not in (*own, *hide) and not is_own(name)]
    for name in columns:
        position_of(name, table.names)
        if name in own:
            raise UsageError(f"{name!r} is in the file anyway; leave it out of `columns`")
    return [name for name in columns if name not in hide]


def _texts(table: Table, name: str) -> list[str]:
    """A column's cells as text; empty where there is none, or none that can be written."""
    return [_text(cell) for cell in read(table, name)]


def _text(cell: object) -> str:
    try:
        return "" if cell is None else cell_text(cell)
    except CellError:
        return repr(cell)


def _chances(table: Table) -> list[float]:
    found = numbers(read(table, PROBABILITY))
    if None in found:
        raise UsageError(
            f"{PROBABILITY!r} is null in row {found.index(None)} (counted from 0): it wasn't picked; drop it"
        )
    return cast("list[float]", found)
