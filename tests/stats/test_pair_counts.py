"""Counts of pairs: of all items, and of draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from llmframe.errors import UsageError
from llmframe.stats.bootstrap import Resampling
from llmframe.stats.pair_counts import count_pairs, sorted_labels

PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=1, max_size=30)


@given(PAIRS)
def test_the_table_is_scikit_learns(items):
    gold, pred = zip(*items, strict=True)
    found, _ = count_pairs(gold, pred)
    if len(found.labels) > 1:  # scikit-learn warns of one
        assert found.table() == tuple(map(tuple, confusion_matrix(gold, pred, labels=list(found.labels)).tolist()))
    assert found.total[0] == len(items)
    assert found.agreed[0] == sum(one == other for one, other in items)
    assert found.of_gold[0].tolist() == [gold.count(label) for label in found.labels]
    assert found.of_pred[0].tolist() == [pred.count(label) for label in found.labels]
    assert found.hits[0].tolist() == [items.count((label, label)) for label in found.labels]


@given(PAIRS)
def test_counts_of_a_draw_are_those_of_its_items(items):
    gold, pred = zip(*items, strict=True)
    found, codes = count_pairs(gold, pred)
    sampling = Resampling.of(len(items), clusters=[at // 3 for at in range(len(items))], draws=4)
    redrawn = found.redrawn(codes, sampling)
    [weights] = sampling.weights() if sampling.size < sampling.n else [None]
    if weights is None:
        assert (redrawn.total == len(items)).all()
        return
    for draw, counts in zip(weights, redrawn.counts, strict=True):
        by_hand = np.bincount(codes, weights=draw[sampling.codes], minlength=len(found.gold))
        assert counts.tolist() == by_hand.tolist()


def test_items_drawn_one_by_one_keep_their_number_and_mean():
    found, codes = count_pairs("aaab", "abab")
    redrawn = found.redrawn(codes, Resampling.of(4, draws=4000))
    assert (redrawn.total == 4).all()
    assert redrawn.counts.mean(axis=0) == pytest.approx(found.counts[0], abs=0.05)


def test_without_items_there_are_no_draws():
    found, codes = count_pairs([], [])
    assert found.redrawn(codes, Resampling.of(0)).counts.shape == (0, 0)
    assert found.table() == ()


def test_labels_sort_numbers_first_then_texts():
    assert sorted_labels(["b", 2, "a", 1, 2, True]) == [1, 2, "a", "b"]


def test_lengths_and_labels_are_checked():
    with pytest.raises(UsageError, match="`gold` has 1 items and `pred` 2"):
        count_pairs("a", "ab")
    with pytest.raises(UsageError, match=r"`pred` has 'c', which is none of the labels \['a', 'b'\]"):
        count_pairs("ab", "ac", labels=["a", "b"])
