"""People's ratings: a judge beside them, and what they come to together."""

from __future__ import annotations

import numpy as np
import pytest

from llmframe.errors import UsageError
from llmframe.stats.raters import consensus, human_ceiling


def test_a_judge_like_the_people_changes_nothing_and_a_random_one_lowers_alpha():
    random = np.random.default_rng(9)
    true = random.integers(1, 6, 200)

    def rated():
        return np.clip(true + random.integers(-1, 2, 200), 1, 5)

    humans = [list(map(int, item)) for item in zip(rated(), rated(), rated(), strict=True)]
    alike = human_ceiling(rated().tolist(), humans, scale="ordinal")
    assert alike.change.low < 0 < alike.change.high
    assert (alike.raters, alike.items) == (3, 200)
    random_judge = human_ceiling(random.integers(1, 6, 200).tolist(), humans, scale="ordinal")
    assert random_judge.change.high < 0
    assert random_judge.change.value == pytest.approx(random_judge.with_judge.value - random_judge.humans.value)
    assert random_judge.humans == alike.humans


def test_items_that_the_judge_did_not_rate_count_for_neither():
    humans = [["a", "a"], ["b", "a"], ["b", "b"], ["a", None]]
    found = human_ceiling(["a", None, "b", "a"], humans)
    # items 0 and 2: all agree
    assert (found.items, found.humans.value, found.with_judge.value) == (2, 1.0, 1.0)
    with pytest.raises(UsageError, match="`judge` has 1 items and `humans` 2"):
        human_ceiling(["a"], [["a", "a"], ["b", "b"]])
    assert human_ceiling([], []).change.reason == "no item has two ratings"


def test_consensus_is_mode_median_or_mean():
    ratings = [[1, 1, 4], [2, 3, None], [3, 4, None], [None, None, None], [5, None, None]]
    # between 2 and 3 (places 1 and 2 of 1-5) the even place, 2: level 3; between 3 and 4 (places 2, 3) again 2
    assert consensus(ratings, scale="ordinal") == [1, 3, 3, None, 5]
    assert consensus(ratings, scale="nominal") == [1, None, None, None, 5]
    assert consensus(ratings, scale="interval") == [2.0, 2.5, 3.5, None, 5.0]
