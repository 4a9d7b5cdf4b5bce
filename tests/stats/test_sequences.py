"""Arrays, Series and frames are read as lists are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from llmframe import stats
from llmframe.stats.alpha import alpha
from llmframe.stats.sequences import known, known_rows, plain

CONFIDENCES = np.array([0.9, 0.8, 0.7, 0.6, 0.9, 0.5, 0.3, 0.8])
RIGHT = np.array([True, True, False, True, True, False, False, True])
GOLD, PRED = np.array(list("aabbabab")), np.array(list("aabaabbb"))
LEVELS, ANSWERS = np.array([1, 2, 3, 4, 5, 1, 2, 10]), np.array([1, 3, 3, 4, 4, 1, 2, 9])
GROUPS = np.array([0, 0, 1, 1, 2, 2, 3, 3])
VOTES = np.stack([GOLD, PRED, GOLD[::-1]], axis=1)
RATINGS = np.stack([LEVELS, ANSWERS, LEVELS], axis=1)

Form = Callable[[np.ndarray], Any]
FEW = {"draws": 20}

CALLS: dict[str, Callable[[Form], Any]] = {
    "accuracies": lambda of: stats.accuracies(of(RIGHT), of(RIGHT[::-1])),
    "alpha": lambda of: alpha(of(RATINGS), scale="ordinal", labels=of(np.arange(1, 11)), clusters=of(GROUPS), **FEW),
    "alt_test": lambda of: stats.alt_test(of(PRED), of(VOTES)),
    "brier": lambda of: stats.brier(of(CONFIDENCES), of(RIGHT)),
    "dawid_skene": lambda of: stats.dawid_skene(of(VOTES), of(np.array(["a", "b"]))).posteriors,
    "fleiss_kappa": lambda of: stats.fleiss_kappa(of(VOTES)),
    "human_ceiling": lambda of: stats.human_ceiling(of(ANSWERS), of(RATINGS), scale="ordinal", **FEW),
    "krippendorff_alpha": lambda of: stats.krippendorff_alpha(of(RATINGS), level="ordinal"),
    "log_loss": lambda of: stats.log_loss(of(CONFIDENCES), of(RIGHT)),
    "majority": lambda of: stats.majority(of(VOTES)),
    "nominal": lambda of: stats.nominal_agreement(of(GOLD), of(PRED), labels=of(np.array(list("abc"))), **FEW),
    "of clusters": lambda of: stats.nominal_agreement(of(GOLD), of(PRED), clusters=of(GROUPS), **FEW),
    "ordinal": lambda of: stats.ordinal_agreement(of(LEVELS), of(ANSWERS), labels=of(np.arange(1, 11)), **FEW),
    "levels as they come": lambda of: stats.ordinal_agreement(of(LEVELS), of(ANSWERS), clusters=of(GROUPS), **FEW),
    "ppi_mean": lambda of: stats.ppi_mean(
        of(LEVELS), of(ANSWERS), of(ANSWERS), clusters=of(GROUPS), rest_clusters=of(GROUPS + 9)
    ),
    "weighted": lambda of: stats.weighted(of(VOTES), of(np.ones((8, 3))), labels=of(np.array(["a", "b"]))),
}


def series(values: np.ndarray) -> Any:
    """On an index that isn't the rows' places; a frame of what has two dimensions."""
    if values.ndim == 1:
        return pd.Series(values, index=range(len(values))[::-1])
    return pd.DataFrame(values, index=range(len(values))[::-1])


def of_polars(values: np.ndarray) -> Any:
    return pl.Series(values.tolist()) if values.ndim == 1 else pl.DataFrame(values.tolist(), orient="row")


@pytest.mark.parametrize("of", [np.asarray, series, of_polars], ids=["array", "pandas", "polars"])
@pytest.mark.parametrize("name", CALLS)
def test_every_statistic_of_an_array_and_of_a_series_is_that_of_the_list(name: str, of: Form):
    found, wanted = CALLS[name](of), CALLS[name](lambda values: values.tolist())
    np.testing.assert_equal(repr(found), repr(wanted))


def test_nan_and_na_are_missing_ratings():
    ratings = [[1, 2, None], [3, 3, 3], [None, 1, 1], [5, 4, 5]]
    wanted = stats.krippendorff_alpha(ratings, level="interval")
    assert stats.krippendorff_alpha(np.array(ratings, dtype=float), level="interval") == pytest.approx(wanted)
    assert stats.krippendorff_alpha(pd.DataFrame(ratings, dtype="Int64"), level="interval") == pytest.approx(wanted)
    assert known(pd.Series([1, None], dtype="Int64")) == [1, None]
    assert known_rows(pd.DataFrame({"a": ["x", None], "b": ["y", "z"]})) == [["x", "y"], [None, "z"]]


def test_items_may_have_different_numbers_of_ratings():
    short = [[1, 1], [2, 2, 4], [3], [4, 5, 4, 4]]
    padded = [[*item, *[None] * (4 - len(item))] for item in short]
    assert stats.krippendorff_alpha(short, level="interval") == stats.krippendorff_alpha(padded, level="interval")
    assert stats.krippendorff_alpha(short[::-1], level="interval") == pytest.approx(
        stats.krippendorff_alpha(padded, level="interval")
    )


def test_values_are_python_values():
    assert list(map(type, plain(np.array(["a"])))) == [str]
    assert list(map(type, plain([np.int64(1), np.True_, np.float64(0.5)]))) == [int, bool, float]
