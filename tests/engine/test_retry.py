"""The decision table of a failed attempt, with delays derived by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.clients.base import RequestError
from llmframe.clients.refusals import FOREIGN_LOOP
from llmframe.engine.retry import MAX_DELAY, MAX_RETRY_AFTER, RATE_LIMIT_SECONDS, GiveUp, Retry, decide
from llmframe.errors import ERROR_KINDS, ErrorKind

TRANSIENT = ("timeout", "connection", "rate_limit", "server")


def after(  # noqa: PLR0913 - one argument a fact, as in `decide`
    kind: ErrorKind = "server",
    *,
    status: int | None = None,
    retry_after: float | None = None,
    attempts: int = 1,
    max_attempts: int = 5,
    waited: float = 0.0,
    chance: float = 0.5,
    doomed: bool = False,
) -> Retry | GiveUp:
    error = RequestError(kind, "what happened", status=status, retry_after=retry_after)
    return decide(error, attempts=attempts, max_attempts=max_attempts, waited=waited, chance=chance, doomed=doomed)


@pytest.mark.parametrize("kind", TRANSIENT)
def test_a_transient_fault_is_tried_again(kind: ErrorKind):
    assert isinstance(after(kind), Retry)


@pytest.mark.parametrize("kind", [kind for kind in ERROR_KINDS if kind not in TRANSIENT])
def test_any_other_kind_fails_the_row_and_not_the_run(kind: ErrorKind):
    assert after(kind) == GiveUp(detail="what happened", stops_run=False)


def test_a_transport_of_another_loop_is_no_fault_that_passes():
    error = RequestError("connection", "another loop's", code=FOREIGN_LOOP)
    step = decide(error, attempts=1, max_attempts=5, waited=0.0, chance=0.5, doomed=False)
    assert isinstance(step, GiveUp)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
def test_a_status_that_means_never_is_not_tried_again(status: int):
    assert isinstance(after("bad_request", status=status), GiveUp)


@pytest.mark.parametrize("kind", ERROR_KINDS)
def test_what_would_fail_every_row_stops_the_run_at_once(kind: ErrorKind):
    assert after(kind, status=429, doomed=True) == GiveUp(detail="what happened", stops_run=True)


@pytest.mark.parametrize(
    ("attempts", "ceiling"),
    # min(60, 0.5·2^n) after attempt n + 1: 0.5, 1, 2, 4, 8, 16, 32, then 64 and 128 are cut to 60
    [(1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (5, 8.0), (6, 16.0), (7, 32.0), (8, 60.0), (9, 60.0)],
)
def test_full_jitter_doubles_its_ceiling_up_to_a_minute(attempts: int, ceiling: float):
    assert after(attempts=attempts, max_attempts=99, chance=0.0) == Retry(delay=0.0)
    assert after(attempts=attempts, max_attempts=99, chance=0.5) == Retry(delay=ceiling / 2)
    assert after(attempts=attempts, max_attempts=99, chance=1.0) == Retry(delay=ceiling)


@given(attempts=st.integers(1, 10_000), chance=st.floats(0, 1, exclude_max=True))
def test_no_own_delay_is_negative_or_longer_than_a_minute(attempts: int, chance: float):
    step = after(attempts=attempts, max_attempts=10_001, chance=chance)
    assert isinstance(step, Retry)
    assert 0 <= step.delay <= MAX_DELAY


@pytest.mark.parametrize("kind", TRANSIENT)
@given(asked=st.floats(0, MAX_RETRY_AFTER), chance=st.floats(0, 1, exclude_max=True), attempts=st.integers(1, 4))
def test_a_server_that_names_a_time_is_never_asked_earlier_nor_a_quarter_later(
    kind: ErrorKind, asked: float, chance: float, attempts: int
):
    step = after(kind, retry_after=asked, chance=chance, attempts=attempts)
    assert isinstance(step, Retry)
    assert asked <= step.delay <= 1.25 * asked


def test_the_wait_that_a_server_asks_for_is_spread_over_a_quarter_of_it():
    assert after(retry_after=8, chance=0.0) == Retry(delay=8.0)
    assert after(retry_after=8, chance=0.5) == Retry(delay=9.0)  # 8·(1 + 0.25·0.5)


def test_a_wait_over_the_cap_is_told_in_the_row():
    step = after("server", retry_after=121)
    assert step == GiveUp(detail="what happened; the server asks to wait 121 s, more than the 120 s allowed")


def test_a_rate_limit_over_the_cap_stops_the_run():
    step = after("rate_limit", retry_after=3600)
    assert isinstance(step, GiveUp)
    assert step.stops_run
    assert "3600 s" in step.detail


def test_a_wait_of_exactly_the_cap_is_waited():
    assert after("rate_limit", retry_after=120, chance=0.0) == Retry(delay=120.0)


def test_the_last_attempt_says_how_many_there_were():
    assert after(attempts=4, max_attempts=5) == Retry(delay=2.0)  # 0.5·2^3 / 2
    assert after(attempts=5, max_attempts=5) == GiveUp(detail="what happened (after 5 attempts)")


def test_a_single_attempt_is_not_counted_in_words():
    assert after(attempts=1, max_attempts=1) == GiveUp(detail="what happened")


def test_rate_limits_use_up_time_and_not_attempts():
    assert isinstance(after("rate_limit", attempts=99, max_attempts=5), Retry)


def test_a_row_waits_out_rate_limits_for_ten_minutes_in_all():
    assert RATE_LIMIT_SECONDS == 600
    assert after("rate_limit", retry_after=60, waited=540, chance=0.0) == Retry(delay=60.0)
    step = after("rate_limit", retry_after=60, waited=541, chance=0.0)
    assert step == GiveUp(detail="what happened; waited 541 s for the limit", stops_run=False)


@given(
    kind=st.sampled_from(ERROR_KINDS),
    retry_after=st.none() | st.floats(0, 1e9),
    attempts=st.tuples(st.integers(0, 100), st.integers(1, 100)),
    waited=st.floats(0, 1e6),
)
def test_every_path_ends(kind: ErrorKind, retry_after: float | None, attempts: tuple[int, int], waited: float):
    """Attempts and waiting are bounded: what goes on forever would have to pass one of the two budgets."""
    so_far, most = attempts
    step = after(kind, retry_after=retry_after, attempts=so_far, max_attempts=most, waited=waited)
    if isinstance(step, Retry):
        assert waited + step.delay <= RATE_LIMIT_SECONDS if kind == "rate_limit" else so_far < most


@pytest.mark.parametrize("kind", TRANSIENT)
def test_one_attempt_means_one_request_after_a_rate_limit_too(kind: ErrorKind):
    assert after(kind, max_attempts=1, attempts=0 if kind == "rate_limit" else 1) == GiveUp(detail="what happened")


@pytest.mark.parametrize(("spent", "delay"), [(0.0, 0.25), (0.1, 0.15), (60.0, 0.0)])
def test_what_a_timed_out_attempt_has_waited_counts_as_waited(spent: float, delay: float):
    error = RequestError("timeout", "no whole answer within 60 s")
    step = decide(error, attempts=1, max_attempts=5, waited=0.0, chance=0.5, doomed=False, spent=spent)
    assert step == Retry(delay=pytest.approx(delay))


def test_only_a_timeout_has_waited():
    error = RequestError("server", "500", status=500)
    step = decide(error, attempts=1, max_attempts=5, waited=0.0, chance=0.5, doomed=False, spent=60.0)
    assert step == Retry(delay=0.25)
