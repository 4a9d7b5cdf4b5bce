"""Which columns a map adds: names, places, prefix, one struct, own columns beside the schema's."""

from __future__ import annotations

import math
from typing import Any, Literal

import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.errors import LlmframeWarning, UsageError
from llmframe.testing import Object, Provider, Status
from tests.contracts.kinds import Kind


class Verdict(BaseModel):
    id: str
    label: Literal["pos", "neg"]


class Topic(BaseModel):
    topic: Literal["food", "service"]


class Own(BaseModel):
    shape: str
    index: int
    count: int
    error: str
    confidence: float


class Rated(BaseModel):
    label: Literal["pos", "neg"]
    urgent: bool
    note: str


def test_maps_chain_with_a_prefix(kind: Kind, provider: Provider):
    frame = kind.make({"t": ["row-1", "row-2"]})
    out = frame.llm.map("A {t}", schema=Verdict, client=provider).llm.map(
        "B {t} {label}", schema=Topic, client=provider, prefix="b_"
    )
    assert list(kind.to_dict(out)) == ["t", "id", "label", "error", "b_topic", "b_error"]
    labels = kind.to_dict(out)["label"]
    assert sorted(provider.prompts[2:]) == sorted([f"B row-1 {labels[0]}", f"B row-2 {labels[1]}"])
    assert kind.to_dict(kind.through_parquet(out)) == kind.to_dict(out)


def test_only_rows_under_where_are_asked_and_others_have_nulls_and_no_error(kind: Kind, provider: Provider):
    frame = kind.make({"t": ["row-1", "row-2", None, "row-4"], "n": [1, 5, 5, 7]})
    where = (lambda df: df["n"] > 4) if kind.library == "pandas" else pl.col("n") > 4
    with pytest.warns(LlmframeWarning, match="1 of 3 rows failed: 1 null"):
        out = frame.llm.map("J {t}", schema=Verdict, client=provider, where=where)
    columns = kind.to_dict(out)
    assert columns["id"] == [None, "row-2", None, "row-4"]
    assert columns["error"] == [None, None, "null: missing value in 't'", None]
    assert provider.requests == 2
    assert llmframe.last_run().not_asked == 1


def test_failed_rows_are_filled_in_place_by_the_next_map(kind: Kind, provider: Provider):
    provider.when("row-2", Status(400, "context_length_exceeded"))
    frame = kind.make({"t": ["row-1", "row-2", "row-3"]})
    with pytest.warns(LlmframeWarning, match="1 of 3 rows failed"):
        once = frame.llm.map("J {t}", schema=Verdict, client=provider)
    provider.reset()
    failed = (lambda df: df["error"].notna()) if kind.library == "pandas" else pl.col("error").is_not_null()
    out = once.llm.map("Shorter: {t}", schema=Verdict, client=provider, where=failed, overwrite=True)
    assert provider.prompts == ["Shorter: row-2"]
    columns = kind.to_dict(out)
    assert list(columns) == ["t", "id", "label", "error"]
    assert columns["id"] == ["row-1", "row-2", "row-3"]
    assert columns["error"] == [None, None, None]
    assert columns["label"][0] == kind.to_dict(once)["label"][0]
    assert kind.dtypes(out) == kind.dtypes(once)


def test_one_struct_holds_everything_on_demand(kind: Kind, provider: Provider):
    with pytest.warns(LlmframeWarning, match="1 null"):
        out = kind.make({"t": ["row-1", None, "row-3"]}).llm.map(
            "J {t}", schema=Verdict, client=provider, into="x", prefix="a_", where=[True, True, False]
        )
    columns = kind.to_dict(out)
    assert list(columns) == ["t", "a_x"]
    first, second, third = columns["a_x"]
    assert set(first) == {"id", "label", "error"}
    assert (first["id"], first["error"]) == ("row-1", None)
    assert second == {"id": None, "label": None, "error": "null: missing value in 't'"}
    assert third is None
    assert kind.dtypes(kind.through_parquet(out))[1:] == kind.dtypes(out)[1:]


def test_one_value_is_named_by_into(kind: Kind, provider: Provider):
    out = kind.make({"t": ["a"]}).llm.map("J {t}", schema=bool, client=provider, into="good")
    assert list(kind.to_dict(out)) == ["t", "good", "error"]
    plain = kind.make({"t": ["a"]}).llm.map("J {t}", schema=bool, client=provider)
    assert list(kind.to_dict(plain)) == ["t", "response", "error"]
    series = kind.make_series(["a"], "t").llm.map("J {}", schema=bool, client=provider, into="good")
    assert series.name == "good"


def test_fields_with_names_of_ours_keep_them(kind: Kind, provider: Provider):
    out = kind.make({"t": ["a", "b"]}).llm.map("J {t}", schema=Own, client=provider)
    columns = kind.to_dict(out)
    assert list(columns) == ["t", "shape", "index", "count", "error", "confidence", "llm_error"]
    assert columns["llm_error"] == [None, None]
    assert all(isinstance(value, str) for value in columns["error"])
    assert out.shape == (2, 7)


def test_a_stated_confidence_is_asked_for_and_held_to_its_range(kind: Kind, provider: Provider):
    out = kind.make({"t": ["a"]}).llm.map("J {t}", schema=["pos", "neg"], client=provider, confidence="stated")
    columns = kind.to_dict(out)
    assert list(columns) == ["t", "response", "confidence", "confidence_source", "error"]
    assert 0 <= columns["confidence"][0] <= 1
    assert "confidence" in str(provider.bodies[0]["response_format"])
    provider.always(Object({"response": "pos", "confidence": 1.5}))
    with pytest.warns(LlmframeWarning, match="1 invalid"):
        bad = kind.make({"t": ["b"]}).llm.map(
            "J {t}", schema=["pos", "neg"], client=provider, confidence="stated", reask=0
        )
    assert kind.to_dict(bad)["response"] == kind.to_dict(bad)["confidence"] == [None]


def test_several_closed_fields_have_a_confidence_each(library: Kind, provider: Provider):
    out = library.make({"t": ["a"]}).llm.map("J {t}", schema=Rated, client=provider, confidence="stated", prefix="p_")
    names = list(library.to_dict(out))
    assert {"p_label_confidence", "p_urgent_confidence", "p_error"} < set(names)
    assert "p_note_confidence" not in names


def test_the_schemas_own_confidence_is_used(library: Kind, provider: Provider):
    class Said(BaseModel):
        label: Literal["pos", "neg"]
        confidence: float

    out = library.make({"t": ["a"]}).llm.map("J {t}", schema=Said, client=provider, confidence="stated")
    assert list(library.to_dict(out)) == ["t", "label", "confidence", "confidence_source", "error"]


@pytest.mark.filterwarnings("ignore::llmframe.errors.LlmframeWarning")
def test_meta_report_and_provider_count_the_same(kind: Kind, provider: Provider):
    provider.when("row-2", Object({"id": 3}), times=1)  # asked again
    provider.when("row-3", Status(500), times=1)  # sent again, unpaid
    provider.when("row-4", Object({}))  # fails after two paid replies
    rows = ["row-1", "row-2", "row-1", "row-3", "row-4", None]
    out = kind.make({"t": rows}).llm.map("J {t}", schema=Verdict, client=provider, model="gpt-4o-mini", meta=True)
    meta = kind.to_dict(out)["llm_meta"]
    run = llmframe.last_run()
    for name, sent in (("input_tokens", provider.prompt_tokens), ("output_tokens", provider.completion_tokens)):
        assert sum(each[name] for each in meta) == getattr(run, name) == sent
    assert [each["attempts"] for each in meta] == [1, 2, 0, 2, 2, 0]
    assert sum(each["attempts"] for each in meta) == run.requests == provider.requests == 7
    assert [each["source"] for each in meta] == ["live", "live", "shared", "live", "live", None]
    assert meta[0]["fingerprint"] == meta[2]["fingerprint"] != meta[1]["fingerprint"]
    # the simulated provider has no price of its own
    assert run.usd is None or math.isclose(sum(each["usd"] or 0 for each in meta), run.usd)
    again = kind.make({"t": ["row-1"]}).llm.map(
        "J {t}", schema=Verdict, client=provider, model="gpt-4o-mini", meta=True
    )
    kept = kind.to_dict(again)["llm_meta"][0]
    assert (kept["source"], kept["attempts"], kept["input_tokens"]) == ("cache", 0, 0)
    assert "llm_meta" in kind.to_dict(kind.through_parquet(out))


STRANGE: list[Any] = ["user.name", "case:id", "a[0]", "Review Text", "größe", "from", "{x}", "a!r", "", "名"]


@pytest.mark.parametrize("name", [name for name in STRANGE if name not in ("", "{x}")])
def test_every_name_of_a_column_can_be_used(kind: Kind, provider: Provider, name: str):
    data = {each: [f"value of {each}"] for each in STRANGE}
    out = kind.make(data).llm.map(f"J {{{name}}}", schema=bool, client=provider)
    assert provider.prompts == [f"J value of {name}"]
    assert list(kind.to_dict(out)) == [*STRANGE, "response", "error"]


def test_whole_numbers_name_columns_too(provider: Provider):
    out = pd.DataFrame([["a", "b"]], columns=[0, 1]).llm.map("J {1}", schema=bool, client=provider)
    assert provider.prompts == ["J b"]
    assert out.columns.tolist() == [0, 1, "response", "error"]


def test_columns_of_one_name_are_kept_and_none_of_them_can_be_used(provider: Provider):
    frame = pd.DataFrame([["a", "b", "c"]], columns=["t", "t", "x"])
    out = frame.llm.map("J {x}", schema=bool, client=provider)
    assert out.columns.tolist() == ["t", "t", "x", "response", "error"]
    assert out.iloc[:, :3].equals(frame)
    with pytest.raises(UsageError, match="'t'"):
        frame.llm.map("J {t}", schema=bool, client=provider)
    assert provider.requests == 1


def test_columns_of_several_levels_get_names_of_as_many(provider: Provider):
    columns = pd.MultiIndex.from_tuples([("review", "text"), ("review", "stars")])
    frame = pd.DataFrame([["row-1", 5], ["row-2", 1]], columns=columns)
    out = frame.llm.map("J {review.text}: {review.stars}", schema=Verdict, client=provider)
    assert provider.prompts
    assert sorted(provider.prompts) == ["J row-1: 5", "J row-2: 1"]
    assert out.columns.tolist() == [*columns, ("id", ""), ("label", ""), ("error", "")]
    assert out[("id", "")].tolist() == ["row-1", "row-2"]
    with pytest.raises(UsageError, match="'id'"):
        out.llm.map("J {review.text}", schema=Verdict, client=provider)


INDEXES: dict[str, Any] = {
    "duplicates and mixed labels": [7, 7, 3, "z"],
    "several levels": pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 1), ("b", 2)], names=["x", None]),
    "moments with a gap": pd.DatetimeIndex(["2024-01-02", None, "2024-01-01", "2024-01-02"], name="when"),
    "categories": pd.CategoricalIndex(["u", "v", "u", None], ordered=True),
    "intervals": pd.interval_range(0, 4),
    "without a number": pd.Index([1.5, math.nan, math.nan, 0.0]),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES.keys())
def test_values_are_placed_by_position_whatever_the_index(provider: Provider, index: Any):
    frame = pd.DataFrame({"t": [f"row-{number}" for number in range(4)]}, index=index).iloc[[3, 1, 0]]
    before = frame.index
    out = frame.llm.map("J {t}", schema=Verdict, client=provider)
    assert out["id"].tolist() == ["row-3", "row-1", "row-0"]
    assert out.index is before
    series = frame["t"].llm.map("J {}", schema=str, client=provider)
    pd.testing.assert_index_equal(series.index, before, exact=True)
    frame["answer"] = series.to_numpy()
    assert frame["answer"].notna().all()
