"""Batches that end badly, refuse, come back strange or not at all: nothing is lost, and nothing paid twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import polars as pl
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.batch import ways
from llmframe.testing import Hang, Provider, Results, Status, Text
from tests.contracts.batches import PRICES, balanced, hurry, limits, often

pytestmark = pytest.mark.filterwarnings("ignore:.*rows failed:llmframe.errors.LlmframeWarning")


class Echo(BaseModel):
    id: str
    label: Literal["pos", "neg"]


N = 20
FRAME = pl.DataFrame({"t": [f"row-{number % N}" for number in range(30)]})
"""20 distinct requests."""
FALLBACKS = ["batch", "live", None]
Setup = Callable[[Provider], Any]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds for a provider's sake takes moments."""
    hurry(monkeypatch)


def mapped(provider: Provider, frame: Any = FRAME, **options: Any) -> Any:
    options = {"mode": "batch", "model": "m", "prices": PRICES, "meta": True, **options}
    return frame.llm.map("J {t}", Echo, client=provider, **options)


def checked(provider: Provider, out: Any) -> list[str | None]:
    """The error kinds by row of a frame whose rows are whole and whose costs add up."""
    errors = [None if error is None else error.split(":")[0] for error in out["error"].to_list()]
    for text, found, error in zip(FRAME["t"], out["id"], errors, strict=True):
        assert found == (text if error is None else None)
    balanced(provider, out["llm_meta"].to_list())
    return errors


STRANGE: dict[str, Setup] = {
    "reversed": lambda p: p.batches.returns(Results(reverse=True)),
    "unknown ids": lambda p: p.batches.returns(Results(unknown=3)),
    "a blank last line": lambda p: p.batches.returns(Results(blank_line=True)),
    "all of it, doubled": lambda p: p.batches.returns(Results(reverse=True, double=True, unknown=3, blank_line=True)),
}


@pytest.mark.parametrize("setup", STRANGE.values(), ids=STRANGE.keys())
def test_results_in_any_order_and_number_give_every_row_its_own(provider: Provider, setup: Setup):
    setup(provider)
    assert checked(provider, mapped(provider)) == [None] * 30
    assert (provider.batches.created, provider.requests, often(provider)) == (1, 0, {1: N})
    if setup is STRANGE["all of it, doubled"]:  # each of the 20 lines came again, each of the 3 strange ones twice
        assert [note[:36] for note in llmframe.last_run().notes] == ["26 lines of a batch's results were n"]


ENDS: dict[str, tuple[Setup, str, int]] = {
    "expired half-way": (lambda p: p.batches.ends("expired", done=0.5), "batch_expired", 10),
    "expired at once": (lambda p: p.batches.ends("expired", done=0.0), "batch_expired", 0),
    "missing": (lambda p: p.batches.returns(Results(missing=8), times=1), "batch_missing", 12),
    "neither file": (lambda p: p.batches.returns(Results(missing=N), times=1), "batch_missing", 0),
    "expired, nothing said of it": (
        lambda p: (p.batches.ends("expired", done=0.5), p.batches.returns(Results(given_up=False), times=1)),
        "batch_expired",
        10,
    ),
    "expired, neither file": (
        lambda p: (p.batches.ends("expired", done=0.0), p.batches.returns(Results(given_up=False), times=1)),
        "batch_expired",
        0,
    ),
    "failed lines": (
        lambda p: p.when("row-1", Status(500), times=1, per_prompt=True),  # and row-10 to row-19
        "server",
        9,
    ),
    "busy lines": (lambda p: p.when("row-1", Status(429), times=1, per_prompt=True), "rate_limit", 9),
    "late lines": (lambda p: p.when("row-1", Hang(), times=1, per_prompt=True), "server", 9),
}


WAYS = [(name, "batch") for name in ENDS] + [
    (name, fallback) for name in ("expired half-way", "missing", "failed lines") for fallback in ("live", None)
]


@pytest.mark.parametrize(("name", "fallback"), WAYS)
def test_what_a_batch_left_goes_the_way_of_the_fallback(provider: Provider, name: str, fallback: Any):
    setup, kind, done = ENDS[name]
    setup(provider)
    errors = checked(provider, mapped(provider, fallback=fallback))
    batches = provider.batches
    if fallback == "batch":
        assert (batches.created, batches.lines, provider.requests) == (2, N, 0)
        assert errors == [None] * 30
    elif fallback == "live":
        assert (batches.created, batches.lines, provider.requests) == (1, done, N - done)
        assert errors == [None] * 30
    else:
        assert (batches.created, batches.lines, provider.requests) == (1, done, 0)
        assert set(errors) - {None} == {kind}
    assert set(often(provider)) <= {1}
    out = mapped(provider)  # whatever is open is asked now, and nothing else
    assert out["error"].null_count() == 30
    assert provider.batches.lines + provider.requests == N
    assert set(often(provider)) <= {1}


@pytest.mark.parametrize("fallback", FALLBACKS)
def test_a_batch_that_somebody_cancelled_keeps_what_it_has_done(provider: Provider, fallback: Any):
    provider.batches.ends("cancelled", done=0.5)
    errors = checked(provider, mapped(provider, fallback=fallback))
    kinds = dict(zip(FRAME["t"], errors, strict=True))
    assert [kinds[f"row-{number}"] for number in range(N)] == [None] * 10 + ["cancelled"] * 10
    assert (provider.batches.created, provider.batches.lines, provider.requests) == (1, 10, 0)
    assert mapped(provider)["error"].null_count() == 30
    assert (provider.batches.lines, often(provider)) == (N, {1: N})


@pytest.mark.parametrize("fallback", FALLBACKS)
def test_what_fails_for_good_is_asked_once(provider: Provider, fallback: Any):
    provider.always(Status(400, "context_length_exceeded", "too long"))  # only an error file
    assert checked(provider, mapped(provider, fallback=fallback)) == ["context_length"] * 30
    assert (provider.batches.created, provider.batches.lines, provider.requests) == (1, 0, 0)


def test_batches_that_never_answer_end_after_two_more(provider: Provider):
    provider.batches.ends("expired", done=0.0, times=None)
    assert checked(provider, mapped(provider)) == ["batch_expired"] * 30
    assert (provider.batches.created, provider.batches.lines) == (3, 0)


@pytest.mark.parametrize(("fallback", "reask"), [("batch", 0), ("batch", 2), ("live", 1), ("live", 2), (None, 1)])
def test_what_stays_invalid_is_asked_so_often_and_no_more(fallback: Any, reask: int):
    def answer(_: str, request: dict[str, Any]) -> Any:
        return Text("{}") if any("row-3" in str(message["content"]) for message in request["messages"]) else None

    with Provider(answer=answer) as provider:
        out = mapped(provider, fallback=fallback, reask=reask)
        kinds = dict(zip(FRAME["t"], checked(provider, out), strict=True))
        asked = provider.batches.lines + provider.requests
    assert {text for text, kind in kinds.items() if kind} == {"row-3"}
    assert kinds["row-3"] == "invalid"
    assert asked - N == (0 if fallback is None else reask)


# The provider's queue ----------------------------------------------------------------------------------------------

FULL = "Enqueued token limit reached for m in organization org-x. Limit: {} enqueued tokens. Please try again later."


def test_a_batch_that_found_the_queue_full_is_made_again_of_the_same_file(provider: Provider):
    provider.batches.refuses("token_limit_exceeded", FULL.format("90,000"), times=3)
    assert checked(provider, mapped(provider)) == [None] * 30
    assert (provider.batches.created, provider.batches.uploads, often(provider)) == (4, 1, {1: N})


@pytest.mark.parametrize("fallback", FALLBACKS)
def test_a_queue_that_stays_full_has_its_own_budget_of_attempts(
    provider: Provider, fallback: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ways, "QUEUE_ATTEMPTS", 3)
    provider.batches.refuses("token_limit_exceeded", FULL.format("90,000"), times=None)
    assert checked(provider, mapped(provider, fallback=fallback)) == ["rate_limit"] * 30
    assert (provider.batches.created, provider.batches.uploads, provider.requests) == (3, 1, 0)
    provider.batches._book.forget()
    assert mapped(provider)["error"].null_count() == 30


def test_several_batches_keep_to_the_queue_after_its_first_refusal(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    provider.batches.polls = 4
    provider.batches.enqueued_tokens = 60  # of four batches of 25 or 30 two find room
    with limits(monkeypatch, lines=5):
        assert checked(provider, mapped(provider)) == [None] * 30
    refused = list(provider.batches.statuses.values()).count("failed")
    # those that were on their way at the first refusal are made again of their own file, when another one has ended
    assert refused <= 2
    assert (provider.batches.created, provider.batches.uploads) == (4 + refused, 4)
    assert (provider.requests, often(provider)) == (0, {1: N})


def test_a_batch_larger_than_the_whole_queue_is_cut(provider: Provider):
    provider.batches.enqueued_tokens = 60
    assert checked(provider, mapped(provider)) == [None] * 30
    assert list(provider.batches.statuses.values()).count("failed") == 1
    assert often(provider) == {1: N}


def test_batches_get_smaller_where_our_estimate_of_tokens_is_too_low(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    # The provider counts 5 or 6 tokens a line, 110 in all, and we 1: what it tells of its limit doesn't say too much.
    monkeypatch.setattr("llmframe.engine.estimate.TOKENS_PER_CHARACTER", 0.01)
    monkeypatch.setattr(ways, "ALONE_TRIES", 2)
    provider.batches.enqueued_tokens = 60
    out = FRAME.llm.map("J {t}", client=provider, mode="batch", model="m")
    assert out["error"].null_count() == 30
    # three times whole, then in halves, one after the other
    assert list(provider.batches.statuses.values()).count("failed") == 3
    assert (provider.batches.created, often(provider)) == (5, {1: N})


def test_a_full_queue_that_others_fill_is_no_reason_for_single_lines(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ways, "QUEUE_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(ways, "ALONE_TRIES", 0)
    provider.batches.refuses("token_limit_exceeded", FULL.format("90,000"), times=30)
    assert checked(provider, mapped(provider)) == [None] * 30
    assert provider.batches.uploads <= 1 + 2 + 4 + 8 + 4  # 20 lines in eighths at the least
    assert often(provider) == {1: N}


@pytest.mark.parametrize(
    ("code", "fallback"),
    [("billing_hard_limit_reached", "live"), ("model_not_found", "batch"), ("invalid_file_format", None)],
)
def test_a_batch_refused_as_a_whole_gives_its_rows_the_word(provider: Provider, code: str, fallback: Any):
    provider.batches.refuses(code, "No way.", times=None)
    out = mapped(provider, fallback=fallback)
    kind = {"billing_hard_limit_reached": "quota", "model_not_found": "not_found"}.get(code, "bad_request")
    assert checked(provider, out) == [kind] * 30
    assert code in out["error"][0]
    assert "No way." in out["error"][0]
    assert (provider.batches.created, provider.requests) == (1, 0)


# States, files and forms -------------------------------------------------------------------------------------------


def test_a_word_that_nobody_knows_means_that_it_runs(provider: Provider):
    provider.batches.words = ("paused", "dreaming")
    assert checked(provider, mapped(provider)) == [None] * 30
    assert provider.batches.created == 1
    assert sum("'dreaming'" in note for note in llmframe.last_run().notes) == 1


def test_a_file_that_isnt_seen_yet_is_waited_for(provider: Provider):
    provider.batches.late_files = 3
    assert checked(provider, mapped(provider)) == [None] * 30
    assert (provider.batches.created, provider.batches.uploads, provider.batches.calls["create"]) == (1, 1, 4)


@pytest.mark.parametrize("fallback", FALLBACKS)
@pytest.mark.parametrize("names", [True, False])
def test_a_form_that_the_server_refuses_is_left_without_counting(fallback: Any, *, names: bool):
    with Provider(refuses=("json_schema", "tools"), refusal_param=names) as poor:
        assert checked(poor, mapped(poor, fallback=fallback)) == [None] * 30
        assert (poor.batches.created, poor.batches.lines, poor.requests) == (3, N, 0)
        assert llmframe.last_run().notes == (
            "asked by tools instead of json_schema, because the server refused (400)",
            "asked by json instead of tools, because the server refused (400)",
        )


def test_a_form_that_a_server_takes_is_known_to_batches_and_live_calls_alike():
    with Provider(refuses=("json_schema",)) as poor:
        assert mapped(poor, FRAME[:2], mode="live")["error"].null_count() == 2
        asked = poor.requests
        mapped(poor)
        assert (poor.batches.created, poor.batches.lines, poor.requests) == (1, N - 2, asked)
    with Provider(refuses=("json_schema",)) as poor:
        mapped(poor, FRAME[:2])
        assert (poor.batches.created, llmframe.last_run().output_mode) == (2, "tools")
        mapped(poor, mode="live")
        assert poor.requests == N - 2


def test_batches_that_are_made_while_a_form_is_refused_are_all_asked_in_the_next(monkeypatch: pytest.MonkeyPatch):
    with Provider(refuses=("json_schema",)) as poor, limits(monkeypatch, lines=1):
        assert checked(poor, mapped(poor)) == [None] * 30
        assert (poor.batches.lines, poor.requests) == (N, 0)
        assert len(llmframe.last_run().notes) == 1


def test_forms_are_tried_once_each():
    with Provider(refuses_params=("max_tokens", "max_completion_tokens")) as poor:
        assert checked(poor, mapped(poor, params={"max_tokens": 50})) == ["bad_request"] * 30
        assert poor.batches.created == 2


def test_a_refusal_that_names_nothing_is_the_lines_own_where_others_were_answered(provider: Provider):
    provider.when("row-7", Status(400))
    assert checked(provider, mapped(provider)).count("bad_request") == 2  # the row stands there twice
    assert (provider.batches.created, provider.requests) == (1, 0)


def test_results_that_are_gone_are_asked_again(provider: Provider):
    provider.batches.fault("output", Status(404), times=3)
    out = mapped(provider)
    assert out["error"].null_count() == 30
    assert (provider.batches.created, often(provider)) == (2, {2: N})


def test_a_batch_that_nobody_knows_any_more_is_given_up(provider: Provider):
    provider.batches.fault("state", Status(404), times=3)
    out = mapped(provider)
    assert out["error"].null_count() == 30
    assert provider.batches.created == 2


def test_many_shards_of_one_call_all_come_back(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    provider.batches.returns(Results(reverse=True, double=True))
    with limits(monkeypatch, lines=3):
        assert checked(provider, mapped(provider)) == [None] * 30
    assert (provider.batches.created, provider.batches.uploads, often(provider)) == (7, 7, {1: N})
    assert llmframe.last_run().batches == 7
