"""What a call's batches come to: outcomes, money, forms, and whether to ask again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from llmframe.batch.account import LEFT, UNSENT
from llmframe.batch.drafts import Draft
from llmframe.clients.base import Dialect, RequestError
from llmframe.clients.batch import Problem
from llmframe.core.outcome import Failure, Usage
from llmframe.engine.dialects import NO_LOGPROBS
from llmframe.stores.jobs import LineOutcome, LineRecord, Shard
from tests.batch.doubles import DOWN, INTENT, JOB, Bench, Call, key, plan, running, state
from tests.engine.doubles import say

FORM = RequestError("bad_request", "no", status=400, param="response_format")
NAMELESS = RequestError("bad_request", "no", status=400)
PAID = Usage(10, 2, 0)
KEPT = LineOutcome(state="kept", usage=PAID)


def at_account(work: Any, **options: Any) -> Any:
    """What `work(call, shard, reader)` returns: a call whose one shard of three requests is at the provider."""

    async def main() -> Any:
        call = Call(range(3), Bench(), **options)
        call.ledger.open_job(JOB)
        call.account.goes_on(JOB.id)
        shard = plan(call.desk, mode="json_schema")
        return work(call, shard, call.account.reader(shard, lambda records, answer: []))

    return running(main())


def settle(call: Call, reader: Any, number: int, outcome: LineOutcome, intent: str = INTENT) -> None:
    """An outcome is told and written down, as collecting does it."""
    reader.settled([(key(number), outcome)])
    call.ledger.settle(intent, [(key(number), outcome)], [])


def failed(kind: Any, usage: Usage = Usage(0, 0, 0)) -> LineOutcome:
    return LineOutcome(state="failed", kind=kind, detail="so it is", usage=usage)


def told(call: Call, number: int) -> Any:
    return call.account.of([key(number)])[key(number)]


def test_an_answer_is_told_with_what_it_took_at_the_batchs_price():
    def work(call: Call, _: Shard, reader: Any) -> None:
        settle(call, reader, 0, KEPT)
        settlement = told(call, 0)
        # a dollar a token, half of it in a batch
        assert (settlement.usage, settlement.usd, settlement.attempts, settlement.failure) == (PAID, 6.0, 1, None)
        metrics = call.run.metrics
        assert (metrics.usd, metrics.usd_batch, metrics.saved_usd) == (6.0, 6.0, 6.0)
        assert list(call.account.of([key(0), key(1)])) == [key(0)]

    at_account(work)


def test_what_several_batches_took_is_told_together():
    def work(call: Call, _: Shard, reader: Any) -> None:
        settle(call, reader, 0, failed("invalid", PAID))
        later = plan(call.desk, [0], intent="00000000000000bb")
        again = call.account.reader(later, lambda records, answer: [])
        settle(call, again, 0, KEPT, later.intent)
        settlement = told(call, 0)
        assert (settlement.usage, settlement.usd, settlement.attempts) == (PAID + PAID, 12.0, 2)
        assert settlement.failure is None

    at_account(work)


@pytest.mark.parametrize(
    ("outcome", "again"),
    [
        (failed("server"), True),
        (failed("rate_limit"), True),
        (failed("timeout"), True),
        (failed("connection"), True),
        (LineOutcome(state="expired", kind="batch_expired"), True),
        (LineOutcome(state="missing", kind="batch_missing"), True),
        (failed("bad_request"), False),
        (failed("context_length"), False),
        (failed("content_filter"), False),
        (failed("refusal", PAID), False),
        (failed("truncated", PAID), False),
        (LineOutcome(state="cancelled", kind="cancelled"), False),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
@pytest.mark.parametrize("fallback", ["batch", "live", None])
def test_what_passes_is_asked_again_and_what_does_not_has_failed(outcome: LineOutcome, again: bool, fallback: Any):  # noqa: FBT001
    def work(call: Call, _: Shard, reader: Any) -> None:
        settle(call, reader, 0, outcome)
        failure = told(call, 0).failure
        if fallback == "live" and again:
            assert failure is None
        else:
            assert failure is not None
            assert failure.kind == outcome.kind
        assert call.account.ended([key(0)]) == {key(0)}  # not in the same round
        call.account.begin_round()
        assert call.account.ended([key(0)]) == (set() if again else {key(0)})

    at_account(work, fallback=fallback)


@pytest.mark.parametrize("reask", [0, 1, 2])
def test_an_invalid_reply_is_asked_again_so_often(reask: int):
    def work(call: Call, _: Shard, reader: Any) -> None:
        settle(call, reader, 0, failed("invalid", PAID))
        asked = 0
        while True:
            call.account.begin_round()
            if call.account.ended([key(0)]):
                break
            asked += 1
            shard = plan(call.desk, [0], intent=f"{asked:016x}")
            again = call.account.reader(shard, lambda records, answer: [])
            settle(call, again, 0, failed("invalid", PAID), shard.intent)
        assert asked == reask

    at_account(work, reask=reask)


# Forms -------------------------------------------------------------------------------------------------------------

RECORDS = [LineRecord(0, 0, key(0))]


def test_a_refused_form_gives_the_next_and_each_is_tried_once():
    def work(call: Call, shard: Shard, reader: Any) -> None:
        first = reader.failed(RECORDS, FORM)
        assert (first.state, first.usage) == ("missing", Usage(0, 0, 0))
        assert call.account.free_round
        assert call.account._drafts.dialect.mode == "tools"
        assert reader.failed(RECORDS, FORM).state == "missing"  # another line of the same batch
        assert call.account._drafts.dialect.mode == "tools"
        for mode, following in (("tools", "missing"), ("json", "failed")):
            other = call.account.reader(plan(call.desk, [1], intent=mode * 3, mode=mode), lambda records, answer: [])
            assert other.failed(RECORDS, FORM).state == following
        assert call.account._drafts.dialect.mode == "json"
        assert len(call.run.metrics.notes) == 2

    at_account(work)


@pytest.mark.parametrize("error", [FORM, NAMELESS], ids=["named", "nameless"])
def test_a_form_in_which_a_line_was_answered_is_not_left(error: RequestError):
    def work(call: Call, _: Shard, reader: Any) -> None:
        reader.read(RECORDS, say("well"))
        outcome = reader.failed(RECORDS, error)
        assert (outcome.state, outcome.kind) == ("failed", "bad_request")
        assert not call.account.free_round
        assert call.account._drafts.dialect.mode == "json_schema"

    at_account(work)


def test_a_passing_fault_says_nothing_of_the_form():
    def work(call: Call, _: Shard, reader: Any) -> None:
        assert reader.failed(RECORDS, DOWN).kind == "server"
        assert call.account._drafts.dialect.mode == "json_schema"

    at_account(work)


# Batches that are refused as a whole -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind", "stops"),
    [
        ("insufficient_quota", "quota", True),
        ("billing_hard_limit_reached", "quota", True),
        ("model_not_found", "not_found", True),
        ("token_limit_exceeded", "rate_limit", True),
        ("invalid_json_line", "bad_request", False),
        (None, "bad_request", False),
    ],
)
def test_what_would_fail_every_batch_stops_the_run(code: str | None, kind: str, stops: bool):  # noqa: FBT001
    def work(call: Call, *_: Any) -> None:
        outcome = call.account.refused_batch(state("failed", "failed", problems=(Problem(code, "So."),)))
        assert (outcome.state, outcome.kind, outcome.usage) == ("failed", kind, Usage(0, 0, 0))
        assert "So." in (outcome.detail or "")
        assert (call.run.stop is not None) == stops

    at_account(work)


# What no batch tells of --------------------------------------------------------------------------------------------


def test_what_no_batch_tells_of_is_asked_live_only_where_that_was_said():
    assert at_account(lambda call, *_: call.account.left, fallback="batch") == LEFT
    assert at_account(lambda call, *_: call.account.left, fallback=None) == LEFT
    assert at_account(lambda call, *_: call.account.left, fallback="live") is None


def test_a_run_that_has_stopped_tells_why_by_itself():
    def work(call: Call, *_: Any) -> None:
        call.account.cancelled = True
        assert call.account.left == UNSENT
        call.run.halt(Failure("auth", "no"))
        assert call.account.left is None

    at_account(work)


# Money -------------------------------------------------------------------------------------------------------------


def draft(*numbers: int, tokens: int = 10) -> Draft:
    return Draft([key(number) for number in numbers], tokens, 2, [], lambda _: b"")


def test_what_a_line_may_take_is_set_aside_and_settled_by_what_it_took():
    def work(call: Call, _: Shard, reader: Any) -> None:
        budget = call.run.budget
        assert budget is not None
        assert call.account.reserve(draft(0)) is None
        assert (budget.reserved_usd, budget._reserved["tokens"]) == (6.0, 12)
        settle(call, reader, 0, KEPT)
        assert (budget.spent_usd, budget.spent_tokens, budget.reserved_usd) == (6.0, 12, 0.0)

    at_account(work, budget={"usd": 100, "tokens": 1000, "calls": 9})


@pytest.mark.parametrize(
    ("outcome", "calls", "tokens"),
    [
        (failed("server"), 0, 0),  # costs nothing
        (failed("refusal", PAID), 1, 12),
        (LineOutcome(state="kept", usage=Usage(10, None, 0)), 1, 12),  # unknown: what was set aside
    ],
    ids=["failed", "refused by the model", "unknown"],
)
def test_lines_are_paid_by_what_the_provider_charges(outcome: LineOutcome, calls: int, tokens: int):
    def work(call: Call, _: Shard, reader: Any) -> None:
        budget = call.run.budget
        assert budget is not None
        call.account.reserve(draft(0))
        settle(call, reader, 0, outcome)
        assert (budget.spent_calls, budget.spent_tokens, budget._reserved["calls"]) == (calls, tokens, 0)

    at_account(work, budget={"tokens": 1000, "calls": 9})


def test_a_line_of_several_requests_is_one_call_and_settled_with_the_last():
    def work(call: Call, _: Shard, reader: Any) -> None:
        budget = call.run.budget
        assert budget is not None
        call.account.reserve(draft(0, 1))
        settle(call, reader, 0, LineOutcome(state="kept", usage=Usage(4, 0, 0)))
        assert budget.spent_calls == 0
        settle(call, reader, 1, LineOutcome(state="kept", usage=Usage(5, 0, 0)))
        assert (budget.spent_calls, budget.spent_tokens) == (1, 9)

    at_account(work, budget={"tokens": 1000, "calls": 9})


def test_a_line_that_does_not_fit_is_refused_for_good_or_until_others_are_settled():
    def work(call: Call, _: Shard, reader: Any) -> None:
        assert call.account.reserve(draft(0)) is None
        assert call.account.reserve(draft(1)) == ""
        settle(call, reader, 0, KEPT)
        refused = call.account.reserve(draft(1))
        assert refused is not None
        assert "12 of 13 tokens spent" in refused

    at_account(work, budget={"tokens": 13})


def test_what_was_not_sent_is_given_back_and_what_goes_on_is_taken():
    def work(call: Call, shard: Shard, _: Any) -> None:
        budget = call.run.budget
        assert budget is not None
        for number in range(4):
            assert call.account.reserve(draft(number)) is None
        call.account.released([key(0)])
        assert (budget.spent_calls, budget._reserved["calls"]) == (0, 3)
        call.ledger.move_shard(shard.intent, of=["planned"], to="running", batch_id="batch-1")
        call.account.close()  # 1 and 2 are in the shard, 3 was never sent
        assert (budget.spent_calls, budget._reserved["calls"]) == (2, 0)

    at_account(work, budget={"calls": 9})


def test_in_a_call_of_parts_what_it_took_is_told_once():
    def work(call: Call, _: Shard, reader: Any) -> None:
        call.account._told = set()
        settle(call, reader, 0, KEPT)
        assert told(call, 0).usage == PAID
        call.account.told([key(0)])
        again = told(call, 0)
        assert (again.usage, again.usd, again.attempts) == (Usage(0, 0, 0), 0.0, 0)

    at_account(work)


SCORED = (
    Dialect("json_schema", top_logprobs=20),
    Dialect("json", top_logprobs=20),
    Dialect("json_schema", ends_run=True),
    Dialect("json", ends_run=True),
)
NO_SCORES = RequestError("bad_request", "no", status=400, code="unsupported_parameter", param="logprobs")


def with_forms(forms: tuple[Dialect, ...], error: RequestError) -> tuple[Any, ...]:
    def work(call: Call, shard: Shard, _: Any) -> tuple[Any, ...]:
        call.account._dialects = forms
        call.account._drafts.dialect = forms[0]
        sent = replace(shard, mode=forms[0].form)
        outcome = call.account.reader(sent, lambda records, answer: []).failed(RECORDS, error)
        return outcome.state, call.account._drafts.dialect, call.run.stop, call.run.metrics.notes

    return at_account(work)


def test_a_batch_that_is_refused_its_logprobs_is_made_again_without():
    forms = (SCORED[0], Dialect("json_schema"))
    told = ["sent no logprobs (answers tell none), because the server refused (400)"]
    assert with_forms(forms, NO_SCORES) == ("missing", forms[1], None, told)


def test_a_batch_about_logprobs_that_are_refused_ends_the_run_and_costs_nothing_more():
    state_, dialect, stop, _ = with_forms(SCORED, NO_SCORES)
    assert (state_, dialect, stop) == ("failed", SCORED[0], NO_LOGPROBS)


def test_a_nameless_refusal_of_a_batch_about_logprobs_tries_the_other_mode_and_ends_nothing():
    assert with_forms(SCORED, NAMELESS)[:3] == ("missing", SCORED[1], None)
    assert with_forms(SCORED[1:], NAMELESS)[:3] == ("failed", SCORED[1], None)
