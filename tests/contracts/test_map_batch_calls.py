"""Faults of every call that a batch needs, with and without its work done: one batch is paid, no row is lost."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.batch import submitting
from llmframe.testing import BadBody, Cut, Html, Provider, Reset, Status
from tests.contracts.batches import PRICES, balanced, hurry, often

pytestmark = pytest.mark.filterwarnings("ignore:.*rows failed:llmframe.errors.LlmframeWarning")


class Echo(BaseModel):
    id: str
    label: Literal["pos", "neg"]


FRAME = pl.DataFrame({"t": ["row-1", "row-2", "row-1", "row-3"]})
SOON = {"retry-after-ms": "1"}

STEPS: dict[str, Any] = {
    "500": Status(500),
    "429": Status(429, headers=SOON),
    "409": Status(409),
    "a reset": Reset(),
    "a cut": Cut(),
    "a broken body": BadBody(),
    "a page in place of it": Html(),
}
CALLS = ["upload", "create", "state", "output", "errors"]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds for a provider's sake takes moments."""
    hurry(monkeypatch)


def mapped(provider: Provider, **options: Any) -> Any:
    return FRAME.llm.map("J {t}", Echo, client=provider, mode="batch", model="m", prices=PRICES, meta=True, **options)


def whole(provider: Provider, out: Any, *, failed: str = "row-3") -> None:
    """The rows are there, but for one that failed of itself, and the costs are told."""
    assert out["id"].to_list() == [None if text == failed else text for text in FRAME["t"]]
    balanced(provider, out["llm_meta"].to_list())


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
@pytest.mark.parametrize("call", CALLS)
def test_a_fault_of_any_call_passes(provider: Provider, call: Any, step: Any):
    provider.when("row-3", Status(400, "content_filter", "blocked"))  # so that there's an error file, too
    provider.batches.fault(call, step, times=2)
    whole(provider, mapped(provider))
    # after a broken answer to `create` the batch is found in the list
    assert provider.batches.calls[call] == (1 if call == "create" and step in (Cut(), BadBody()) else 3)
    assert (provider.batches.created, provider.batches.lines, often(provider)) == (1, 2, {1: 2})
    assert provider.requests == 0


@pytest.mark.parametrize("step", [Status(500), Status(408), Status(409), Reset(), Html(502)], ids=repr)
@pytest.mark.parametrize("late", [0, 2])
def test_a_batch_whose_answer_was_lost_is_found_by_its_name(
    provider: Provider, step: Any, late: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(submitting, "SETTLE_SECONDS", 60.0)
    provider.batches.late_listing = late
    provider.batches.fault("create", step, lost=True)
    whole(provider, mapped(provider), failed="")
    calls = provider.batches.calls
    assert (calls["create"], calls["list"]) == (1, late + 1)
    assert (provider.batches.created, often(provider)) == (1, {1: 3})


def test_a_lost_batch_is_told_from_those_of_its_name_that_found_the_queue_full(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(submitting, "SETTLE_SECONDS", 60.0)
    provider.batches.refuses("token_limit_exceeded", times=2)

    def third_is_lost(call: str, _: str) -> None:
        if call == "create" and provider.batches.created == 2:
            provider.batches.fault("create", Reset(), lost=True)
            provider.batches.late_listing = 2

    provider.batches.log = third_is_lost
    whole(provider, mapped(provider), failed="")
    assert (provider.batches.created, provider.batches.calls["list"], often(provider)) == (3, 3, {1: 3})


@pytest.mark.parametrize("step", [Status(500), Reset(), Status(429, headers=SOON), Cut()], ids=repr)
def test_looking_for_a_lost_batch_goes_on_through_faults(
    provider: Provider, step: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(submitting, "SETTLE_SECONDS", 60.0)
    provider.batches.fault("create", Reset(), lost=True)
    provider.batches.fault("list", step, times=3)
    whole(provider, mapped(provider), failed="")
    assert (provider.batches.created, provider.batches.calls["list"]) == (1, 4)


def test_a_file_whose_id_was_lost_is_uploaded_again(provider: Provider):
    provider.batches.fault("upload", Reset(), lost=True)
    whole(provider, mapped(provider), failed="")
    assert (provider.batches.uploads, provider.batches.created) == (2, 1)


STAYING: dict[str, tuple[Any, str, Any]] = {
    "500": (Status(500), "server", "batch"),
    "a reset": (Reset(), "connection", "live"),
    "401": (Status(401, "invalid_api_key"), "auth", None),
}


# A state that can't be told is waited for as long as it takes: the batch goes on.
@pytest.mark.parametrize(
    ("call", "staying"),
    [(call, staying) for call in ("upload", "create", "output") for staying in STAYING] + [("state", "401")],
)
def test_a_fault_that_stays_ends_the_call_and_the_next_one_goes_on(
    provider: Provider, call: Any, staying: str, monkeypatch: pytest.MonkeyPatch
):
    step, word, fallback = STAYING[staying]
    monkeypatch.setattr(submitting, "SETTLE_SECONDS", 0.0)
    provider.batches.fault(call, step, times=None)
    out = mapped(provider, fallback=fallback)
    assert [error.split(":")[0] for error in out["error"]] == [word] * 4
    assert llmframe.last_run().state == "stopped"
    made = 0 if call in ("upload", "create") else 1
    assert (provider.batches.created, provider.requests) == (made, 0)
    provider.batches._book.forget()
    whole(provider, mapped(provider), failed="")
    assert (provider.batches.created, often(provider)) == (1, {1: 3})
    assert llmframe.last_run().state == "done"


def test_an_endpoint_without_a_batch_api_says_so(provider: Provider):
    provider.batches.fault("upload", Status(404), times=None)
    out = mapped(provider, fallback="live")
    assert all(error.startswith("not_found: ") and "no Batch API" in error for error in out["error"])
    assert (provider.batches.calls["upload"], provider.requests) == (1, 0)
