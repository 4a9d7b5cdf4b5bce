from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
from collections import Counter
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import polars as pl
import pytest

from llmframe import datasets
from llmframe.errors import UsageError

COLUMNS = ["id", "source", "text", "mean", "sd", "raters", "label"]
DATA = Path(datasets.__file__).with_name("data")


def test_reviews_make_a_frame_of_either_library_with_typed_columns():
    columns = datasets.reviews()
    pandas, polars = pd.DataFrame(columns), pl.DataFrame(columns)
    assert list(pandas.columns) == polars.columns == COLUMNS
    assert [polars.schema[name] for name in ("text", "mean", "sd", "raters")] == [
        pl.String,
        pl.Float64,
        pl.Float64,
        pl.Int64,
    ]
    # Amazon holds 919 negative, the films 1,500 of each: 2 · (919 + 1,500) balanced rows.
    assert len(pandas) == len(polars) == 4838


def test_every_row_that_is_shipped_is_there_unbalanced():
    columns = datasets.reviews(balanced=False)
    pairs = Counter(zip(columns["source"], columns["label"], strict=True))
    assert pairs == {
        ("amazon", "positive"): 1465,
        ("amazon", "negative"): 919,
        ("movies", "positive"): 1500,
        ("movies", "negative"): 1500,
    }


def test_the_label_is_the_sign_of_a_clear_mean_on_the_raters_scale():
    columns = datasets.reviews(balanced=False)
    for mean, label in zip(columns["mean"], columns["label"], strict=True):
        assert 1 <= abs(mean) <= 4
        assert label == ("positive" if mean > 0 else "negative")
    assert min(columns["raters"]) >= 15


def test_no_text_and_no_id_occurs_twice():
    columns = datasets.reviews(balanced=False)
    assert len({text.casefold() for text in columns["text"]}) == len(columns["text"])
    assert len(set(columns["id"])) == len(columns["id"])


@pytest.mark.parametrize(("n", "positive"), [(0, 0), (1, 1), (7, 4), (300, 150)])
def test_n_rows_are_half_positive_and_half_negative(n, positive):
    labels = Counter(datasets.reviews(n)["label"])
    assert (labels["positive"], labels["negative"]) == (positive, n - positive)


def test_no_rows_still_have_all_columns():
    assert datasets.reviews(0) == {name: [] for name in COLUMNS}


def test_a_seed_fixes_the_rows_and_a_smaller_draw_lies_within_a_larger_one():
    small, large = datasets.reviews(20, seed=3), datasets.reviews(100, seed=3)
    assert small == datasets.reviews(20, seed=3)
    assert set(small["id"]) < set(large["id"])
    assert set(small["id"]) != set(datasets.reviews(20, seed=4)["id"])


def test_labels_do_not_come_in_blocks():
    labels = datasets.reviews(100)["label"]
    changes = sum(a != b for a, b in itertools.pairwise(labels))
    assert 30 < changes < 70  # 50 expected of 99 for a shuffled half and half


def test_one_source_alone():
    assert set(datasets.reviews(10, source="movies")["source"]) == {"movies"}


def test_an_unknown_source_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match=r"source='tweets'; known: 'amazon', 'movies'"):
        datasets.reviews(source="tweets")


@pytest.mark.parametrize("n", [-1, 4839])
def test_more_rows_than_there_are_is_a_usage_error_with_the_number(n):
    with pytest.raises(UsageError, match=rf"n={n}: there are 4838 balanced rows"):
        datasets.reviews(n)


def test_the_caller_may_change_what_it_got():
    datasets.reviews(5)["text"].clear()
    assert len(datasets.reviews(5)["text"]) == 5


def alpha(rows: list[list[int]], level: str = "interval") -> float:
    """Krippendorff's alpha of all votes, by the reference package; raters are interchangeable there."""
    counts = np.array([[votes.count(value) for value in range(-4, 5)] for votes in rows])
    return krippendorff.alpha(
        value_counts=counts, value_domain=list(range(-4, 5)), level_of_measurement=level, dtype=np.float64
    )


# The figures of the whole files, computed apart from this package: 74,160 and 159,750 ratings.
@pytest.mark.parametrize(
    ("name", "rows", "votes", "interval", "ordinal"),
    [("amazon", 3708, 74_160, 0.820, 0.829), ("tweets", 4200, 159_750, 0.783, 0.788)],
)
def test_the_ratings_have_the_known_agreement_of_the_whole_files(name, rows, votes, interval, ordinal):
    columns = datasets.ratings(name)
    assert len(columns["id"]) == len(set(columns["id"])) == rows
    assert sum(columns["raters"]) == votes
    assert alpha(columns["ratings"]) == pytest.approx(interval, abs=5e-4)
    assert alpha(columns["ratings"], "ordinal") == pytest.approx(ordinal, abs=5e-4)


def test_tweets_with_twenty_raters_were_agreed_upon_less_than_those_with_a_hundred():
    columns = datasets.ratings("tweets")
    few = [votes for votes in columns["ratings"] if len(votes) == 20]
    assert Counter(columns["raters"])[20] == len(few) == 3200
    assert alpha(few) == pytest.approx(0.713, abs=5e-4)


@pytest.mark.parametrize("name", datasets.RATED)
def test_a_mean_is_that_of_the_ratings_beside_it_and_each_is_on_the_scale(name):
    columns = datasets.ratings(name)
    rows = zip(columns["ratings"], columns["mean"], columns["sd"], columns["raters"], strict=True)
    for votes, mean, sd, raters in rows:
        assert len(votes) == raters
        assert set(votes) <= set(range(-4, 5))
        assert mean == pytest.approx(np.mean(votes), abs=6e-5)
        assert sd == pytest.approx(np.std(votes), abs=6e-5)


def test_reviews_on_products_are_among_the_rated_ones_with_the_same_mean():
    rated = datasets.ratings("amazon")
    means = dict(zip(rated["id"], rated["mean"], strict=True))
    reviews = datasets.reviews(source="amazon", balanced=False)
    assert [means[key] for key in reviews["id"]] == reviews["mean"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_ratings_make_a_frame_of_either_library(frame):
    made = frame(datasets.ratings("tweets", 5))
    assert list(made.columns) == ["id", "text", "ratings", "mean", "sd", "raters"]
    assert made.shape == (5, 6)
    assert frame(datasets.ratings("amazon", 0)).shape == (0, 6)


def test_a_smaller_draw_of_ratings_begins_a_larger_one():
    small, large = datasets.ratings(n=20, seed=3), datasets.ratings(n=100, seed=3)
    assert small["id"] == large["id"][:20]
    assert small["id"] != datasets.ratings(n=20, seed=4)["id"]
    large["ratings"][0].clear()
    assert len(datasets.ratings(n=1, seed=3)["ratings"][0]) == 20


def test_ratings_that_there_are_not_are_answered_with_those_that_there_are():
    with pytest.raises(UsageError, match=r"name='movies'; known: 'amazon', 'tweets'"):
        datasets.ratings("movies")
    with pytest.raises(UsageError, match="n=3709: there are 3708 rows"):
        datasets.ratings(n=3709)


def test_few_shot_examples_are_balanced_and_occur_in_no_review():
    examples = datasets.few_shot()
    texts = {text.casefold() for text in datasets.reviews(balanced=False)["text"]}
    assert Counter(label for _, label in examples) == {"positive": 3, "negative": 3}
    assert not texts & {row["text"].casefold() for row, _ in examples}
    assert datasets.few_shot(2) == examples[:2]


def test_more_examples_than_there_are_is_a_usage_error():
    with pytest.raises(UsageError, match="n=7: there are 6 examples"):
        datasets.few_shot(7)


def test_the_data_are_the_bytes_that_the_script_makes():
    """Frozen: other bytes are other rows in everybody's demo and other cached answers."""
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:24] for path in DATA.glob("*.csv*")}
    assert digests == {
        "ratings_amazon.csv.gz": "b9db42f66480122575e4b16f",
        "ratings_tweets.csv.gz": "f9fd4d5aef13ecc235dbfd8d",
        "reviews.csv.gz": "2c3e0d54af1deaf3898ceece",
    }


def test_the_licence_and_the_source_stand_beside_the_data():
    assert "Copyright (c) 2016 C.J. Hutto" in (DATA / "LICENSE-vader.txt").read_text()
    assert "Hutto" in (DATA / "README.md").read_text()
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 1_000_000


def test_loading_imports_no_dataframe_library():
    code = (
        "import sys; from llmframe import datasets; datasets.reviews(1); print({'pandas', 'polars'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
