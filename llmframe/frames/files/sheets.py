"""Small tables of text that people edit in a spreadsheet: CSV and XLSX, out and in again."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow and openpyxl ship no types: their values are Any at this seam.

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from llmframe.errors import MissingExtraError, UsageError
from llmframe.frames.files.text_cells import TEXT, without_formulas
from llmframe.frames.files.text_sink import CsvSink

DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}

KINDS: Final = (*DELIMITERS, ".xlsx")

LONGEST_CELL: Final = 32_767
"""Most characters of a spreadsheet's cell."""

LONGEST_CHOICES: Final = 255
"""Most characters of the labels that a spreadsheet's cell can offer."""

WIDE: Final = 60
"""Width of a column with text, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table that was read.

    Attributes
    ----------
    names
        Of the columns, without blanks around them.
    rows
        Texts, one for each name; empty where a cell is. Rows without any text are left out.
    lines
        Where each row stands in the file, counted from 1.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]


def write_sheet(
    path: Path, names: Sequence[str], rows: Sequence[Sequence[str]], *, choices: tuple[str, Sequence[str]] | None = None
) -> None:
    """Write a table of text; no cell becomes a formula.

    Parameters
    ----------
    path
        Ends in .csv, .tsv or .xlsx.
    names
        Of the columns.
    rows
        One text for each name.
    choices
        Name of a column, and what its cells may be: XLSX offers them.

    Raises
    ------
    UsageError
        If the name ends otherwise, or the file can't be written.
    MissingExtraError
        Without openpyxl, for XLSX.
    """
    kind = _kind(path)
    columns = [[row[at] for row in rows] for at in range(len(names))]
    content = _xlsx(names, columns, choices) if kind == ".xlsx" else _csv(names, columns, DELIMITERS[kind])
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{str(path)!r} can't be written: {error.strerror or error}") from None


def read_sheet(path: Path) -> Sheet:
    """Read a table that `write_sheet` wrote and a spreadsheet may have saved.

    Parameters
    ----------
    path
        Ends in .csv, .tsv or .xlsx; of a workbook the first sheet. A spreadsheet's semicolons are known.

    Raises
    ------
    UsageError
        If the file isn't there, isn't of its kind, or isn't UTF-8.
    MissingExtraError
        Without openpyxl, for XLSX.
    """
    kind = _kind(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{str(path)!r} can't be read: {error.strerror or error}") from None
    lines = _xlsx_lines(path, content) if kind == ".xlsx" else _csv_lines(path, content, kind)
    told = [(number, cells) for number, cells in lines if any(cells)]
    if not told:
        raise UsageError(f"{str(path)!r} is empty: it has no line with the columns' names")
    names = tuple(told[0][1])
    rows = tuple(tuple([*cells, *("",) * len(names)][: len(names)]) for _, cells in told[1:])
    return Sheet(names=names, rows=rows, lines=tuple(number for number, _ in told[1:]))


def _kind(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise UsageError(f"{str(path)!r} must end in one of {list(KINDS)}: that tells what kind of file it is")
    return kind


def _safe(cells: Sequence[str]) -> list[str]:
    """With an apostrophe before what a spreadsheet would take for a formula."""
    return without_formulas(pa.chunked_array([pa.array(cells, TEXT)])).to_pylist()


def _csv(names: Sequence[str], columns: Sequence[Sequence[str]], delimiter: str) -> bytes:
    fields = [pa.field(name, TEXT) for name in names]
    table = pa.Table.from_arrays([pa.array(cells, TEXT) for cells in columns], schema=pa.schema(fields))
    file = io.BytesIO()
    sink = CsvSink(file, table.schema, delimiter=delimiter, safe=True)
    sink.write(table)
    # spreadsheets take a CSV file without this mark for one in an old code page
    return b"\xef\xbb\xbf" + file.getvalue()


def _csv_lines(path: Path, content: bytes, kind: str) -> list[tuple[int, list[str]]]:
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{str(path)!r} isn't UTF-8; in the spreadsheet choose 'save as' and 'CSV UTF-8'") from None
    head = text.lstrip().partition("\n")[0]
    counts = {each: head.count(each) for each in (DELIMITERS[kind], ",", ";", "\t")}
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=max(counts, key=lambda each: counts[each]), strict=True
    )
    try:
        return [(reader.line_num, [_plain(cell) for cell in cells]) for cells in reader]
    except csv.Error as error:
        raise UsageError(f"{str(path)!r} is no well-formed CSV near line {reader.line_num}: {error}") from None


def _plain(cell: str) -> str:
    """A cell without what was put before a formula, or came around it."""
    text = cell.strip()
    bare = text.removeprefix("'")
    return bare if bare != text and _safe([bare]) == [text] else text


def _xlsx(names: Sequence[str], columns: Sequence[Sequence[str]], choices: tuple[str, Sequence[str]] | None) -> bytes:
    book = _openpyxl().Workbook()
    sheet = book.active
    wrapped = _openpyxl(".styles").Alignment(wrap_text=True, vertical="top")
    unprintable = _openpyxl(".cell.cell").ILLEGAL_CHARACTERS_RE
    letters = _openpyxl(".utils").get_column_letter
    for at, (name, cells) in enumerate(zip(names, columns, strict=True), 1):
        texts = [name, *cells]
        for line, (text, safe) in enumerate(zip(texts, _safe(texts), strict=True), 1):
            cell = sheet.cell(row=line, column=at)
            cell.alignment = wrapped
            if text:
                cell.value = unprintable.sub("", _cut(text))
                cell.data_type = "s"  # openpyxl takes text after an equals sign for a formula
                cell.quotePrefix = safe != text
        letter = letters(at)
        sheet.column_dimensions[letter].width = min(WIDE, 4 + max(len(text) for text in texts))
        if choices is not None and name == choices[0]:
            _offer(sheet, f"{letter}2:{letter}{len(cells) + 1}", choices[1])
    sheet.freeze_panes = "A2"
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


def _offer(sheet: Any, cells: str, labels: Sequence[str]) -> None:
    """A list to choose from, where the format can hold one."""
    told = ",".join(labels)
    if len(told) > LONGEST_CHOICES or any("," in label or '"' in label for label in labels):
        return
    rule = _openpyxl(".worksheet.datavalidation").DataValidation(type="list", formula1=f'"{told}"', allow_blank=True)
    rule.error, rule.errorTitle = "Choose one of the labels in the list.", "Unknown label"
    rule.showErrorMessage = True
    sheet.add_data_validation(rule)
    rule.add(cells)


def _xlsx_lines(path: Path, content: bytes) -> list[tuple[int, list[str]]]:
    load, faults = _openpyxl().load_workbook, _openpyxl(".utils.exceptions")
    try:
        book = load(io.BytesIO(content), read_only=True, data_only=True)
        rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
    except (zipfile.BadZipFile, faults.InvalidFileException, KeyError, ValueError, IndexError):
        raise UsageError(f"{str(path)!r} is no XLSX workbook, or a damaged one; save it once more as .xlsx") from None
    return [(number, [_text(cell) for cell in row]) for number, row in enumerate(rows, 1)]


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def _openpyxl(part: str = "") -> Any:
    try:
        return import_module(f"openpyxl{part}")
    except ImportError:
        raise MissingExtraError(
            "XLSX files need openpyxl, which isn't installed: `pip install 'llmframe[files]'`, or take a .csv file"
        ) from None
