"""Every distinct request to its outcome: how many requests a row takes, and what they wait for."""

from __future__ import annotations

import asyncio
import gc
import random
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.clients.base import RequestError
from llmframe.core.outcome import Answer, Failure, Usage
from llmframe.core.reply import Reply
from llmframe.engine.dialects import NO_LOGPROBS
from llmframe.engine.sharing import Shared
from llmframe.errors import ErrorKind
from llmframe.stores.base import MemoryStore, Stored
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import MODES, USAGE, Client, Part, Sent, answered, names, new_run, part_of, refused, say


def times(count: int, fault: Callable[[], Reply | BaseException]) -> Callable[[Sent, int], Reply | BaseException]:
    """The first `count` requests of every prompt meet `fault`."""
    return lambda sent, before: fault() if before < count else say("pos")


def fault(kind: ErrorKind, status: int | None = None, **more: float) -> Callable[[], RequestError]:
    return lambda: RequestError(kind, f"{status or kind}", status=status, **more)


def test_every_distinct_question_is_sent_once():
    client = Client()
    part = answered(["a", "b", "a", "a", "b"], client)
    assert client.prompts == {"a": 1, "b": 1}
    assert part.kinds == [""] * 5
    assert part.metrics.requests == 2


def test_answers_belong_to_their_rows_whatever_the_order_they_come_in():
    latency = {f"row-{number}": float(30 - number) for number in range(30)}
    client = Client(lambda sent, before: say("pos" if int(sent.prompt[4:]) % 3 else "neg"))
    client.latency = lambda sent: latency[sent.prompt]
    part = answered(names(30), client)
    assert [result.values for result in part.results if isinstance(result, Answer)] == [
        ("pos" if number % 3 else "neg",) for number in range(30)
    ]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("server", 500),
        ("server", 503),
        ("server", 529),
        ("server", 408),
        ("server", 409),
        ("timeout", None),
        ("connection", None),
    ],
)
def test_a_transient_fault_is_sent_again_until_the_attempts_are_used_up(kind: ErrorKind, status: int | None):
    client = Client(times(3, fault(kind, status)))
    part = answered(names(4), client)
    assert part.kinds == [""] * 4
    assert set(client.prompts.values()) == {4}
    assert (part.metrics.requests, part.metrics.retries, part.metrics.reasks) == (16, 12, 0)
    assert [outcome.attempts for outcome in part.outcomes if outcome] == [4] * 4

    client = Client(times(99, fault(kind, status)))
    part = answered(names(4), client, max_attempts=3)
    assert part.kinds == [kind] * 4
    assert set(client.prompts.values()) == {3}
    assert (part.metrics.requests, part.metrics.retries) == (12, 8)


@pytest.mark.parametrize("kind", ["bad_request", "context_length", "content_filter", "refusal", "tool_call", "invalid"])
def test_a_fault_of_the_row_itself_is_sent_once(kind: ErrorKind):
    def behave(sent: Sent, before: int) -> Reply | BaseException:
        return RequestError(kind, "no", status=400, code="its_own") if sent.prompt == "row-2" else say("pos")

    client = Client(behave)
    part = answered(names(5), client)
    assert part.kinds == ["", "", kind, "", ""]
    assert part.metrics.requests == 5


@pytest.mark.parametrize("kind", ["auth", "quota", "not_found"])
def test_a_fault_that_would_meet_every_row_stops_the_sending(kind: ErrorKind):
    client = Client(lambda sent, before: RequestError(kind, "401: no such key", status=401))
    part = answered(names(1000), client, max_concurrency=8)
    assert len(client.sent) <= 8
    assert {str(result) for result in part.results} == {f"{kind}: 401: no such key"}
    assert part.run.report().state == "stopped"


def test_a_stopped_run_waits_for_no_pace_any_more():
    """At 6 a minute the other 7 workers would have waited for their turn for more than a minute."""

    async def main() -> float:
        client = Client(lambda sent, before: RequestError("auth", "401", status=401))
        part = await part_of(names(50), client, max_concurrency=8, requests_per_minute=6).work()
        assert part.kinds == ["auth"] * 50
        assert len(client.sent) == 1
        return asyncio.get_running_loop().time()

    assert run_in_fake_time(main()) < 2


def test_a_stopped_run_waits_for_no_delayed_row_of_another_part():
    async def main() -> float:
        loop = asyncio.get_running_loop()
        shared, run = Shared(loop.time), new_run()
        slow = Client(lambda sent, before: RequestError("server", "503", status=503, retry_after=100.0))
        wrong = Client(lambda sent, before: RequestError("auth", "401", status=401), latency=5.0)
        parts = [part_of(names(3), client, run=run, shared=shared) for client in (slow, wrong)]
        await asyncio.gather(*(part.work() for part in parts))
        assert parts[0].kinds == ["auth"] * 3
        return loop.time()

    assert run_in_fake_time(main()) < 10


def test_a_rate_limit_over_the_cap_ends_the_run_at_once_and_says_so():
    async def main() -> float:
        client = Client(lambda sent, before: RequestError("rate_limit", "429", status=429, retry_after=7200.0))
        part = await part_of(names(100), client, max_concurrency=4).work()
        assert part.kinds == ["rate_limit"] * 100
        assert "7200 s" in str(part.results[99])
        assert len(client.sent) <= 4
        return asyncio.get_running_loop().time()

    assert run_in_fake_time(main()) < 10


def test_the_next_run_hears_of_such_a_limit_too_and_does_not_sit_it_out():
    async def main() -> float:
        shared = Shared(asyncio.get_running_loop().time)
        client = Client(lambda sent, before: RequestError("rate_limit", "429", status=429, retry_after=7200.0))
        for _ in range(2):
            part = await part_of(names(3), client, shared=shared).work()
            assert "7200 s" in str(part.results[0])
        return asyncio.get_running_loop().time()

    assert run_in_fake_time(main()) < 60


def test_a_rate_limited_row_comes_through_and_its_waits_are_no_attempts():
    client = Client(times(7, fault("rate_limit", 429, retry_after=3.0)))
    part = answered(["a"], client, max_attempts=2)
    assert part.kinds == [""]
    assert part.metrics.requests == 8


@pytest.mark.parametrize("retry_after", [None, 0.0, 20.0])
def test_a_server_that_only_says_429_is_given_up_after_ten_minutes(retry_after: float | None):
    async def main() -> tuple[float, list[str]]:
        client = Client(lambda sent, before: RequestError("rate_limit", "429", status=429, retry_after=retry_after))
        part = await part_of(names(3), client).work()
        return asyncio.get_running_loop().time(), part.kinds

    ended, kinds = run_in_fake_time(main())
    assert kinds == ["rate_limit"] * 3
    assert 300 < ended < 1200


def test_retry_after_is_never_undercut():
    client = Client(times(1, fault("server", 503, retry_after=40.0)), latency=1.0)
    answered(["a"], client)
    first, second = (sent.at for sent in client.sent)
    assert second >= first + 1 + 40


def test_a_row_that_waits_holds_no_place():
    """One of 21 rows is told to come back after 30 s; with one place the other 20 take a second each."""

    async def main() -> list[tuple[str, float]]:
        client = Client(
            lambda sent, before: (
                RequestError("server", "503", status=503, retry_after=30.0)
                if sent.prompt == "row-0" and not before
                else say("pos")
            )
        )
        await part_of(names(21), client, max_concurrency=1).work()
        return [(sent.prompt, sent.at) for sent in client.sent]

    sent = run_in_fake_time(main())
    assert sent[:-1] == [(f"row-{number}", pytest.approx(float(number))) for number in range(21)]
    assert sent[-1][0] == "row-0"
    assert 31 <= sent[-1][1] <= 1 + 30 * 1.25


@given(
    rows=st.integers(0, 40),
    concurrency=st.integers(1, 12),
    faults=st.lists(st.integers(0, 2), min_size=40, max_size=40),
    latencies=st.lists(st.floats(0.1, 9), min_size=40, max_size=40),
)
def test_never_more_are_in_flight_than_allowed_and_every_row_is_answered(
    rows: int, concurrency: int, faults: list[int], latencies: list[float]
):
    def number(sent: Sent) -> int:
        return int(sent.prompt[4:])

    client = Client(
        lambda sent, before: fault("server", 500)() if before < faults[number(sent)] else say("pos"),
        latency=lambda sent: latencies[number(sent)],
    )
    part = answered(names(rows), client, max_concurrency=concurrency)
    assert client.max_in_flight <= concurrency
    assert part.kinds == [""] * rows
    assert len(client.sent) == part.metrics.requests == rows + sum(faults[:rows])
    assert part.metrics.retries == sum(faults[:rows])
    assert part.plan.rows_done == rows


def test_all_allowed_places_are_used():
    client = Client()
    answered(names(100), client, max_concurrency=7)
    assert client.max_in_flight == 7


def test_the_parts_of_a_run_share_its_places():
    async def main() -> int:
        shared, run, client = Shared(asyncio.get_running_loop().time), new_run(), Client()
        rows = names(40)
        parts = [part_of(rows[at : at + 10], client, run=run, shared=shared, max_concurrency=4) for at in (0, 10, 20)]
        await asyncio.gather(*(part.work() for part in parts))
        return client.max_in_flight

    assert run_in_fake_time(main()) == 4


def test_no_part_of_a_stopped_run_waits_for_a_turn():
    """The other parts wait for a place when it stops, and would then wait a minute each to be paced."""

    async def main() -> float:
        client = Client(lambda sent, before: RequestError("auth", "401", status=401))
        shared, run = Shared(asyncio.get_running_loop().time), new_run()
        more = {"run": run, "shared": shared, "max_concurrency": 1, "requests_per_minute": 1}
        parts = [part_of([row], client, **more) for row in names(4)]
        await asyncio.gather(*(part.work() for part in parts))
        assert [part.kinds for part in parts] == [["auth"]] * 4
        assert len(client.sent) == 1
        return asyncio.get_running_loop().time()

    assert run_in_fake_time(main()) == pytest.approx(1.0)


def test_an_attempt_that_takes_too_long_is_cancelled_and_its_usage_counted_as_unknown():
    client = Client(latency=lambda sent: 99.0 if len(client.sent) == 1 else 1.0)
    part = answered(["a"], client, timeout=5, max_attempts=2)
    assert part.kinds == [""]
    assert client.cancelled == 1
    assert (part.metrics.requests, part.metrics.unknown_usage) == (2, 1)

    client = Client(latency=99.0)
    part = answered(["a"], client, timeout=5, max_attempts=2)
    assert str(part.results[0]) == "timeout: no whole answer within 5 s (after 2 attempts)"


def test_an_invalid_reply_is_told_to_the_model_once():
    client = Client(times(1, lambda: say("perhaps")))
    part = answered(["a"], client)
    assert part.kinds == [""]
    assert (part.metrics.requests, part.metrics.reasks, part.metrics.retries) == (2, 1, 0)
    assert client.sent[1].messages[1] == {"role": "assistant", "content": "perhaps"}
    (outcome,) = part.outcomes
    assert outcome is not None
    assert outcome.usage == USAGE + USAGE
    assert part.metrics.usage == USAGE + USAGE


@pytest.mark.parametrize("reask", [0, 1, 3])
def test_reasks_are_bounded(reask: int):
    client = Client(lambda sent, before: say("perhaps"))
    part = answered(["a", "b"], client, reask=reask)
    assert part.kinds == ["invalid"] * 2
    assert set(client.prompts.values()) == {1 + reask}
    assert part.metrics.reasks == 2 * reask


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (say("pos", finish_reason="length"), "truncated"),
        (say("pos", finish_reason="content_filter"), "content_filter"),
        (Reply(text=None, refusal="I can't"), "refusal"),
        (say(""), "empty"),
    ],
)
def test_a_reply_that_no_further_ask_can_help_is_not_asked_again(reply: Reply, kind: str):
    client = Client(lambda sent, before: reply)
    part = answered(["a"], client, reask=3)
    assert part.kinds == [kind]
    assert part.metrics.requests == 1


def test_a_fault_after_an_invalid_reply_keeps_the_reask_open():
    """Asked, found invalid, asked again, 500, asked again: one retry and one re-ask."""

    def behave(sent: Sent, before: int) -> Reply | BaseException:
        return [say("perhaps"), RequestError("server", "500", status=500), say("pos")][before]

    client = Client(behave)
    part = answered(["a"], client)
    assert part.kinds == [""]
    assert (part.metrics.requests, part.metrics.reasks, part.metrics.retries) == (3, 1, 1)
    assert len(client.sent[2].messages) == 3


def test_requests_are_first_sends_and_retries_and_reasks_also_when_a_run_stops():
    """What waited for its retry when the run stopped was not sent again, hence not counted."""

    def behave(sent: Sent, before: int) -> Reply | BaseException:
        if sent.prompt == "row-9":
            return RequestError("auth", "401", status=401)
        return RequestError("server", "503", status=503, retry_after=100.0)

    client = Client(behave, latency=lambda sent: 5.0 if sent.prompt == "row-9" else 1.0)
    part = answered(names(10), client)
    assert (part.metrics.requests, part.metrics.retries) == (10, 0)
    assert part.kinds == ["auth"] * 10


def test_the_first_failed_row_stops_a_run_that_is_to_raise():
    client = Client(lambda sent, before: RequestError("bad_request", "400", status=400, code="x"))
    part = answered(names(1000), client, fail_fast=True, max_concurrency=4)
    assert len(client.sent) <= 4
    assert part.kinds[0] == "bad_request"
    assert part.kinds[999] == "cancelled"


def test_a_row_that_can_not_be_asked_stops_such_a_run_before_anything_is_sent():
    client = Client()
    part = answered(["a", None, "b"], client, fail_fast=True)
    assert part.kinds == ["cancelled", "null", "cancelled"]
    assert client.sent == []


def test_an_exception_of_a_client_is_the_rows_failure_and_tells_nothing_but_its_name():
    client = Client(lambda sent, before: ZeroDivisionError("sk-secret") if sent.prompt == "row-1" else say("pos"))
    part = answered(names(3), client)
    assert part.kinds == ["", "internal", ""]
    assert str(part.results[1]) == "internal: ZeroDivisionError in llmframe or a validator"


def test_a_client_that_cancels_its_own_request_leaves_no_worker_behind():
    client = Client(times(1, asyncio.CancelledError))
    part = answered(names(3), client, max_concurrency=1)
    assert part.kinds == [""] * 3
    assert part.metrics.requests == 6


def test_kept_answers_are_not_asked_again_and_failures_are_not_kept():
    store = MemoryStore()
    client = Client(times(1, lambda: RequestError("bad_request", "400", status=400, code="x")))
    first = answered(["a", "b"], client, store=store)
    assert first.kinds == ["bad_request"] * 2
    assert len(store) == 0
    second = answered(["a", "b"], client, store=store)
    assert second.kinds == [""] * 2
    third = answered(["a", "b", "c"], client, store=store)
    assert third.kinds == ["", "", "bad_request"]
    assert (second.metrics.requests, third.metrics.requests) == (2, 1)
    outcomes = [outcome for outcome in third.outcomes if outcome]
    assert [(outcome.source, outcome.attempts) for outcome in outcomes] == [("cache", 0), ("cache", 0), ("live", 1)]


def test_a_kept_answer_that_no_longer_fits_is_asked_again():
    store, client = MemoryStore(), Client()
    first = answered(["a"], client, store=store)
    (outcome,) = first.outcomes
    assert outcome is not None
    store.put_many([(bytes.fromhex(outcome.fingerprint or ""), Stored("a label of before"))])
    assert answered(["a"], client, store=store).metrics.requests == 1


def test_the_loop_goes_on_between_chunks_of_kept_answers():
    """All answers are kept: nothing is sent, and still other runs and an interrupt have their turn."""
    store, client = MemoryStore(), Client()
    rows = names(512 * 6)
    answered(rows, client, store=store, max_concurrency=512)

    async def main() -> set[int]:
        part = part_of(rows, client, store=store)
        seen: set[int] = set()

        async def other() -> None:
            while True:
                seen.add(part.plan.rows_done)
                await asyncio.sleep(0)

        ticking = asyncio.create_task(other())
        await part.work()
        ticking.cancel()
        assert part.metrics.requests == 0
        assert part.plan.rows_done == len(rows)
        return seen

    assert run_in_fake_time(main()) >= {512 * chunk for chunk in range(1, 6)}


# --- two runs that ask the same ---------------------------------------------------------------------------------


def together(*clients: Client, rows: list[str], delay: float = 0.0, **options: object) -> list[Part]:
    """One run a client over the same rows, each `delay` seconds after the one before, in one loop."""

    async def main() -> list[Part]:
        shared = Shared(asyncio.get_running_loop().time)
        parts = [part_of(rows, client, shared=shared, **options) for client in clients]

        async def late(number: int) -> Part:
            await asyncio.sleep(delay * number)
            return await parts[number].work()

        return await asyncio.gather(*(late(number) for number in range(len(parts))))

    return run_in_fake_time(main())


def test_two_runs_that_ask_the_same_share_one_request_and_pay_it_once():
    one = Client()
    two = Client(identity=one.identity)
    first, second = together(one, two, rows=names(5), delay=0.5)
    assert (len(one.sent), len(two.sent)) == (5, 0)
    assert first.kinds == second.kinds == [""] * 5
    assert first.metrics.usage.input_tokens == 50
    assert second.metrics.usage.input_tokens == 0
    assert {(outcome.source, outcome.usage) for outcome in first.outcomes if outcome} == {("live", USAGE)}
    assert {(outcome.source, outcome.usage) for outcome in second.outcomes if outcome} == {("shared", Usage(0, 0, 0))}


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("ahead", [0.0, 0.5, 1.0, 7.0])
def test_what_another_run_has_answered_since_the_rows_were_drawn_is_not_asked_again(places: int, ahead: float):
    async def main() -> None:
        client, store = Client(), MemoryStore()
        shared = Shared(asyncio.get_running_loop().time)
        more = {"store": store, "shared": shared, "max_concurrency": places}
        first = part_of(names(20), client, **more)
        second = part_of(names(20)[::-1], client, **more)
        working = asyncio.create_task(first.work())
        await asyncio.sleep(ahead)
        await second.work()
        await working
        assert client.prompts == dict.fromkeys(names(20), 1)
        assert first.kinds == second.kinds == [""] * 20
        assert first.metrics.requests + second.metrics.requests == 20
        sources = [outcome.source for part in (first, second) for outcome in part.outcomes if outcome]
        assert sources.count("live") == 20  # the others cost nothing

    run_in_fake_time(main())


def test_after_a_shared_failure_each_run_goes_on_under_its_own_policy():
    one = Client(lambda sent, before: RequestError("server", "500", status=500))
    two = Client(times(1, fault("server", 500)), identity=one.identity)
    first, second = together(one, two, rows=["a"], delay=0.5, max_attempts=2)
    assert first.kinds in (["server"], [""])  # it may have joined the other's success
    assert second.kinds == [""]
    assert second.metrics.requests >= 1


@pytest.mark.parametrize("kind", ["auth", "quota", "not_found", "bad_request"])
def test_a_fault_of_another_runs_request_is_not_ones_own(kind: ErrorKind):
    """The other one's key may be wrong, or its connections closed."""
    one = Client(lambda sent, before: RequestError(kind, "no", status=400, code="x"))
    two = Client(identity=one.identity)
    first, second = together(one, two, rows=names(3), delay=0.5)
    assert first.kinds == [kind] * 3
    assert second.kinds == [""] * 3


@pytest.mark.parametrize(
    "bad", [say("perhaps"), say("pos", finish_reason="length"), say(""), Reply(text=None, refusal="no"), ValueError()]
)
def test_only_answers_are_shared(bad: Reply | BaseException):
    one = Client(lambda sent, before: bad)
    two = Client(identity=one.identity)
    first, second = together(one, two, rows=["a"], delay=0.5, reask=0)
    assert first.kinds != [""]
    assert second.kinds == [""]


def test_a_run_that_is_cancelled_leaves_the_request_to_the_other_who_pays_for_it():
    async def main() -> tuple[Part, Part]:
        shared = Shared(asyncio.get_running_loop().time)
        one = Client(latency=10.0)
        two = Client(identity=one.identity)
        first, second = part_of(["a"], one, shared=shared), part_of(["a"], two, shared=shared)
        working = [asyncio.create_task(part.work()) for part in (first, second)]
        await asyncio.sleep(5)
        first.run.cancel()
        await asyncio.gather(*working)
        return first, second

    first, second = run_in_fake_time(main())
    assert first.kinds == ["cancelled"]
    assert second.kinds == [""]
    assert (first.client.cancelled, len(second.client.sent)) == (0, 0)
    (outcome,) = second.outcomes
    assert outcome is not None
    assert outcome.usage == second.metrics.usage == USAGE
    assert first.metrics.usage.input_tokens == 0


def test_whoever_asks_at_the_moment_of_a_cancelling_asks_anew():
    """The attempt is being cancelled and can't be joined any more."""

    async def main() -> Part:
        shared = Shared(asyncio.get_running_loop().time)
        one = Client(latency=10.0, lingers=3.0)
        first = part_of(["a"], one, shared=shared)
        second = part_of(["a"], Client(identity=one.identity), shared=shared)
        working = asyncio.create_task(first.work())
        await asyncio.sleep(5)
        first.run.cancel()
        await asyncio.sleep(1)
        async with asyncio.timeout(100):
            await second.work()
        await working
        return second

    assert run_in_fake_time(main()).kinds == [""]


# --- cancelling -------------------------------------------------------------------------------------------------


def test_cancelling_ends_what_is_in_flight_and_keeps_what_came_back():
    async def main() -> tuple[Part, float]:
        client = Client(latency=lambda sent: 1.0 if int(sent.prompt[4:]) < 3 else 100.0)
        part = part_of(names(50), client, max_concurrency=6)
        working = asyncio.create_task(part.work())
        await asyncio.sleep(2)
        part.run.cancel()
        await working
        return part, asyncio.get_running_loop().time()

    part, ended = run_in_fake_time(main())
    assert ended == pytest.approx(2.0)
    assert part.kinds == ["", "", ""] + ["cancelled"] * 47
    assert part.client.cancelled == 6
    assert part.run.report().state == "interrupted"


def test_what_an_interrupted_run_took_stands_on_its_rows():
    """Paid replies of rows that were in flight again or waited for their retry; what was cancelled is unknown."""

    def behave(sent: Sent, before: int) -> Reply | BaseException:
        if before == 0:
            return say("perhaps")  # paid, and asked again
        return RequestError("server", "503", status=503, retry_after=100.0) if sent.prompt == "row-0" else say("pos")

    async def main() -> Part:
        client = Client(behave)
        client.latency = lambda sent: 50.0 if sent.prompt == "row-1" and len(sent.messages) > 1 else 1.0
        part = part_of(names(4), client, max_concurrency=3)
        working = asyncio.create_task(part.work())
        await asyncio.sleep(3.5)
        part.run.cancel()
        await working
        return part

    part = run_in_fake_time(main())
    # row-0 waits for its retry, row-1 is in flight again, row-2 is answered, row-3 is in flight again
    assert part.kinds == ["cancelled", "cancelled", "", "cancelled"]
    assert [outcome.attempts for outcome in part.outcomes if outcome] == [2, 2, 2, 2]
    assert part.metrics.requests == len(part.client.sent) == 8
    tokens = [outcome.usage.input_tokens for outcome in part.outcomes if outcome]
    assert tokens == [10, 10, 20, 10]
    assert part.metrics.usage.input_tokens == 50
    assert part.metrics.unknown_usage == part.client.cancelled == 2


def test_a_reply_that_comes_at_the_moment_of_cancelling_is_paid_and_kept():
    async def main() -> tuple[Part, int]:
        store = MemoryStore()
        part = part_of(["a"], Client(latency=1.0), store=store)
        working = asyncio.create_task(part.work())
        await asyncio.sleep(0.5)
        flights = list(part.runner._shared._flights.values())
        flights[0].task.add_done_callback(lambda _: part.run.cancel())
        await working
        return part, len(store)

    part, kept = run_in_fake_time(main())
    assert part.metrics.usage == USAGE
    assert kept == 1


# --- settling how answers are asked for -----------------------------------------------------------------------------


def test_a_server_that_refuses_a_form_is_asked_in_the_next_one_from_then_on():
    client = Client(
        lambda sent, before: refused() if sent.dialect.mode == "json_schema" else say("pos"), dialects=MODES
    )
    part = answered(names(40), client, max_concurrency=4)
    assert part.kinds == [""] * 40
    assert len(client.sent) == 40 + 4  # what was in flight when the first refusal came
    assert part.metrics.notes == ["asked by tools instead of json_schema, because the server refused (400)"]
    assert part.metrics.output_mode == "tools"


def test_the_rows_refused_meanwhile_are_sent_again_together():
    """All 8 in flight are refused at 1 s; one tries the next form till 2 s; the other 7 follow till 3 s."""

    async def main() -> float:
        client = Client(
            lambda sent, before: refused() if sent.dialect.mode == "json_schema" else say("pos"), dialects=MODES
        )
        part = await part_of(names(8), client, max_concurrency=32).work()
        assert part.kinds == [""] * 8
        return asyncio.get_running_loop().time()

    assert run_in_fake_time(main()) == pytest.approx(3.0)


def test_a_server_is_remembered_with_the_form_that_it_takes():
    client = Client(
        lambda sent, before: refused() if sent.dialect.mode == "json_schema" else say("pos"), dialects=MODES
    )
    answered(["a"], client)
    assert len(client.sent) == 2
    part = answered(["b"], client)
    assert len(client.sent) == 3
    assert part.metrics.output_mode == "tools"


@pytest.mark.parametrize("faults", [0.0, 0.3])
def test_twenty_runs_that_ask_the_same_at_once_pay_for_every_answer_once(faults: float):
    chance = random.Random(4)

    async def main() -> Counter[str]:
        shared, store = Shared(asyncio.get_running_loop().time), MemoryStore()
        answers: Counter[str] = Counter()

        def behave(sent: Sent, before: int) -> Reply | RequestError:
            if chance.random() < faults:
                return RequestError("server", "500", status=500)
            answers[sent.prompt] += 1
            return say("pos")

        client = Client(behave, latency=lambda sent: chance.random())
        parts = [part_of(names(60), client, shared=shared, store=store, max_attempts=30) for _ in range(20)]
        await asyncio.gather(*(part.work() for part in parts))
        assert {kind for part in parts for kind in part.kinds} == {""}
        assert sum(part.metrics.requests for part in parts) == len(client.sent)
        assert sum(part.metrics.usage.input_tokens or 0 for part in parts) == 10 * 60
        return answers

    assert run_in_fake_time(main()) == dict.fromkeys(names(60), 1)


def test_a_refused_form_costs_the_first_few_requests_and_no_more():
    client = Client(lambda sent, _: refused() if sent.dialect.mode == "json_schema" else say("pos"), dialects=MODES)
    part = answered(names(1_000), client)
    assert set(part.kinds) == {""}
    assert Counter(sent.dialect.mode for sent in client.sent) == {"json_schema": 8, "tools": 1_000}


def test_one_bad_row_among_good_ones_settles_nothing():
    """A 400 without a code, before any answer: it is tried in the other two forms, and is the row's own."""
    client = Client(lambda sent, before: refused(None) if sent.prompt == "row-0" else say("pos"), dialects=MODES)
    part = answered(names(20), client, max_concurrency=1)
    assert part.kinds == ["bad_request"] + [""] * 19
    assert client.prompts["row-0"] == 3
    assert len(client.sent) == 22
    assert part.metrics.output_mode == "json_schema"
    assert part.metrics.notes == ["tried tools and json after a refusal (400): refused alike"]


def test_a_bad_row_after_an_answer_costs_one_request():
    client = Client(lambda sent, before: refused(None) if sent.prompt == "row-5" else say("pos"), dialects=MODES)
    part = answered(names(20), client, max_concurrency=1)
    assert part.kinds[5] == "bad_request"
    assert len(client.sent) == 20


def test_rows_that_are_all_bad_cost_no_more_than_one_row_of_probes():
    client = Client(lambda sent, before: refused(None), dialects=MODES)
    part = answered(names(20), client, max_concurrency=1)
    assert part.kinds == ["bad_request"] * 20
    assert len(client.sent) == 20 + 2


def test_a_limit_on_tokens_goes_out_under_the_name_that_the_server_takes():
    def behave(sent: Sent, before: int) -> Reply | BaseException:
        if sent.dialect.max_tokens_name == "max_tokens":
            return refused("max_tokens", "unsupported_parameter")
        return say("pos")

    client = Client(behave, dialects=MODES)
    part = answered(names(10), client, max_concurrency=1)
    assert part.kinds == [""] * 10
    assert len(client.sent) == 11
    assert part.metrics.notes == ["sent max_completion_tokens instead of max_tokens, because the server refused (400)"]


def test_a_schema_that_is_refused_in_every_form_stops_the_run():
    client = Client(lambda sent, before: refused("response_format", "invalid_json_schema"), dialects=MODES[:1])
    part = answered(names(100), client, max_concurrency=4)
    assert part.kinds == ["bad_request"] * 100
    assert len(client.sent) <= 4


def test_a_refusal_of_another_runs_form_is_settled_by_ones_own_request():
    def behave(sent: Sent, before: int) -> Reply | BaseException:
        return refused("response_format", "invalid_json_schema") if sent.dialect.mode == "json_schema" else say("pos")

    one = Client(behave, dialects=MODES)
    two = Client(behave, dialects=MODES, identity=one.identity)
    first, second = together(one, two, rows=names(3), delay=0.5)
    assert first.kinds == second.kinds == [""] * 3


def test_a_fault_while_probing_is_treated_as_what_it_is():
    def behave(sent: Sent, before: int) -> Reply | BaseException:
        if sent.dialect.mode == "json_schema":
            return refused()
        return RequestError("server", "500", status=500) if before == 1 else say("pos")

    client = Client(behave, dialects=MODES)
    part = answered(["a"], client)
    assert part.kinds == [""]
    assert part.metrics.retries == 1


def test_failed_rows_say_the_last_failure(caplog: pytest.LogCaptureFixture):
    gc.collect()  # what earlier tests left behind is no matter of this one
    caplog.clear()
    part = answered(["a"], Client(lambda sent, before: RequestError("server", "502: bad gateway", status=502)))
    assert part.results == [Failure("server", "502: bad gateway (after 5 attempts)")]
    assert caplog.records == []


def test_rows_that_cannot_be_drawn_end_the_part_with_their_own_exception():
    def broken(positions: object, start: int, stop: int) -> list[list[object]]:
        raise ZeroDivisionError(f"rows {start} to {stop} can't be read")

    async def main() -> None:
        part = part_of(["a", "b"], Client())
        part.plan._read = broken
        await part.work()

    with pytest.raises(ZeroDivisionError, match="rows 0 to 2"):
        run_in_fake_time(main())


def test_a_part_that_has_ended_is_gone_at_once_without_a_collection_of_garbage():
    gone: list[weakref.ref[object]] = []

    async def main() -> None:
        part = part_of(names(20), Client())
        gone.append(weakref.ref(part.runner))
        await part.work()
        await part.runner.landed()

    gc.collect()
    gc.disable()
    try:
        run_in_fake_time(main())
        assert gone[0]() is None
    finally:
        gc.enable()


def test_a_run_about_logprobs_ends_with_the_first_answer_of_an_endpoint_that_refuses_them_and_keeps_it():
    scored = replace(MODES[0], top_logprobs=20)
    client = Client(
        lambda sent, _: refused("logprobs", "unsupported_parameter") if sent.dialect.logprobs else say("pos"),
        dialects=(scored, replace(MODES[0], ends_run=True)),
    )
    part = answered(names(100), client)
    answers = [each for each in part.results if isinstance(each, Answer)]
    assert [answer.values for answer in answers] == [("pos",)]
    assert len(client.sent) == 9, "the first eight, and one without"
    assert {(each.kind, each.detail) for each in part.results if isinstance(each, Failure)} == {
        ("bad_request", NO_LOGPROBS.detail)
    }
