"""What agreement is measured on: the answer's cells, one or several golds, the scale they are on."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import polars as pl
import pytest

from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.judge.rated_rows import labels_of, rated_rows, scale_of


def told(columns, pred="label", gold="human", *, group=None, kind=pd.DataFrame):
    return rated_rows(wrap(kind(columns)), pred, gold, group=group)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_row_with_an_error_has_no_answer(kind):
    found = told({"human": ["a", "b", None], "label": ["a", "b", "b"], "error": [None, "timeout: x", None]}, kind=kind)
    assert found.answers == ["a", None, "b"]
    assert found.golds == [["a"], ["b"], [None]]
    assert [error is not None for error in found.errors] == [False, True, False]


def test_the_error_is_the_answers_own():
    found = told({"human": ["a", "a"], "x_error": ["no", "no"], "label": ["a", "a"], "error": [None, None]})
    assert found.answers == ["a", "a"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_several_people_are_a_list_of_names_or_a_column_of_lists(kind):
    columns = {"h1": [1, 2], "h2": [1, None], "all": [[1, 1], [2]], "label": [1, 2]}
    names, lists = told(columns, gold=["h1", "h2"], kind=kind), told(columns, gold="all", kind=kind)
    assert names.golds == lists.golds == [[1, 1], [2, None]]
    assert (names.gold, lists.gold) == (("h1", "h2"), ("all",))


def test_a_list_that_names_no_columns_is_a_value_for_each_row():
    found = told({"label": ["a", "b"]}, gold=["a", "a"])
    assert found.golds == [["a"], ["a"]]
    assert found.gold == ("gold",)


def test_lists_on_both_sides_are_sets_of_labels():
    found = told({"human": [["a"], ["a", "b"]], "label": [["a"], ["a"]]})
    assert found.golds == [['["a"]'], ['["a","b"]']]
    assert scale_of(found, None) == "nominal"


@pytest.mark.parametrize(
    ("answers", "gold", "scale"),
    [
        (["a", "b"], ["a", "b"], "nominal"),
        ([True, False], [True, True], "nominal"),
        ([1, 5], [2, 3], "ordinal"),
        # pandas' own way with a null
        ([1.0, 5.0, 2.0], [2.0, None, 3.0], "ordinal"),
        ([1.5, 5.0], [2.0, 3.0], "interval"),
        ([1, 21], [1, 1], "interval"),
        ([1, 20], [1, 1], "ordinal"),
        ([None, None], [None, None], "nominal"),
        ([float("inf"), 1.0], [1.0, 2.0], "interval"),
    ],
)
def test_the_scale_is_told_by_the_cells(answers, gold, scale):
    assert scale_of(told({"human": gold, "label": answers}), None) == scale


def test_whole_numbers_are_whole_whatever_the_column_holds():
    found = told({"human": [1.0, None], "label": [1, 2]})
    assert [type(cell) for cell in found.answers] == [int, int]
    assert found.golds[0][0] == 1
    assert isinstance(found.golds[0][0], int)


def test_numbers_never_equal_texts():
    with pytest.raises(UsageError, match="the gold is numbers and the answers 'label' aren't"):
        told({"human": [1, 2], "label": ["1", "2"]})
    with pytest.raises(UsageError, match="the answers 'label' are numbers and the gold isn't"):
        told({"human": ["1", "2"], "label": [1, 2]})


def test_decimal_numbers_are_numbers():
    found = told({"human": [Decimal("1.5"), Decimal(2)], "label": [1.5, 2.0]}, kind=pl.DataFrame)
    assert found.golds == [[1.5], [2.0]]
    assert scale_of(found, None) == "interval"


def test_texts_are_on_no_interval_scale():
    with pytest.raises(UsageError, match='`scale="interval"` takes numbers'):
        scale_of(told({"human": ["a"], "label": ["b"]}), "interval")


def test_labels_are_those_of_everybody():
    found = told({"h1": [1, 3], "h2": [1, 5], "label": [1, 2]}, gold=["h1", "h2"])
    assert labels_of(found, "ordinal", None) == [1, 2, 3, 4, 5]
    assert labels_of(found, "nominal", None) == [1, 2, 3, 5]
    assert labels_of(found, "interval", None) is None
    assert labels_of(found, "nominal", [9]) == [9]


def test_rows_of_one_request_belong_together():
    meta = [{"fingerprint": "x"}, {"fingerprint": "x"}, None]
    found = told({"human": list("aab"), "label": list("aab"), "error": [None] * 3, "llm_meta": meta})
    assert found.clusters == ["x", "x", ("row", 2)]
    meta = [{"fingerprint": "x"}, {"fingerprint": "y"}]
    assert told({"human": list("ab"), "label": list("ab"), "error": [None] * 2, "llm_meta": meta}).clusters is None


def test_every_row_belongs_to_a_group():
    columns = {"human": list("ab"), "label": list("ab"), "doc": ["d", None]}
    with pytest.raises(UsageError, match=r"`group` is null in row 1 \(counted from 0\)"):
        told(columns, group="doc")
    assert told(columns, group=["d", "d"]).clusters == ["d", "d"]


def test_part_has_the_cells_of_some_rows():
    found = told({"human": list("abc"), "label": list("abb"), "doc": list("xyz")}, group="doc").part([0, 2])
    assert (found.answers, found.golds, found.clusters) == (["a", "b"], [["a"], ["c"]], ["x", "z"])
