"""One attempt: its turn, its time, and who is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llmframe.clients.base import RequestError
from llmframe.core.outcome import Failure, Usage
from llmframe.core.reply import Reply
from llmframe.engine.gate import Gate
from llmframe.engine.sharing import Shared
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import (
    LABEL,
    Client,
    CountingLoop,
    Part,
    Sent,
    answered,
    names,
    others,
    part_of,
    run_counting,
    say,
)


def gate_of(shared: Shared, client: Client) -> Gate:
    return shared.gate((client.identity, client.account, client.model))


def test_no_answer_in_time_is_a_timeout_of_unknown_cost():
    client = Client(latency=100.0)
    part = answered(names(1), client, timeout=5.0, max_attempts=1)
    (result,) = part.results
    assert isinstance(result, Failure)
    assert (result.kind, result.detail) == ("timeout", "no whole answer within 5 s")
    assert part.metrics.unknown_usage == 1
    assert client.cancelled == 1


def test_the_time_of_an_attempt_begins_with_its_turn():
    client = Client(latency=4.0)
    part = answered(names(6), client, timeout=5.0, max_concurrency=1)
    assert set(part.kinds) == {""}


def test_an_answer_in_pieces_has_no_time_of_its_own():
    part = answered(names(1), Client(latency=100.0, streams=True), timeout=5.0)
    assert part.kinds == [""]


def test_a_time_out_of_the_clients_own_is_one_too():
    class Impatient(Client):
        async def send(self, messages: object, dialect: object) -> Reply:
            raise TimeoutError

    part = answered(names(1), Impatient(streams=True), max_attempts=1)
    assert part.kinds == ["timeout"]
    assert part.metrics.in_flight == 0


def test_a_surprise_of_the_client_gives_its_place_back():
    async def main() -> tuple[int, list[str]]:
        shared = Shared(asyncio.get_running_loop().time)
        client = Client(lambda sent, before: ValueError("surprise"))
        part = await part_of(names(40), client, shared=shared).work()
        return gate_of(shared, client).in_flight, part.kinds

    assert run_in_fake_time(main()) == (0, ["internal"] * 40)


def test_estimates_are_learnt_from_what_replies_cost():
    async def main() -> tuple[float, float]:
        shared = Shared(asyncio.get_running_loop().time)
        shape = len(LABEL.canonical)
        client = Client(lambda sent, before: say("pos", usage=Usage(2 * (len(sent.prompt) + shape), 7, 0)))
        await part_of(["x" * 1000 + str(n) for n in range(40)], client, shared=shared).work()
        cost = gate_of(shared, client).limits.cost(10_000, None)
        return cost.input, cost.output

    given, output = run_in_fake_time(main())
    assert given == pytest.approx(20_000, rel=0.001)  # 2 a character, the schema's included
    assert output == 7


def test_a_limit_of_tokens_to_come_bounds_the_estimate():
    """60 tokens a second: 20 rows of 6 + 3 tokens go faster than their 6 + 64 unknown ones would."""
    client = Client(latency=0.1)
    part = answered(names(20), client, tokens_per_minute=3600, params={"max_tokens": 3})
    bounded = max(sent.at for sent in client.sent)
    free = Client(latency=0.1)
    answered(names(20), free, tokens_per_minute=3600)
    assert set(part.kinds) == {""}
    assert bounded < max(sent.at for sent in free.sent)


# A budget of time ----------------------------------------------------------------------------------------------------


def test_a_budget_of_seconds_lets_what_is_in_flight_end_and_sends_nothing_more():
    client = Client(latency=2.0)
    part = answered(names(200), client, max_concurrency=8, budget={"seconds": 9.0})
    assert max(sent.at for sent in client.sent) < 9
    assert part.kinds.count("") == len(client.sent)
    missing = [result for result in part.results if isinstance(result, Failure)]
    assert len(missing) == 200 - len(client.sent) > 0
    assert {str(failure) for failure in missing} == {"budget: not answered within the 9 s of the run's budget"}


@pytest.mark.parametrize(
    "options",
    [
        {"requests_per_minute": 60},
        {"tokens_per_minute": 600},
        {"max_concurrency": 1},
        {"hedge": True, "max_concurrency": 4},
        {"requests_per_minute": 60, "tokens_per_minute": 600, "priority": "low"},
    ],
)
def test_whatever_rows_wait_for_when_time_is_up_they_are_told_at_once(options: dict[str, Any]):
    async def main(loop: CountingLoop) -> tuple[Part, float, int, int]:
        shared = Shared(loop.time)
        client = Client(latency=0.5)
        part = part_of(names(500), client, shared=shared, budget={"seconds": 5.25}, **options)
        await part.work()
        ended = loop.time()
        await asyncio.sleep(0)
        return part, ended, gate_of(shared, client).in_flight, len(others()) + loop.open_timers

    part, ended, in_flight, left = run_counting(main)
    assert ended <= 5.25 + 0.5
    assert (in_flight, left) == (0, 0)
    assert set(part.kinds) == {"", "budget"}


def test_rows_that_wait_for_another_attempt_are_told_at_once_too():
    def behave(sent: Sent, before: int) -> Reply | RequestError:
        return RequestError("rate_limit", "429", status=429, retry_after=100.0)

    async def main() -> tuple[Part, float]:
        part = await part_of(names(50), Client(behave, latency=0.1), budget={"seconds": 3.0}).work()
        return part, asyncio.get_running_loop().time()

    part, ended = run_in_fake_time(main())
    assert ended <= 3.1
    assert set(part.kinds) == {"budget"}


def test_the_time_of_a_run_of_parts_is_one():
    """Two parts one after the other, as those of a lazy query: 4 s are spent when the second begins."""

    async def main() -> tuple[list[str], list[float]]:
        client = Client(latency=1.0)
        shared = Shared(asyncio.get_running_loop().time)
        first = part_of(names(8), client, shared=shared, max_concurrency=2, budget={"seconds": 6.5})
        await first.work()
        rows = [f"more-{number}" for number in range(20)]
        run = first.run
        second = part_of(rows, client, shared=shared, run=run, max_concurrency=2, budget={"seconds": 6.5})
        await second.work()
        return second.kinds, [sent.at for sent in client.sent]

    kinds, times = run_in_fake_time(main())
    assert max(times) < 6.5
    assert kinds == [""] * 6 + ["budget"] * 14


# Priority ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("priority", ["high", "normal"])
def test_a_call_over_a_few_rows_overtakes_a_backfill(priority: str):
    """Ten a second, 3,000 rows wait: five more are answered within the next seconds, not in five minutes."""

    async def main() -> tuple[float, int]:
        loop = asyncio.get_running_loop()
        shared = Shared(loop.time)
        client = Client(latency=0.2, identity="one")
        options: dict[str, Any] = {"requests_per_minute": 600, "max_concurrency": 256}
        backfill = part_of(names(3000), client, shared=shared, **options)
        task = asyncio.create_task(backfill.work())
        await asyncio.sleep(30)
        urgent = part_of([f"urgent-{n}" for n in range(5)], client, shared=shared, priority=priority, **options)
        await urgent.work()
        seconds = loop.time() - 30
        backfill.run.cancel()
        await task
        await backfill.runner.landed()
        return seconds, gate_of(shared, client).in_flight

    seconds, in_flight = run_in_fake_time(main())
    assert seconds <= 1.5
    assert in_flight == 0


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 13, 21, 34])
def test_a_run_cancelled_at_any_step_leaves_nothing_behind(steps: int):
    async def main(loop: CountingLoop) -> tuple[int, int, int]:
        shared = Shared(loop.time)
        client = Client(latency=0.25)
        options: dict[str, Any] = {"requests_per_minute": 1200, "tokens_per_minute": 60_000, "max_concurrency": 16}
        part = part_of(names(60), client, shared=shared, **options)
        task = asyncio.create_task(part.work())
        await asyncio.sleep(0.25)
        for _ in range(steps):
            await asyncio.sleep(0)
        part.run.cancel()
        await task
        await part.runner.landed()
        await asyncio.sleep(0)
        return gate_of(shared, client).in_flight, client.in_flight, len(others()) + loop.open_timers

    assert run_counting(main) == (0, 0, 0)


def test_an_exporter_that_raises_takes_no_place_from_other_calls(monkeypatch: pytest.MonkeyPatch):
    class Broken:
        def __getattr__(self, name: str) -> Any:
            return self.told

        def told(self, *args: object, **more: object) -> None:
            raise RuntimeError("the exporter")

    async def main() -> tuple[list[str], int]:
        shared = Shared(asyncio.get_running_loop().time)
        client = Client()
        part = part_of(names(3), client, shared=shared)
        monkeypatch.setattr(part.metrics, "_telemetry", Broken())
        await part.work()
        return part.kinds, gate_of(shared, client).in_flight

    assert run_in_fake_time(main()) == (["internal"] * 3, 0)
