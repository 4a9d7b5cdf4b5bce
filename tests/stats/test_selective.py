"""Certified thresholds: exact bounds, a promise that holds, and how much gold a larger one takes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from llmframe.errors import UsageError
from llmframe.stats.risk_coverage import risk_coverage
from llmframe.stats.selective import certified_threshold, fewest_gold, first_kept, upper_bound

RUNS = 300
"""Simulated draws of gold; a share of .05 is then known to ± .025, one of .4 to ± .055."""


@given(st.integers(0, 60), st.integers(1, 400), st.floats(0.01, 0.5))
def test_the_bound_is_the_beta_quantile(errors, more, delta):
    assert upper_bound(errors, errors + more, delta=delta) == pytest.approx(
        stats.beta.ppf(1 - delta, errors + 1, more), rel=1e-9
    )


@given(st.integers(0, 30), st.integers(1, 200), st.floats(0.02, 0.5))
def test_at_the_bound_so_few_errors_have_probability_delta(errors, more, delta):
    kept = errors + more
    assert stats.binom.cdf(errors, kept, upper_bound(errors, kept, delta=delta)) == pytest.approx(delta, rel=1e-6)


def test_the_bound_by_hand():
    # without an error (1 - p)^kept = delta
    assert upper_bound(0, 45, delta=0.1) == pytest.approx(1 - 0.1 ** (1 / 45))
    # one of two: 1 - p² = delta
    assert upper_bound(1, 2, delta=0.1) == pytest.approx(math.sqrt(0.9))
    assert upper_bound(3, 3, delta=0.1) == 1.0
    assert math.isnan(upper_bound(0, 0, delta=0.1))


def test_the_fewest_gold_rows_are_those_whose_bound_first_meets_the_target():
    # log .1 / log .95 = 44.9, log .05 / log .9 = 28.4 (30 are the least), log .1 / log .99 = 229.1
    assert fewest_gold(0.05, 0.1) == 45
    assert fewest_gold(0.1, 0.05) == 30
    assert fewest_gold(0.01, 0.1) == 230
    for errors in (1, 2, 5):
        kept = fewest_gold(0.05, 0.1, errors=errors)
        assert upper_bound(errors, kept, delta=0.1) <= 0.05 < upper_bound(errors, kept - 1, delta=0.1)


def test_the_first_test_allows_as_many_errors_as_leave_it_a_third_of_the_gold():
    # 30, 38, 52, 65, 78, 91 rows certify 10 % with 0 to 5 errors
    assert [first_kept(n, 0.1, 0.1) for n in (10, 100, 114, 200, 273, 5000)] == [30, 30, 38, 65, 91, 91]


def test_a_clean_run_is_certified_whole():
    found = certified_threshold([0.5 + at / 200 for at in range(100)], [True] * 100)
    assert (found.threshold, found.kept, found.errors, found.coverage) == (0.5, 100, 0, 1.0)
    assert found.bound == pytest.approx(1 - 0.1 ** (1 / 100))
    assert found.needed == ()
    assert found.holds


def test_tests_go_from_the_strictest_on_and_stop_at_the_first_that_fails():
    # the surest 60 are right, the others wrong; tests keep 45, 48, 51, ... 100 rows, by hand from 45 + 55 i / 19
    right = [True] * 60 + [False] * 40
    found = certified_threshold([1 - at / 200 for at in range(100)], right, start=45)
    assert [(test.step.kept, test.step.errors, test.passed) for test in found.tests] == [
        (45, 0, True),
        (48, 0, True),
        (51, 0, True),
        (54, 0, True),
        (57, 0, True),
        (59, 0, True),
        (62, 2, False),
    ]
    assert (found.threshold, found.kept, found.errors) == (1 - 58 / 200, 59, 0)
    assert found.tests[-1].bound == upper_bound(2, 62, delta=0.1)


def test_a_later_test_that_would_pass_again_is_not_looked_at():
    # 5 of the first 60 are wrong, of 1000 as well: without the order of tests all could be kept
    confidences = [1 - at / 2000 for at in range(1000)]
    found = certified_threshold(confidences, [False] * 5 + [True] * 995, start=60)
    assert (found.holds, len(found.tests)) == (False, 1)
    assert upper_bound(5, 1000, delta=0.1) < 0.05


def test_rows_of_equal_confidence_are_kept_together_and_tested_once():
    confidences = [1.0] * 80 + [0.75] * 60 + [0.6] * 60
    right = [True] * 80 + [True] * 58 + [False] * 2 + [True] * 30 + [False] * 30
    found = certified_threshold(confidences, right)
    assert [(test.step.kept, test.step.errors, test.passed) for test in found.tests] == [
        (80, 0, True),
        (140, 2, True),
        (200, 32, False),
    ]
    assert (found.threshold, found.coverage) == (0.75, 0.7)


def test_the_tests_are_settled_before_an_answer_is_looked_at():
    confidences = np.random.default_rng(0).random(300).tolist()
    whole = certified_threshold(confidences, [True] * 300).tests
    for wrong in (5, 20, 300):
        hits = [at >= wrong for at in range(300)]
        kept = [test.step.kept for test in certified_threshold(confidences, hits).tests]
        assert kept == [test.step.kept for test in whole][: len(kept)]


def test_too_little_gold_certifies_nothing_and_says_how_much_it_takes():
    found = certified_threshold([0.9] * 44, [True] * 44)
    assert not found.holds
    assert math.isnan(found.threshold)
    assert math.isnan(found.bound)
    assert (found.coverage, found.kept, found.tests) == (0.0, 0, ())
    assert found.reason == "44 gold rows are too few for a test, which keeps at least 45"
    assert found.needed[-1].rows == 45


@pytest.mark.parametrize("n", [0, 1, 2])
def test_next_to_no_gold_is_unknown(n):
    found = certified_threshold([0.9, 0.8][:n], [True] * n)
    assert (found.n, found.holds) == (n, False)
    assert math.isnan(found.threshold)
    assert found.reason.startswith(f"{n} gold rows are too few")


def test_all_wrong_is_never_certified_and_no_gold_helps():
    found = certified_threshold([0.9] * 200, [False] * 200)
    assert not found.holds
    assert [each.rows for each in found.needed] == [None] * 10
    assert "wouldn't certify 10 % of the rows" in found.advice


def test_gold_rows_needed_pass_with_probability_four_fifths_and_fewer_do_not():
    # of the surest half none is wrong, overall 2 %
    right = [True] * 100 + [False] * 4 + [True] * 96
    found = certified_threshold([1 - at / 1000 for at in range(200)], right, target_error=0.03)
    needed = {each.coverage: each for each in found.needed}
    assert needed[1.0].risk == 0.02
    kept = needed[1.0].rows

    def chance(kept: int) -> float:
        errors = np.arange(kept)
        most = errors[stats.beta.ppf(0.9, errors + 1, kept - errors) <= 0.03].max(initial=-1)
        return float(stats.binom.cdf(most, kept, 0.02))

    assert kept is not None
    assert chance(kept) >= 0.8
    assert max(chance(fewer) for fewer in range(100, int(0.9 * kept), 20)) < 0.8


def test_gold_rows_needed_are_told_for_larger_coverages_alone():
    confidences, right = draw(np.random.default_rng(5), 400)
    found = certified_threshold(confidences, right, target_error=0.1)
    assert found.holds
    assert all(each.coverage > found.coverage for each in found.needed)
    known = [each.rows for each in found.needed if each.rows is not None]
    assert known == sorted(known)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"target_error": 5}, "`target_error` is between 0 and 1, got 5; 0.05 is 5 %"),
        ({"delta": 0}, "`delta` is between 0 and 1, got 0"),
        ({"start": 10}, "`start` is a whole number from 30 on, got 10"),
        ({"steps": 0}, "`steps` is a whole number from 1 on, got 0"),
    ],
    ids=["percent", "no delta", "early start", "no steps"],
)
def test_what_cannot_be_meant_is_refused(said, message):
    with pytest.raises(UsageError, match=message):
        certified_threshold([0.9] * 50, [True] * 50, **said)


def test_counts_and_shares_of_a_bound_are_checked():
    with pytest.raises(UsageError, match="got errors=3 and kept=2"):
        upper_bound(3, 2, delta=0.1)
    with pytest.raises(UsageError, match="`target_error` is between 0 and 1, got 5"):
        fewest_gold(5, 0.1)


def right_chance(confidences):
    """Of a judge that claims too much: right with .27 at 0, .98 at 1."""
    return 1 / (1 + np.exp(1 - 5 * confidences))


def draw(random: np.random.Generator, n: int) -> tuple[list[float], list[bool]]:
    confidences = random.random(n)
    return confidences.tolist(), (random.random(n) < right_chance(confidences)).tolist()


GRID = np.linspace(1, 0, 100_001)
RISK = np.cumsum(1 - right_chance(GRID)) / np.arange(1, len(GRID) + 1)
"""True risk of all answers above each confidence from 1 down to 0, in steps of 1e-5."""


def true_risk(threshold: float) -> float:
    return float(RISK[round((1 - threshold) * 100_000)])


def test_the_naive_choice_breaks_its_target_every_other_time_the_certified_one_as_rarely_as_promised():
    random = np.random.default_rng(11)
    naive, certified, coverage = [], [], []
    for _ in range(RUNS):
        confidences, right = draw(random, 500)
        steps = [step for step in risk_coverage(confidences, right).steps if step.kept >= 30 and step.risk <= 0.1]
        naive.append(bool(steps) and true_risk(steps[-1].threshold) > 0.1)
        found = certified_threshold(confidences, right, target_error=0.1, delta=0.1)
        certified.append(found.holds and true_risk(found.threshold) > 0.1)
        coverage.append(found.coverage)
    assert np.mean(naive) >= 0.4
    assert np.mean(certified) <= 0.1
    # 60 % of the answers could be kept; the promise costs about a quarter of them
    assert np.mean(coverage) > 0.35


def test_the_promise_holds_for_votes_where_most_answers_are_right():
    # three confidences, right with .985, .94, .8: the first two together are wrong in 2.9 % of cases, all in 5.4 %
    values, shares, chances = np.array([1.0, 0.75, 0.6]), [0.6, 0.25, 0.15], np.array([0.985, 0.94, 0.8])
    random = np.random.default_rng(12)
    broken, kept = 0, []
    for _ in range(RUNS):
        which = random.choice(3, size=300, p=shares)
        right = random.random(300) < chances[which]
        found = certified_threshold(values[which].tolist(), right.tolist(), target_error=0.05, delta=0.1)
        broken += found.threshold == 0.6
        kept.append(found.threshold == 0.75)
    assert broken / RUNS <= 0.1
    assert np.mean(kept) > 0.3
