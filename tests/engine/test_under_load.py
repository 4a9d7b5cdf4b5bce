"""The engine and its own client against a provider that pushes back, over real sockets in simulated time."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from llmframe.clients import open_client
from llmframe.core.outcome import Answer
from llmframe.testing import Cut, Hang, Object, Provider, Status, run_in_fake_time
from tests.engine.doubles import LABEL, Part, names, part_of

LATENCY = 0.2


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as the rows and the provider saw it; `seconds` of simulated time."""

    part: Part
    provider: Provider
    seconds: float

    @property
    def lost(self) -> int:
        return sum(bool(kind) for kind in self.part.kinds)

    @property
    def limited(self) -> int:
        return len(self.provider.limited_at)


def asked(
    rows: list[str],
    provider: Provider,
    *,
    params: Mapping[str, object] | None = None,
    meanwhile: Callable[[], None] | None = None,
    **options: Any,
) -> Seen:
    """All `rows` asked in one loop with the provider; `meanwhile` may set timers there."""

    async def main() -> Seen:
        async with provider.serving():
            client = open_client(
                model="m",
                client=provider,
                base_url=None,
                api_key=None,
                params=params or {},
                schema=LABEL,
                output_mode="auto",
            )
            await client.start()
            if meanwhile is not None:
                meanwhile()
            began = asyncio.get_running_loop().time()
            part = await part_of(rows, client, max_concurrency=64, params=params or {}, **options).work()
            seconds = asyncio.get_running_loop().time() - began
            await client.close()
        return Seen(part, provider, seconds)

    return run_in_fake_time(main())


def later(seconds: float, call: Callable[[], object]) -> None:
    asyncio.get_running_loop().call_later(seconds, call)


def test_a_told_rate_is_used_in_full_without_a_429():
    seen = asked(names(300), Provider(latency=LATENCY, requests_per_minute=600), requests_per_minute=600)
    assert (seen.lost, seen.limited, seen.provider.requests) == (0, 0, 300)
    assert seen.seconds <= 1.03 * 29.0  # 10 at once, then 10 a second


def test_a_rate_is_learnt_from_the_first_answers_headers():
    seen = asked(names(300), Provider(latency=LATENCY, requests_per_minute=600))
    assert (seen.lost, seen.limited) == (0, 0)
    assert seen.seconds <= 1.05 * 29.0


@pytest.mark.parametrize("headers", ["retry-after", False])
def test_a_rate_is_learnt_from_429s_alone(headers: Any):
    seen = asked(names(300), Provider(latency=LATENCY, requests_per_minute=600, limit_headers=headers))
    assert seen.lost == 0
    assert seen.limited <= 30
    assert seen.seconds <= 1.3 * 29.0


@pytest.mark.parametrize(("per_minute", "rows"), [(6_000, 2_000), (60_000, 8_000)])
def test_fast_rates_are_used_in_full_too(per_minute: int, rows: int):
    """0.95 s of a bucket that holds 1 s are there at once."""
    seen = asked(names(rows), Provider(latency=0.05, requests_per_minute=per_minute), requests_per_minute=per_minute)
    assert (seen.lost, seen.limited) == (0, 0)
    ideal = (rows - per_minute / 60) / (per_minute / 60)
    assert seen.seconds <= 1.03 * ideal + 0.5  # half a second's worth of the burst is left to the server


def words(tokens: int, row: int) -> str:
    return f"row-{row} " + "x" * (4 * tokens - 8)


@pytest.mark.parametrize("told", [True, False])
def test_a_token_limit_holds_with_rows_of_all_sizes_and_the_giant_is_served(*, told: bool):
    """10,000 tokens a second; rows of 20 to 4,000, and one of twice what the server's bucket holds."""
    sizes = random.Random(3)
    rows = [words(sizes.randint(20, 4_000), row) for row in range(300)]
    rows[150] = words(20_000, 150)
    options = {"tokens_per_minute": 600_000} if told else {}
    seen = asked(rows, Provider(latency=LATENCY, tokens_per_minute=600_000), **options)
    assert seen.lost == 0
    assert seen.limited <= 6
    assert seen.seconds <= 1.1 * (sum(seen.provider.charges) - 10_000) / 10_000


def test_faults_lose_no_row_and_cost_one_request_each():
    faults = {Status(500): 0.05, Hang(): 0.02, Object("neither"): 0.03, Cut(): 0.01}
    plain = asked(names(2_000), Provider(latency=0.5))
    seen = asked(names(2_000), Provider(latency=0.5, faults=faults, seed=2), timeout=5.0, reask=2)
    assert seen.lost == 0
    assert seen.provider.requests == 2_000 + seen.provider.faults.total()
    assert seen.seconds <= 1.3 * plain.seconds + 5.0
    assert seen.part.metrics.usage.input_tokens == seen.provider.prompt_tokens
    assert seen.part.metrics.usage.output_tokens == seen.provider.completion_tokens


def test_a_server_that_slows_down_in_silence_is_kept_at_its_best():
    """Past 40 in flight it answers no more a second, only later."""
    provider = Provider(latency=lambda prompt, in_flight: 0.5 * max(1.0, in_flight / 40))
    seen = asked(names(4_000), provider)
    assert seen.lost == 0
    assert 4_000 / seen.seconds >= 0.95 * 80
    (p50,) = seen.part.metrics.latencies.quantiles([0.5])
    assert p50 is not None
    assert p50 <= 1.5 * 0.5


@pytest.mark.parametrize("step", [None, Status(503)])
def test_an_outage_is_waited_out_with_few_probes(step: Any):
    provider = Provider(latency=0.5)
    down = provider.down if step is None else lambda: provider.down(step)

    def meanwhile() -> None:
        later(5.0, down)
        later(65.0, provider.up)

    seen = asked(names(2_000), provider, meanwhile=meanwhile)
    assert seen.lost == 0
    failed = provider.requests - 2_000
    in_flight_when_it_died = 64
    assert failed <= in_flight_when_it_died + 30
    assert seen.seconds <= 5 + 60 + 20 + 2_000 * 0.5 / 64


def test_a_provider_that_is_never_there_is_given_up():
    provider = Provider()
    seen = asked(names(5_000), provider, meanwhile=provider.down)
    assert Counter(seen.part.kinds) == {"connection": 5_000}
    assert provider.requests <= 64
    assert seen.seconds <= 30


def test_a_wrong_key_stops_the_run_within_the_first_window():
    provider = Provider(latency=LATENCY, check_key=True)
    provider.api_key = "sk-other"
    seen = asked(names(5_000), provider)
    assert set(seen.part.kinds) == {"auth"}
    assert provider.requests <= 8


def test_a_budget_of_seconds_ends_the_sending_and_keeps_what_came():
    seen = asked(names(5_000), Provider(latency=0.5), budget={"seconds": 10})
    kinds = Counter(seen.part.kinds)
    assert set(kinds) == {"", "budget"}
    assert kinds[""] == seen.provider.requests
    assert max(seen.provider.arrivals) <= 10.0 + 0.01
    assert seen.seconds <= 10.6
    assert {str(result) for result in seen.part.results if not isinstance(result, Answer)} == {
        "budget: not answered within the 10 s of the run's budget"
    }


def test_answers_in_pieces_pass_the_same_limits():
    provider = Provider(latency=LATENCY, piece_latency=0.01, requests_per_minute=600)
    seen = asked(names(100), provider, params={"stream": True})
    assert (seen.lost, seen.limited) == (0, 0)
    assert seen.part.metrics.usage.output_tokens == seen.provider.completion_tokens


def test_a_server_that_allows_so_many_in_flight_is_kept_just_below_it():
    """40 in flight at half a second: 80 answers a second; every 429 costs a second's pause, for it names no time."""
    seen = asked(names(4_000), Provider(latency=0.5, max_concurrency=40))
    assert seen.lost == 0
    assert seen.limited <= 60
    assert seen.seconds <= 1.4 * 4_000 / 80
