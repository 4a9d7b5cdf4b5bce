"""Dawid and Skene's estimate agrees with another implementation, and finds what was planted."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmframe.errors import UsageError
from llmframe.stats.dawid_skene import dawid_skene
from llmframe.stats.panels import majority, most_probable

ITEMS = ["AAB", "ABB", "AAA", "BBB", "BBA", "CCC", "CAC", "BCB", "AA-", "-CB", "ABC", "CCA"]
"""Three judges' votes on twelve items; a dash is none."""

CROWDKIT = [
    (0.999683241179, 0.000301916059, 0.000014842762),
    (0.765862876721, 0.234137123181, 0.000000000100),
    (0.999476889023, 0.000148062268, 0.000375048709),
    (0.000311567119, 0.999688432880, 0.000000000100),
    (0.000634984691, 0.999365015248, 0.000000000100),
    (0.000003161979, 0.000000000100, 0.999996838020),
    (0.004533994911, 0.000000000100, 0.995466005089),
    (0.000001056855, 0.999998285128, 0.000000658017),
    (0.999506569245, 0.000177640269, 0.000315790487),
    (0.001291609700, 0.970039034018, 0.028669356282),
    (0.996217696867, 0.003782296634, 0.000000006500),
    (0.000006319217, 0.000000000100, 0.999993680764),
]
"""Posteriors of `crowdkit.aggregation.DawidSkene(n_iter=5, tol=-1)`, crowd-kit 1.4.2, which keeps probabilities above
1e-10 where we add 1e-10 votes."""


def votes_of(items: list[str]) -> list[list[str | None]]:
    return [[None if vote == "-" else vote for vote in item] for item in items]


def planted(accuracies: list[float], *, items: int, seed: int) -> tuple[list[str], list[list[str | None]]]:
    """True labels, and votes that are right with these probabilities, else any other label."""
    chance = random.Random(seed)
    truth = chance.choices("ABC", weights=(5, 3, 2), k=items)
    votes: list[list[str | None]] = [
        [
            label if chance.random() < accuracy else chance.choice([other for other in "ABC" if other != label])
            for accuracy in accuracies
        ]
        for label in truth
    ]
    return truth, votes


def test_five_rounds_are_those_of_crowdkit():
    found = dawid_skene(votes_of(ITEMS), "ABC", iterations=5, tolerance=-1, smoothing=1e-10)
    assert found.iterations == 5
    for ours, theirs in zip(found.posteriors, CROWDKIT, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9)


def test_one_round_is_the_formula_by_hand():
    # Votes aa, ab and b-, with a third judge that says b of all; smoothing s = 1.
    # Start: shares (2/3, 1/3), (1/3, 2/3), (0, 1). Sums: a 1, b 2. Prior (1 + 1, 2 + 1) / 5.
    # Judge 1, true a: says a 2/3 + 1/3 = 1, b 0: (2, 1) / 3; true b: a 1/3 + 2/3 = 1, b 1: (2, 2) / 4.
    # Judge 2, true a: a 2/3, b 1/3: (5, 4) / 9; true b: a 1/3, b 2/3: (4, 5) / 9.
    # Judge 3, true a: a 0, b 1: (1, 2) / 3; true b: a 0, b 2: (1, 3) / 4.
    found = dawid_skene([["a", "a", "b"], ["a", "b", "b"], ["b", None, "b"]], "ab", iterations=1, smoothing=1.0)
    first = (2 / 5 * 2 / 3 * 5 / 9 * 2 / 3, 3 / 5 * 2 / 4 * 4 / 9 * 3 / 4)
    second = (2 / 5 * 2 / 3 * 4 / 9 * 2 / 3, 3 / 5 * 2 / 4 * 5 / 9 * 3 / 4)
    third = (2 / 5 * 1 / 3 * 2 / 3, 3 / 5 * 2 / 4 * 3 / 4)
    for ours, theirs in zip(found.posteriors, (first, second, third), strict=True):
        assert ours == pytest.approx([each / sum(theirs) for each in theirs])


def test_planted_accuracies_are_found_without_one_known_label():
    # The standard error of an accuracy from 400 items is at most 0.025; three of them, and what the labels add.
    truth, votes = planted([0.9, 0.8, 0.7, 0.6, 0.45], items=400, seed=6)
    found = dawid_skene(votes, "ABC")
    assert found.converged
    assert found.accuracies == pytest.approx([0.9, 0.8, 0.7, 0.6, 0.45], abs=0.08)
    assert found.prior == pytest.approx([0.5, 0.3, 0.2], abs=0.08)
    winners = most_probable(found.posteriors, votes, "ABC").winners
    right = sum(map(str.__eq__, truth, map(str, winners)))
    assert right > sum(map(str.__eq__, truth, map(str, majority(votes).winners)))


def test_a_judge_that_errs_always_in_the_same_way_is_read_through():
    # The third says B for A and A for B: its confusion tells as much as that of one that is right.
    truth, votes = planted([0.85, 0.85], items=300, seed=1)
    turned = {"A": "B", "B": "A", "C": "C"}
    found = dawid_skene([[*item, turned[label]] for item, label in zip(votes, truth, strict=True)], "ABC")
    winners = most_probable(found.posteriors, votes, "ABC").winners
    assert sum(map(str.__eq__, truth, map(str, winners))) > 290
    assert found.confusions[2][0][1] > 0.9


def test_an_item_without_a_vote_is_nan_and_moves_nothing():
    votes = votes_of(ITEMS)
    alone, beside = dawid_skene(votes, "ABC"), dawid_skene([[None] * 3, *votes], "ABC")
    assert all(math.isnan(share) for share in beside.posteriors[0])
    assert beside.posteriors[1:] == alone.posteriors
    assert beside.prior == alone.prior


def test_no_votes_at_all_are_no_answer():
    assert dawid_skene([], "AB").posteriors == ()
    found = dawid_skene([[None] * 3], "AB")
    assert math.isnan(found.posteriors[0][0])
    assert found.prior == pytest.approx((0.5, 0.5))


def test_it_says_when_it_has_not_come_to_rest():
    found = dawid_skene(votes_of(ITEMS), "ABC", iterations=2)
    assert (found.iterations, found.converged) == (2, False)


@settings(max_examples=25)
@given(
    st.lists(st.lists(st.sampled_from([*"ABC", None]), min_size=3, max_size=3), min_size=1, max_size=8),
    st.permutations(range(3)),
)
def test_posteriors_sum_to_one_and_do_not_depend_on_the_order_of_judges(
    votes: list[list[str | None]], order: list[int]
):
    found = dawid_skene(votes, "ABC", iterations=4)
    turned = dawid_skene([[item[judge] for judge in order] for item in votes], "ABC", iterations=4)
    for item, ours, theirs in zip(votes, found.posteriors, turned.posteriors, strict=True):
        if any(item):
            assert sum(ours) == pytest.approx(1)
            assert ours == pytest.approx(theirs, abs=1e-9)


def test_two_judges_are_refused():
    with pytest.raises(UsageError, match="at least 3 judges, got 2"):
        dawid_skene([["a", "b"]], "ab")


def test_a_vote_for_no_label_is_refused_without_being_told():
    with pytest.raises(UsageError, match="none of the 2 labels") as caught:
        dawid_skene([["a", "b", "secret"]], "ab")
    assert "secret" not in str(caught.value)


def test_one_label_is_refused():
    with pytest.raises(UsageError, match="at least two labels, got 1"):
        dawid_skene([["a", "a", "a"]], "a")
