"""When requests go again after a 429."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.engine.cooldown import FULL_RAMP, MAX_COOLDOWN, Cooldown


def limited(cooldown: Cooldown, retry_after: float | None = None, *, now: float = 0.0) -> bool:
    return cooldown.limited(retry_after, generation=cooldown.generation, now=now)


@pytest.mark.parametrize(("episode", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (6, 32), (7, 60), (9, 60)])
def test_cooldowns_without_a_time_double_up_to_a_minute(episode: int, seconds: float):
    cooldown = Cooldown()
    now = 0.0
    for _ in range(episode):
        now = cooldown.closed_until
        assert limited(cooldown, now=now)
    assert cooldown.closed_until - now == seconds


def test_the_servers_time_is_waited_out_and_no_longer():
    cooldown = Cooldown()
    limited(cooldown, 0.25, now=10.0)
    assert cooldown.closed_until == 10.25


def test_a_servers_time_that_was_not_enough_gives_way_to_ours():
    cooldown = Cooldown()
    limited(cooldown, 0.25)
    limited(cooldown, 0.25, now=1.0)
    assert cooldown.closed_until == 3.0  # the second episode in a row: 2^1 s


def test_requests_that_left_before_begin_no_other_episode_but_may_make_it_longer():
    cooldown = Cooldown()
    assert cooldown.limited(5.0, generation=0, now=0.0)
    assert not cooldown.limited(None, generation=0, now=0.1)
    assert not cooldown.limited(9.0, generation=0, now=0.2)
    assert not cooldown.limited(1.0, generation=0, now=0.3)
    assert cooldown.generation == 1
    assert cooldown.closed_until == 9.2


def test_an_answer_ends_the_row_of_episodes():
    cooldown = Cooldown()
    for _ in range(5):
        limited(cooldown)
    cooldown.succeeded(generation=cooldown.generation)
    limited(cooldown, now=100.0)
    assert cooldown.closed_until == 101.0


def test_every_answer_doubles_the_ramp_until_it_is_over():
    cooldown = Cooldown()
    limited(cooldown)
    ramps: list[int | None] = []
    while cooldown.ramp is not None:
        ramps.append(cooldown.ramp)
        cooldown.succeeded(generation=1)
    assert ramps == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert ramps[-1] == FULL_RAMP


def test_answers_from_before_the_cooldown_open_no_ramp():
    cooldown = Cooldown()
    limited(cooldown)
    cooldown.succeeded(generation=0)
    assert cooldown.ramp == 1


def test_a_restart_is_one_request_at_a_time_without_a_wait():
    cooldown = Cooldown()
    cooldown.restart()
    assert (cooldown.ramp, cooldown.closed_until, cooldown.generation) == (1, 0.0, 1)


@given(
    st.lists(st.tuples(st.floats(0, 30), st.none() | st.floats(0, 120), st.integers(0, 3), st.booleans()), max_size=40)
)
def test_nothing_shortens_a_cooldown_and_our_own_is_at_most_a_minute(
    events: list[tuple[float, float | None, int, bool]],
):
    cooldown, now = Cooldown(), 0.0
    for later, retry_after, age, answer in events:
        now += later
        before = cooldown.closed_until
        generation = max(0, cooldown.generation - age)
        if answer:
            cooldown.succeeded(generation=generation)
        else:
            cooldown.limited(retry_after, generation=generation, now=now)
        assert cooldown.closed_until >= before
        assert cooldown.closed_until <= max(before, now + max(MAX_COOLDOWN, retry_after or 0.0))
