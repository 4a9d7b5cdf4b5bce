"""Live, by batches and from the store, `embed` gives the same frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import polars as pl
import pytest

import llmframe
from llmframe.api import keeping
from llmframe.clients import openai_batch
from llmframe.clients.batch import BatchLimits
from llmframe.testing import NoChoices, Provider, Status
from llmframe.testing.batch_faults import Results
from tests.contracts.kinds import Kind

pytestmark = pytest.mark.filterwarnings("ignore:.*rows failed:llmframe.errors.LlmframeWarning")

FOUR: dict[str, Any] = {"dimensions": 4, "progress": False}
TEXTS = ["row-1", None, "row-2", "row-1", "ä→\u2028", "", "row-4", "long " * 9_000, "row-5"]
"""Six distinct texts that are sent, one of them alone: 45,000 characters may be more than 8,192 tokens."""

PRICES = {"m": {"input": 2.0, "output": 8.0}}

Setup = Callable[[Provider], None]
Step = Callable[[str, dict[str, Any]], Any]


def nothing(prompt: str, request: dict[str, Any]) -> None:
    """Every text gets its vector."""


def one_bad_text(prompt: str, request: dict[str, Any]) -> Any:
    return Status(400, "invalid_value", "bad text", "input") if "row-2" in request["input"] else None


def a_wordless_refusal(prompt: str, request: dict[str, Any]) -> Any:
    return Status(400) if "row-2" in request["input"] else None


def one_text_at_most(prompt: str, request: dict[str, Any]) -> Any:
    return Status(413) if len(request["input"]) > 1 else None


def no_base64(prompt: str, request: dict[str, Any]) -> Any:
    refused = Status(400, None, "Unsupported", "encoding_format")
    return refused if request["encoding_format"] == "base64" else None


def no_vectors(prompt: str, request: dict[str, Any]) -> Any:
    return NoChoices() if "row-5" in request["input"] else None


class Three:
    """The same call live, by batches and from the store, each provider with the same answers."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def __call__(self, native: Any, column: str = "text", *, answer: Step = nothing, **options: Any) -> list[Any]:
        live, batch = (self._stack.enter_context(Provider(answer=answer)) for _ in range(2))
        frames = [llmframe.embed(native, column, client=live, **options)]
        frames.append(llmframe.embed(native, column, client=batch, mode="batch", **options))
        self.run = llmframe.last_run()
        assert batch.requests == 0
        self.batch, self.live = batch.batches, live
        frames.append(llmframe.embed(native, column, client=batch, **options))
        self.again = batch.requests
        return frames


@pytest.fixture
def three() -> Iterator[Three]:
    keeping._process_store.clear()
    with ExitStack() as stack:
        yield Three(stack)


def plain(values: list[Any]) -> list[Any]:
    return [
        list(map(float, value)) if hasattr(value, "__len__") and not isinstance(value, str) else value
        for value in values
    ]


def same(kind: Kind, frames: list[Any]) -> dict[str, list[Any]]:
    """The columns that all frames have alike, in values and dtypes."""
    first, *others = [{name: plain(column) for name, column in kind.to_dict(frame).items()} for frame in frames]
    assert others == [first] * len(others)
    assert all(kind.dtypes(frame) == kind.dtypes(frames[0]) for frame in frames)
    return first


def test_live_batch_and_store_give_the_same_frame(library: Kind, three: Three):
    got = same(library, three(library.make({"text": TEXTS, "n": list(range(9))}), **FOUR))
    assert [error and error.split(":")[0] for error in got["error"]] == [
        *(None, "null", None, None, None, "empty", None, "context_length", None)
    ]
    assert (three.batch.created, three.batch.lines, three.again) == (1, 1, 1)  # what is too long is asked each time
    run = three.run
    assert (run.batches, run.batch_requests, run.batch_rows, run.requests) == (1, 5, 6, 0)


def test_a_series_of_texts_goes_by_batches(library: Kind, three: Three):
    assert library.make_series is not None
    live, *others = (
        plain(library.to_list(each)) for each in three(library.make_series(["a", None, "a"], "t"), "t", **FOUR)
    )
    assert others == [live, live]


def test_the_answers_of_a_batch_tell_the_width_where_nobody_said_it(three: Three):
    frames = three(pl.DataFrame({"text": ["a", "b"]}), progress=False)
    assert frames[0]["embedding"].dtype == frames[1]["embedding"].dtype == frames[2]["embedding"].dtype
    assert isinstance(frames[0]["embedding"].dtype, pl.Array)


FAILURES: dict[str, tuple[Step, int]] = {
    "one bad text": (one_bad_text, 2),
    "one bad text, without a word": (a_wordless_refusal, 2),
    "one text a request": (one_text_at_most, 2),
    "no base64": (no_base64, 2),
    "no vector": (no_vectors, 1),
}


@pytest.mark.parametrize("fallback", ["batch", "live", None])
@pytest.mark.parametrize(("answer", "batches"), FAILURES.values(), ids=FAILURES.keys())
def test_what_fails_live_fails_so_by_batches_and_takes_no_neighbour_along(
    three: Three, answer: Step, batches: int, fallback: Any
):
    texts = ["row-1", "row-2", "row-3", "row-5", "row-6", "row-7"]
    options: dict[str, Any] = {**FOUR, "batch_size": 3, "fallback": fallback}
    frames = three(pl.DataFrame({"text": texts}), answer=answer, **options)
    errors = [frame["error"].to_list() for frame in frames]
    failed = {"row-2"} if "bad" in answer.__name__ or "wordless" in answer.__name__ else set()
    failed |= {"row-5", "row-6", "row-7"} if answer is no_vectors else set()
    assert [{text for text, error in zip(texts, column, strict=True) if error} for column in errors[:2]] == [failed] * 2
    assert errors[0] == errors[1]
    assert frames[0]["embedding"].to_list() == frames[1]["embedding"].to_list()
    assert three.batch.created == batches  # taking lines apart is no further batch of the fallback's


def test_a_text_is_paid_once_and_rows_tell_what_the_provider_counted(provider: Provider):
    texts = [f"text {number} " + "x" * (number % 7) for number in range(40)]
    frame = pl.DataFrame({"text": texts * 2})
    options: dict[str, Any] = {**FOUR, "client": provider, "model": "m", "prices": PRICES, "meta": True}
    out = frame.llm.embed("text", mode="batch", batch_size=9, **options)
    meta, run = out["llm_meta"].struct.unnest(), llmframe.last_run()
    paid = provider.batches._book.batches.values()
    counted = sum(batch.object()["usage"]["input_tokens"] for batch in paid)
    assert set(provider.batches.paid_prompts.values()) == {1}
    assert meta["input_tokens"].sum() == run.input_tokens == counted
    assert run.usd == pytest.approx(meta["usd"].sum()) == pytest.approx(counted * 1e-6)  # half of two dollars a million
    assert meta["source"].to_list() == ["batch"] * 40 + ["shared"] * 40
    assert provider.batches.lines == 5  # 40 texts, nine a line


def test_what_a_batch_left_goes_live_with_what_it_took_before(provider: Provider):
    provider.batches.ends("expired", done=0.5)
    frame = pl.DataFrame({"text": ["a", "b", "c", "d"]})
    out = frame.llm.embed("text", client=provider, mode="batch", fallback="live", batch_size=2, meta=True, **FOUR)
    meta = out["llm_meta"].struct.unnest()
    assert meta["source"].to_list() == ["batch", "batch", "live", "live"]
    assert meta["attempts"].to_list() == [1, 1, 2, 2]
    assert out["embedding"].null_count() == 0
    assert provider.requests == 1


def test_without_a_fallback_what_expired_is_the_rows_error(provider: Provider):
    provider.batches.ends("expired", done=0.5)
    frame = pl.DataFrame({"text": ["a", "b", "c", "d"]})
    options: dict[str, Any] = {**FOUR, "client": provider, "mode": "batch", "batch_size": 2}
    out = frame.llm.embed("text", fallback=None, **options)
    assert [error and error.split(":")[0] for error in out["error"]] == [None, None, "batch_expired", "batch_expired"]
    again = frame.llm.embed("text", **options)
    assert again["error"].null_count() == 4
    assert set(provider.batches.paid_prompts.values()) == {1}


def test_lines_in_any_order_doubled_or_missing_give_every_row_its_own(provider: Provider):
    provider.batches.returns(Results(reverse=True, double=True, unknown=2, missing=1), times=1)
    frame = pl.DataFrame({"text": [f"text {number}" for number in range(10)]})
    out = frame.llm.embed("text", client=provider, mode="batch", batch_size=3, **FOUR)
    with Provider() as other:
        assert out.equals(frame.llm.embed("text", client=other, **FOUR))
    assert provider.batches.created == 2  # what the first line asked for, again


def test_a_batch_holds_so_many_texts_however_few_lines(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(openai_batch, "EMBEDDINGS_LIMITS", BatchLimits(lines=50_000, bytes=10**8, inputs=10))
    provider.batches.max_inputs = 10
    frame = pl.DataFrame({"text": [f"text {number}" for number in range(24)]})
    out = frame.llm.embed("text", client=provider, mode="batch", batch_size=4, **FOUR)
    assert out["error"].null_count() == 24
    assert provider.batches.created == 3  # two lines of four: a third would make twelve texts


def test_a_refused_batch_is_told_before_it_begins(provider: Provider):
    with pytest.raises(llmframe.UsageError, match="cache=False"):
        pl.DataFrame({"text": ["a"]}).llm.embed("text", client=provider, mode="batch", cache=False)
    with pytest.raises(llmframe.UsageError, match="`mode` must be one of 'live', 'batch'"):
        pl.DataFrame({"text": ["a"]}).llm.embed("text", client=provider, mode="bath")


def test_a_call_that_was_left_is_found_again_and_new_texts_go_in_a_batch_of_their_own(provider: Provider):
    texts = [f"text {number}" for number in range(10)]
    options: dict[str, Any] = {**FOUR, "client": provider, "mode": "batch", "batch_size": 4}
    provider.batches.hold()
    with ThreadPoolExecutor() as pool:
        left = pool.submit(lambda: pl.DataFrame({"text": texts}).llm.embed("text", **options))
        provider.batches.wait_calls("state")
        llmframe.cancel()
        assert {error.split(":")[0] for error in left.result()["error"]} == {"cancelled"}
    provider.batches.finish()
    out = pl.DataFrame({"text": [*texts, "new", "text 3"]}).llm.embed("text", **options)
    assert out["error"].null_count() == 12
    assert provider.batches.created == 2
    assert set(provider.batches.paid_prompts.values()) == {1}
    assert out["embedding"][3].to_list() == out["embedding"][11].to_list()
