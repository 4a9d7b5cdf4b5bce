"""What is asked again and what is not: every part of a question counts, and only answers are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator

import llmframe
from llmframe.errors import LlmframeWarning
from llmframe.testing import Object, Provider, Status, Truncated
from tests.contracts.kinds import Kind


class Verdict(BaseModel):
    label: Literal["pos", "neg"]


def bigger() -> type[BaseModel]:
    class Verdict(BaseModel):
        label: Literal["pos", "neg", "mixed"]

    return Verdict


def described() -> type[BaseModel]:
    class Verdict(BaseModel):
        label: Literal["pos", "neg"] = Field(description="How it sounds")

    return Verdict


def same() -> type[BaseModel]:
    class Verdict(BaseModel):
        label: Literal["pos", "neg"]

    return Verdict


FIRST: dict[str, Any] = {"prompt_template": "J {t}", "schema": Verdict}

CHANGES: dict[str, dict[str, Any]] = {
    "a member more": {"schema": bigger()},
    "a description": {"schema": described()},
    "free text": {"schema": None},
    "the template": {"prompt_template": "Judge {t}"},
    "a system message": {"system": "Be brief."},
    "an example": {"examples": [({"t": "x"}, {"label": "pos"})]},
    "the model": {"model": "another"},
    "the temperature": {"params": {"temperature": 0}},
    "the limit": {"params": {"max_tokens": 100}},
    "the form": {"output_mode": "tools"},
    "a stated confidence": {"confidence": "stated"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_changes_the_question_is_asked_again(library: Kind, provider: Provider, change: dict[str, Any]):
    frame = library.make({"t": ["a", "b"]})
    frame.llm.map(**FIRST, client=provider)
    for sent in (4, 4):
        frame.llm.map(**{**FIRST, **change}, client=provider)
        assert provider.requests == sent


SAME: dict[str, dict[str, Any]] = {
    "nothing": {},
    "the same class again": {"schema": same()},
    "columns": {"prefix": "x_", "labels": "string", "meta": True},
    "places": {"into": "x"},
    "policy": {"max_concurrency": 1, "timeout": 3, "max_attempts": 1, "reask": 0, "on_null": "render"},
    "rows": {"where": [True, False]},
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME.keys())
def test_what_leaves_the_question_as_it_is_costs_nothing(library: Kind, provider: Provider, change: dict[str, Any]):
    frame = library.make({"t": ["a", "b"]})
    frame.llm.map(**FIRST, client=provider)
    frame.llm.map(**{**FIRST, **change}, client=provider)
    assert provider.requests == 2
    run = llmframe.last_run()
    assert (run.requests, run.input_tokens, run.cached) == (0, 0, run.answered)


def test_another_server_is_asked_on_its_own(library: Kind, provider: Provider):
    frame = library.make({"t": ["a"]})
    frame.llm.map("J {t}", schema=Verdict, client=provider)
    with Provider() as other:
        frame.llm.map("J {t}", schema=Verdict, client=other)
        assert (provider.requests, other.requests) == (1, 1)


def test_another_key_to_the_same_server_is_the_same_question(library: Kind, provider: Provider):
    frame = library.make({"t": ["a"]})
    for key in ("one", "two"):
        frame.llm.map("J {t}", schema=Verdict, base_url=provider.base_url, model="m", api_key=key)
    assert provider.requests == 1


def test_refresh_asks_again_and_keeps_the_new_answer(kind: Kind, provider: Provider):
    frame = kind.make({"t": ["a"]})

    def ask(**options: Any) -> Any:
        return kind.to_dict(frame.llm.map("J {t}", schema=Verdict, client=provider, **options))["label"][0]

    provider.script(Object({"label": "pos"}), Object({"label": "neg"}))
    assert [ask(), ask(), ask(cache="refresh"), ask()] == ["pos", "pos", "neg", "neg"]
    assert provider.requests == 2


def test_without_a_cache_nothing_is_kept_after_the_run(kind: Kind, provider: Provider):
    frame = kind.make({"t": ["a", "a"]})
    for sent in (1, 2):
        frame.llm.map("J {t}", schema=Verdict, client=provider, cache=False)
        assert provider.requests == sent
    frame.llm.map("J {t}", schema=Verdict, client=provider)
    assert provider.requests == 3


@pytest.mark.parametrize(
    "step", [Status(400, "context_length_exceeded"), Status(503), Truncated(), Object({})], ids=repr
)
def test_failures_are_not_kept(library: Kind, provider: Provider, step: Any):
    provider.always(step)
    frame = library.make({"t": ["a"]})
    with pytest.warns(LlmframeWarning, match="1 of 1 rows failed"):
        frame.llm.map("J {t}", schema=Verdict, client=provider, max_attempts=1, reask=0)
    provider.always(None)
    out = frame.llm.map("J {t}", schema=Verdict, client=provider)
    assert library.to_dict(out)["error"] == [None]
    assert provider.requests == 2


def checked(accepts: Callable[[str], bool]) -> type[BaseModel]:
    class Word(BaseModel):
        word: str

        @field_validator("word")
        @classmethod
        def check(cls, value: str) -> str:
            if not accepts(value):
                raise ValueError("not this word")
            return value

    return Word


def test_another_validator_asks_only_where_the_kept_reply_does_not_fit(kind: Kind, provider: Provider):
    provider.when("one", Object({"word": "short"}))
    provider.when("two", Object({"word": "much longer"}))
    frame = kind.make({"t": ["one", "two"]})
    frame.llm.map("J {t}", schema=checked(lambda _: True), client=provider)
    provider.reset()
    out = frame.llm.map("J {t}", schema=checked(lambda word: word != "short"), client=provider)
    assert provider.prompts == ["J one"]
    assert kind.to_dict(out)["word"][1] == "much longer"
    assert kind.to_dict(out)["word"][0] != "short"
