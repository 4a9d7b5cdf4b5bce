"""Lines of a review file: an edited id is found, and labels get their types."""

from __future__ import annotations

import math
from typing import Any

import pytest

from llmframe.errors import UsageError
from llmframe.frames.files.sheets import Sheet
from llmframe.judge.review_lines import (
    ReviewLine,
    check_complete,
    check_together,
    matched,
    review_lines,
    sealed,
    typed,
)

OWN = ("review_id", "review_probability")
CELLS = {"text": ["a", "b", "c"]}
PLACES = {"r0": 0, "r1": 1, "r2": 2}


def id_of(at: int, *, count: int = 2, chance: str = "0.5") -> str:
    return sealed(f"r{at}", count, chance, {"text": CELLS["text"][at]})


def lines(*rows: tuple[str, str, str]) -> list[ReviewLine]:
    names = ("review_id", "human", "review_probability")
    return review_lines(Sheet(names=names, rows=rows, lines=tuple(range(2, 2 + len(rows)))), "human", own=OWN)


def test_an_id_keeps_its_row_and_the_number_of_lines():
    """Frozen: files that people are filling in stop matching when this changes."""
    assert sealed("r7", 100, "0.25", {"text": "ü"}) == "r7-100-d36ef7e4"
    [line] = lines((id_of(0), "yes", "0.5"))
    assert (line.number, line.name, line.count, line.label, line.chance) == (2, "r0", 2, "yes", 0.5)


def test_names_with_dashes_keep_them():
    [line] = lines((sealed("A-17-b", 3, "0.1", {}), "", "0.1"))
    assert (line.name, line.count) == ("A-17-b", 3)


def test_lines_find_their_rows_in_any_order():
    found = lines((id_of(2), "yes", "0.5"), (id_of(0), "no", "0.5"))
    assert matched(found, PLACES, CELLS) == [2, 0]


def test_what_a_spreadsheet_makes_of_a_text_is_no_other_row():
    found = lines((id_of(2), "yes", "0.5"), (id_of(0), "no", "0.5"))
    check_together(found, [2, 0], CELLS, {"text": ["c", "A  bit otherwise"]})
    check_together(found, [2, 0], {"kind": ["same", "x", "same"]}, {"kind": ["x", "same"]})
    with pytest.raises(UsageError, match="lines 2, 3 have another row's 'text' beside the id"):
        check_together(found, [2, 0], CELLS, {"text": ["'a", " c\n"]})


def test_a_decimal_comma_is_the_same_probability():
    assert matched(lines((id_of(0), "yes", "0,5")), PLACES, CELLS) == [0]


@pytest.mark.parametrize(
    "row",
    [
        (id_of(1).replace("r1", "r2"), "yes", "0.5"),
        (id_of(1)[:-1], "yes", "0.5"),
        ("r1", "yes", "0.5"),
        (id_of(1), "yes", "0.9"),
        (id_of(1), "yes", "half"),
        (id_of(1).replace("r1", "r9"), "yes", "0.5"),
    ],
    ids=["another row's", "cut", "bare", "another probability", "no number", "no row's"],
)
def test_an_edited_line_is_found(row: tuple[str, str, str]):
    with pytest.raises(UsageError, match=r"line 3 has an id or a probability that was edited.*copy them from the file"):
        matched(lines((id_of(0), "yes", "0.5"), row), PLACES, CELLS)


def test_a_row_that_changed_since_is_found():
    with pytest.raises(UsageError, match=r"line 3 has .* or the row has changed since"):
        matched(lines((id_of(0), "yes", "0.5"), (id_of(1), "no", "0.5")), PLACES, {"text": ["a", "B", "c"]})


def test_another_frame_is_told_from_an_edited_line():
    with pytest.raises(UsageError, match="pass the frame that was picked from, in its order"):
        matched(lines((id_of(0), "yes", "0.5"), (id_of(1), "no", "0.5")), PLACES, {"text": ["x", "y", "z"]})


def test_a_row_stands_once():
    with pytest.raises(UsageError, match="lines 2, 3 have the same id"):
        matched(lines((id_of(0), "yes", "0.5"), (id_of(0), "no", "0.5")), PLACES, CELLS)


def test_a_line_without_an_id_is_told_by_its_number():
    with pytest.raises(UsageError, match="line 3 has no 'review_id'"):
        lines((id_of(0), "yes", "0.5"), ("", "no", "0.5"))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("review_id", "Human", "review_probability"), "no column 'human'; did you mean 'Human'"),
        (("id", "human", "review_probability"), "no column 'review_id'"),
        (("review_id", "human", "human", "review_probability"), "several columns 'human'"),
    ],
    ids=["another case", "another id", "twice"],
)
def test_columns_keep_their_names(names: tuple[str, ...], message: str):
    with pytest.raises(UsageError, match=message):
        review_lines(Sheet(names=names, rows=(), lines=()), "human", own=OWN)


def test_missing_lines_are_counted_unless_they_may_be():
    with pytest.raises(UsageError, match=r"1 of 2 picked rows are missing in the file.*`partial=True`"):
        check_complete(lines((id_of(0), "yes", "0.5")), partial=False)
    check_complete(lines((id_of(0), "yes", "0.5")), partial=True)
    check_complete(lines((id_of(0), "yes", "0.5"), (id_of(1), "", "0.5")), partial=False)
    with pytest.raises(UsageError, match="nothing was labelled"):
        check_complete([], partial=True)


def labelled(*texts: str) -> list[ReviewLine]:
    return [
        ReviewLine(number=at, sealed="", name="", count=1, label=text, chance=math.nan)
        for at, text in enumerate(texts, 2)
    ]


@pytest.mark.parametrize(
    ("texts", "labels", "values", "kind"),
    [
        (["4", "", "3"], None, [4, None, 3], "int"),
        (["4", "3,5"], None, [4.0, 3.5], "float"),
        (["4", "four"], None, ["4", "four"], "string"),
        (["nan", "1"], None, ["nan", "1"], "string"),
        (["", ""], None, [None, None], "string"),
        (["Yes", "NO", ""], ["yes", "no"], ["yes", "no", None], "string"),
        (["1", "0"], ["1", "0"], ["1", "0"], "string"),
        (["1", "5"], range(1, 6), [1, 5], "int"),
        (["TRUE", "false"], [True, False], [True, False], "bool"),
        (["0.5", "1"], [0.5, 1], [0.5, 1], "float"),
        (["a", "A"], ["a", "A"], ["a", "A"], "string"),
    ],
    ids=[
        "whole numbers",
        "numbers",
        "text",
        "nan is text",
        "none",
        "any case",
        "digits as text",
        "levels",
        "truths",
        "floats",
        "case tells",
    ],
)  # fmt: skip
def test_labels_get_their_types(texts: list[str], labels: Any, values: list[Any], kind: str):
    assert typed(labelled(*texts), labels) == (values, kind)


def test_an_unknown_label_is_told_with_its_line():
    with pytest.raises(UsageError, match=r"line 3: 'yse' is none of the labels \['yes', 'no'\]; did you mean 'yes'"):
        typed(labelled("yes", "yse"), ["yes", "no"])


def test_many_lines_are_told_by_the_first_ones():
    with pytest.raises(UsageError, match="lines 2, 3, 4, 5, 6 and 2 more: 'x' is none"):
        typed(labelled(*"xxxxxxx"), ["yes", "no"])
