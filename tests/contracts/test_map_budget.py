"""A budget of dollars, tokens or calls: what is spent, what the rows say, how the next run goes on."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import polars as pl
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.errors import LlmframeWarning, UsageError
from llmframe.testing import Provider, Status, Text
from tests.contracts.kinds import Kind

pytestmark = pytest.mark.filterwarnings("ignore::llmframe.LlmframeWarning")


class Verdict(BaseModel):
    id: str
    label: Literal["pos", "neg"]


ROWS = [f"row-{number} " for number in range(60)]

PRICES = {"simulated": {"input": 1000.0, "output": 4000.0, "cached": 100.0}}
"""A thousand times what is usual: a row takes 3 tokens in and 10 to 12 out, $0.04 to $0.05."""

DEAREST = 0.06
"""Dollars that no row reaches."""


def billed(provider: Provider) -> float:
    """Dollars, by the provider's own counts."""
    return (provider.prompt_tokens * 1000 + provider.completion_tokens * 4000) / 1e6


def kinds_of(errors: list[Any]) -> set[str]:
    return {"" if error is None else error.split(":")[0] for error in errors}


def test_a_run_stops_at_its_dollars_and_the_next_one_goes_on(library: Kind, provider: Provider):
    """60 rows take some $2.50: a run of $1.00 answers some 24 of them, and the same call again asks for others."""
    frame = library.make({"t": ROWS})
    spent: list[float] = []
    for _ in range(9):
        before, asked = billed(provider), provider.requests
        out = library.to_dict(
            frame.llm.map("J {t}", schema=Verdict, client=provider, budget=1.0, prices=PRICES, max_concurrency=4)
        )
        run = llmframe.last_run()
        assert run.usd == pytest.approx(billed(provider) - before)
        assert run.budget == {"usd": 1.0}
        assert run.budget_spent["usd"] == pytest.approx(run.usd)
        assert run.requests == provider.requests - asked
        spent.append(billed(provider) - before)
        if run.state == "done":
            break
        assert kinds_of(out["error"]) == {"", "budget"}
        missing = next(error for error in out["error"] if error)
        assert missing.endswith("; with a fresh budget the same call goes on where it stopped")
        assert " of $1.00 spent" in missing
    assert out["id"] == [row.strip() for row in ROWS]
    assert kinds_of(out["error"]) == {""}
    assert provider.requests == 60
    assert len(spent) >= 3
    assert max(spent) <= 1.0 + 4 * DEAREST  # four in flight
    assert min(spent[:-1]) > 1.0 - 4 * DEAREST  # and estimates have stopped nothing early


@pytest.mark.parametrize("calls", [1, 7, 59])
def test_calls_are_counted_to_the_last_one(library: Kind, provider: Provider, calls: int):
    frame = library.make({"t": ROWS})
    out = library.to_dict(frame.llm.map("J {t}", schema=Verdict, client=provider, budget={"calls": calls}))
    assert provider.requests == llmframe.last_run().requests == calls
    assert sum(error is None for error in out["error"]) == calls
    provider.reset()
    frame.llm.map("J {t}", schema=Verdict, client=provider)
    assert provider.requests == 60 - calls


def test_retries_and_further_asks_are_calls(library: Kind, provider: Provider):
    provider.when("row-0 ", Status(500), Status(500), Text("no JSON"))
    frame = library.make({"t": ROWS[:3]})
    out = library.to_dict(
        frame.llm.map("J {t}", schema=Verdict, client=provider, budget={"calls": 5}, max_concurrency=1)
    )
    run = llmframe.last_run()
    assert provider.requests == 5
    assert (run.retries + run.reasks, run.answered) == (2, 2)
    assert [error is None for error in out["error"]] == [False, True, True]


def test_tokens_are_limited_in_and_out_together(library: Kind, provider: Provider):
    frame = library.make({"t": ROWS})
    out = frame.llm.map("J {t}", schema=Verdict, client=provider, budget={"tokens": 400}, max_concurrency=2)
    run = llmframe.last_run()
    assert run.input_tokens + run.output_tokens == provider.prompt_tokens + provider.completion_tokens
    assert run.budget_spent == {"tokens": run.input_tokens + run.output_tokens}
    assert 0 < run.answered < 60
    assert run.budget_spent["tokens"] <= 400 + 2 * 20  # two in flight, of no more than 20 tokens each
    assert kinds_of(library.to_dict(out)["error"]) == {"", "budget"}


def test_an_unknown_price_is_told_before_the_first_call(library: Kind, provider: Provider):
    frame = library.make({"t": ROWS})
    options: dict[str, Any] = {"schema": Verdict, "client": provider, "budget": 1.0}
    for verb in (frame.llm.map, frame.llm.plan, frame.llm.stream):
        with pytest.raises(UsageError, match="needs the price of 'simulated', which isn't known") as caught:
            list(verb("J {t}", **options))
        assert 'prices={"simulated": {"input": 0.15, "output": 0.6}}' in str(caught.value)
        assert 'budget={"calls": 1_000}' in str(caught.value)
    with pytest.raises(UsageError, match="needs the price of 'mine'"):
        pl.LazyFrame({"t": ROWS}).llm.map("J {t}", **{**options, "model": "mine"})
    assert provider.requests == 0
    frame.llm.map("J {t}", **{**options, "budget": {"tokens": 10**9, "seconds": 600}})
    assert provider.requests == 60


def test_a_dearer_service_tier_needs_a_price_of_ones_own(library: Kind, provider: Provider):
    """The tables have the usual tier's: by them a budget would be passed by as much as the tier costs more."""
    frame = library.make({"t": ROWS})
    options: dict[str, Any] = {"schema": Verdict, "client": provider, "model": "gpt-4o-mini", "budget": 1.0}
    dear = options | {"params": {"service_tier": "priority"}}
    for verb in (frame.llm.map, frame.llm.plan, frame.llm.stream):
        with pytest.raises(UsageError, match="price of 'gpt-4o-mini' in the service tier 'priority', which isn't"):
            list(verb("J {t}", **dear))
    with pytest.raises(UsageError, match="'priority'"):
        pl.LazyFrame({"t": ROWS}).llm.map("J {t}", **dear)
    assert provider.requests == 0
    frame.llm.map("J {t}", **dear, prices={"gpt-4o-mini": {"input": 0.25, "output": 1.0}})
    assert provider.requests == 60


def test_a_budget_is_shared_by_calls_one_after_the_other(library: Kind, provider: Provider):
    frame, budget = library.make({"t": ROWS}), llmframe.Budget(calls=50)
    options: dict[str, Any] = {"client": provider, "budget": budget}
    first = library.to_dict(frame.llm.map("First {t}", **options))
    second = library.to_dict(frame.llm.map("First {t}", **{**options, "budget": llmframe.Budget(calls=30)}))
    third = library.to_dict(frame.llm.map("Third {t}", **options))
    assert [sum(error is None for error in out["error"]) for out in (first, second, third)] == [50, 60, 0]
    assert provider.requests == 60
    assert repr(budget) == "<llmframe.Budget: 50 of 50 calls>"


async def test_a_budget_is_shared_by_calls_at_once(library: Kind, provider: Provider):
    frame, budget = library.make({"t": ROWS}), llmframe.Budget(2.5, calls=70)
    options: dict[str, Any] = {"schema": Verdict, "client": provider, "budget": budget, "prices": PRICES}
    outs = await asyncio.gather(frame.llm.amap("A {t}", **options), frame.llm.amap("B {t}", **options))
    errors = [error for out in outs for error in library.to_dict(out)["error"]]
    assert kinds_of(errors) == {"", "budget"}
    assert budget.spent_calls == provider.requests == sum(error is None for error in errors) <= 70
    assert budget.spent_usd == pytest.approx(billed(provider))
    assert budget.reserved_usd == 0


def test_all_parts_of_a_stream_have_one_budget(library: Kind, provider: Provider):
    parts = library.make({"t": ROWS}).llm.stream(
        "J {t}", schema=Verdict, rows=10, ordered=True, client=provider, budget={"calls": 25}
    )
    errors = [library.to_dict(part)["error"] for part in parts]
    assert provider.requests == 25
    assert sum(error is None for part in errors for error in part) == 25
    assert kinds_of(errors[-1]) == {"budget"}


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_lazy_query_has_a_budget_for_each_collect(provider: Provider, engine: Any):
    query = pl.LazyFrame({"t": ROWS}).llm.map("J {t}", schema=Verdict, client=provider, budget={"calls": 40})
    first = query.collect(engine=engine)
    assert provider.requests == 40
    assert first["error"].is_null().sum() == 40


def test_answers_that_are_kept_cost_nothing(library: Kind, provider: Provider):
    frame = library.make({"t": ROWS})
    frame.llm.map("J {t}", schema=Verdict, client=provider)
    budget = llmframe.Budget(calls=1)
    out = frame.llm.map("J {t}", schema=Verdict, client=provider, budget=budget)
    assert kinds_of(library.to_dict(out)["error"]) == {""}
    assert (budget.spent_calls, llmframe.last_run().state) == (0, "done")


def test_prices_of_ones_own_are_in_every_place_that_tells_dollars(library: Kind, provider: Provider):
    seen: list[llmframe.Progress] = []
    frame = library.make({"t": ROWS[:4]})
    options: dict[str, Any] = {"schema": Verdict, "client": provider, "prices": PRICES, "budget": 1.0}
    plan = frame.llm.plan("J {t}", **options)
    assert plan.usd == pytest.approx((plan.input_tokens * 1000 + plan.output_tokens * 4000) / 1e6)
    assert repr(plan).splitlines()[-1] == "  budget    $1.00: enough"
    out = frame.llm.map("J {t}", meta=True, progress=seen.append, **options)
    run, meta = llmframe.last_run(), library.to_dict(out)["llm_meta"]
    assert run.usd == pytest.approx(billed(provider))
    assert sum(row["usd"] for row in meta) == pytest.approx(run.usd)
    assert (seen[-1].spent_usd, seen[-1].budget_usd) == (pytest.approx(run.usd), 1)
    assert " of $1.00" in repr(run)
    assert json.loads(run.to_json())["budget"] == {"usd": 1}


def test_prices_and_budgets_are_no_part_of_the_question(library: Kind, provider: Provider):
    frame = library.make({"t": ROWS[:4]})
    frame.llm.map("J {t}", schema=Verdict, client=provider)
    for options in ({"prices": PRICES}, {"budget": {"calls": 1}}, {"prices": PRICES, "budget": 0.5}):
        frame.llm.map("J {t}", schema=Verdict, client=provider, **options)
    assert provider.requests == 4


def test_the_environment_may_say_both(library: Kind, provider: Provider, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LLMFRAME_BUDGET", "0.1")
    frame = library.make({"t": ROWS})
    with pytest.raises(UsageError, match="needs the price"):
        frame.llm.map("J {t}", schema=Verdict, client=provider)
    monkeypatch.setenv("LLMFRAME_PRICES", json.dumps(PRICES))
    frame.llm.map("J {t}", schema=Verdict, client=provider)
    assert llmframe.last_run().budget == {"usd": 0.1}
    assert llmframe.last_run().state == "stopped"


def test_the_warning_says_what_was_spent(library: Kind, provider: Provider):
    frame = library.make({"t": ROWS})
    with pytest.warns(LlmframeWarning, match=r"55 of 60 rows failed: 55 budget; sending stopped after: budget: 5 of 5"):
        frame.llm.map("J {t}", schema=Verdict, client=provider, budget={"calls": 5})
