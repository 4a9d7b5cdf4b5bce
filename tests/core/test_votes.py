"""Votes of several samples, and when no more are needed."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.votes import Vote, expected, first_wave, settled, tally

# Counting.


def test_the_most_frequent_value_has_its_part_of_the_samples():
    # 3, 1 and 0 of 4
    assert tally(["b", "a", "b", "b"], ["a", "b", "c"]) == Vote("b", 0.75, "votes", (0.25, 0.75, 0.0), (0,))


def test_a_free_value_has_no_probabilities_of_options():
    assert tally([[1], [2], [1]], []) == Vote([1], pytest.approx(2 / 3), "votes", (), (0,))


def test_values_are_told_apart_as_json_does():
    assert tally([1, True, 1.0, "1", True], []).value is True
    assert tally([1, True, 1.0, "1", True], [1, True, 1.0, "1", None]).probabilities == (0.2, 0.4, 0.2, 0.2, 0)
    assert tally([{"a": 1, "b": 2}, {"b": 2, "a": 1}, {}], []).confidence == pytest.approx(2 / 3)


def test_null_is_a_value_like_others():
    assert tally([None, None, "a"], ["a", None]) == Vote(None, 2 / 3, "votes", (1 / 3, 2 / 3), (0,))


def test_a_tie_has_no_value_and_tells_its_leaders():
    assert tally(["c", "b", "a", "a", "b"], ["a", "b", "c"]) == Vote(None, None, "tie", (0.4, 0.4, 0.2), (1, 2))


def test_a_tie_falls_to_the_larger_mean_log_probability():
    # The means are -2 of -1 and -3, and -1.5 of -1.5 twice.
    vote = tally(["a", "b", "a", "b"], ["a", "b"], logprobs=[-1.0, -1.5, -3.0, -1.5])
    assert vote == Vote("b", 0.5, "votes", (0.5, 0.5), (1,))


@pytest.mark.parametrize("logprobs", [None, [-1.0, -1.0, -1.0, -1.0], [-1.0, None, -1.0, None], [None] * 4])
def test_a_tie_stays_one_when_log_probabilities_do_not_tell(logprobs):
    assert tally(["a", "b", "a", "b"], ["a", "b"], logprobs=logprobs).source == "tie"


def test_log_probabilities_decide_nothing_but_ties():
    assert tally(["a", "b", "a"], ["a", "b"], logprobs=[-9.0, -0.1, -9.0]).value == "a"


def test_of_no_valid_samples_nothing_is_said():
    assert tally([], ["a", "b"]) == Vote(None, None, "no_valid_votes")


@given(st.lists(st.sampled_from("abc"), min_size=1), st.randoms(use_true_random=False))
def test_parts_add_up_to_1_whatever_the_order(values, random):
    vote = tally(values, "abc")
    assert math.fsum(vote.probabilities) == pytest.approx(1)
    assert vote.probabilities == tuple(Counter(values)[each] / len(values) for each in "abc")
    shuffled = random.sample(values, len(values))
    assert tally(shuffled, "abc").value == vote.value
    assert [values[place] for place in vote.leaders] == list(dict.fromkeys(values[place] for place in vote.leaders))


# Stopping.


@pytest.mark.parametrize(
    ("counts", "left", "done"),
    [
        ((), 5, False),
        ((), 0, True),
        ((1, 1), 0, True),
        # n + 1 heads of as many flips: P = 1 - 2^-(n+1); 15/16 = .9375 for three votes, 31/32 = .96875 for four
        ((3,), 37, False),
        ((4,), 36, True),
        # 5 : 1: P(Binomial(7) <= 5) = 1 - 8/128 = .9375; 6 : 1: 1 - 9/256 = .9648
        ((1, 5), 34, False),
        ((1, 6), 33, True),
        ((6, 1, 1), 32, True),
        # 2 : 0 and 3 : 1 can't be reached with one left; of 2 : 1, and of 2 : 0 with two left, a tie could become
        ((2,), 1, True),
        ((3, 1), 1, True),
        ((2, 1), 1, False),
        ((2, 0), 2, False),
    ],
)
def test_a_vote_is_settled_when_the_rest_can_hardly_change_it(counts, left, done):
    assert settled(counts, left=left) is done


@pytest.mark.parametrize(
    ("samples", "wave"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (7, 4), (8, 4), (20, 4), (100, 4)]
)
def test_the_first_wave_is_as_many_as_could_settle_it_at_the_earliest(samples, wave):
    # a majority of `samples`, or 4
    assert first_wave(samples) == wave
    assert settled((wave,), left=samples - wave)
    assert not any(settled((n,), left=samples - n) for n in range(wave))


def outcomes(samples: int, p: tuple[float, ...]) -> tuple[float, float]:
    """Of all ways that `samples` independent voters may vote: P(another label than all say), mean number asked."""
    states = {(0,) * len(p): 1.0}
    wrong = asked = 0.0
    for n in range(samples + 1):
        going: dict[tuple[int, ...], float] = {}
        for counts, weight in states.items():
            if settled(counts, left=samples - n):
                asked += weight * n
                wrong += weight * changed(counts, samples - n, p)
                continue
            for label, share in enumerate(p):
                voted = (*counts[:label], counts[label] + 1, *counts[label + 1 :])
                going[voted] = going.get(voted, 0.0) + weight * share
        states = going
    return wrong, asked


def changed(counts: tuple[int, ...], left: int, p: tuple[float, ...]) -> float:
    """P(the rest of the votes gives the lead to another label than has it now)."""
    if max(counts) - sorted(counts)[-2] > left:
        return 0.0
    leader = counts.index(max(counts))
    total = 0.0
    for more in product(range(left + 1), repeat=len(p) - 1):
        last = left - sum(more)
        if last < 0:
            continue
        votes = [a + b for a, b in zip(counts, (*more, last), strict=True)]
        if max(votes) > votes[leader]:
            ways = math.factorial(left) // math.prod(math.factorial(each) for each in (*more, last))
            total += ways * math.prod(share**each for share, each in zip(p, (*more, last), strict=True))
    return total


@pytest.mark.parametrize("samples", [3, 5, 7, 9, 11, 15, 21, 40])
def test_stopping_early_gives_another_label_than_all_samples_in_at_most_5_percent(samples):
    # Every way of voting for one of two labels, weighed exactly, whatever the voters' probability is; coin flips are
    # worst. By samples: 0 up to 7, .004 of 9, .008 of 11, .016 of 15, .028 of 21, .045 of 40.
    worst = max(outcomes(samples, (p / 20, 1 - p / 20))[0] for p in range(10, 21))
    assert worst <= 0.05
    assert (worst == 0) == (samples <= 7)


@pytest.mark.parametrize("p", [(1 / 3, 1 / 3, 1 / 3), (0.4, 0.4, 0.2), (0.5, 0.3, 0.2), (0.8, 0.1, 0.1)])
def test_stopping_early_keeps_the_label_among_three_too(p):
    assert outcomes(9, p)[0] <= 0.05
    assert outcomes(12, p)[0] <= 0.05


def test_stopping_early_asks_less_the_surer_the_voters_are():
    # sure ones stop at 4 of 15
    asked = [outcomes(15, (p, 1 - p))[1] for p in (0.5, 0.7, 0.9, 1.0)]
    assert asked == sorted(asked, reverse=True)
    assert asked[-1] == 4


# Levels.


def test_levels_have_a_mean_and_a_standard_deviation():
    # mean 1 x .2 + 2 x .3 + 5 x .5 = 3.3; variance .2 x 2.3^2 + .3 x 1.3^2 + .5 x 1.7^2 = 1.058 + .507 + 1.445 = 3.01
    mean, sd = expected([1, 2, 5], [0.2, 0.3, 0.5])
    assert mean == pytest.approx(3.3)
    assert sd == pytest.approx(math.sqrt(3.01))
    assert expected([4], [1.0]) == (4, 0)


def test_without_probabilities_there_is_no_mean():
    assert all(map(math.isnan, expected([1, 2, 3], [])))


def test_a_probability_for_each_level_is_wanted():
    with pytest.raises(ValueError, match="zip"):
        expected([1, 2, 3], [0.5, 0.5])


def test_options_that_are_one_value_in_their_column_have_its_votes_once():
    assert tally(["1", "1", "a"], ["1", "1", "a"]).probabilities == (2 / 3, 0.0, 1 / 3)
