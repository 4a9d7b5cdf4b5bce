"""A second copy of a late request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from llmframe.clients.base import RequestError
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply
from llmframe.engine.hedging import KNOWN_FROM, SHARE
from llmframe.engine.sharing import Shared
from tests.engine.doubles import Client, CountingLoop, Part, Sent, answered, names, others, part_of, run_counting, say


def late_first_copy(*rows: str, seconds: float = 100.0) -> tuple[Callable[[Sent], float], list[Sent]]:
    """A latency of 1 s, but of `seconds` for the first request of each of these rows."""
    seen: list[Sent] = []

    def latency(sent: Sent) -> float:
        first = all(other.prompt != sent.prompt for other in seen)
        seen.append(sent)
        return seconds if first and sent.prompt in rows else 1.0

    return latency, seen


def hedged(count: int, client: Client, **options: Any) -> Part:
    return answered(names(count), client, hedge=True, max_concurrency=4, **options)


def test_nothing_is_sent_twice_by_default():
    client = Client(latency=late_first_copy("row-119")[0])
    part = answered(names(120), client, max_concurrency=4, timeout=200.0)
    assert max(client.prompts.values()) == 1
    assert (part.metrics.hedges, part.metrics.requests) == (0, 120)


def test_the_copy_of_a_late_request_answers_for_it_and_both_are_counted():
    client = Client(latency=late_first_copy("row-119")[0])
    part = hedged(120, client, timeout=200.0)
    metrics = part.metrics
    assert set(part.kinds) == {""}
    assert client.prompts["row-119"] == 2
    assert (metrics.hedges, metrics.hedges_won, metrics.requests) == (1, 1, 121)
    assert client.cancelled == 1
    assert metrics.unknown_usage == 1  # what the cancelled one took nobody knows
    assert metrics.usage == Usage(120 * 10, 120 * 2, 0)
    assert metrics.retries == 0
    assert max(sent.at for sent in client.sent) <= 40  # nobody waited for the late one


def test_a_request_that_is_late_while_there_is_no_room_has_its_copy_when_there_is():
    client = Client(latency=late_first_copy("row-40")[0])
    part = hedged(120, client, timeout=200.0)
    assert set(part.kinds) == {""}
    assert (part.metrics.hedges, part.metrics.hedges_won) == (1, 1)
    assert client.max_in_flight == 4
    assert max(sent.at for sent in client.sent) <= 45  # three others do meanwhile what four did


def test_a_late_request_that_answers_before_its_copy_counts():
    client = Client(latency=late_first_copy("row-119", seconds=2.0)[0])
    part = hedged(120, client)
    metrics = part.metrics
    assert (metrics.hedges, metrics.hedges_won, metrics.requests, metrics.unknown_usage) == (1, 0, 121, 1)
    assert set(part.kinds) == {""}


def test_two_answers_of_one_moment_are_both_paid():
    def latency(sent: Sent) -> float:
        return 60.0 - sent.at if sent.prompt == "row-119" else 1.0  # both copies end at 60 s

    part = hedged(120, Client(latency=latency), timeout=200.0)
    assert part.metrics.hedges == 1
    assert part.metrics.usage == Usage(121 * 10, 121 * 2, 0)
    assert part.metrics.unknown_usage == 0
    outcome = part.outcomes[119]
    assert outcome is not None
    assert (outcome.usage, outcome.attempts) == (Usage(20, 4, 0), 2)


def test_where_all_take_the_same_time_nothing_is_late():
    assert hedged(400, Client(latency=1.0)).metrics.hedges == 0


def test_nothing_is_late_before_some_have_ended():
    client = Client(latency=late_first_copy("row-3", seconds=10.0)[0])
    part = hedged(KNOWN_FROM, client)
    assert part.metrics.hedges == 0


def test_at_most_one_request_in_twenty_is_a_copy():
    """Every fourth is late, so that there would be much to send twice."""

    def latency(sent: Sent) -> float:
        return 1.0 if sent.at < 8 or int(sent.prompt.removeprefix("row-")) % 4 else 30.0

    part = hedged(300, Client(latency=latency), timeout=100.0)
    assert 0 < part.metrics.hedges <= SHARE * part.metrics.requests


@pytest.mark.parametrize("dies", ["first", "copy"])
def test_a_failure_of_one_is_not_the_rows_while_the_other_may_answer(dies: str):
    seen: list[Sent] = []

    def latency(sent: Sent) -> float:
        seen.append(sent)
        if sent.prompt != "row-119":
            return 1.0
        first = [other.prompt for other in seen].count("row-119") == 1
        return 3.0 if first is (dies == "first") else 5.0

    def behave(sent: Sent, before: int) -> Reply | RequestError:
        failing = sent.prompt == "row-119" and before == (0 if dies == "first" else 1)
        return RequestError("server", "500", status=500) if failing else say("pos")

    def counted(sent: Sent, _: int) -> Reply | RequestError:
        order = [other for other in seen if other.prompt == sent.prompt].index(sent)
        return behave(sent, order)

    part = hedged(120, Client(counted, latency=latency))
    assert set(part.kinds) == {""}
    assert (part.metrics.hedges, part.metrics.retries) == (1, 0)
    assert len([sent for sent in seen if sent.prompt == "row-119"]) == 2


def test_a_row_fails_once_when_both_fail():
    def latency(sent: Sent) -> float:
        return 3.0 if sent.prompt == "row-119" else 1.0

    def behave(sent: Sent, before: int) -> Reply | RequestError:
        return RequestError("bad_request", "400", status=400) if sent.prompt == "row-119" else say("pos")

    part = hedged(120, Client(behave, latency=latency))
    assert part.kinds[119] == "bad_request"
    assert part.kinds.count("") == 119
    assert part.metrics.hedges == 1


@pytest.mark.parametrize("at", [28.5, 29.0, 30.0, 30.5, 33.0])
@pytest.mark.parametrize("lingers", [0.0, 2.0])
def test_cancelling_the_run_cancels_both_and_leaves_nothing(at: float, lingers: float):
    """`row-119` goes out at 29 s and its copy 1.5 s later."""

    async def main(loop: CountingLoop) -> tuple[int, int, set[str]]:
        client = Client(latency=lambda sent: 50.0 if sent.prompt == "row-119" else 1.0, lingers=lingers)
        shared = Shared(loop.time)
        part = part_of(names(120), client, shared=shared, hedge=True, max_concurrency=4)
        task = asyncio.create_task(part.work())
        await asyncio.sleep(at)
        part.run.cancel()
        await task
        await part.runner.landed()
        gate = shared.gate((client.identity, client.account, client.model))
        return gate.in_flight, client.in_flight + part.metrics.in_flight + len(others()), set(part.kinds)

    in_flight, left, kinds = run_counting(main)
    assert (in_flight, left) == (0, 0)
    assert kinds == {"", "cancelled"}


def test_no_copy_goes_out_after_the_run_has_stopped():
    client = Client(latency=lambda sent: 20.0 if sent.at >= 10 else 1.0)
    part = hedged(200, client, budget={"seconds": 10.5})
    assert part.metrics.hedges == 0
    assert max(sent.at for sent in client.sent) < 10.5
