"""Tables for people's spreadsheets: no formula gets in, and what comes back is read whatever saved it."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from llmframe.errors import MissingExtraError, UsageError
from llmframe.frames.files.sheets import LONGEST_CELL, Sheet, read_sheet, write_sheet

NAMES = ["id", "text", "human"]
ROWS = [
    ["r1", "plain, with a comma", ""],
    ["r2", '=HYPERLINK("http://evil")', "yes"],
    ["r3", "two\nlines “quoted” ü", ""],
    ["r4", "-5", "@me"],
    ["r5", "", ""],
]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".xlsx"])
def test_what_is_written_is_read_again(ending: str, tmp_path: Path):
    path = tmp_path / f"review{ending}"
    write_sheet(path, NAMES, ROWS)
    found = read_sheet(path)
    assert found.names == tuple(NAMES)
    assert [list(row) for row in found.rows] == ROWS


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_a_formula_stands_behind_an_apostrophe_in_text(ending: str, tmp_path: Path):
    path = tmp_path / f"review{ending}"
    write_sheet(path, NAMES, ROWS)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file, delimiter="," if ending == ".csv" else "\t"))
    assert rows[2] == ["r2", '\'=HYPERLINK("http://evil")', "yes"]
    assert rows[4] == ["r4", "-5", "'@me"]


def test_a_formula_is_text_in_a_workbook(tmp_path: Path):
    path = tmp_path / "review.xlsx"
    write_sheet(path, NAMES, ROWS)
    cell = openpyxl.load_workbook(path).active["B3"]
    assert (cell.data_type, cell.value, cell.quotePrefix) == ("s", '=HYPERLINK("http://evil")', True)


def test_a_csv_file_begins_with_the_mark_that_spreadsheets_look_for(tmp_path: Path):
    write_sheet(tmp_path / "review.csv", NAMES, ROWS)
    assert (tmp_path / "review.csv").read_bytes().startswith(b"\xef\xbb\xbf")


def test_a_workbook_offers_the_labels(tmp_path: Path):
    path = tmp_path / "review.xlsx"
    write_sheet(path, NAMES, ROWS, choices=("human", ["yes", "no"]))
    [rule] = openpyxl.load_workbook(path).active.data_validations.dataValidation
    assert (rule.formula1, str(rule.sqref)) == ('"yes,no"', "C2:C6")


@pytest.mark.parametrize("labels", [["a,b", "c"], ["x" * 200, "y" * 200]], ids=["comma", "long"])
def test_labels_that_a_workbook_cannot_offer_are_left_out(labels: list[str], tmp_path: Path):
    path = tmp_path / "review.xlsx"
    write_sheet(path, NAMES, ROWS, choices=("human", labels))
    assert openpyxl.load_workbook(path).active.data_validations.dataValidation == []


def test_text_that_no_cell_holds_is_cut_visibly_and_controls_are_left_out(tmp_path: Path):
    path = tmp_path / "review.xlsx"
    write_sheet(path, ["text"], [["x" * 40_000], ["bell\x07"]])
    rows = read_sheet(path).rows
    assert len(rows[0][0]) == LONGEST_CELL
    assert rows[0][0].endswith("…")
    assert rows[1] == ("bell",)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfid;text;human\r\nr1;a;yes\r\n;;\r\nr2;b;\r\n",
        b"id,text,human\nr1,a,yes\n\nr2,b\n",
        "id\ttext\thuman\nr1\ta\tyes\n\t\t\nr2\tb\t\n".encode("utf-16"),
        b'" id ","text",human\n"r1 ",a," yes"\n\nr2,b,\n',
    ],
    ids=["semicolons", "short lines", "UTF-16 with tabs", "blanks around"],
)
def test_what_a_spreadsheet_saved_is_read(content: bytes, tmp_path: Path):
    path = tmp_path / "review.csv"
    path.write_bytes(content)
    assert read_sheet(path) == Sheet(
        names=("id", "text", "human"), rows=(("r1", "a", "yes"), ("r2", "b", "")), lines=(2, 4)
    )


def test_numbers_and_truths_of_a_workbook_are_text_as_it_shows_them(tmp_path: Path):
    path = tmp_path / "review.xlsx"
    book = openpyxl.Workbook()
    for row in (["id", "human"], ["r1", 4.0], ["r2", 0.5], ["r3", True], ["r4", None]):
        book.active.append(row)
    book.save(path)
    assert [row[1] for row in read_sheet(path).rows] == ["4", "0.5", "true", ""]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("review.ods", b"", r"must end in one of \['.csv', '.tsv', '.xlsx'\]"),
        ("review.csv", None, "can't be read: No such file"),
        ("review.csv", b"", "is empty"),
        ("review.csv", b"\xef\xbb\xbf \n", "is empty"),
        ("review.csv", "id,text\nr1,\xfc\n".encode("latin-1"), "isn't UTF-8; in the spreadsheet choose"),
        ("review.csv", b'id,text\nr1,"open\n', "no well-formed CSV near line 2"),
        ("review.xlsx", b"id,text", "no XLSX workbook"),
    ],
    ids=["kind", "absent", "empty", "blank", "code page", "open quote", "no workbook"],
)
def test_what_cannot_be_read_is_told_with_a_remedy(name: str, content: bytes | None, message: str, tmp_path: Path):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        read_sheet(path)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(UsageError, match="can't be written: No such file"):
        write_sheet(tmp_path / "absent" / "review.csv", NAMES, ROWS)


def test_a_workbook_without_its_package_names_the_extra(tmp_path: Path, monkeypatch: Any):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'llmframe\[files\]'`, or take a .csv file"):
        write_sheet(tmp_path / "review.xlsx", NAMES, ROWS)
