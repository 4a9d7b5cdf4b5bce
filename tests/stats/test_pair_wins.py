"""Strengths that make the observed wins likeliest, table by table."""

from __future__ import annotations

import math

import numpy as np
import pytest

from llmframe.stats.pair_wins import likeliest, reached_by


def table(*rows: list[float]) -> np.ndarray:
    return np.array([rows], dtype=np.float64)


def test_two_systems_differ_by_the_log_of_their_wins():
    # 3 wins to 1: the chance is 3/4, whose logit is log 3
    [[first, second]] = likeliest(table([0, 3], [1, 0])).tolist()
    assert first - second == pytest.approx(math.log(3), abs=1e-9)
    assert first + second == pytest.approx(0, abs=1e-12)


def test_expected_wins_equal_the_observed_ones():
    wins = np.random.default_rng(1).integers(1, 30, size=(1, 5, 5)).astype(float)
    wins[:, range(5), range(5)] = 0
    [theta] = likeliest(wins)
    chances = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    meetings = wins[0] + wins[0].T
    assert (meetings * chances).sum(axis=1) == pytest.approx(wins[0].sum(axis=1), rel=1e-9)


def test_tables_are_independent_of_each_other():
    one, other = table([0, 9], [1, 0]), table([0, 2], [2, 0])
    both = likeliest(np.concatenate([one, other]))
    assert both == pytest.approx(np.concatenate([likeliest(one), likeliest(other)]), abs=1e-9)


def test_one_loss_in_a_thousand_is_found():
    # Newton's full step overshoots here and has to be halved
    wins = table([0, 999, 0], [1, 0, 1], [0, 999, 0])
    [theta] = likeliest(wins)
    assert theta[0] - theta[1] == pytest.approx(math.log(999), abs=1e-6)


def test_reaching_goes_by_way_of_others():
    edges = np.zeros((1, 4, 4), dtype=bool)
    edges[0, 0, 1] = edges[0, 1, 2] = edges[0, 2, 3] = True
    assert reached_by(edges)[0].tolist() == np.triu(np.ones((4, 4), dtype=bool)).tolist()
