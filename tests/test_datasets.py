from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
from collections import Counter
from pathlib import Path

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
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in DATA.glob("*.csv*")}
    assert digests == {"reviews.csv.gz": "2c3e0d54af1deaf3"}


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
