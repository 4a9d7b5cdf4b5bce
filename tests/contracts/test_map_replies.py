"""How replies are read: what can be understood costs one request, what can't has a kind of its own."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator

import llmframe
from llmframe.errors import LlmframeWarning
from llmframe.testing import Empty, Filtered, NoChoices, Object, Provider, Refusal, Text, ToolCalls, Truncated, Without
from tests.contracts.kinds import Kind


class Verdict(BaseModel):
    label: Literal["pos", "neg"]
    confidence: float = Field(ge=0, le=1)


class Told(BaseModel):
    label: Literal["pos", "neg"]
    why: str


GOOD = {"label": "pos", "confidence": 0.9}
JSON = json.dumps(GOOD)

UNDERSTOOD: dict[str, Any] = {
    "plain": Text(JSON),
    "fenced": Text(f"```json\n{JSON}\n```"),
    "fenced without a word": Text(f"```\n{JSON}\n```\n"),
    "upper case": Object({"label": "POS", "confidence": 0.9}),
    "blanks": Object({"label": " pos ", "confidence": 0.9}),
    "full stop": Object({"label": "Pos.", "confidence": 0.9}),
    "number as text": Object({"label": "pos", "confidence": "0.9"}),
    "a call nobody asked for": ToolCalls([("Verdict", GOOD)]),
}


@pytest.mark.parametrize("step", UNDERSTOOD.values(), ids=UNDERSTOOD.keys())
def test_what_is_meant_is_understood_with_one_request(library: Kind, provider: Provider, step: Any):
    provider.always(step)
    out = library.make({"t": ["a"]}).llm.map("J {t}", schema=Verdict, client=provider)
    columns = library.to_dict(out)
    assert columns["error"] == [None]
    assert (columns["label"], columns["confidence"]) == (["pos"], [0.9])
    assert provider.requests == 1


def test_a_fence_inside_a_text_stays(library: Kind, provider: Provider):
    provider.always(Text('{"label":"pos","why":"use ```x``` here"}'))
    out = library.make({"t": ["a"]}).llm.map("J {t}", schema=Told, client=provider)
    assert library.to_dict(out)["why"] == ["use ```x``` here"]
    assert provider.requests == 1


@pytest.mark.parametrize("keys", [("usage",), ("refusal", "tool_calls"), ("system_fingerprint", "usage", "logprobs")])
def test_what_servers_leave_out_is_unknown_and_no_fault(library: Kind, provider: Provider, keys: tuple[str, ...]):
    provider.always(Without(*keys))
    out = library.make({"t": ["a"]}).llm.map("J {t}", schema=Verdict, client=provider, meta=True)
    assert library.to_dict(out)["error"] == [None]
    meta = library.to_dict(out)["llm_meta"][0]
    assert (meta["input_tokens"] is None) is ("usage" in keys)
    assert llmframe.last_run().unknown_usage == ("usage" in keys)


OWN_KIND: dict[str, tuple[Any, str, str]] = {
    "cut": (Truncated(), "json_schema", "truncated: "),
    "whole, but said to be cut": (Truncated(1), "json_schema", "truncated: "),
    "cut to nothing": (Truncated(0), "tools", "truncated: "),
    "refused": (Refusal("I can't judge that."), "json_schema", "refusal: I can't judge that."),
    "filtered": (Filtered(), "tools", "content_filter: "),
    "empty": (Empty(), "json_schema", "empty: "),
    "no choices": (NoChoices(), "tools", "empty: "),
    "two answers": (
        ToolCalls([("Verdict", GOOD), ("Verdict", {"label": "neg", "confidence": 0.1})]),
        "tools",
        "tool_call: the reply gives 2 answers that differ",
    ),
    "another tool": (ToolCalls([("search", {"q": "x"})]), "tools", "tool_call: the reply calls 'search'"),
}


@pytest.mark.parametrize(("step", "mode", "error"), OWN_KIND.values(), ids=OWN_KIND.keys())
def test_what_no_other_ask_would_help_has_its_own_kind(
    library: Kind, provider: Provider, step: Any, mode: Any, error: str
):
    provider.when("bad", step)
    with pytest.warns(LlmframeWarning, match=f"1 of 2 rows failed: 1 {error.split(':', maxsplit=1)[0]}"):
        out = library.make({"t": ["bad", "fine"]}).llm.map("J {t}", schema=Verdict, client=provider, output_mode=mode)
    columns = library.to_dict(out)
    assert columns["error"][0].startswith(error)
    assert columns["error"][1] is None
    assert columns["label"][0] is columns["confidence"][0] is None
    assert provider.requests == 2


def test_equal_answers_in_two_calls_are_one(library: Kind, provider: Provider):
    provider.always(ToolCalls([("Verdict", GOOD), ("Verdict", dict(reversed(GOOD.items())))]))
    out = library.make({"t": ["a"]}).llm.map("J {t}", schema=Verdict, client=provider, output_mode="tools")
    assert library.to_dict(out)["label"] == ["pos"]


INVALID: dict[str, tuple[Any, str]] = {
    "prose": (Text("positive, I think"), "not JSON"),
    "broken arguments": (ToolCalls([("Verdict", '{"label": "po')]), "not JSON"),
    "empty fence": (Text("```json\n```"), ""),
    "another label": (Object({"label": "positive", "confidence": 0.5}), "'label' must be 'pos' or 'neg'"),
    "field missing": (Object({"label": "pos"}), "'confidence' is missing"),
    "over the bound": (Object({"label": "pos", "confidence": 1.7}), "less than or equal to 1"),
    "not a number": (Text('{"label": "pos", "confidence": NaN}'), ""),
    "infinite": (Text('{"label": "pos", "confidence": Infinity}'), ""),
    "a list": (Object([GOOD]), ""),
}


@pytest.mark.parametrize("reask", [0, 1, 2])
@pytest.mark.parametrize(("step", "problem"), INVALID.values(), ids=INVALID.keys())
def test_an_invalid_reply_is_told_to_the_model_as_often_as_said(
    provider: Provider, step: Any, problem: str, reask: int
):
    provider.always(step)
    with pytest.warns(LlmframeWarning, match="1 of 1 rows failed: 1 invalid"):
        out = llmframe.map([{"t": "a"}], "J {t}", Verdict, client=provider, reask=reask)
    assert out[0]["error"].startswith("invalid: ")
    assert problem in out[0]["error"]
    assert out[0]["label"] is None
    assert provider.requests == 1 + reask


def test_one_further_ask_is_the_default_and_shows_what_was_wrong(library: Kind, provider: Provider):
    provider.script(Object({"label": "positive", "confidence": 0.5}))
    out = library.make({"t": ["row-1"]}).llm.map("J {t}", schema=Verdict, client=provider, meta=True)
    assert library.to_dict(out)["error"] == [None]
    assert provider.requests == 2
    first, second = provider.bodies
    assert second["messages"][: len(first["messages"])] == first["messages"]
    told = json.dumps(second["messages"][len(first["messages"]) :])
    assert "positive" in told
    assert "'pos' or 'neg'" in told
    meta = library.to_dict(out)["llm_meta"][0]
    assert (meta["attempts"], meta["input_tokens"]) == (2, provider.prompt_tokens)
    run = llmframe.last_run()
    assert (run.reasks, run.output_tokens) == (1, provider.completion_tokens)


def test_labels_that_differ_by_case_alone_are_not_folded(library: Kind, provider: Provider):
    provider.always(Object({"response": "YES"}))
    with pytest.warns(LlmframeWarning, match="invalid"):
        out = library.make({"t": ["a"]}).llm.map("J {t}", schema=["yes", "Yes", "no"], client=provider, reask=0)
    assert "'yes'" in library.to_dict(out)["error"][0]


def test_a_validator_that_raises_anything_is_an_invalid_reply(library: Kind, provider: Provider):
    class Judged(BaseModel):
        label: str

        @field_validator("label")
        @classmethod
        def check(cls, value: str) -> str:
            raise ZeroDivisionError(value)

    with pytest.warns(LlmframeWarning, match="1 of 1 rows failed: 1 (invalid|internal)"):
        out = library.make({"t": ["a"]}).llm.map("J {t}", schema=Judged, client=provider, reask=0)
    assert "ZeroDivisionError" in library.to_dict(out)["error"][0]


@pytest.mark.parametrize("named", [True, False])
def test_a_server_without_schemas_is_asked_in_another_way_once(library: Kind, *, named: bool):
    with Provider(refuses=["json_schema", "tools"], refusal_param=named) as provider:
        frame = library.make({"t": [f"row-{number}" for number in range(6)]})
        out = frame.llm.map("J {t}", schema=Verdict, client=provider, max_concurrency=1, cache=False)
        assert library.to_dict(out)["error"] == [None] * 6
        assert provider.requests == 6 + 2
    run = llmframe.last_run()
    assert run.output_mode == "json"
    assert run.notes


def test_a_limit_goes_out_under_the_name_that_is_taken(library: Kind):
    with Provider(refuses_params=["max_tokens"]) as provider:
        out = library.make({"t": ["a", "b"]}).llm.map(
            "J {t}", schema=Verdict, client=provider, params={"max_tokens": 50}, max_concurrency=1, cache=False
        )
        assert library.to_dict(out)["error"] == [None, None]
        assert [body.get("max_completion_tokens") for body in provider.bodies] == [None, 50, 50]


def test_nothing_is_sent_that_was_not_said(provider: Provider):
    llmframe.map([{"t": "a"}], "J {t}", Verdict, client=provider)
    assert set(provider.bodies[0]) == {"model", "messages", "response_format"}
