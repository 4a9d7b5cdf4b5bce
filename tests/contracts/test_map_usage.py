"""What can't work is told by one clear exception before anything is sent."""

from __future__ import annotations

import ast
import re
import uuid
from collections.abc import Callable
from typing import Any, Literal

import openai
import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.errors import UsageError
from llmframe.testing import Provider
from tests.contracts.kinds import Kind


class Verdict(BaseModel):
    label: Literal["pos", "neg"]
    reason: str


class Nothing(BaseModel):
    pass


class Calls(BaseModel):
    f: Callable[[], None]


class Twice(BaseModel):
    error: str
    llm_error: str


TEMPLATES = {
    "J {reviw}": "'reviw'.*did you mean 'review'",
    "Is it positive?": "uses no column",
    "": "template is empty",
    "{x.__class__.__init__.__globals__}": "__class__|absent|column",
    "{review!r}": "!r|conversion|absent",
    "{review:{n}}": "braces inside a field aren't supported",
    "{review:>999999999}": "width|spec",
    "{% for x in review %}": "template|tag|jinja",
    "{{ reviw }}": "'reviw'",
    "{{ review }} {n}": "Template",
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_bad_template_is_told(library: Kind, provider: Provider, template: str):
    frame = library.make({"review": ["a", "b"], "n": [1, 2], "x": [str(uuid.UUID(int=0)), "y"]})
    with pytest.raises(UsageError, match=f"(?is){TEMPLATES[template]}"):
        frame.llm.map(template, schema=Verdict, client=provider)
    assert provider.requests == 0


POS = ({"review": "x"}, {"label": "pos", "reason": "r"})

ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "text as schema": ({"schema": "x"}, "schema is 'x'"),
    "number as schema": ({"schema": 3}, "schema is 3"),
    "no labels": ({"schema": []}, "empty list of labels"),
    "label twice": ({"schema": ["a", "a"]}, "label 'a' twice"),
    "other labels": ({"schema": [1, "1"]}, "labels holds texts"),
    "no fields": ({"schema": Nothing}, "Nothing has no fields"),
    "no JSON": ({"schema": Calls}, "field 'f'"),
    "own names taken": ({"schema": Twice}, "both write a column 'llm_error'"),
    "provider's word": ({"temperature": 0}, r'params=\{"temperature": 0\}'),
    "typo": ({"promt_template": "x"}, "no argument 'promt_template'; did you mean 'prompt_template'"),
    "no concurrency": ({"max_concurrency": 0}, "`max_concurrency`.*at least 1"),
    "no time": ({"timeout": 0}, "`timeout`.*above 0"),
    "endless time": ({"timeout": float("inf")}, "`timeout`"),
    "no attempt": ({"max_attempts": 0}, "`max_attempts`"),
    "truth as number": ({"reask": True}, "`reask`"),
    "reserved": ({"params": {"n": 2}}, "'n'"),
    "messages": ({"params": {"messages": []}}, "'messages'"),
    "params as text": ({"params": "temperature=0"}, "`params` must be a dict"),
    "mask too short": ({"where": [True]}, "1 entries, the frame has 2 rows"),
    "mask of numbers": ({"where": [1, 0]}, "boolean"),
    "mask as name": ({"where": "label"}, "mask"),
    "on_null": ({"on_null": "drop"}, "`on_null` must be one of 'skip', 'render', 'raise', got 'drop'"),
    "labels": ({"labels": "text"}, "`labels`"),
    "nested": ({"nested": "struct"}, "`nested`"),
    "on_error": ({"on_error": "ignore"}, "`on_error`"),
    "loop": ({"loop": "mine"}, "`loop`"),
    "overwrite": ({"overwrite": "yes"}, "`overwrite`"),
    "prefix": ({"prefix": None}, "`prefix` must be text"),
    "into": ({"into": ""}, "`into` must be the name of a column"),
    "progress": ({"progress": "bar"}, "`progress`"),
    "batch": ({"mode": "batch", "cache": False}, "leave out `cache=False`, or name a file"),
    "votes": ({"samples": 5}, 'give `confidence="votes"`'),
    "confidence": ({"confidence": "logprob"}, "did you mean 'logprobs'"),
    "budget": ({"budget": "3"}, "`budget` must be dollars, a mapping or a llmframe.Budget, got '3': say budget=1.0"),
    "budget key": ({"budget": {"dollars": 3}}, "`budget` has no limit 'dollars'; limits: usd, tokens, calls, seconds"),
    "no price": ({"budget": 3, "model": "mine"}, r'needs the price of \'mine\'.*prices=\{"mine": \{"input": 0\.15'),
    "prices": ({"prices": {"m": 3}}, r"`prices\['m'\]` must be a dict"),
    "cache": ({"cache": 3}, "'refresh'"),
    "output_mode": ({"output_mode": "tool"}, "did you mean 'tools'"),
    "base_url too": ({"base_url": "http://localhost:1/v1"}, "leave 'base_url' out"),
    "example's label": ({"examples": [({"review": "x"}, {"label": "mixed", "reason": "r"})]}, "'label' must be 'pos'"),
    "example's field": ({"examples": [({"review": "x"}, {"lable": "pos", "reason": "r"})]}, "'lable'"),
    "example's column": ({"examples": [({"text": "x"}, {"label": "pos", "reason": "r"})]}, "review"),
    "example's form": ({"examples": ["x"]}, "pairs or a frame; example 1 is neither"),
    "second example": ({"examples": [POS, ({"review": "x"}, {"lable": "pos"})]}, "answer of example 2: .*'lable'"),
    "example's row": ({"examples": [POS, ({"reviw": "x"}, POS[1])]}, "example 2 lacks column 'review'"),
    "framed example": (
        {"examples": pd.DataFrame({"review": ["x", "y"], "label": ["pos", "mixed"], "reason": ["r", "r"]})},
        "answer of example 2: .*'label' must be",
    ),
    "system": ({"system": "About {prodct}"}, "'prodct'"),
}


@pytest.mark.parametrize(("options", "message"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_a_bad_argument_is_told(provider: Provider, options: dict[str, Any], message: str):
    for frame in (pd.DataFrame({"review": ["a", "b"]}), pl.DataFrame({"review": ["a", "b"]})):
        with pytest.raises(UsageError, match=f"(?s){message}"):
            frame.llm.map("J {review}", **{"schema": Verdict, "client": provider, **options})
    assert provider.requests == 0


def test_names_of_ours_are_told_before_anything_is_sent_wherever_they_land(provider: Provider):
    text = pl.Series("t", ["a"])
    ask = {"schema": Twice, "client": provider}
    for call in (
        lambda: text.llm.map("J {}", **ask),
        lambda: text.to_frame().llm.map("J {t}", into="x", **ask),
        lambda: pl.col("t").llm.map("J {}", **ask),
        lambda: text.to_frame().lazy().llm.map("J {t}", into="x", **ask),
    ):
        with pytest.raises(UsageError, match="both write a column 'llm_error'"):
            call()
    assert provider.requests == 0


@pytest.mark.parametrize("where", [None, [True, False]])
def test_columns_of_one_name_are_never_overwritten(provider: Provider, where: Any):
    frame = pd.DataFrame([["a", "x", "y"], ["b", "x", "y"]], columns=["t", "label", "label"])
    with pytest.raises(UsageError, match="can't tell which of the 2 columns named 'label'"):
        frame.llm.map("J {t}", schema=Verdict, client=provider, overwrite=True, where=where)
    assert provider.requests == 0


def test_without_a_model_three_lines_to_copy_are_shown(library: Kind):
    with pytest.raises(UsageError, match="no model was named") as caught:
        library.make({"t": ["a"]}).llm.map("J {t}", schema=Verdict)
    lines = str(caught.value).splitlines()[1:]
    assert len(lines) == 3
    for line in lines:
        ast.parse(f"f({line.split('#')[0]})")


def test_an_unknown_provider_is_told_by_its_nearest_name():
    with pytest.raises(UsageError, match="did you mean 'openai'"):
        pd.DataFrame({"t": ["a"]}).llm.map("J {t}", schema=Verdict, model="opnai/gpt-4o")


def test_a_synchronous_client_is_told_the_class_to_take():
    client = openai.OpenAI(api_key="k")
    with pytest.raises(UsageError, match=r"openai\.AsyncOpenAI"):
        pd.DataFrame({"t": ["a"]}).llm.map("J {t}", schema=Verdict, client=client, model="x")
    client.close()


def test_what_is_no_frame_is_told():
    with pytest.raises(UsageError, match=r"pandas or polars DataFrame.*got int"):
        llmframe.map(3, "J {t}", Verdict)  # type: ignore[type-var]


def test_a_clash_prints_two_remedies_and_both_work(library: Kind, provider: Provider):
    once = library.make({"t": ["a", "b"]}).llm.map("J {t}", schema=Verdict, client=provider)
    sent = provider.requests
    with pytest.raises(UsageError, match="columns 'label', 'reason', 'error'") as caught:
        once.llm.map("K {t}", schema=Verdict, client=provider)
    assert provider.requests == sent
    remedies = [ast.literal_eval(value) for value in re.findall(r"\.\.\., \w+=(.+)\)", str(caught.value))]
    names = re.findall(r"\.llm\.map\(\.\.\., (\w+)=", str(caught.value))
    assert names == ["prefix", "overwrite"]
    results = [
        once.llm.map("K {t}", schema=Verdict, client=provider, **{name: value})
        for name, value in zip(names, remedies, strict=True)
    ]
    prefix = str(remedies[0])
    columns = library.to_dict(results[0])
    assert list(columns) == ["t", "label", "reason", "error", f"{prefix}label", f"{prefix}reason", f"{prefix}error"]
    assert list(library.to_dict(results[1])) == ["t", "label", "reason", "error"]
    assert library.to_dict(results[1])["label"] == columns[f"{prefix}label"]


def test_the_offered_prefix_is_free(library: Kind, provider: Provider):
    frame = library.make({"t": ["a"], "label": ["x"], "llm_label": ["y"], "llm2_error": ["z"]})
    with pytest.raises(UsageError, match="a column 'label'") as caught:
        frame.llm.map("J {t}", schema=Verdict, client=provider)
    found = re.search(r'prefix="(\w+)"', str(caught.value))
    assert found is not None
    out = frame.llm.map("J {t}", schema=Verdict, client=provider, prefix=found[1])
    assert library.to_dict(out)["label"] == ["x"]


def test_overwriting_what_does_not_fit_is_told_before_anything_is_sent(library: Kind, provider: Provider):
    frame = library.make({"t": ["a", "b"], "label": ["pos", "mixed"]})
    with pytest.raises(UsageError, match="label"):
        frame.llm.map("J {t}", schema=Verdict, client=provider, overwrite=True, where=[True, False])
    assert provider.requests == 0


def test_plan_says_the_same_as_map(library: Kind, provider: Provider):
    frame = library.make({"review": ["a"], "label": ["x"]})
    with pytest.raises(UsageError, match=r'\.llm\.plan\(\.\.\., prefix="llm_"\)'):
        frame.llm.plan("J {review}", schema=Verdict, client=provider)
    with pytest.raises(UsageError, match="did you mean 'review'"):
        frame.llm.plan("J {reviw}", schema=Verdict, client=provider)


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "groq/llama-x"])
def test_plan_needs_neither_key_nor_package(library: Kind, model: str):
    plan = library.make({"review": ["a", "b", "a"]}).llm.plan("J {review}", schema=Verdict, model=model)
    assert (plan.rows, plan.requests, plan.model) == (3, 2, model.partition("/")[2])
    with pytest.raises(UsageError):
        library.make({"review": ["a"]}).llm.map("J {review}", schema=Verdict, model=model)


def test_plan_tells_why_rows_can_not_be_rendered(library: Kind, provider: Provider):
    frame = library.make({"review": ["a", "b", None]})
    plan = frame.llm.plan(lambda row: row["review"] + row.reviw, schema=Verdict, client=provider)
    assert (plan.failed_rows, plan.null_rows) == (2, 1)
    [problem] = plan.problems
    assert problem.startswith("render: AttributeError: the row is a dict, r['reviw'] and not r.reviw in the prompt")
    assert f"  problem   {problem}" in repr(plan).splitlines()


def test_plan_of_no_rows_is_a_plan(provider: Provider):
    plan = llmframe.plan([], "J {review}", schema=Verdict, client=provider)
    assert (plan.rows, plan.requests, plan.prompts) == (0, 0, ())
    assert "rows      0" in repr(plan)
    with pytest.raises(UsageError, match="no model was named"):
        llmframe.plan([], "J {review}", schema=Verdict)
