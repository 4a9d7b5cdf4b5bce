"""Votes are counted and weighed as their formulas say."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.errors import MissingExtraError, UsageError
from llmframe.stats.panels import (
    cross_fitted_weights,
    krippendorff_alpha,
    majority,
    most_probable,
    weighted,
    weights_from_gold,
)

VOTES = st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=3, max_size=3), min_size=1, max_size=8)


def test_a_majority_is_the_label_of_most_valid_votes():
    elected = majority([["yes", "yes", "no"], ["no", "yes", "no"], ["yes", None, None]])
    assert elected.winners == ("yes", "no", "yes")
    assert elected.shares == pytest.approx((2 / 3, 2 / 3, 1.0))
    assert elected.votes == (3, 3, 1)
    assert elected.ties == (False, False, False)


def test_a_tie_has_no_winner_and_the_share_of_each_label_in_it():
    elected = majority([["yes", "no"], ["a", "b"]])
    assert elected.winners == (None, None)
    assert elected.ties == (True, True)
    assert elected.shares == (0.5, 0.5)


def test_an_item_without_a_vote_is_unknown_and_no_tie():
    elected = majority([[None, None], ["a", "a"]])
    assert elected.winners == (None, "a")
    assert math.isnan(elected.shares[0])
    assert elected.ties == (False, False)
    assert elected.votes == (0, 2)


def test_nothing_to_count_is_nothing():
    assert majority([]).winners == ()


@given(VOTES, st.permutations(range(3)))
def test_the_order_of_judges_decides_nothing(votes: list[list[str | None]], order: list[int]):
    turned = [[item[judge] for judge in order] for item in votes]
    assert majority(turned).winners == majority(votes).winners


def test_a_vote_is_worth_the_log_odds_of_its_judge():
    gold = ["a"] * 5 + ["b"] * 5
    wrong = {"a": "b", "b": "a"}
    right_nine = [wrong[gold[0]], *gold[1:]]
    right_five = ["a"] * 10
    right_one = [gold[0], *(wrong[label] for label in gold[1:])]
    votes = list(zip(right_nine, right_five, right_one, [None] * 10, strict=True))
    # q = (9 + 1) / 12, K = 2: log(q / (1 - q)) = log 5; 6 / 12: log 1; 2 / 12: -log 5; without a vote 1 / 2: log 1
    assert weights_from_gold(votes, gold, labels=["a", "b"]) == pytest.approx((math.log(5), 0.0, -math.log(5), 0.0))


def test_more_labels_make_a_right_vote_worth_more():
    gold = ["a", "b", "c"] * 4
    votes = [[label] for label in gold]
    # q = 13 / 15, K = 3: log(13 / 15 * 2 / (2 / 15)) = log 13
    assert weights_from_gold(votes, gold, labels=["a", "b", "c"]) == pytest.approx((math.log(13),))


def test_fewer_than_ten_known_labels_are_refused():
    with pytest.raises(UsageError, match=r"at least 10 known labels, got 9; .*majority"):
        weights_from_gold([["a"]] * 12, ["a"] * 9 + [None] * 3, labels=["a", "b"])


def test_no_item_is_weighed_by_its_own_known_label():
    gold = ["a"] * 10 + [None]
    votes = [["b"], *([["a"]] * 10)]
    weights = cross_fitted_weights(votes, gold, labels=["a", "b"])
    # Items 0 and 5 are one part: the other eight are right, q = 9 / 10. Any other part sees the error among its eight:
    # q = 8 / 10. The item of unknown label: nine of ten, q = 10 / 12.
    expected = [math.log(9 if at in (0, 5) else 4) for at in range(10)] + [math.log(5)]
    assert [weight for (weight,) in weights] == pytest.approx(expected)


def test_known_labels_are_dealt_label_by_label():
    gold = ["a"] * 5 + ["b"] * 5
    votes = [["a"]] * 10
    weights = cross_fitted_weights(votes, gold, labels=["a", "b"])
    # Each part has one of each label, so four of the other eight are right: q = 5 / 10 everywhere.
    assert [weight for (weight,) in weights] == pytest.approx([0.0] * 10)


def test_a_good_judge_outweighs_two_that_guess():
    elected = weighted([["a", "b", "b"]], [(math.log(5), 0.1, 0.1)], labels=["a", "b"])
    # 5 against e^0.2
    assert elected.winners == ("a",)
    assert elected.shares == pytest.approx((5 / (5 + math.exp(0.2)),))


def test_a_judge_that_is_wrong_more_often_than_chance_speaks_for_the_other_label():
    elected = weighted([["a"]], [(-math.log(5),)], labels=["a", "b"])
    assert elected.winners == ("b",)
    assert elected.shares == pytest.approx((5 / 6,))


def test_the_posterior_is_bayes_rule_with_equal_priors():
    # Accuracies 0.8 and 0.6 of three labels, wrong labels equally likely; a and b were voted for:
    # a: 0.8 * 0.2, b: 0.1 * 0.6, c: 0.1 * 0.2
    weights = tuple(math.log(q * 2 / (1 - q)) for q in (0.8, 0.6))
    elected = weighted([["a", "b"]], [weights], labels=["a", "b", "c"])
    assert elected.shares == pytest.approx((0.16 / 0.24,))


def test_equal_weights_on_two_labels_are_a_tie():
    elected = weighted([["a", "b"], [None, None]], [(1.0, 1.0)] * 2, labels=["a", "b"])
    assert elected.winners == (None, None)
    assert elected.ties == (True, False)
    assert math.isnan(elected.shares[1])


def test_posteriors_that_differ_by_rounding_alone_are_a_tie():
    elected = most_probable([[0.1 + 0.2, 0.3, 0.4 - 1e-12, 0.4]], [["a", "b", "c", "d"]], ["a", "b", "c", "d"])
    assert elected.ties == (True,)


def units() -> list[list[int | None]]:
    """The data of Krippendorff (2011), part C, as Wikipedia's page on his alpha has them."""
    coders = [
        [None, None, None, None, None, 3, 4, 1, 2, 1, 1, 3, 3, None, 3],
        [1, None, 2, 1, 3, 3, 4, 3, None, None, None, None, None, None, None],
        [None, None, 2, 1, 3, 4, 4, None, 2, 1, 1, 3, 3, None, 4],
    ]
    return [list(unit) for unit in zip(*coders, strict=True)]


def test_alpha_is_that_of_the_published_example():
    pytest.importorskip("krippendorff")
    assert krippendorff_alpha(units()) == pytest.approx(0.691, abs=0.0005)
    assert krippendorff_alpha(units(), level="interval") == pytest.approx(0.811, abs=0.0005)


def test_units_with_one_vote_say_nothing_about_agreement():
    pytest.importorskip("krippendorff")
    more = [*units(), [4, None, None], [None, None, None]]
    assert krippendorff_alpha(more) == krippendorff_alpha(units())


def test_ordinal_alpha_depends_on_the_order_of_labels():
    pytest.importorskip("krippendorff")
    votes = [["low", "mid"], ["mid", "mid"], ["high", "high"], ["low", "low"], ["high", "high"]]
    near = krippendorff_alpha(votes, order=["low", "mid", "high"], level="ordinal")
    far = krippendorff_alpha(votes, order=["low", "high", "mid"], level="ordinal")
    assert near > far


@pytest.mark.parametrize("votes", [[], [["a", None]], [["a", "a"], ["a", "a"]]])
def test_alpha_is_nan_where_nothing_can_be_told(votes: list[list[str | None]]):
    pytest.importorskip("krippendorff")
    assert math.isnan(krippendorff_alpha(votes))


def test_alpha_without_its_package_tells_the_install_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'llmframe\[judge\]'"):
        krippendorff_alpha(units())
