"""A failed request is a value in its own row; a fault that meets every row ends the sending."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel

import llmframe
from llmframe.errors import LlmframeWarning
from llmframe.testing import (
    BadBody,
    Cut,
    Delay,
    Drip,
    Hang,
    Html,
    Provider,
    Reset,
    Status,
)
from tests.contracts.kinds import Kind


class Echo(BaseModel):
    id: str
    label: Literal["pos", "neg"]


SOON = {"retry-after-ms": "10"}
"""What keeps the cooldown after a 429 short."""

FATAL: dict[str, tuple[Any, str]] = {
    "401": (Status(401, "invalid_api_key"), "auth"),
    "403": (Status(403), "auth"),
    "quota": (Status(429, "insufficient_quota", "You exceeded your current quota"), "quota"),
    "402": (Status(402), "quota"),
    "model": (Status(404, "model_not_found", "no such model"), "not_found"),
}


@pytest.mark.parametrize(("step", "word"), FATAL.values(), ids=FATAL.keys())
def test_a_fault_that_meets_every_row_ends_the_sending(library: Kind, provider: Provider, step: Any, word: str):
    provider.always(step)
    frame = library.make({"t": [f"row-{number}" for number in range(1000)]})
    with pytest.warns(LlmframeWarning) as warned:
        out = frame.llm.map("J {t}", schema=Echo, client=provider, max_concurrency=8)
    assert 1 <= provider.requests <= 8
    columns = library.to_dict(out)
    assert all(error.startswith(f"{word}: ") for error in columns["error"])
    assert columns["label"] == [None] * 1000
    assert len(warned) == 1
    assert f"1,000 of 1,000 rows failed: 1,000 {word}; sending stopped after: {word}: " in str(warned[0].message)
    assert warned[0].filename == __file__
    run = llmframe.last_run()
    assert run.state == "stopped"
    assert run.failed == {word: 1000}
    assert library.to_dict(run.frame) == columns


def test_what_was_paid_before_a_stop_stays(library: Kind, provider: Provider):
    provider.when("row-7 ", Status(429, "insufficient_quota"))
    frame = library.make({"t": [f"row-{number} " for number in range(20)]})
    with pytest.warns(LlmframeWarning, match="13 of 20 rows failed: 13 quota"):
        out = frame.llm.map("J {t}", schema=Echo, client=provider, max_concurrency=1)
    assert library.to_dict(out)["id"] == [f"row-{number}" for number in range(7)] + [None] * 13
    assert provider.requests == 8


OF_ONE_ROW: dict[str, tuple[Any, str, str]] = {
    "context": (Status(400, "context_length_exceeded", "too long"), "context_length", "too long"),
    "filter": (Status(400, "content_filter", "blocked"), "content_filter", "blocked"),
    "other": (Status(400, "invalid_value", "bad value", "messages"), "bad_request", "bad value"),
    "large": (Status(413, "too_large"), "", "413"),
    "unprocessable": (Status(422, "unprocessable", "no", "messages"), "bad_request", "422"),
}


@pytest.mark.parametrize(("step", "word", "text"), OF_ONE_ROW.values(), ids=OF_ONE_ROW.keys())
def test_a_refused_row_fails_alone_after_one_request(
    library: Kind, provider: Provider, step: Any, word: str, text: str
):
    provider.when("row-7 ", step)
    frame = library.make({"t": [f"row-{number} " for number in range(20)]})
    with pytest.warns(LlmframeWarning, match="1 of 20 rows failed"):
        out = frame.llm.map("J {t}", schema=Echo, client=provider)
    errors = library.to_dict(out)["error"]
    assert [number for number, error in enumerate(errors) if error is not None] == [7]
    assert errors[7].startswith(word)
    assert text in errors[7]
    assert provider.requests == 20


def test_a_refusal_that_names_nothing_is_no_fault_of_the_other_rows(library: Kind, provider: Provider):
    provider.when("row-7 ", Status(400))
    frame = library.make({"t": [f"row-{number} " for number in range(20)]})
    with pytest.warns(LlmframeWarning, match="1 of 20 rows failed: 1 bad_request"):
        out = frame.llm.map("J {t}", schema=Echo, client=provider, output_mode="json_schema")
    assert library.to_dict(out)["error"].count(None) == 19
    assert provider.requests == 20


TRANSIENT: dict[str, Any] = {
    "408": Status(408),
    "409": Status(409),
    "429": Status(429, headers=SOON),
    "500": Status(500),
    "502": Status(502),
    "503": Status(503, headers=SOON),
    "504": Status(504),
    "529": Status(529),
    "reset": Reset(),
    "cut": Cut(),
    "broken body": BadBody(),
    "page": Html(),
    "page of a proxy": Html(502),
}


@pytest.mark.parametrize("step", TRANSIENT.values(), ids=TRANSIENT.keys())
def test_a_passing_fault_is_asked_again_and_heals(provider: Provider, step: Any):
    provider.when("row", step, times=1, per_prompt=True)
    rows = ["row-1", "row-2", "row-3"]
    out = llmframe.map([{"t": row} for row in rows], "J {t}", Echo, client=provider)
    assert [row["id"] for row in out] == rows
    assert provider.requests == 6
    run = llmframe.last_run()
    assert (run.requests, run.retries, run.answered) == (6, 3, 3)


STAYING: dict[str, tuple[Any, str]] = {
    "500": (Status(500), "server"),
    "409": (Status(409), ""),
    "529": (Status(529), "server"),
    "reset": (Reset(), "connection"),
    "cut": (Cut(), "connection"),
    "broken body": (BadBody(), ""),
    "page": (Html(), ""),
}


@pytest.mark.parametrize(("step", "word"), STAYING.values(), ids=STAYING.keys())
def test_a_fault_that_stays_takes_max_attempts_requests_a_row(library: Kind, provider: Provider, step: Any, word: str):
    provider.always(step)
    with pytest.warns(LlmframeWarning, match="2 of 2 rows failed"):
        out = library.make({"t": ["a", "b"]}).llm.map("J {t}", schema=Echo, client=provider, max_attempts=2, meta=True)
    columns = library.to_dict(out)
    assert provider.requests == 4
    assert all(error.startswith(word) and "after 2 attempts" in error for error in columns["error"])
    assert [meta["attempts"] for meta in columns["llm_meta"]] == [2, 2]


def test_one_attempt_is_one_request(library: Kind, provider: Provider):
    provider.always(Status(503))
    with pytest.warns(LlmframeWarning, match="3 server"):
        library.make({"t": ["a", "b", "c"]}).llm.map("J {t}", schema=Echo, client=provider, max_attempts=1)
    assert provider.requests == 3


@pytest.mark.parametrize("step", [Hang(), Drip(0.02), Delay(3600)], ids=["hangs", "drips", "is late"])
def test_an_answer_that_never_ends_is_cut_by_the_timeout(library: Kind, provider: Provider, step: Any):
    provider.always(step)
    with pytest.warns(LlmframeWarning, match="2 of 2 rows failed: 2 timeout"):
        out = library.make({"t": ["a", "b"]}).llm.map("J {t}", schema=Echo, client=provider, timeout=1, max_attempts=1)
    assert library.to_dict(out)["error"] == ["timeout: no whole answer within 1 s"] * 2
    provider.wait_closed(2)
    run = llmframe.last_run()
    assert (run.requests, run.unknown_usage) == (2, 2)


def test_after_a_timeout_the_row_is_asked_again(provider: Provider):
    provider.when("row-1", Hang(), times=1)
    rows = [{"t": "row-1"}, {"t": "row-2"}]
    out = llmframe.map(rows, "J {t}", Echo, client=provider, timeout=2)
    assert [row["id"] for row in out] == ["row-1", "row-2"]
    assert provider.requests == 3


def test_a_wait_longer_than_allowed_is_told_and_not_taken(library: Kind, provider: Provider):
    provider.always(Status(429, retry_after=1800))
    with pytest.warns(LlmframeWarning, match="rate_limit"):
        out = library.make({"t": ["a", "b"]}).llm.map("J {t}", schema=Echo, client=provider, max_concurrency=1)
    assert "1800 s" in library.to_dict(out)["error"][0]
    assert provider.requests == 1


@pytest.mark.parametrize("value", ["inf", "-3", "soon", "0"])
def test_a_wait_that_is_none_is_our_own(provider: Provider, value: str):
    provider.script(Status(503, retry_after=value))
    out = llmframe.map([{"t": "row-1"}], "J {t}", Echo, client=provider)
    assert out[0]["error"] is None
    assert provider.requests == 2


def test_a_fault_of_our_side_is_a_value_too(library: Kind, provider: Provider):
    def boom(row: dict[str, Any]) -> str:
        if row["t"] == "b":
            raise KeyError("secret-cell")
        return f"J {row['t']}"

    with pytest.warns(LlmframeWarning, match="1 of 3 rows failed: 1 render"):
        out = library.make({"t": ["a", "b", "c"]}).llm.map(boom, schema=Echo, client=provider)
    assert "KeyError" in library.to_dict(out)["error"][1]
    assert library.to_dict(out)["error"][::2] == [None, None]
    assert provider.requests == 2
