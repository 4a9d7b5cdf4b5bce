"""A budget of dollars, tokens and calls: what goes out, what waits, when it ends."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmframe.budget import Budget
from llmframe.clients.base import RequestError
from llmframe.core.outcome import Failure, Usage
from llmframe.core.prices import Price
from llmframe.core.reply import Reply
from llmframe.engine import spending
from llmframe.engine.sharing import Shared
from llmframe.engine.spending import Claim, Purse
from llmframe.engine.tokens import Cost
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
    settle,
)

DOLLAR_A_TOKEN = {"m": {"input": 0.0, "output": 1e6}}
"""Replies of `say` take 2 tokens, $2; with `max_tokens=2` that is what is set aside, too."""

PRICED: dict[str, Any] = {"prices": DOLLAR_A_TOKEN, "params": {"max_tokens": 2}}

INPUT = round((len(LABEL.canonical) + len("row-0")) / 4)
"""Tokens of a prompt as estimated before any reply, a quarter of its characters."""


def told(part: Part) -> set[str]:
    return {str(result) for result in part.results if isinstance(result, Failure)}


# What goes out -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_concurrency", [1, 3, 64])
def test_dollars_are_spent_to_the_last_request_that_fits_and_not_beyond(max_concurrency: int):
    client, budget = Client(), Budget(51)
    part = answered(names(100), client, budget=budget, max_concurrency=max_concurrency, **PRICED)
    assert len(client.sent) == 25  # the next would make $52
    assert part.kinds.count("") == 25
    (entry,) = told(part)
    assert entry == (
        "budget: $50.00 of $51.00 spent, and the next request may take $2.00; "
        "with a fresh budget the same call goes on where it stopped"
    )
    assert (budget.spent_usd, budget.reserved_usd) == (50, 0)


@pytest.mark.parametrize("options", [{}, {"requests_per_minute": 600}, {"tokens_per_minute": 60_000}, {"hedge": True}])
def test_calls_are_exact_whatever_else_limits(options: dict[str, Any]):
    client, budget = Client(latency=0.2), Budget(calls=17)
    part = answered(names(400), client, budget=budget, **options)
    assert len(client.sent) == part.metrics.requests == budget.spent_calls == 17
    assert told(part) == {"budget: 17 of 17 calls spent; with a fresh budget the same call goes on where it stopped"}


def test_retries_are_calls_and_tell_the_row_when_there_is_none_left():
    def behave(sent: Sent, before: int) -> Reply | RequestError:
        return RequestError("server", "500", status=500) if sent.prompt == "row-0" else say("pos")

    client = Client(behave)
    part = answered(names(3), client, budget={"calls": 4}, max_attempts=9, max_concurrency=1)
    assert len(client.sent) == 4
    assert part.kinds == ["budget", "", ""]


def test_asking_again_is_a_call_and_costs():
    client, budget = Client(lambda sent, before: say("pos" if before else "perhaps")), Budget(8)
    part = answered(names(9), client, budget=budget, max_concurrency=1, **PRICED)
    assert len(client.sent) == 4
    assert part.metrics.reasks == part.kinds.count("") == 2
    assert budget.spent_usd == 8


def test_a_second_copy_of_a_slow_request_is_a_call_and_none_goes_that_does_not_fit():
    """Forty rows, one of them slow: the 41st call is its copy, and of 40 calls none is left for one."""

    def hedged(calls: int) -> Part:
        client = Client(latency=lambda sent: 30.0 if client.prompts["row-30"] == 1 and sent.prompt == "row-30" else 0.5)
        return answered(names(40), client, hedge=True, budget={"calls": calls}, max_concurrency=8)

    assert (hedged(60).metrics.hedges, set(hedged(60).kinds)) == (1, {""})
    assert (hedged(40).metrics.hedges, set(hedged(40).kinds)) == (0, {""})


def test_a_limit_is_passed_by_no_more_than_what_is_in_flight_takes_beyond_its_estimates():
    usage = Usage(10, 300, 0)
    client, budget = Client(lambda sent, before: say("pos", usage=usage)), Budget(tokens=9_000)
    answered(names(300), client, budget=budget)
    assert len(client.sent) == budget.spent_tokens / 310
    assert 9_000 - 310 < budget.spent_tokens <= 9_000 + client.max_in_flight * 310


def test_what_replies_have_taught_counts_for_requests_that_waited_meanwhile():
    """300 tokens where 64 were expected: of 256 requests in line the first 8 go, and then as many as fit."""
    client = Client(lambda sent, before: say("pos", usage=Usage(10, 300, 0)))
    answered(names(300), client, budget=(budget := Budget(tokens=9_000)))
    assert budget.spent_tokens <= 9_000


def test_an_output_limit_bounds_what_is_set_aside():
    """With 2 tokens of output at most a budget of one request's prompt and 2 tokens is enough for one."""
    usage = Usage(INPUT, 2, 0)
    client = Client(lambda sent, before: say("pos", usage=usage))
    part = answered(names(2), client, budget={"tokens": INPUT + 2}, params={"max_tokens": 2})
    assert len(client.sent) == 1
    free = answered(names(2), Client(), budget={"tokens": INPUT + 2})
    assert part.kinds == ["", "budget"]
    assert told(free) == {
        f"budget: the next request may take {INPUT + 64} tokens, and the whole budget is {INPUT + 2} tokens"
    }


def test_the_part_of_the_input_that_the_provider_had_in_its_cache_is_cheaper():
    prices = {"m": {"input": 2e6, "output": 0.0, "cached": 1e6}}
    client = Client(lambda sent, before: say("pos", usage=Usage(10, 2, 4)))
    answered(names(1), client, budget=(budget := Budget(1000)), prices=prices)
    assert budget.spent_usd == 6 * 2 + 4


# What ends a request -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "spent"),
    [
        (RequestError("rate_limit", "429", status=429), 0),
        (RequestError("server", "500", status=500), 0),
        (RequestError("bad_request", "400", status=400), 0),
        (RequestError("connection", "the server hung up"), 2),
        (RequestError("timeout", "no whole answer"), 2),
        (ValueError("a surprise"), 2),
    ],
    ids=str,
)
def test_a_failed_request_is_a_call_and_costs_what_it_may_have_cost(error: BaseException, spent: int):
    budget = Budget(100)
    answered(names(1), Client(lambda sent, before: error), budget=budget, max_attempts=1, **PRICED)
    assert (budget.spent_usd, budget.spent_calls, budget.reserved_usd) == (spent, 1, 0)


def test_an_attempt_that_takes_too_long_keeps_what_was_set_aside():
    budget = Budget(100)
    answered(names(1), Client(latency=99.0), budget=budget, timeout=5.0, max_attempts=1, **PRICED)
    assert (budget.spent_usd, budget.spent_calls) == (2, 1)


def test_a_reply_without_usage_keeps_what_was_set_aside():
    budget = Budget(100)
    client = Client(lambda sent, before: say("pos", usage=Usage(None, None, None)))
    answered(names(3), client, budget=budget, **PRICED)
    assert (budget.spent_usd, budget.spent_tokens) == (6, 3 * (INPUT + 2))


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 13, 21])
def test_a_run_cancelled_at_any_step_has_nothing_set_aside_and_counts_what_was_sent(steps: int):
    async def main(loop: CountingLoop) -> tuple[float, int, int, int]:
        client, budget = Client(latency=0.25), Budget(40, calls=100)
        part = part_of(names(60), client, budget=budget, max_concurrency=16, requests_per_minute=1200, **PRICED)
        task = asyncio.create_task(part.work())
        await asyncio.sleep(0.25)
        for _ in range(steps):
            await asyncio.sleep(0)
        part.run.cancel()
        await task
        await part.runner.landed()
        await settle()
        assert budget.spent_usd == 2 * len(client.sent)  # what was in flight, too
        return budget.reserved_usd, budget.spent_calls - len(client.sent), client.in_flight, len(others())

    assert run_counting(main) == (0, 0, 0, 0)


# Who waits -----------------------------------------------------------------------------------------------------------


def test_careful_estimates_make_requests_wait_and_end_nothing_early():
    """64 tokens of output are set aside and 2 taken: at first few go at once, and all are answered."""
    client, budget = Client(), Budget(tokens=12 * 30 + INPUT + 64)
    part = answered(names(30), client, budget=budget)
    assert set(part.kinds) == {""}
    assert sum(sent.at == 0 for sent in client.sent) == budget.limits["tokens"] // (INPUT + 64) < 8
    assert budget.spent_tokens == 12 * 30


def test_a_run_that_waits_for_money_takes_no_turn_from_others():
    """One request at a time for want of money, 9 s each; the other call's 60 rows take one round trip."""

    async def main() -> tuple[float, list[str], list[str]]:
        loop = asyncio.get_running_loop()
        shared = Shared(loop.time)
        client = Client(latency=lambda sent: 9.0 if sent.prompt.startswith("poor") else 1.0, identity="one")
        options: dict[str, Any] = {"shared": shared, "max_concurrency": 256}
        poor = part_of([f"poor-{n}" for n in range(9)], client, budget=Budget(2), **PRICED, **options)
        waiting = asyncio.create_task(poor.work())
        await asyncio.sleep(0.5)
        rich = part_of(names(6), client, **options)
        await rich.work()
        seconds = loop.time() - 0.5
        await waiting
        return seconds, rich.kinds, poor.kinds

    seconds, rich, poor = run_in_fake_time(main())
    assert seconds == pytest.approx(1.0)
    assert set(rich) == {""}
    assert poor == [""] + ["budget"] * 8


def test_runs_that_share_a_budget_spend_it_together_and_both_are_told():
    async def main() -> tuple[list[Part], int]:
        shared, budget = Shared(asyncio.get_running_loop().time), Budget(40)
        clients = [Client(identity="a"), Client(identity="b", latency=0.3)]
        parts = [part_of(names(50), client, shared=shared, budget=budget, **PRICED) for client in clients]
        await asyncio.gather(*(part.work() for part in parts))
        assert budget.spent_usd == 40
        return parts, sum(len(client.sent) for client in clients)

    parts, sent = run_in_fake_time(main())
    assert sent == 20
    assert sum(part.kinds.count("") for part in parts) == 20
    assert [set(part.kinds) for part in parts] == [{"", "budget"}] * 2


def test_a_request_that_waits_for_money_is_not_overtaken_by_small_ones_of_another_run():
    """$10: one run's $8 fit only when nothing else is out, and the other's $1 would fill every gap."""

    async def main() -> tuple[float, int]:
        loop = asyncio.get_running_loop()
        shared, budget = Shared(loop.time), Budget(1000, calls=200)
        budget.settle(budget.reserve(0, 0), usd=986, tokens=0)
        small, large = Client(identity="a", behave=_free), Client(identity="b", behave=_free)
        options: dict[str, Any] = {"shared": shared, "budget": budget, "prices": DOLLAR_A_TOKEN}
        busy = part_of(names(300), small, params={"max_tokens": 1}, **options)
        task = asyncio.create_task(busy.work())
        await asyncio.sleep(0.5)
        await part_of(["large"], large, params={"max_tokens": 12}, **options).work()
        before = sum(sent.at < large.sent[0].at for sent in small.sent)
        await task
        return large.sent[0].at, before

    at, before = run_in_fake_time(main())
    assert at == pytest.approx(1.0)
    assert before == 8


def _free(sent: Sent, before: int) -> Reply:
    return say("pos", usage=Usage(10, 0, 0))


def test_an_answer_that_another_run_has_asked_for_costs_nothing():
    async def main() -> tuple[Budget, Budget, int]:
        shared = Shared(asyncio.get_running_loop().time)
        client = Client(identity="one")
        mine, yours = Budget(100), Budget(100)
        parts = [part_of(names(5), client, shared=shared, budget=budget, **PRICED) for budget in (mine, yours)]
        await asyncio.gather(*(part.work() for part in parts))
        assert all(set(part.kinds) == {""} for part in parts)
        return mine, yours, len(client.sent)

    mine, yours, sent = run_in_fake_time(main())
    assert (mine.spent_usd, yours.spent_usd, sent) == (10, 0, 5)


# When it ends --------------------------------------------------------------------------------------------------------


def test_nothing_is_sent_after_the_end_and_what_is_in_flight_is_kept():
    client = Client(latency=lambda sent: 1.0 if sent.prompt == "row-0" else 50.0)
    part = answered(names(40), client, budget={"calls": 8})
    assert max(sent.at for sent in client.sent) == 0
    assert part.kinds.count("") == 8


def test_a_shared_budget_whose_time_is_over_lets_nothing_go():
    async def main() -> tuple[int, set[str]]:
        budget, client = Budget(seconds=5), Client(latency=2.0)
        await part_of(names(20), client, max_concurrency=1, budget=budget).work()
        sent = len(client.sent)
        await asyncio.sleep(10)
        second = await part_of(names(20), client, budget=budget).work()
        assert len(client.sent) == sent
        return sent, told(second)

    assert run_in_fake_time(main()) == (3, {"budget: not answered within the 5 s of the run's budget"})


@given(
    seed=st.integers(0, 10**6),
    calls=st.integers(1, 60),
    usd=st.integers(2, 120),
    options=st.sampled_from([{}, {"max_concurrency": 3}, {"requests_per_minute": 600}, {"hedge": True}]),
)
@settings(max_examples=25)
def test_whatever_happens_no_limit_is_passed_and_nobody_waits_for_ever(
    seed: int, calls: int, usd: int, options: dict[str, Any]
):
    """Three runs over two endpoints with one budget, replies of $2, random latencies and faults."""

    async def main(loop: CountingLoop) -> None:
        shared, budget = Shared(loop.time), Budget(usd, calls=calls)
        clients = [Client(_behave(seed), latency=_latency(seed), identity=name) for name in ("a", "b")]
        parts = [
            part_of([f"{n}-{row}" for row in range(20)], client, shared=shared, budget=budget, **PRICED, **options)
            for n, client in enumerate((*clients, clients[0]))
        ]
        await asyncio.gather(*(part.work() for part in parts))
        await settle()
        sent = sum(len(client.sent) for client in clients)
        assert sent == budget.spent_calls <= calls
        assert budget.spent_usd <= usd
        assert budget.reserved_usd == 0
        kinds = [kind for part in parts for kind in part.kinds]
        if "budget" in kinds:
            assert sent == calls or budget.spent_usd > usd - 2
        assert (len(others()), loop.open_timers) == (0, 0)

    run_counting(main)


def _behave(seed: int) -> Any:
    def behave(sent: Sent, before: int) -> Reply | RequestError:
        chance = crc32(f"{seed} {sent.prompt} {before}".encode()) % 10
        if chance == 0:
            return RequestError("server", "500", status=500)
        if chance == 1:
            return RequestError("connection", "the server hung up")
        return say("perhaps" if chance == 2 else "pos")

    return behave


def _latency(seed: int) -> Any:
    return lambda sent: 0.1 + (crc32(f"{seed} {sent.prompt}".encode()) % 50) / 10


# Alone ---------------------------------------------------------------------------------------------------------------


def purse_of(budget: Budget, *, looked: list[str], name: str = "x") -> Purse:
    price = Price(None, "m", DOLLAR_A_TOKEN)
    return Purse(budget, price, look=lambda: looked.append(name), halt=lambda failure: looked.append(str(failure)))


def test_those_who_wait_for_a_budget_look_again_one_after_the_other():
    async def main() -> list[str]:
        budget, looked = Budget(10), list[str]()
        first, second = purse_of(budget, looked=looked, name="first"), purse_of(budget, looked=looked, name="second")
        claim = Claim(first, lambda: Cost(1, 8))
        assert claim.admits()
        claim.sent()
        assert not first.admits(5.0, 1)
        assert not second.admits(1.0, 1)  # it would fit, and is behind the other
        claim.answered(Usage(1, 1, 0))
        claim.unsent()
        claim.cancelled()
        await settle()
        assert second.admits(1.0, 1)
        assert budget.spent_usd == 1
        return looked

    assert run_in_fake_time(main()) == ["first", "second"]


def test_a_purse_of_a_loop_that_has_ended_stands_in_nobodys_way():
    budget, looked = Budget(10), list[str]()

    async def leave() -> None:
        assert not purse_of(budget, looked=looked, name="gone").admits(5.0, 1)

    async def main() -> None:
        hold = budget.reserve(9.0, 1)
        await asyncio.to_thread(asyncio.run, leave())
        here = purse_of(budget, looked=looked, name="here")
        assert not here.admits(5.0, 1)
        budget.settle(hold, usd=0.0, tokens=1)
        here.settled()
        await settle()

    asyncio.run(main())
    assert looked == ["here"]


def test_a_budget_that_nobody_holds_any_more_is_forgotten():
    async def main() -> weakref.ref[Budget]:
        budget = Budget(10)
        purse_of(budget, looked=[])
        return weakref.ref(budget)

    found = run_in_fake_time(main())
    gc.collect()
    assert found() is None
    assert all(budget is not None for budget in spending._tills)
