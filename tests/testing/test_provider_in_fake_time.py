"""A provider and the project's own client in one loop of simulated time, over real sockets."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import httpx2
import openai
import pytest

from llmframe.clients import open_client
from llmframe.clients.base import Client, RequestError
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError
from llmframe.testing import Cut, Delay, Hang, Provider, Reset, Status, run_in_fake_time

LABEL = schema_of(Literal["pos", "neg"])
ROWS = 300


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run was like: its duration, what the client got, what the provider counted."""

    seconds: float
    got: Counter[str]
    statuses: Counter[int]
    most: int
    arrivals: tuple[float, ...]
    limited: int
    faults: Counter[Any]


def now() -> float:
    return asyncio.get_running_loop().time()


def client_of(provider: Provider, client: object | None = None) -> Client:
    plain: dict[str, Any] = {"base_url": None, "api_key": None, "params": {}, "schema": LABEL, "output_mode": "auto"}
    return open_client(model="m", client=client or provider, **plain)


async def ask(client: Client, row: int) -> str:
    """The kind of failure, or "answer"."""
    try:
        reply = await client.send([{"role": "user", "content": f"row-{row}"}], client.dialects[0])
    except RequestError as error:
        return error.kind
    return "answer" if reply.text else "nothing"


def run(provider: Provider, *, every: float, rows: int = ROWS, sdk: bool = False) -> Seen:
    """Ask for `rows` rows, one every `every` seconds, whatever becomes of the others."""

    async def main() -> Seen:
        async with provider.serving():
            own = None
            if sdk:  # the user's own connections: httpx2 and anyio in place of aiohttp
                http = httpx2.AsyncClient(timeout=None)
                own = openai.AsyncOpenAI(base_url=provider.base_url, api_key=provider.api_key, http_client=http)
            client = client_of(provider, own)
            await client.start()
            began = now()

            async def at(row: int) -> str:
                await asyncio.sleep(row * every)
                return await ask(client, row)

            got = Counter(await asyncio.gather(*map(at, range(rows))))
            seconds = now() - began
            await client.close()
            if own is not None:
                await own.close()
        return Seen(
            round(seconds, 6),
            got,
            provider.statuses,
            provider.max_in_flight,
            tuple(round(at - began, 6) for at in provider.arrivals),
            len(provider.limited_at),
            provider.faults,
        )

    return run_in_fake_time(main())


@pytest.mark.parametrize("sdk", [False, True], ids=["session", "sdk"])
def test_a_minute_at_the_limit_takes_exactly_its_time(*, sdk: bool):
    # Row n leaves at n / 10 s, as 600 a minute allow; the last one at 29.9 s has its answer 0.2 s later.
    # Two are on their way at a time, or three at the instants where one ends as another begins.
    seen = run(Provider(latency=0.2, requests_per_minute=600), every=0.1, sdk=sdk)
    assert seen.seconds == pytest.approx(30.1, abs=1e-6)
    assert (seen.got, seen.statuses, seen.limited) == ({"answer": ROWS}, {200: ROWS}, 0)
    assert seen.arrivals == pytest.approx([row * 0.1 for row in range(ROWS)], abs=1e-5)
    assert seen.most <= 3


def test_twenty_runs_are_the_same_to_the_last_counter():
    # At twice the limit: the bucket's 10 are gone after 19 requests, then every other one passes, 40 of 81.
    # Sums of floats decide on the last of them.
    provider = Provider(latency=0.2, requests_per_minute=600, record=False)
    runs = []
    for _ in range(20):
        provider.reset()
        runs.append(run(provider, every=0.05, rows=100))
    assert runs == [runs[0]] * 20
    assert runs[0].limited == runs[0].got["rate_limit"] == runs[0].statuses[429]
    assert abs(runs[0].limited - 40) <= 1
    assert runs[0].got["answer"] + runs[0].limited == 100


def test_a_crowd_that_comes_at_one_instant_is_served_at_one_instant():
    seen = run(Provider(latency=0.5), every=0.0, rows=150)
    assert (seen.seconds, seen.most, seen.got) == (0.5, 150, {"answer": 150})


def test_seeded_faults_are_the_same_at_any_pace():
    def faulty() -> Provider:
        return Provider(latency=0.2, faults={Status(500): 0.1, Cut(): 0.05, Reset(): 0.02}, seed=3)

    together, apart = run(faulty(), every=0.0), run(faulty(), every=1.0)
    assert together.faults == apart.faults
    assert (
        together.got
        == apart.got
        == {
            "server": together.faults[Status(500)],
            "connection": together.faults[Cut()] + together.faults[Reset()],
            "answer": ROWS - together.faults.total(),
        }
    )
    assert together.faults[Status(500)] > 0


def test_an_outage_lasts_its_time_and_takes_what_is_in_flight():
    provider = Provider(latency=0.5)

    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        async with provider.serving():
            client = client_of(provider)
            await client.start()
            loop.call_later(10.25, provider.down)
            loop.call_later(70.25, provider.up)

            async def at(row: int) -> str:
                await asyncio.sleep(row)
                return await ask(client, row)

            got = await asyncio.gather(*map(at, range(100)))
            await client.close()
            return got

    got = run_in_fake_time(main())
    # The row of second 10 is in flight when the server dies, that of second 71 is the first after.
    assert got == ["answer"] * 10 + ["connection"] * 61 + ["answer"] * 29
    assert provider.requests == 100
    assert provider.faults == {Reset(): 60}
    assert (provider.in_flight, provider.closed_in_flight, provider.statuses) == (0, 0, {200: 39})


def test_a_server_may_slow_down_with_its_load():
    def latency(prompt: str, in_flight: int) -> float:
        return 0.5 * max(1.0, in_flight / 40)

    # 80 at one instant: the nth of them finds n - 1 before it, and the last takes 0.5 · 80 / 40 s.
    assert run(Provider(latency=latency), every=0.0, rows=80).seconds == 1.0
    assert run(Provider(latency=latency), every=0.0, rows=40).seconds == 0.5


def test_no_more_are_worked_on_than_the_server_has_places():
    seen = run(Provider(latency=3.9, max_concurrency=2), every=1.0, rows=10)
    # One row a second: 0 and 1 have both places until 3.9 and 4.9 s, then 4 and 5, then 8 and 9.
    assert (seen.got["answer"], seen.limited) == (6, 4)


def test_a_hang_is_ended_by_a_time_limit_of_the_same_clock():
    provider = Provider(latency=0.2)
    provider.script(Hang(), Delay(100))

    async def main() -> list[float]:
        async with provider.serving():
            client = client_of(provider)
            await client.start()
            began, ends = now(), []
            for row in range(3):
                try:
                    async with asyncio.timeout(5):
                        await ask(client, row)
                except TimeoutError:
                    pass
                ends.append(round(now() - began, 6))
            await client.close()
            return ends

    assert run_in_fake_time(main()) == [5, 10, 10.2]
    assert (provider.closed_in_flight, provider.in_flight) == (2, 0)


def test_held_answers_wait_in_simulated_time_too():
    provider = Provider()

    async def main() -> float:
        async with provider.serving():
            client = client_of(provider)
            await client.start()
            provider.hold()
            asyncio.get_running_loop().call_later(3600, provider.release)
            await ask(client, 1)
            await client.close()
            return now()

    assert run_in_fake_time(main()) == pytest.approx(3600)


def test_waiting_for_a_counter_by_blocking_is_refused_in_the_loop_that_serves():
    async def main() -> None:
        async with Provider().serving() as provider:
            provider.wait_requests(0)
            with pytest.raises(UsageError, match="blocks the loop that serves"):
                provider.wait_requests(1)

    run_in_fake_time(main())


def serving_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "llmframe-provider"}


def test_it_serves_in_one_place_at_a_time():
    async def main() -> None:
        with Provider() as provider:
            with pytest.raises(UsageError, match="serves already"):
                async with provider.serving():
                    pass
            threads = serving_threads()
            provider.close()
            async with provider.serving():
                assert serving_threads() < threads
                assert provider.start() == int(provider.base_url.split(":")[2].split("/")[0])
            assert "not started" in repr(provider)

    run_in_fake_time(main())


def test_its_limits_are_full_in_every_loop_it_serves_in():
    provider = Provider(requests_per_minute=60)
    for _ in range(2):
        assert run(provider, every=0.0, rows=2).got == {"answer": 1, "rate_limit": 1}
    assert run(provider, every=1.0, rows=5).got == {"answer": 5}
