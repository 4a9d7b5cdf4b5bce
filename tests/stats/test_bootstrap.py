"""The bootstrap: its draws, its intervals, and what is said where there can be none."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.errors import UsageError
from llmframe.stats.bootstrap import FEW_CLUSTERS, Resampling, bootstrap


def test_the_interval_of_a_mean_is_near_the_one_of_theory():
    # sd of 0..99 is 28.866, of the mean 2.887: 49.5 -+ 1.96 * 2.887 = 43.84 to 55.16
    found = bootstrap(np.mean, [np.arange(100)])
    assert found.value == 49.5
    assert found.low == pytest.approx(43.84, abs=0.5)
    assert found.high == pytest.approx(55.16, abs=0.5)
    assert (found.n, found.level, found.reason) == (100, 0.95, "")


def test_a_seed_decides_the_draws():
    columns = [np.arange(40)]
    first, again, other = (bootstrap(np.mean, columns, draws=200, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert (first.low, first.high) != (other.low, other.high)


def test_items_of_a_cluster_are_drawn_together_which_widens_the_interval():
    # 20 documents of 10 equal rows: the mean has the error of 20 numbers, not of 200
    values = np.repeat(np.arange(20), 10)
    alone = bootstrap(np.mean, [values])
    together = bootstrap(np.mean, [values], clusters=[f"doc {number}" for number in values])
    assert together.high - together.low == pytest.approx(math.sqrt(10) * (alone.high - alone.low), rel=0.15)


def test_a_statistic_gets_every_column_at_the_same_places():
    seen = []
    bootstrap(lambda x, y: seen.append((x == y).all()) or 1.0, [[1, 2, 3], [1, 2, 3]], draws=20)
    assert all(seen)
    assert len(seen) == 21


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(0, 5))
def test_every_draw_has_as_many_clusters_as_there_are(clusters, seed):
    sampling = Resampling.of(len(clusters), clusters=clusters, draws=7, seed=seed)
    weights = np.concatenate(list(sampling.weights()))
    assert weights.shape == (7, len(set(clusters)))
    assert (weights.sum(axis=1) == len(set(clusters))).all()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), min_size=1, max_size=30))
def test_sums_of_draws_are_those_of_the_drawn_items(items):
    clusters, values = zip(*items, strict=True)
    sampling = Resampling.of(len(items), clusters=clusters, draws=5)
    [weights] = sampling.weights()
    by_hand = [
        [sum(draw[code] * value for code, value in zip(sampling.codes, values, strict=True))] for draw in weights
    ]
    assert sampling.resums(np.array(values, dtype=float)[:, None]) == pytest.approx(np.array(by_hand))


def test_draws_that_come_in_parts_are_the_same(monkeypatch):
    whole = list(Resampling.of(50, draws=7).weights())
    monkeypatch.setattr(sys.modules["llmframe.stats.bootstrap"], "CELLS", 120)  # the package has the function there
    parts = list(Resampling.of(50, draws=7).weights())
    assert [len(part) for part in parts] == [2, 2, 2, 1]
    assert (np.concatenate(parts) == whole[0]).all()


def test_few_clusters_are_said_to_make_it_too_narrow():
    few = bootstrap(np.mean, [np.arange(FEW_CLUSTERS - 1)])
    assert few.low < few.value < few.high
    assert few.reason == "only 14 items or clusters: the interval is likely too narrow; take 15 or more"
    assert not bootstrap(np.mean, [np.arange(FEW_CLUSTERS)]).reason


def test_without_anything_to_draw_from_there_is_no_interval():
    none, one = bootstrap(np.mean, [[]]), bootstrap(np.mean, [[3.0]])
    assert math.isnan(none.value)
    assert none.reason == "no item"
    assert (one.value, one.n, one.reason) == (3.0, 1, "one item or cluster: no interval")
    assert math.isnan(one.low)
    assert math.isnan(bootstrap(np.mean, [[1.0, 2.0]], clusters=["a", "a"]).high)


def test_draws_that_are_all_alike_are_no_interval():
    found = bootstrap(np.mean, [[0.1] * 30])
    assert found.value == pytest.approx(0.1)
    assert math.isnan(found.low)
    assert found.reason == "no interval: it is the same in every draw"


def test_draws_in_which_it_cannot_be_told_are_left_out():
    def spread(x):
        return math.nan if len(set(x)) < 2 else float(np.ptp(x))

    # one row of 20 differs: it is absent in .95^20 = 36 % of the draws
    assert not math.isnan(bootstrap(lambda x: spread(x) + x.mean(), [[1.0] + [0.0] * 19], draws=300).low)
    # one of two: half of the draws have one value, and here more than half
    found = bootstrap(lambda x: spread(x) if x.sum() == 1 and x[0] else math.nan, [[1.0, 0.0]], draws=300, seed=3)
    assert found.reason in {"no interval: in most draws it can't be told", "no interval: it is the same in every draw"}
    assert math.isnan(bootstrap(lambda _: math.nan, [[1.0, 2.0]]).value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"draws": 0}, "`draws` is a whole number from 1 on, got 0"),
        ({"seed": "x"}, "`seed` is a whole number from 0 on, got 'x'"),
        ({"seed": -1}, "`seed` is a whole number from 0 on, got -1"),
        ({"level": 1.0}, "`level` is between 0 and 1"),
        ({"clusters": ["a"]}, "`clusters` has 1 entries for 2 items"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(change, words):
    with pytest.raises(UsageError, match=words):
        bootstrap(np.mean, [[1.0, 2.0]], **change)


def test_columns_must_be_of_one_length():
    with pytest.raises(UsageError, match=r"lengths \[1, 2\]"):
        bootstrap(np.mean, [[1.0], [1.0, 2.0]])


def test_intervals_of_a_mean_cover_it():
    random = np.random.default_rng(5)
    hits = 0
    for number in range(300):
        sample = random.exponential(size=60)
        sampling = Resampling.of(60, draws=400, seed=number)
        found = sampling.interval(sample.mean(), sampling.resums(sample[:, None])[:, 0] / 60)
        hits += found.low <= 1 <= found.high
    # 95 % nominal; an exponential's mean at n = 60 loses a point or two, and 300 runs leave an error of 1.3
    assert 0.9 <= hits / 300 <= 0.98
