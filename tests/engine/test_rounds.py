"""Rounds of replies and their baseline, with numbers by hand."""

from __future__ import annotations

from math import exp, log

import pytest

from llmframe.engine.rounds import Baseline, Round, Times, slower


def times(*replies: tuple[float, int | None]) -> Times:
    done = Round(len(replies))
    for seconds, tokens in replies:
        done.add(seconds, tokens, sent_at=0.0)
    return done.times()


def test_a_round_is_full_of_replies_and_faults():
    done = Round(4)
    for sent_at in (1.0, 2.0, 6.0):
        done.add(1.0, None, sent_at=sent_at)
    assert (done.is_full, done.sent_at) == (False, 3.0)
    done.faults += 1
    assert done.is_full


def test_up_to_a_quarter_of_faults_a_round_may_grow():
    done = Round(8)
    done.replies, done.faults = 6, 2
    assert done.may_grow
    done.faults = 3
    assert not done.may_grow


def test_one_straggler_is_no_slow_server():
    usual = times(*[(1.0, None)] * 50)
    one = times(*[(1.0, None)] * 49, (30.0, None))
    assert exp(slower(one, usual)) == pytest.approx(1.07, abs=0.005)  # 30^(1/50); a plain mean would say 1.58


def test_a_round_with_a_reply_of_unknown_length_has_no_times_per_token():
    assert times((1.0, 10), (1.0, None), (1.0, 10)).per_token is None
    assert times((1.0, 10)).per_token == pytest.approx(log(1.02 / 60))


@pytest.mark.parametrize(
    ("replies", "ratio"),
    [
        ((5.0, 1_000), 1.0),  # longer, and no slower per token
        ((1.0, 10), 1.0),  # shorter, and no slower as a whole
        ((2.0, 100), 2.02 / 1.02),
        ((2.0, None), 2.02 / 1.02),
        ((5.0, 400), 5.02 / 1.02 * 150 / 450),
    ],
)
def test_slow_is_what_is_slow_as_a_whole_and_per_token(replies, ratio):
    usual = times((1.0, 100))
    assert max(exp(slower(times(replies), usual)), 1.0) == pytest.approx(ratio)


def test_a_reply_in_no_time_is_counted():
    assert times((0.0, 0)).seconds == pytest.approx(log(0.02))


def test_a_baseline_is_the_mean_of_its_first_rounds_then_moves_by_a_tenth():
    usual = Baseline()
    assert usual.slowness(times((5.0, None))) == 0.0
    for value in (1.0, 3.0):
        usual.learn(Times(value, None, 7))
    assert (usual.slowness(Times(2.5, None, 1)), usual.replies) == (0.5, 14)
    for _ in range(18):
        usual.learn(Times(2.0, None, 7))
    usual.learn(Times(3.0, None, 7))
    assert usual.slowness(Times(3.0, None, 1)) == pytest.approx(0.9)
    usual.learn(Times(3.1, None, 7), weight=0.5)
    assert usual.slowness(Times(3.1, None, 1)) == pytest.approx(0.5)


def test_times_per_token_never_meet_times_as_a_whole():
    usual = Baseline(Times(1.0, None, 10))
    assert usual.slowness(Times(2.0, -3.0, 10)) == 1.0
    usual.learn(Times(1.0, -3.0, 10))
    assert usual.slowness(Times(2.0, -2.5, 10)) == 0.5
