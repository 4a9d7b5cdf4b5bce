"""Outages: seen, waited out, given up."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.clients.base import RequestError
from llmframe.core.reply import Reply
from llmframe.engine.breaker import FIRST_PAUSE, LIMITED_SECONDS, MAX_PAUSE, OPENS_AFTER, OUTAGE_SECONDS, Breaker
from llmframe.engine.cooldown import MAX_COOLDOWN
from llmframe.engine.sharing import Shared
from llmframe.errors import ErrorKind
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import Client, Part, Sent, answered, names, part_of, say


def fault(kind: ErrorKind) -> RequestError:
    return RequestError(kind, "503" if kind == "server" else "reset", status=503 if kind == "server" else None)


def opened() -> Breaker:
    breaker = Breaker()
    breaker.answered()
    for _ in range(OPENS_AFTER):
        breaker.failed(probe=False, answers_before=None, now=0.0)
    return breaker


def test_twenty_failures_in_a_row_look_like_an_outage():
    breaker = Breaker()
    pauses = [breaker.failed(probe=False, answers_before=None, now=0.0) for _ in range(20)]
    assert pauses == [None] * 19 + [FIRST_PAUSE]
    assert breaker.is_open


def test_an_answer_between_begins_the_count_anew():
    breaker = Breaker()
    for _ in range(10):
        for _ in range(19):
            assert breaker.failed(probe=False, answers_before=None, now=0.0) is None
        assert breaker.answered() is False
    assert not breaker.is_open


def test_pauses_double_with_every_failed_probe():
    breaker = opened()
    pauses = [breaker.failed(probe=True, answers_before=None, now=0.0) for _ in range(7)]
    assert pauses == [1, 2, 4, 8, MAX_PAUSE, MAX_PAUSE, MAX_PAUSE]


def test_failures_of_what_was_in_flight_make_no_pause_longer():
    breaker = opened()
    assert breaker.failed(probe=False, answers_before=None, now=0.1) is None
    assert breaker.failed(probe=True, answers_before=None, now=0.6) == 1.0


def test_an_answer_ends_the_outage():
    breaker = opened()
    assert breaker.answered() is True
    assert not breaker.is_open


def test_rows_that_fail_again_while_others_are_answered_never_open_it():
    breaker = Breaker()
    breaker.failed(probe=False, answers_before=None, now=0.0)
    breaker.answered()
    assert [breaker.failed(probe=False, answers_before=0, now=0.0) for _ in range(100)] == [None] * 100
    assert not breaker.is_open


def test_an_outage_after_answers_is_hopeless_after_ten_minutes():
    breaker = opened()
    assert not breaker.hopeless(OUTAGE_SECONDS - 1)
    assert breaker.hopeless(OUTAGE_SECONDS)


def test_who_has_never_answered_is_given_up_after_four_probes():
    breaker = Breaker()
    for _ in range(OPENS_AFTER):
        breaker.failed(probe=False, answers_before=None, now=0.0)
    given_up: list[bool] = []
    for _ in range(4):
        breaker.failed(probe=True, answers_before=None, now=0.0)
        given_up.append(breaker.hopeless(0.0))
    assert given_up == [False, False, False, True]


@given(st.lists(st.sampled_from(["answer", "failure", "probe"]), max_size=100))
def test_it_is_open_exactly_when_twenty_failed_since_the_last_answer(events: list[str]):
    breaker, failures, is_open = Breaker(), 0, False
    for event in events:
        if event == "answer":
            breaker.answered()
            failures, is_open = 0, False
        else:
            breaker.failed(probe=event == "probe", answers_before=None, now=0.0)
            failures += 1
            is_open = is_open or failures >= 20
        assert breaker.is_open is is_open


def dead(start: float, end: float, kinds: tuple[ErrorKind, ...]) -> tuple[Client, list[float]]:
    """A client of a provider that is dead for a while, and the times of what it was sent meanwhile."""
    asked: list[float] = []

    def behave(sent: Sent, before: int) -> Reply | RequestError:
        if start <= sent.at < end:
            asked.append(sent.at)
            return fault(kinds[len(asked) % len(kinds)])
        return say("pos")

    return Client(behave, latency=lambda sent: 0.01 if start <= sent.at < end else 0.2), asked


@pytest.mark.parametrize("kinds", [("server",), ("connection",), ("server", "connection")])
@pytest.mark.parametrize("places", [1, 8, 64])
def test_a_run_goes_on_by_itself_after_a_minute_of_outage(kinds: tuple[ErrorKind, ...], places: int):
    client, asked = dead(2.0, 62.0, kinds)
    part = answered(names(20 * places + 100), client, max_concurrency=places, max_attempts=5)
    assert set(part.kinds) == {""}
    probes = [at for at in asked if at > 3.0]
    assert len(probes) <= 30
    assert part.metrics.pause_seconds >= 58


def test_hanging_through_an_outage_loses_nothing():
    client = Client(latency=lambda sent: 1000.0 if 2.0 <= sent.at < 62.0 else 0.2)
    part = answered(names(800), client, max_concurrency=64, timeout=5.0)
    assert set(part.kinds) == {""}
    assert sum(10.0 <= sent.at < 62.0 for sent in client.sent) <= 30


def test_a_provider_that_never_answers_is_given_up_within_ten_seconds_and_the_rows_say_so():
    ended: list[float] = []

    def behave(sent: Sent, before: int) -> RequestError:
        ended.append(asyncio.get_running_loop().time())
        return fault("connection")

    part = answered(names(500), Client(behave, latency=0.01), max_concurrency=64)
    assert max(ended) <= 10
    assert set(part.kinds) == {"connection"}
    details = {str(result) for result in part.results}
    assert any("the provider seems down" in detail for detail in details)


def test_the_report_of_a_provider_that_never_answers_adds_up():
    part = answered(names(500), Client(lambda sent, before: fault("connection"), latency=0.01), max_concurrency=64)
    report = part.run.report()
    assert sum(report.retries_by_kind.values()) == report.retries  # what never went out is no retry
    assert report.pause_seconds == pytest.approx(0.5 + 1 + 2 + 4, abs=0.1)  # without the 8 s that nobody waited for


@pytest.mark.parametrize("poison", [3, 7, 50])
def test_poison_rows_among_good_ones_fail_alone(poison: int):
    """Every `poison`-th row gets a 500 for ever; they come back together at the end, when nobody else is answered."""

    def behave(sent: Sent, before: int) -> Reply | RequestError:
        return fault("server") if int(sent.prompt.removeprefix("row-")) % poison == 1 else say("pos")

    part = answered(names(300), Client(behave, latency=0.2), max_concurrency=32, max_attempts=5)
    assert part.kinds == ["server" if number % poison == 1 else "" for number in range(300)]
    assert part.metrics.pause_seconds == 0
    assert part.run.stop is None


def test_429s_never_open_it():
    def behave(sent: Sent, before: int) -> Reply | RequestError:
        limited = RequestError("rate_limit", "429", status=429, retry_after=1.0)
        return limited if sent.at < 30 else say("pos")

    part = answered(names(60), Client(behave, latency=0.1), max_concurrency=32)
    assert set(part.kinds) == {""}
    assert part.metrics.pause_seconds == 0


def test_an_outage_longer_than_its_time_ends_the_run():
    client, _ = dead(2.0, 10_000.0, ("server",))
    part = answered(names(500), client, max_concurrency=16)
    assert part.kinds.count("") > 0
    assert set(part.kinds) == {"", "server"}
    assert part.run.stop is not None
    assert part.run.stop.detail.endswith("given up, the provider seems down")
    assert OUTAGE_SECONDS <= client.sent[-1].at <= OUTAGE_SECONDS + 30


def test_an_outage_that_one_call_sees_holds_no_other():
    """Two calls to one endpoint: what the first asks for fails, what the second asks for doesn't."""

    async def main() -> tuple[Part, Part, float]:
        shared = Shared(asyncio.get_running_loop().time)
        failing = Client(lambda sent, before: fault("server"), latency=0.1, identity="one")
        bad = part_of(names(30), failing, shared=shared, max_concurrency=8)
        good = part_of([f"good-{n}" for n in range(90)], Client(identity="one"), shared=shared, max_concurrency=8)
        task = asyncio.create_task(bad.work())
        await good.work()
        ended = asyncio.get_running_loop().time()
        return await task, good, ended

    bad, good, ended = run_in_fake_time(main())
    assert set(good.kinds) == {""}
    assert set(bad.kinds) == {"server"}
    assert ended <= 90 / 8 + 10


def test_requests_that_hang_in_one_call_stop_no_other():
    """Of the first call's requests every second one hangs for a minute, and one that fails soon is in between."""

    async def main() -> float:
        shared = Shared(asyncio.get_running_loop().time)
        failing = Client(
            lambda sent, before: fault("connection") if sent.at > 5 else say("pos"),
            latency=lambda sent: (60.0 if len(failing.sent) % 2 else 1.0) if sent.at > 5 else 0.5,
            identity="one",
        )
        well = Client(latency=0.5, identity="one")
        bad = part_of(names(5_000), failing, shared=shared, max_concurrency=64)
        good = part_of([f"good-{n}" for n in range(2_000)], well, shared=shared, max_concurrency=16)
        task = asyncio.create_task(bad.work())
        await good.work()
        assert bad.metrics.pause_seconds > 0
        bad.run.cancel()
        await task
        times = [sent.at for sent in well.sent]
        return max(later - earlier for earlier, later in itertools.pairwise(times))

    assert run_in_fake_time(main()) <= 1.0


def test_a_provider_that_comes_back_begins_with_one_request():
    client, _ = dead(2.0, 62.0, ("server",))
    answered(names(2_000), client, max_concurrency=64)
    back = [sent.at for sent in client.sent if sent.at >= 62.0]
    by_then = [sum(at < back[0] + 0.2 * (trip + 0.5) for at in back) for trip in range(4)]
    assert by_then == [1, 1 + 1, 1 + 1 + 2, 1 + 1 + 2 + 8]  # every answer doubles what may be in flight


def test_429s_and_nothing_else_end_a_run_after_half_an_hour():
    """At one request a minute it would be a week before every row had given up by itself."""
    client = Client(lambda sent, before: RequestError("rate_limit", "429", status=429), latency=0.1)
    part = answered(names(5_000), client)
    assert set(part.kinds) == {"rate_limit"}
    assert LIMITED_SECONDS <= client.sent[-1].at <= LIMITED_SECONDS + MAX_COOLDOWN + 1
    assert part.run.stop is not None
    assert part.run.stop.detail == "429; given up, nothing else came for half an hour"


def test_one_answer_in_half_an_hour_keeps_a_run_going():
    def behave(sent: Sent, before: int) -> Reply | RequestError:
        return say("pos") if 1700 <= sent.at < 1800 or sent.at > 3400 else RequestError("rate_limit", "429", status=429)

    part = answered(names(60), Client(behave, latency=0.1), max_concurrency=1)
    assert part.run.stop is None
    assert part.kinds.count("") > 50
