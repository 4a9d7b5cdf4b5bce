"""`classify` as a question: one closed field, whatever the labels look like, and a confidence about it alone."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import llmframe
from llmframe.core.jsontext import bare_label
from llmframe.judge.classify import classify
from llmframe.testing import Provider, Text

FRAME = pl.DataFrame({"title": ["row-1"], "body": ["Broken"], "price": [2.5]})
LETTERS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)


@given(st.lists(LETTERS, min_size=2, max_size=5, unique_by=bare_label).filter(lambda all_: all(map(bare_label, all_))))
@settings(max_examples=12, deadline=None)
def test_every_label_comes_back_as_it_is(labels: list[str]):
    """Whatever stands in labels: blanks, quotes, braces, letters of any kind, one that begins another."""
    with Provider() as provider:
        frame = pl.DataFrame({"t": [f"row-{at}" for at, _ in enumerate(labels)]})
        for at, label in enumerate(labels):
            provider.when(lambda prompt, at=at: prompt.endswith(f"row-{at}"), Text(json.dumps({"response": label})))
        out = classify(frame, "t", labels, client=provider)
    assert out["label"].to_list() == labels
    assert out["label"].dtype == pl.Enum(labels)


def test_the_label_is_the_only_field_that_is_asked_for():
    """So nothing that the model wrote before it conditions its distribution."""
    with Provider() as provider:
        classify(FRAME, "title", ["a", "b"], client=provider)
        shape = provider.bodies[0]["response_format"]["json_schema"]["schema"]
    assert list(shape["properties"]) == ["response"]
    assert shape["properties"]["response"]["enum"] == ["a", "b"]


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        ("title", "Text:\nrow-1"),
        (["title", "body"], "Text:\ntitle:\n```\nrow-1\n```\n\nbody:\n```\nBroken\n```"),
        ("{title} ({price:.2f})", "Text:\nrow-1 (2.50)"),
        ("{{ title | upper }}", "Text:\nROW-1"),
        (llmframe.Template("{title}"), "Text:\nrow-1"),
    ],
)
def test_a_column_several_or_a_template_is_shown_last(column: Any, shown: str):
    with Provider() as provider:
        out = classify(FRAME, column, ["a", "b"], client=provider)
        assert provider.prompts == [shown]
    assert out["error"].to_list() == [None]


def test_equal_calls_are_made_once_and_other_labels_are_another_question(tmp_path: Any):
    with Provider() as provider:
        for labels in (["a", "b"], ("a", "b"), ["b", "a"], ["a", "c"]):
            classify(FRAME, "title", labels, client=provider, cache=tmp_path / "store.sqlite")
        assert provider.requests == 3  # the second is the first


def test_the_distribution_is_one_over_the_labels():
    with Provider() as provider:
        out = classify(FRAME, "title", ["yes", "no"], confidence="logprobs", distribution=True, client=provider)
    [shares] = out["distribution"].to_list()
    assert set(shares) == {"yes", "no"}
    assert sum(shares.values()) == pytest.approx(1)
    assert out["confidence"].to_list() == [pytest.approx(shares[out["label"][0]])]


def test_a_column_of_several_labels_may_be_named():
    with Provider() as provider:
        out = classify(FRAME, "title", ["a", "b"], multi=True, into="topics", client=provider)
    assert out.schema["topics"] == pl.List(pl.Enum(["a", "b"]))
