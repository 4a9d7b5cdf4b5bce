"""What is sent: the same text from every library, in the order of system, examples, messages."""

from __future__ import annotations

import json
import math
import threading
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.testing import Provider
from tests.contracts.kinds import ALL_KINDS, Kind


class Verdict(BaseModel):
    label: Literal["pos", "neg"]


CELLS: dict[str, tuple[Any, str]] = {
    "text": (["größe {t} }} {{ 😀", "b"], "größe {t} }} {{ 😀"),
    "integers": ([9007199254740993, -1], "9007199254740993"),
    "truths": ([True, False], "True"),
    "floats": ([0.1, 1e300], "0.1"),
    "whole floats": ([1.0, 2.5], "1.0"),
    "dates": ([date(2024, 2, 29), date(1999, 1, 1)], "2024-02-29"),
    "moments": ([datetime(2024, 2, 29, 1, 2, 3), datetime(1999, 1, 1)], "2024-02-29T01:02:03"),  # noqa: DTZ001
    "moments in a zone": ([datetime(2024, 2, 29, 1, tzinfo=UTC)] * 2, "2024-02-29T01:00:00+00:00"),
    "times": ([time(1, 2, 3), time(4, 5)], "01:02:03"),
    "durations": ([timedelta(seconds=90), timedelta(days=1)], "PT1M30S"),
    "decimals": ([Decimal("1.50"), Decimal("20.00")], "1.50"),
    "lists": ([["a", "b"], []], '["a","b"]'),
    "structs": ([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], '{"a":1,"b":"x"}'),
}


@pytest.mark.parametrize(("values", "text"), CELLS.values(), ids=CELLS.keys())
def test_cells_are_sent_as_the_same_text_from_every_library(provider: Provider, values: list[Any], text: str):
    frames = [
        pd.DataFrame({"x": pd.Series(values, dtype=object)}),
        pd.DataFrame({"x": values}),
        pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values)]))}),
        pl.DataFrame({"x": values}),
        pa.table({"x": values}),
        [{"x": value} for value in values],
    ]
    distinct = len({repr(value) for value in values})
    for frame in frames:
        llmframe.map(frame, "J {x}", bool, client=provider)
        assert f"J {text}" in provider.prompts
        assert provider.requests == distinct


def test_text_number_and_truth_stay_apart(provider: Provider):
    frame = pd.DataFrame({"x": pd.Series([1, True, 1.0, "1", Decimal("1.00"), 1], dtype=object)})
    frame.llm.map("J {x}", schema=bool, client=provider)
    # the text "1" and the number 1 render alike, hence ask the same
    assert sorted(provider.prompts) == ["J 1", "J 1.0", "J 1.00", "J True"]


def test_whole_numbers_with_a_gap_are_sent_as_the_floats_that_pandas_holds(provider: Provider):
    pd.DataFrame({"x": [1, math.nan]}).llm.map("J {x}", schema=bool, client=provider, on_null="render")
    assert sorted(provider.prompts) == ["J ", "J 1.0"]


BRACES = {
    'Reply as {"label": "pos"} for {t}': 'Reply as {"label": "pos"} for a',
    'Reply as {{"label": "pos"}} for {t}': 'Reply as {"label": "pos"} for a',
    "{{{t}}}": "{a}",
    "{ {t}": "{ a",
    "{n:.2f} {t:>3}": "1.50   a",
    "{s.k}": "v",
}


@pytest.mark.parametrize(("template", "sent"), BRACES.items())
def test_braces_are_fields_or_text(library: Kind, provider: Provider, template: str, sent: str):
    library.make({"t": ["a"], "n": [1.5], "s": [{"k": "v"}]}).llm.map(template, schema=bool, client=provider)
    assert provider.prompts == [sent]


def test_cells_are_never_read_as_templates(kind: Kind, provider: Provider):
    cells = ["{evil} {0} }}", "{{ t }} {% for %}", "{t.__class__}"]
    for template in ("J {t}", "J {{ t }}"):
        kind.make({"t": cells}).llm.map(template, schema=bool, client=provider, cache=False)
        assert sorted(provider.prompts) == sorted(f"J {cell}" for cell in cells)
        provider.reset()


def test_jinja_templates_loop_and_choose(kind: Kind, provider: Provider):
    frame = kind.make({"t": ["a", "b"], "n": [1, 2]})
    frame.llm.map("{% if n > 1 %}many{% else %}one{% endif %} {{ t }}", schema=bool, client=provider)
    assert sorted(provider.prompts) == ["many b", "one a"]


def test_a_template_says_its_syntax_or_that_it_is_none(library: Kind, provider: Provider):
    frame = library.make({"t": ["a", "b"]})
    frame.llm.map(llmframe.Template("{t} {{ t }}", syntax="jinja2"), schema=bool, client=provider)
    assert sorted(provider.prompts) == ["{t} a", "{t} b"]
    provider.reset()
    frame.llm.map(llmframe.Template("Tell a joke {t}", literal=True), schema=str, client=provider)
    assert provider.prompts == ["Tell a joke {t}"]


def test_messages_are_templates_each(library: Kind, provider: Provider):
    messages = [
        {"role": "system", "content": "You know {topic}."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "J {t}"},
    ]
    library.make({"t": ["a"], "topic": ["food"]}).llm.map(messages, schema=bool, client=provider)
    assert [(m["role"], m["content"]) for m in provider.bodies[0]["messages"]] == [
        ("system", "You know food."),
        ("user", "Hi"),
        ("assistant", "Yes?"),
        ("user", "J a"),
    ]


def test_a_callable_gets_a_row_as_a_dict(kind: Kind, provider: Provider):
    seen: list[dict[str, Any]] = []

    def prompt(row: dict[str, Any]) -> str | list[dict[str, str]]:
        seen.append(dict(row))
        return f"J {row['t']}" if row["n"] == 1 else [{"role": "user", "content": f"M {row['t']}"}]

    kind.make({"t": ["a", "b"], "n": [1, 2]}).llm.map(prompt, schema=bool, client=provider)
    assert sorted(provider.prompts) == ["J a", "M b"]
    assert seen == [{"t": "a", "n": 1}, {"t": "b", "n": 2}]


def test_a_system_message_is_a_template_too(library: Kind, provider: Provider):
    frame = library.make({"t": ["a"], "role": ["judge"]})
    frame.llm.map("J {t}", schema=bool, client=provider, system="You are a {role}.")
    assert provider.bodies[0]["messages"][0] == {"role": "system", "content": "You are a judge."}


ROWS = {"t": ["great", "bad"], "label": ["pos", "neg"]}
EXAMPLES: dict[str, Any] = {
    "pairs": [({"t": "great"}, {"label": "pos"}), ({"t": "bad"}, Verdict(label="neg"))],
    **{kind.name: kind.make(ROWS) for kind in ALL_KINDS},
}


@pytest.mark.parametrize("examples", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_examples_stand_between_system_and_question(library: Kind, provider: Provider, examples: Any):
    frame = library.make({"t": ["fine"]})
    frame.llm.map("J {t}", schema=Verdict, client=provider, system="S", examples=examples)
    messages = provider.bodies[0]["messages"]
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [m["content"] for m in messages[1::2]] == ["J great", "J bad", "J fine"]
    assert [json.loads(m["content"]) for m in messages[2::2]] == [{"label": "pos"}, {"label": "neg"}]


def test_examples_of_a_series_are_cells_with_answers(library: Kind, provider: Provider):
    series = library.make_series(["fine"], "t")
    series.llm.map("J {}", schema=["pos", "neg"], client=provider, examples=[("great", "pos")])
    messages = provider.bodies[0]["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "user"]
    assert messages[0]["content"] == "J great"
    assert "pos" in messages[1]["content"]


@pytest.mark.parametrize("examples", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_the_same_examples_serve_a_frame_its_series_and_an_expression(provider: Provider, examples: Any):
    frame = pl.DataFrame({"t": ["fine"]})
    options: dict[str, Any] = {"schema": Verdict, "client": provider, "examples": examples, "progress": False}
    frame.llm.map("J {t}", **options)
    assert frame["t"].llm.map("J {}", **options)["error"].to_list() == [None]
    assert frame.select(pl.col("t").llm.map("J {}", **options)).unnest("llm")["error"].to_list() == [None]
    assert provider.requests == 1, "one text, one question"


def test_halves_of_surrogate_pairs_are_not_sent(provider: Provider):
    with pytest.warns(match="1 of 2 rows failed: 1 encoding"):
        out = llmframe.map([{"t": "bad \ud800"}, {"t": "fine"}], "J {t}", bool, client=provider)
    assert out[0]["error"].startswith("encoding: ")
    assert provider.prompts == ["J fine"]


def test_progress_is_told_in_the_callers_thread(library: Kind, provider: Provider):
    seen: list[tuple[int, llmframe.Progress]] = []
    frame = library.make({"t": ["a", "b", "a"]})
    frame.llm.map("J {t}", schema=bool, client=provider, progress=lambda p: seen.append((threading.get_ident(), p)))
    assert {thread for thread, _ in seen} == {threading.get_ident()}
    last = seen[-1][1]
    assert (last.rows, last.done, last.failed, last.in_flight) == (3, 3, 0, 0)


def test_a_plan_costs_nothing_and_tells_the_cost(kind: Kind, provider: Provider):
    frame = kind.make({"t": ["a", "b", None, "a", "c"], "n": [1, 1, 1, 1, 0]})
    options: dict[str, Any] = {"schema": Verdict, "client": provider, "model": "gpt-4o-mini"}
    where = (lambda df: df["n"] > 0) if kind.library == "pandas" else pl.col("n") > 0
    plan = frame.llm.plan("J {t}", where=where, **options)
    assert provider.requests == 0
    assert (plan.rows, plan.null_rows, plan.failed_rows, plan.not_asked) == (5, 1, 0, 1)
    assert (plan.requests, plan.cached) == (2, 0)
    assert [[message["content"] for message in prompt] for prompt in plan.prompts] == [["J a"], ["J b"]]
    assert plan.input_tokens > 0
    assert plan.output_tokens > 0
    assert "label" in plan.schema["properties"]
    frame.head(1).llm.map("J {t}", **options)
    again = frame.llm.plan("J {t}", where=where, **options)
    assert (again.requests, again.cached) == (1, 1)
    assert provider.requests == 1


def test_a_plan_for_a_model_with_a_price_tells_dollars():
    frame = pd.DataFrame({"t": ["a" * 4000, "b" * 4000]})
    plan = frame.llm.plan("{t}", schema=bool, model="openai/gpt-4o-mini", api_key="k")
    # 0.15 dollars a million tokens in, some 2,000 of them, and 0.60 a million out
    assert plan.usd == pytest.approx(plan.input_tokens * 0.15e-6 + plan.output_tokens * 0.6e-6)
    assert plan.usd > 2000 * 0.15e-6
    assert plan.usd_batch == pytest.approx(plan.usd / 2)
    assert (plan.batch_api, plan.batches) == (True, 1)
    free = frame.llm.plan("{t}", schema=bool, model="m", base_url="http://localhost:1/v1", mode="batch")
    assert (free.usd, free.usd_batch) == (None, None)
    assert (free.mode, free.batch_api, free.batches) == ("batch", None, 1)
    with pytest.raises(llmframe.UsageError, match="Batch API"):
        frame.llm.plan("{t}", schema=bool, model="google/gemini-2.5-pro", mode="batch")
    with pytest.raises(llmframe.UsageError, match="leave out `cache=False`"):
        frame.llm.plan("{t}", schema=bool, model="openai/gpt-4o-mini", mode="batch", cache=False)
