"""The same call again, another meanwhile, two at once: what is under way is waited for, what is paid isn't again."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest
from pydantic import BaseModel, field_validator

import llmframe
from llmframe import Budget
from llmframe.batch.ways import Ways
from llmframe.engine import patience
from llmframe.errors import RowError, UsageError
from llmframe.testing import Filtered, Provider, Refusal, Status, Text
from tests.contracts.batches import IN, OUT, PRICES, balanced, charged, hurry, limits, often, told

pytestmark = pytest.mark.filterwarnings("ignore:.*rows failed:llmframe.errors.LlmframeWarning")


class Echo(BaseModel):
    id: str
    label: Literal["pos", "neg"]


def frame(*numbers: int) -> Any:
    return pl.DataFrame({"t": [f"row-{number}" for number in numbers]})


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at a batch come quickly one after the other."""
    hurry(monkeypatch)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.sqlite"


def mapped(provider: Provider, rows: Any, *, prompt: str = "J {t}", schema: Any = Echo, **options: Any) -> Any:
    options = {"mode": "batch", "model": "m", "prices": PRICES, "meta": True, **options}
    return rows.llm.map(prompt, schema, client=provider, **options)


def leave(provider: Provider, rows: Any, *, looks: int = 0, **options: Any) -> None:
    """Begin a job and leave it as a process does that ends, with its batches at the provider, looked at so often."""
    prompt = options.pop("prompt", "J {t}")
    options = {"mode": "batch", "model": "m", **options}
    job = rows.llm.submit(prompt, Echo, client=provider, **options)
    provider.batches.wait_calls("state", looks)
    llmframe.cancel()
    assert job.wait(30)
    del job
    gc.collect()


# Coming back -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("held", ["row by row", "whole"])
def test_the_same_call_again_waits_for_the_same_batch(provider: Provider, store: Path, held: str):
    provider.batches.hold(done=0.5 if held == "row by row" else 0.0)
    leave(provider, frame(1, 2, 3, 4), cache=store)
    provider.batches.finish()
    out = mapped(provider, frame(1, 2, 3, 4), cache=store)
    assert out["id"].to_list() == ["row-1", "row-2", "row-3", "row-4"]
    balanced(provider, out["llm_meta"].to_list())
    assert (provider.batches.created, often(provider), provider.requests) == (1, {1: 4}, 0)
    assert [job.status for job in llmframe.jobs(cache=store)][:1] == ["done"]


def test_rows_that_came_meanwhile_go_into_a_batch_of_their_own(provider: Provider, store: Path):
    provider.batches.hold()
    leave(provider, frame(1, 2), cache=store)
    provider.batches.finish()
    out = mapped(provider, frame(2, 3, 1, 4), cache=store)
    assert out["id"].to_list() == ["row-2", "row-3", "row-1", "row-4"]
    assert (provider.batches.created, often(provider)) == (2, {1: 4})


def test_a_call_about_other_rows_waits_for_no_batch_of_an_earlier_one(
    provider: Provider, store: Path, monkeypatch: pytest.MonkeyPatch
):
    provider.batches.hold()
    with monkeypatch.context() as patch:
        patch.setattr(patience, "FIRST_SECONDS", 3600.0)  # no second look is on its way when the job is left
        leave(provider, frame(1, 2), looks=1, cache=store)
    provider.batches._book.held = None  # from now on batches end, but nobody asks for that one
    looks = provider.batches.calls["state"]
    assert mapped(provider, frame(3), cache=store)["id"].to_list() == ["row-3"]
    assert list(provider.batches.statuses.values()) == ["in_progress", "completed"]
    assert provider.batches.calls["state"] == looks + 1
    assert mapped(provider, frame(1, 2, 3), cache=store)["error"].null_count() == 3
    assert (provider.batches.created, often(provider)) == (2, {1: 3})


def test_another_prompt_is_another_job(provider: Provider, store: Path):
    provider.batches.hold()
    leave(provider, frame(1, 2), cache=store)
    provider.batches.finish()
    mapped(provider, frame(1, 2), prompt="K {t}", cache=store)
    assert len({job.id for job in llmframe.jobs(cache=store) if job.mode == "batch"}) == 2


def test_what_failed_for_good_before_a_restart_is_told_and_asked_by_nobody(
    provider: Provider, store: Path, monkeypatch: pytest.MonkeyPatch
):
    provider.when("row-1", Status(400, "context_length_exceeded", "too long"))
    with limits(monkeypatch, lines=2):
        job = frame(1, 2, 3, 4).llm.submit("J {t}", Echo, client=provider, mode="batch", model="m", cache=store)
        provider.batches.wait_calls("output", 1)
        job.result(30)
    # as a process leaves it that died after the first batch was collected
    reopen(store)
    provider.batches.hold()
    with limits(monkeypatch, lines=2):
        leave(provider, frame(1, 2, 3, 4, 5), cache=store)
        provider.batches.finish()
        out = mapped(provider, frame(1, 2, 3, 4, 5), cache=store)
    assert out["error"][0].startswith("context_length: ")
    assert out["error"].null_count() == 4
    assert provider.requests == 0
    run = llmframe.last_run()
    assert told(out["llm_meta"].to_list())[0] == (run.input_tokens, run.output_tokens)


def reopen(store: Path) -> None:
    """Say of every job in a store's file that it isn't finished."""
    import sqlite3

    connection = sqlite3.connect(store)
    with connection:
        connection.execute("UPDATE jobs SET finished = 0")
    connection.close()


@pytest.mark.parametrize("step", [Refusal(), Filtered(), Status(400, "content_filter", "blocked")], ids=repr)
def test_a_finished_job_asks_what_failed_once_more(provider: Provider, store: Path, step: Any):
    provider.when("row-1", step)
    assert mapped(provider, frame(1, 2), cache=store)["error"].null_count() == 1
    provider.reset()
    assert mapped(provider, frame(1, 2), cache=store)["error"].null_count() == 2
    assert provider.batches.created == 1  # since the reset


# The store ---------------------------------------------------------------------------------------------------------


def strict() -> type[BaseModel]:
    class Echo(BaseModel):
        id: str
        label: Literal["pos", "neg"]

        @field_validator("id")
        @classmethod
        def even(cls, value: str) -> str:
            if int(value[-1]) % 2:
                raise ValueError("odd")
            return value

    return Echo


@pytest.mark.parametrize("mode", ["batch", "live"])
def test_a_changed_validator_asks_only_what_no_longer_fits(provider: Provider, store: Path, mode: str):
    mapped(provider, frame(1, 2, 3, 4), cache=store)
    first = charged(provider)
    out = mapped(provider, frame(1, 2, 3, 4), schema=strict(), cache=store, mode=mode, reask=0)
    assert [error is None for error in out["error"]] == [False, True, False, True]
    assert provider.batches.lines + provider.requests == 4 + 2
    meta = out["llm_meta"].to_list()
    assert [row["source"] for row in meta] == [mode, "cache", mode, "cache"]
    now = charged(provider)
    assert told(meta)[0] == tuple(b - a for a, b in zip(first.tokens, now.tokens, strict=True))
    assert told(meta)[1] == pytest.approx(now.usd - first.usd)


def test_a_changed_validator_after_a_job_was_left(provider: Provider, store: Path):
    provider.batches.hold()
    leave(provider, frame(1, 2, 3, 4), cache=store)
    provider.batches.finish()
    out = mapped(provider, frame(1, 2, 3, 4), schema=strict(), cache=store, reask=0)
    assert [error is None for error in out["error"]] == [False, True, False, True]
    assert (provider.batches.created, provider.batches.lines) == (1, 4)


def test_refresh_asks_everything_again_once(provider: Provider):
    mapped(provider, frame(1, 2, 1))
    before = provider.batches.lines
    for _ in range(2):
        out = mapped(provider, frame(1, 2, 1), cache="refresh")
        assert out["error"].null_count() == 3
        assert [row["source"] for row in out["llm_meta"].to_list()] == ["batch", "batch", "shared"]
    assert provider.batches.lines == before + 4
    mapped(provider, frame(1, 2, 1))
    assert provider.batches.lines == before + 4


def test_a_refresh_that_was_left_goes_on(provider: Provider):
    mapped(provider, frame(1, 2))
    provider.batches.hold()
    leave(provider, frame(1, 2), cache="refresh")
    provider.batches.finish()
    out = mapped(provider, frame(1, 2), cache="refresh")
    assert out["error"].null_count() == 2
    assert (provider.batches.created, often(provider)) == (2, {2: 2})


def test_live_answers_are_not_asked_by_batches_and_the_reverse(provider: Provider):
    mapped(provider, frame(1, 2), mode="live")
    out = mapped(provider, frame(1, 2, 3))
    assert [row["source"] for row in out["llm_meta"].to_list()] == ["cache", "cache", "batch"]
    assert [row["price"] for row in out["llm_meta"].to_list()] == ["cached", "cached", "batch"]
    out = mapped(provider, frame(1, 2, 3, 3), mode="live")
    assert [row["source"] for row in out["llm_meta"].to_list()] == ["cache"] * 4
    assert (provider.batches.lines, provider.requests) == (1, 2)


# Costs -------------------------------------------------------------------------------------------------------------


def test_meta_and_report_tell_what_a_batch_took(provider: Provider):
    out = mapped(provider, frame(1, 2, 1))
    run, meta = llmframe.last_run(), out["llm_meta"].to_list()
    assert [(row["source"], row["price"], row["attempts"]) for row in meta] == [
        ("batch", "batch", 1),
        ("batch", "batch", 1),
        ("shared", "cached", 0),
    ]
    assert (run.batches, run.batch_requests, run.batch_rows) == (1, 2, 3)
    assert (run.requests, run.answered, run.cached) == (0, 3, 0)
    paid = charged(provider)
    assert run.usd == run.usd_batch == pytest.approx((paid.batch_in * IN + paid.batch_out * OUT) / 2)
    assert run.saved_usd == pytest.approx(run.usd)
    assert meta[2]["usd"] == 0.0
    balanced(provider, meta)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_live_fallbacks_are_told_with_what_the_batch_took(library: str, provider: Provider):
    provider.when("row-2", Text("{}"), times=1)
    rows = frame(1, 2, 2)
    out = mapped(provider, rows.to_pandas() if library == "pandas" else rows, fallback="live")
    meta = list(out["llm_meta"])
    assert [(row["source"], row["price"], row["attempts"]) for row in meta[:2]] == [
        ("batch", "batch", 1),
        ("live", "live", 2),
    ]
    balanced(provider, meta)
    run = llmframe.last_run()
    assert (run.requests, run.reasks, run.batch_rows) == (1, 1, 1)
    assert run.usd > run.usd_batch > 0


# Budgets -----------------------------------------------------------------------------------------------------------

BUDGETS: dict[str, Callable[[], Budget]] = {
    "calls": lambda: Budget(calls=7),
    "tokens": lambda: Budget(tokens=700),
    "usd": lambda: Budget(0.0012),
}


@pytest.mark.parametrize(
    ("limit", "fallback"), [("calls", "live"), ("calls", None), ("tokens", "batch"), ("usd", "batch"), ("usd", "live")]
)
def test_a_budget_that_ends_amid_a_batch(provider: Provider, limit: str, fallback: Any):
    own = BUDGETS[limit]()
    out = mapped(provider, frame(*range(100, 160)), budget=own, fallback=fallback)
    errors = [error and error.split(":")[0] for error in out["error"]]
    assert set(errors) == {None, "budget"}
    assert errors == sorted(errors, key=lambda error: error is not None)  # the first rows are answered
    balanced(provider, out["llm_meta"].to_list())
    paid = charged(provider)
    assert own.spent.get("usd", 0) <= 0.0012
    if own.usd is not None:
        assert own.spent_usd == pytest.approx(paid.usd)
    assert own.spent_tokens == sum(paid.tokens)
    assert own.spent_calls == errors.count(None)
    assert (own.reserved_usd, provider.requests) == (0, 0)
    assert llmframe.last_run().state == "stopped"
    again = mapped(provider, frame(*range(100, 160)))
    assert again["error"].null_count() == 60
    assert often(provider) == {1: 60}


def test_a_budget_that_another_run_holds_is_waited_for(provider: Provider):
    budget = Budget(calls=4)
    hold = budget.reserve(0.0, 1)
    done = threading.Event()

    def free() -> None:
        provider.batches.wait_calls("output", 1)
        budget.release(hold)
        done.set()

    threading.Thread(target=free).start()
    out = mapped(provider, frame(1, 2, 3, 4), budget=budget)
    assert done.wait(60)
    assert out["error"].null_count() == 4
    assert (provider.batches.created, provider.requests) == (2, 0)


def test_what_was_set_aside_for_a_job_that_is_left_counts_as_spent(provider: Provider, store: Path):
    budget = Budget(calls=10)
    provider.batches.hold()
    leave(provider, frame(1, 2, 3), cache=store, budget=budget)
    assert (budget.spent_calls, budget.left["calls"]) == (3, 7)
    provider.batches.finish()


# Two at once -------------------------------------------------------------------------------------------------------


def both(*calls: Callable[[], Any]) -> list[Any]:
    """The results of calls in a thread each."""
    results: list[Any] = [None] * len(calls)

    def run(place: int, call: Callable[[], Any]) -> None:
        results[place] = call()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    return results


@pytest.mark.parametrize("fallback", ["batch", "live", None])
@pytest.mark.filterwarnings("ignore:.*another call:llmframe.errors.LlmframeWarning")
def test_two_calls_over_the_same_rows_make_one_batch(provider: Provider, store: Path, fallback: Any):
    provider.batches.polls = 3
    calls = [lambda: mapped(provider, frame(1, 2, 3), cache=store, fallback=fallback)] * 3
    outs = both(*calls)
    assert [out["error"].null_count() for out in outs] == [3] * 3
    assert [out.drop("llm_meta").equals(outs[0].drop("llm_meta")) for out in outs] == [True] * 3
    assert (provider.batches.lines, often(provider), provider.requests) == (3, {1: 3}, 0)
    metas = [row for out in outs for row in out["llm_meta"].to_list()]
    assert told(metas)[0] == charged(provider).tokens


def test_two_calls_over_rows_that_overlap_ask_each_once(provider: Provider, store: Path):
    provider.batches.polls = 3
    outs = both(
        lambda: mapped(provider, frame(*range(1, 9)), cache=store),
        lambda: mapped(provider, frame(*range(5, 13)), cache=store),
    )
    assert [out["error"].null_count() for out in outs] == [8, 8]
    assert (often(provider), provider.requests) == ({1: 12}, 0)


def test_two_jobs_at_once_keep_apart(provider: Provider, store: Path):
    provider.batches.polls = 2
    outs = both(
        lambda: mapped(provider, frame(1, 2), cache=store),
        lambda: mapped(provider, frame(1, 2), prompt="K {t}", cache=store),
        lambda: mapped(provider, frame(1, 2), cache=store, params={"temperature": 0}),
    )
    assert [out["error"].null_count() for out in outs] == [2] * 3
    assert (provider.batches.created, provider.batches.lines) == (3, 6)
    assert len({job.id for job in llmframe.jobs(cache=store) if job.mode == "batch"}) == 3


@pytest.mark.parametrize("fallback", ["batch", "live", None])
def test_what_the_batch_of_another_call_leaves_open_is_never_asked_live_by_itself(
    provider: Provider, store: Path, fallback: Any
):
    provider.when("row-2", Status(400, "content_filter", "blocked"))
    provider.batches.polls = 3
    outs = both(*[lambda: mapped(provider, frame(1, 2), cache=store, fallback=fallback)] * 2)
    assert [out["error"].null_count() for out in outs] == [1, 1]
    assert (provider.requests, often(provider)) == (0, {1: 1})


@pytest.mark.parametrize("fallback", ["batch", "live", None])
@pytest.mark.parametrize("fault", [Status(400, "content_filter", "blocked"), Status(500)], ids=["for good", "passing"])
def test_what_another_call_left_open_in_a_batch_that_was_waited_for_goes_into_a_batch_of_ones_own(
    provider: Provider, store: Path, monkeypatch: pytest.MonkeyPatch, fallback: Any, fault: Status
):
    watched, waits = Ways._watched, threading.Event()

    def wait(self: Ways, shard: Any) -> Any:
        waits.set()
        return watched(self, shard)

    monkeypatch.setattr(Ways, "_watched", wait)
    provider.when("row-2", fault, times=1)
    provider.batches.hold()
    first = frame(1, 2).llm.submit("J {t}", Echo, client=provider, mode="batch", model="m", cache=store, fallback=None)
    provider.batches.wait_calls("state", 1)
    second = frame(1, 2).llm.submit(
        "J {t}", Echo, client=provider, mode="batch", model="m", cache=store, fallback=fallback
    )
    assert waits.wait(60)
    provider.batches.finish()
    assert first.result()["error"].null_count() == 1
    assert second.result()["error"].null_count() == 2
    assert (provider.requests, often(provider), provider.batches.created) == (0, {1: 2}, 2)


# Wrong use ---------------------------------------------------------------------------------------------------------


class Plain:
    """A store of one's own."""

    def get_many(self, keys: Any) -> dict[bytes, Any]:
        return {}

    def put_many(self, entries: Any) -> None:
        del entries


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no store": ({"cache": False}, "cache=False"),
    "a store of one's own": ({"cache": Plain()}, "Plain"),
    "pieces": ({"params": {"stream": True}}, "stream"),
    "a mode that there isn't": ({"mode": "bulk"}, "'bulk'"),
    "a fallback that there isn't": ({"fallback": "never"}, "'never'"),
}


@pytest.mark.parametrize(("options", "word"), WRONG.values(), ids=WRONG.keys())
def test_wrong_use_is_told_before_anything_is_sent(provider: Provider, options: dict[str, Any], word: str):
    with pytest.raises(UsageError, match=word):
        mapped(provider, frame(1), **options)
    assert (provider.batches.uploads, provider.requests) == (0, 0)


def test_a_lazy_frame_has_no_batches(provider: Provider):
    with pytest.raises(UsageError, match=r"a LazyFrame asks live.*batch"):
        mapped(provider, frame(1).lazy())
    with pytest.raises(UsageError, match=r"an expression asks live.*batch"):
        mapped(provider, pl.col("t"), prompt="J {}")


@pytest.mark.local_model
def test_an_embedded_model_has_no_batches():
    with pytest.raises(UsageError, match="embedded model has no Batch API"):
        frame(1).llm.map("J {t}", Echo, model="local/smollm2-135m", mode="batch")


def test_a_failed_row_raises_after_all_batches_have_ended(provider: Provider):
    provider.when("row-2", Status(400, "content_filter", "blocked"))
    with pytest.raises(RowError, match="row 1 failed: content_filter") as caught:
        mapped(provider, frame(1, 2, 3), on_error="raise")
    assert caught.value.frame["id"].to_list() == ["row-1", None, "row-3"]
    assert provider.batches.lines == 2
