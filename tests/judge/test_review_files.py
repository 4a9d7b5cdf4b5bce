"""The review loop: picked, written, filled in as people do, read back, and estimated."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

from llmframe.errors import UsageError
from llmframe.judge.estimating import estimate
from llmframe.judge.review import pick_for_review
from llmframe.judge.review_files import from_review_file, to_review_file

TEXTS = [f"=1+{at}" if at % 7 == 0 else f"text {at}, and\nmore" for at in range(60)]
DATA = pd.DataFrame(
    {
        "text": TEXTS,
        "label": ["yes", "yes", "no"] * 20,
        "confidence": [0.6, 0.9, 0.7] * 20,
        "error": [None] * 60,
    }
)


def truth(text: str) -> str:
    number = text.partition(",")[0].removeprefix("text ").removeprefix("=1+")
    return "no" if int(number) % 2 else "Yes"


def fill(path: Path, answer: Callable[[str], str], *, delimiter: str = ",") -> None:
    """As a person with a spreadsheet does it."""
    if path.suffix == ".xlsx":
        book = openpyxl.load_workbook(path)
        names = [cell.value for cell in book.active[1]]
        for row in book.active.iter_rows(min_row=2):
            row[names.index("human")].value = answer(row[names.index("text")].value) or None
        book.save(path)
        return
    with path.open(encoding="utf-8-sig", newline="") as file:
        head, *rows = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
    for row in rows:
        row[head.index("human")] = answer(row[head.index("text")].removeprefix("'"))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([head, *rows])


def change(path: Path, change_rows: Callable[[list[list[str]]], Any]) -> None:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    change_rows(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def sorted_apart(rows: list[list[str]]) -> list[list[str]]:
    """Text and label of each line, sorted by themselves."""
    return sorted(row[1:3] for row in rows[1:])


def exported(tmp_path: Path, name: str = "review.csv", **said: Any) -> tuple[pd.DataFrame, Path]:
    picked = pick_for_review(DATA, 20, how="expected_error", judge="label")
    return picked, to_review_file(picked, tmp_path / name, **{"hide": ["label"], **said})


@pytest.mark.parametrize(
    ("name", "delimiter"),
    [("review.csv", ","), ("review.csv", ";"), ("review.tsv", "\t"), ("review.xlsx", "")],
    ids=["csv", "csv with semicolons", "tsv", "xlsx"],
)
def test_labels_come_back_to_their_rows(name: str, delimiter: str, tmp_path: Path):
    picked, path = exported(tmp_path, name, labels=["yes", "no"])
    fill(path, truth, delimiter=delimiter)
    out = from_review_file(DATA, path, labels=["yes", "no"])
    known = {
        int(each[1:]): chance for each, chance in zip(picked["review_id"], picked["review_probability"], strict=True)
    }
    for at in range(60):
        assert out["human"][at] == ("no" if at % 2 else "yes") if at in known else pd.isna(out["human"][at])
        assert out["review_probability"][at] == known[at] if at in known else pd.isna(out["review_probability"][at])
    assert list(out.columns) == [*DATA.columns, "human", "review_probability"]


def test_the_estimate_uses_the_probabilities(tmp_path: Path):
    _, path = exported(tmp_path)
    fill(path, truth)
    out = from_review_file(DATA, path, labels=["yes", "no"])
    found = estimate(out, "label", "human", label="yes", probability="review_probability")
    assert (found.method, found.known) == ("weighted", 20)
    assert found.low <= 0.5 <= found.high


def test_a_plain_sample_comes_back_as_one(tmp_path: Path):
    path = to_review_file(pick_for_review(DATA, 30), tmp_path / "review.csv", hide=["label"])
    fill(path, truth)
    out = from_review_file(DATA, path, labels=["yes", "no"])
    found = estimate(out, "label", "human", label="yes", probability="review_probability")
    assert found.found == estimate(out, "label", "human", label="yes", random=True).found


def test_the_judges_answer_and_what_llmframe_put_beside_it_can_be_hidden(tmp_path: Path):
    for name in ("review.csv", "other.csv"):
        _, path = exported(tmp_path, name, **({"columns": ["text"]} if name == "other.csv" else {}))
        head = path.read_text(encoding="utf-8-sig").splitlines()[0]
        assert head == '"review_id","text","human","review_probability"'


def test_labels_can_be_read_into_the_picked_rows_alone(tmp_path: Path):
    picked, path = exported(tmp_path)
    fill(path, truth)
    out = from_review_file(picked, path)
    assert out["human"].str.lower().to_list() == [truth(text).lower() for text in picked["text"]]
    assert out["review_probability"].to_list() == picked["review_probability"].to_list()


def test_rows_with_names_of_their_own_may_change_their_order(tmp_path: Path):
    picked = pick_for_review(DATA, 20, row_id="text")
    path = to_review_file(picked, tmp_path / "review.csv", hide=["label"])
    fill(path, truth)
    out = from_review_file(DATA.sample(frac=1, random_state=1), path, row_id="text")
    told = out[out["human"].notna()]
    assert len(told) == 20
    assert told["human"].to_list() == [truth(text) for text in told["text"]]


def test_what_people_left_empty_is_null_and_told_by_the_estimate(tmp_path: Path):
    _, path = exported(tmp_path)
    skipped = iter([True, True, *[False] * 18])
    fill(path, lambda text: "" if next(skipped) else truth(text))
    out = from_review_file(DATA, path, labels=["yes", "no"])
    assert out["human"].notna().sum() == 18
    found = estimate(out, "label", "human", label="yes", probability="review_probability")
    assert found.notes[0].startswith("2 of 20 picked rows have no gold")


def test_lines_in_another_order_and_columns_of_peoples_own_are_no_matter(tmp_path: Path):
    _, path = exported(tmp_path)
    fill(path, truth)

    def shuffled(rows: list[list[str]]) -> None:
        rows[1:] = rows[:0:-1]
        for row in rows:
            row.append("a remark")

    change(path, shuffled)
    assert from_review_file(DATA, path)["human"].notna().sum() == 20


def test_labels_that_are_there_are_written_and_replaced_only_when_said(tmp_path: Path):
    picked, path = exported(tmp_path)
    fill(path, truth)
    once = from_review_file(picked, path)
    again = to_review_file(once, tmp_path / "again.csv", hide=["label"])
    assert from_review_file(once, again, overwrite=True)["human"].to_list() == once["human"].to_list()
    with pytest.raises(UsageError, match="a column 'human' already; say `overwrite=True`"):
        from_review_file(once, again)


def test_a_file_with_labels_is_not_written_over(tmp_path: Path):
    picked, path = exported(tmp_path)
    with pytest.raises(UsageError, match="is there already, perhaps with labels in it"):
        to_review_file(picked, path)
    assert to_review_file(picked, path, overwrite=True) == path


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda rows: rows.pop(3), "1 of 20 picked rows are missing in the file"),
        (lambda rows: rows.append(rows[3]), "have the same id"),
        (
            lambda rows: rows[3].__setitem__(0, rows[3][0].replace("r", "r1", 1)),
            "an id or a probability that was edited",
        ),
        (lambda rows: rows[3].__setitem__(0, ""), "has no 'review_id'"),
        (
            lambda rows: [
                row.__setitem__(slice(1, 3), cells) for row, cells in zip(rows[1:], sorted_apart(rows), strict=True)
            ],
            r"lines .* and \d+ more have another row's 'text' beside the id: some columns were sorted without",
        ),
        (lambda rows: rows[0].__setitem__(2, "person"), "no column 'human'"),
        (lambda rows: rows[3].__setitem__(2, "perhaps"), "'perhaps' is none of the labels"),
        (lambda rows: rows.__delitem__(slice(1, None)), "nothing was labelled"),
    ],
    ids=[
        "a row gone",
        "a row twice",
        "an edited id",
        "no id",
        "sorted apart",
        "a renamed column",
        "an unknown label",
        "no row",
    ],
)
def test_what_people_changed_is_told(edit: Callable[[list[list[str]]], Any], message: str, tmp_path: Path):
    _, path = exported(tmp_path)
    change(path, edit)
    with pytest.raises(UsageError, match=message):
        from_review_file(DATA, path, labels=["yes", "no"])


def test_missing_lines_may_be_when_said(tmp_path: Path):
    _, path = exported(tmp_path)
    fill(path, truth)
    change(path, lambda rows: rows.pop(3))
    assert from_review_file(DATA, path, partial=True)["human"].notna().sum() == 19


def test_a_frame_in_another_order_is_told(tmp_path: Path):
    _, path = exported(tmp_path)
    with pytest.raises(UsageError, match="in its order"):
        from_review_file(DATA.iloc[::-1].reset_index(drop=True), path)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"columns": ["txet"]}, "column 'txet' is absent; did you mean 'text'"),
        ({"columns": "text"}, "are lists of names"),
        ({"columns": ["review_id"]}, "'review_id' is in the file anyway"),
        ({"hide": ["lable"]}, "column 'lable' is absent"),
    ],
    ids=["misspelt", "no list", "own", "hidden misspelt"],
)
def test_what_cannot_be_written_is_refused(said: dict[str, Any], message: str, tmp_path: Path):
    with pytest.raises(UsageError, match=message):
        exported(tmp_path, **said)


def test_rows_that_were_not_picked_are_refused(tmp_path: Path):
    with pytest.raises(UsageError, match=r"no column 'review_id': pass what `llmframe.pick_for_review` gave"):
        to_review_file(DATA, tmp_path / "review.csv")
    picked = pick_for_review(DATA, 3)
    with pytest.raises(UsageError, match="'review_probability' is null in row 0"):
        to_review_file(picked.assign(review_probability=None), tmp_path / "review.csv")


def test_a_series_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="`from_review_file` takes a frame"):
        from_review_file(DATA["text"], tmp_path / "review.csv")
