"""Rows picked for people: with their probabilities, by the judge's doubt, and refused where nothing could follow."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pytest

from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.frames.derived import Table
from llmframe.judge.review import pick_for_review, row_ids
from llmframe.stats.sampling import pick_by_weight

DATA = pd.DataFrame(
    {
        "text": [f"text {at}" for at in range(40)],
        "label": ["rare" if at < 4 else "common" for at in range(40)],
        "confidence": [0.5 if at % 10 == 0 else 0.9 for at in range(40)],
        "error": [None] * 40,
    }
)


def test_a_random_sample_has_one_probability_and_knows_its_rows():
    found = pick_for_review(DATA, 10)
    assert len(found) == 10
    assert found["review_probability"].unique().tolist() == [0.25]
    places = [int(name.removeprefix("r")) for name in found["review_id"]]
    assert found["text"].to_list() == [f"text {at}" for at in places]
    assert places != sorted(places)


def test_the_frame_is_never_changed():
    before = DATA.copy()
    pick_for_review(DATA, 10)
    pd.testing.assert_frame_equal(DATA, before)


def test_strata_are_seen_alike_and_are_the_judges_answers_unless_said():
    found = pick_for_review(DATA, 8, how="stratified", judge="label")
    assert found["label"].value_counts().to_dict() == {"rare": 4, "common": 4}
    assert dict(zip(found["label"], found["review_probability"], strict=True)) == {"rare": 1.0, "common": 0.1111111111}
    other = pick_for_review(DATA, 8, how="stratified", by=["odd" if at % 2 else "even" for at in range(40)])
    assert set(other["review_probability"]) == {0.2}


def test_doubtful_rows_are_picked_in_proportion_to_their_expected_error():
    found = pick_for_review(DATA, 8, how="expected_error", judge="label")
    doubts = [0.5 if at % 10 == 0 else 0.1 for at in range(40)]
    chances = pick_by_weight(doubts, 8).probabilities
    told = dict(_told(found))
    assert told == {name: pytest.approx(chances[int(name[1:])]) for name in told}
    assert max(chances) == pytest.approx(5 * min(chances))


def test_a_row_without_a_confidence_has_the_average_doubt():
    sure: list[float | None] = [0.9, 0.7, None, None]
    found = pick_for_review(DATA.head(4), 4, how="expected_error", confidence=sure)
    assert len(found) == 4
    once = [pick_for_review(DATA.head(4), 1, how="expected_error", confidence=sure, seed=at) for at in range(40)]
    one = dict(pair for picked in once for pair in _told(picked))
    assert one == pytest.approx({"r0": 0.125, "r1": 0.375, "r2": 0.25, "r3": 0.25})


def test_confidences_are_a_column_or_values_of_any_kind():
    frame = pl.DataFrame(DATA.drop(columns="error").to_dict("list"))
    by_name = pick_for_review(DATA, 8, how="expected_error", confidence="confidence")["review_id"].to_list()
    for sure in (DATA["confidence"], DATA["confidence"].to_numpy(), DATA["confidence"].to_list(), frame["confidence"]):
        found = pick_for_review(frame, 8, how="expected_error", confidence=sure)
        assert found["review_id"].to_list() == by_name


def _told(found: pd.DataFrame) -> zip[tuple[str, float]]:
    return zip(found["review_id"], found["review_probability"], strict=True)


def test_the_only_confidence_is_found():
    assert len(pick_for_review(DATA, 3, how="expected_error")) == 3


def test_rows_that_failed_are_not_picked():
    data = DATA.assign(error=["timeout: 30 s" if at < 30 else None for at in range(40)])
    found = pick_for_review(data, 10, judge="label")
    assert {int(name[1:]) for name in found["review_id"]} == set(range(30, 40))
    with pytest.raises(UsageError, match="`budget` is 11, and there are 10 rows"):
        pick_for_review(data, 11, judge="label")


def test_rows_can_have_names_of_their_own():
    found = pick_for_review(DATA, 5, row_id="text")
    assert found["review_id"].to_list() == found["text"].to_list()


def test_the_seed_decides_which_rows():
    assert (
        pick_for_review(DATA, 5, seed=3)["review_id"].to_list()
        == pick_for_review(DATA, 5, seed=3)["review_id"].to_list()
    )
    assert pick_for_review(DATA, 5, seed=3)["text"].to_list() != pick_for_review(DATA, 5, seed=4)["text"].to_list()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"budget": 41}, "`budget` is 41, and there are 40 rows"),
        ({"how": "expected"}, "`how` is one of .*did you mean 'expected_error'"),
        ({"by": "label"}, '`by` is for `how="stratified"`'),
        ({"confidence": "confidence"}, '`confidence` is for `how="expected_error"`'),
        ({"how": "stratified"}, r'takes `by=\.\.\.`'),
        ({"how": "stratified", "by": "lable"}, "`by` names no column: 'lable'; did you mean 'label'"),
        ({"how": "expected_error", "confidence": [2.0] * 40}, "`confidence` is between 0 and 1, and there is 2.0"),
        ({"how": "expected_error", "confidence": [None] * 40}, "no row has a confidence"),
        ({"row_id": "label"}, "names several rows 'rare'"),
        ({"row_id": "error"}, "is null or empty in row 0"),
        ({"judge": "txet"}, "no column 'txet'; did you mean 'text'"),
    ],
    ids=lambda each: "" if isinstance(each, str) else ", ".join(f"{name}={str(said)[:14]}" for name, said in each.items()),  # noqa: E501
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(said: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        pick_for_review(DATA, **{"budget": 10, **said})


def test_several_confidences_have_to_be_told_apart():
    with pytest.raises(UsageError, match="several columns are confidences"):
        pick_for_review(DATA.assign(other_confidence=0.5), 3, how="expected_error")
    with pytest.raises(UsageError, match="no column is a confidence"):
        pick_for_review(DATA[["text"]], 3, how="expected_error")


def test_picked_rows_are_not_picked_from_again():
    with pytest.raises(UsageError, match="'review_id' already: it was picked from before"):
        pick_for_review(pick_for_review(DATA, 10), 5)


def test_a_series_has_no_columns_to_look_at():
    with pytest.raises(UsageError, match="takes a frame, not a Series"):
        pick_for_review(DATA["text"], 5)


def test_a_row_is_called_by_its_place_or_by_a_column():
    table = wrap([{"key": 7}, {"key": 9}])
    assert isinstance(table, Table)
    assert row_ids(table, None) == ["r0", "r1"]
    assert row_ids(table, "key") == ["7", "9"]
