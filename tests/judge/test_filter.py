"""`filter` as a question: true, false, and neither."""

from __future__ import annotations

import polars as pl
import pytest

from llmframe.errors import LlmframeWarning, RowError, UsageError
from llmframe.judge.filter import filter as rows_of  # not the builtin's name
from llmframe.testing import Provider, Text

FRAME = pl.DataFrame({"t": ["row-1", "row-2", "row-3"], "n": [1, 2, 3]})


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        ('{"response": true}', 3),
        ("true", 3),
        ('{"response": false}', 0),
    ],
)
def test_what_is_said_true_stays_and_what_is_said_false_goes(answer: str, rows: int):
    with Provider() as provider:
        provider.always(Text(answer))
        assert rows_of(FRAME, "{t} is short", client=provider).height == rows


@pytest.mark.parametrize("answer", ['{"response": "maybe"}', '{"response": null}', "", "I think it is true", "[true]"])
def test_what_is_neither_is_a_failure_and_no_true(answer: str):
    with Provider() as provider:
        provider.always(Text(answer))
        with pytest.warns(LlmframeWarning, match="3 of 3 rows failed"):
            assert rows_of(FRAME, "{t} is short", client=provider, reask=0).height == 0
        with pytest.warns(LlmframeWarning, match="3 of 3 rows failed"):
            kept = rows_of(FRAME, "{t} is short", client=provider, reask=0, keep_errors=True)
    assert kept["n"].to_list() == [1, 2, 3]
    assert kept["error"].null_count() == 0


def test_rows_that_a_budget_did_not_reach_are_no_true_either():
    with Provider() as provider:
        provider.always(Text("true"))
        with pytest.warns(LlmframeWarning, match="2 of 3 rows failed"):
            out = rows_of(FRAME, "{t} is short", client=provider, budget={"calls": 1}, keep_errors=True)
        assert provider.requests == 1
    assert out["error"].null_count() == 1
    assert out.height == 3


def test_a_sentence_about_a_template_is_sent_as_it_is():
    with Provider() as provider:
        rows_of(FRAME, "it holds {braces}", column="{t}/{n}", client=provider)
        system, user = provider.bodies[0]["messages"]
    assert "it holds {braces}" in system["content"]
    assert user["content"] in {f"Text:\nrow-{n}/{n}" for n in (1, 2, 3)}


def test_the_probability_of_what_is_true_stays_with_its_source():
    with Provider() as provider:
        provider.always(Text('{"response": true}'))
        out = rows_of(FRAME, "{t} is short", confidence="logprobs", client=provider)
    assert out.columns == ["t", "n", "confidence", "confidence_source"]


def test_a_lazy_query_that_is_filtered_is_still_lazy_and_writes_to_a_file(tmp_path):
    with Provider() as provider:
        provider.always(Text("true"))
        rows_of(FRAME.lazy(), "{t} is short", client=provider).sink_parquet(tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").equals(FRAME)


def test_on_error_raise_raises_the_first_failure():
    with Provider() as provider:
        provider.always(Text("neither"))
        with pytest.raises(UsageError, match="rows that are there"):
            rows_of(FRAME.lazy(), "{t} is short", client=provider, on_error="raise")
        with pytest.raises(RowError, match="row 0 failed: invalid"):
            rows_of(FRAME, "{t} is short", client=provider, on_error="raise", max_concurrency=1, reask=0)


def test_a_tie_of_judges_is_no_true_and_stays_with_what_is_unknown():
    def said(prompt: str, request: dict[str, object]) -> object:
        return {"response": "row-1" in prompt or request["model"] == "a"}

    with Provider(answer=said) as provider:
        out = rows_of(FRAME, "{t} is short", models=["a", "b"], client=provider)
        kept = rows_of(FRAME, "{t} is short", models=["a", "b"], client=provider, keep_errors=True)
    assert out.equals(FRAME.head(1))
    assert kept.columns == ["t", "n", "confidence", "confidence_source", "error"]
    assert kept["confidence_source"].to_list() == ["panel", "tie", "tie"]


def test_a_source_of_an_earlier_map_says_nothing_about_this_one():
    frame = FRAME.with_columns(confidence_source=pl.lit("tie"))
    with Provider() as provider:
        provider.always(Text("false"))
        assert rows_of(frame, "{t} is short", client=provider, keep_errors=True).height == 0
