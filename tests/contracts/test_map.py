"""What a map promises of rows: each keeps its place, equal questions are asked once, the input stays as it was."""

from __future__ import annotations

import copy
import pickle
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import pandas as pd
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.errors import LlmframeWarning
from llmframe.testing import Provider, Status
from tests.contracts.kinds import Kind


class Sentiment(BaseModel):
    label: Literal["pos", "neg"]
    reason: str


class Echo(BaseModel):
    """The simulated provider carries the row's token back in `id`."""

    id: str
    label: Literal["pos", "neg"]


def shuffled(prompt: str) -> float:
    """Seconds of an answer, 0 to 20 ms, in an order that has nothing to do with the rows'."""
    return zlib.crc32(prompt.encode()) % 21 / 1000


def test_rows_keep_their_place_and_null_rows_cost_nothing(any_kind: Kind, provider: Provider):
    frame = any_kind.make({"text": ["row-1", None, "row-2", "row-1"]})
    with pytest.warns(LlmframeWarning, match="1 of 4 rows failed: 1 null"):
        out = llmframe.map(frame, "Classify {text}", Echo, client=provider)
    columns = any_kind.to_dict(out)
    assert list(columns) == ["text", "id", "label", "error"]
    assert columns["text"] == ["row-1", None, "row-2", "row-1"]
    assert columns["id"] == ["row-1", None, "row-2", "row-1"]
    assert columns["error"] == [None, "null: missing value in 'text'", None, None]
    assert columns["label"][0] == columns["label"][3]
    assert type(out) is type(frame)
    assert provider.requests == 2


def test_five_thousand_rows_that_end_in_another_order_keep_their_answers(kind: Kind):
    rows = [f"row-{number % 500}" for number in range(5000)]
    with Provider(latency=shuffled) as provider:
        frame = kind.make({"t": rows})
        before = copy.deepcopy(frame)
        out = frame.llm.map("J {t}", schema=Echo, client=provider, cache=False)
        assert kind.to_dict(out)["id"] == rows
        assert set(kind.to_dict(out)["error"]) == {None}
        assert provider.requests == 500
    assert kind.to_dict(frame) == kind.to_dict(before) == {"t": rows}
    if kind.library == "pandas":
        assert out.index is frame.index
        pd.testing.assert_frame_equal(frame, before)


def test_five_thousand_questions_are_five_thousand_requests():
    rows = [f"row-{number}" for number in range(5000)]
    frame = pd.DataFrame({"t": rows}, index=[number // 2 for number in range(5000)])
    with Provider(latency=shuffled, record=False) as provider:
        out = frame.llm.map("J {t}", schema=Echo, client=provider, cache=False, max_concurrency=128)
        assert out["id"].tolist() == rows
        assert provider.requests == 5000
        assert provider.max_in_flight <= 128


@pytest.mark.parametrize("cache", [True, False])
def test_two_threads_over_the_same_frame_ask_once(kind: Kind, provider: Provider, *, cache: bool):
    rows = [f"row-{number % 40}" for number in range(400)]
    frame = kind.make({"t": rows})
    provider.hold()
    with ThreadPoolExecutor(2) as threads:
        # the second map joins what is in flight, or reads what was kept if it comes late
        maps = [
            threads.submit(
                frame.llm.map, "J {t}", schema=Echo, client=provider, cache=cache, max_concurrency=64, meta=True
            )
            for _ in range(2)
        ]
        provider.wait_in_flight(8)
        provider.release()
        outs = [kind.to_dict(each.result(timeout=30)) for each in maps]
    assert [out["id"] for out in outs] == [rows, rows]
    if cache:
        assert provider.requests == 40
        paid = sum(meta["input_tokens"] for out in outs for meta in out["llm_meta"])
        assert paid == provider.prompt_tokens


def test_retried_rows_keep_their_place(kind: Kind, provider: Provider):
    rows = [f"row-{number}" for number in range(30)]
    provider.when(lambda prompt: int(prompt.split("-")[1]) % 3 == 0, Status(500), times=1, per_prompt=True)
    out = kind.make({"t": rows}).llm.map("J {t}", schema=Echo, client=provider)
    assert kind.to_dict(out)["id"] == rows
    assert provider.requests == 40


def test_without_rows_nothing_is_sent_and_the_columns_are_there(kind: Kind, provider: Provider):
    some = kind.make({"t": ["a"]}).llm.map("J {t}", schema=Sentiment, client=provider, meta=True)
    sent = provider.requests
    none = kind.make({"t": []}).llm.map("J {t}", schema=Sentiment, client=provider, meta=True, progress=True)
    assert kind.dtypes(none)[1:] == kind.dtypes(some)[1:]
    assert kind.to_dict(none) == {"t": [], "label": [], "reason": [], "error": [], "llm_meta": []}
    assert provider.requests == sent
    assert list(kind.to_dict(kind.through_parquet(none))) == ["t", "label", "reason", "error", "llm_meta"]


async def test_a_list_without_rows_stays_one(provider: Provider):
    rows: list[dict[str, str]] = []
    out = llmframe.map(rows, "J {t}", Echo, client=provider)
    assert out == []
    assert out is not rows
    assert await llmframe.amap(rows, "J {t}", Echo, client=provider) == []
    with pytest.raises(llmframe.UsageError, match="schema is 3"):
        llmframe.map(rows, "J {t}", 3, client=provider)
    assert provider.requests == 0


@pytest.mark.filterwarnings("ignore::llmframe.errors.LlmframeWarning")
def test_dtypes_are_the_same_when_all_rows_fail_or_the_first_hundred(kind: Kind, provider: Provider):
    good = kind.make({"t": ["a", "b"]}).llm.map("J {t}", schema=Sentiment, client=provider)
    late = kind.make({"t": [None] * 101 + ["a", "b"]}).llm.map("J {t}", schema=Sentiment, client=provider)
    provider.always(Status(400, "context_length_exceeded"))
    bad = kind.make({"t": ["x", "y"]}).llm.map("J {t}", schema=Sentiment, client=provider)
    assert kind.dtypes(good) == kind.dtypes(late) == kind.dtypes(bad)
    assert kind.to_dict(bad)["label"] == kind.to_dict(bad)["reason"] == [None, None]
    assert kind.to_dict(late)["label"][101:] == kind.to_dict(good)["label"]
    for out in (good, late, bad):
        assert kind.dtypes(kind.through_parquet(out))[1:] == kind.dtypes(out)[1:]


def test_a_series_and_one_value_are_a_series(kind: Kind, provider: Provider):
    series = kind.make_series(["a", "b", "a"], "t")
    out = series.llm.map("Bug or praise? {}", schema=Literal["bug", "praise"], client=provider)
    assert type(out) is type(series)
    assert out.name == "response"
    assert set(kind.to_list(out)) <= {"bug", "praise"}
    frame = kind.make({"t": ["a", "b", "a"]})
    if kind.library == "pandas":
        frame["x"] = out
        assert frame["x"].tolist() == out.tolist()
    else:
        assert frame.with_columns(out.alias("x"))["x"].to_list() == out.to_list()
    assert provider.requests == 2


def test_a_series_and_a_model_are_a_frame(kind: Kind, provider: Provider):
    out = kind.make_series(["row-1", "row-2"], "t").llm.map("J {}", schema=Echo, client=provider)
    assert list(kind.to_dict(out)) == ["id", "label", "error"]
    assert kind.to_dict(out)["id"] == ["row-1", "row-2"]


def test_the_result_pickles_and_brings_a_small_report(kind: Kind, provider: Provider):
    out = kind.make({"t": ["a", "b", "a"]}).llm.map("J {t}", schema=Sentiment, client=provider, meta=True)
    again = kind.through_pickle(out)
    assert kind.to_dict(again) == kind.to_dict(out)
    assert kind.dtypes(again) == kind.dtypes(out)
    if kind.library == "pandas":
        assert len(out.attrs["llm"]) < 2000
        assert provider.api_key not in out.attrs["llm"]
        assert kind.to_dict(kind.through_parquet(out))["label"] == kind.to_dict(out)["label"]
        assert again.attrs == out.attrs


def test_a_frame_that_was_mapped_is_copied_deeply(kind: Kind, provider: Provider):
    frame = kind.make({"t": ["a"]})
    frame.llm.map("J {t}", schema=Sentiment, client=provider)
    out = copy.deepcopy(frame).llm.map("J {t}", schema=Sentiment, client=provider)
    assert kind.to_dict(copy.deepcopy(out)) == kind.to_dict(out)
    assert provider.requests == 1


def test_the_accessor_holds_nothing_but_its_frame(kind: Kind, provider: Provider):
    accessor = copy.deepcopy(kind.make({"t": ["row-9"]}).llm)
    assert kind.to_dict(accessor.map("J {t}", schema=Echo, client=provider))["id"] == ["row-9"]
    again = pickle.loads(pickle.dumps(accessor))  # noqa: S301 - what the test wrote itself
    assert kind.to_dict(again.map("J {t}", schema=Echo, client=provider))["id"] == ["row-9"]
