"""`classify` as a question: one closed field, whatever the labels look like, and a confidence about it alone."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import llmframe
from llmframe.judge.classify import classify
from llmframe.testing import Provider

FRAME = pl.DataFrame({"title": ["row-1"], "body": ["Broken"], "price": [2.5]})
STRANGE = ["billing", "billing issue", "bill", 'say "no"', "a  b", "ünï", "日本", "{x}", "line\nbreak", "\\", " - "]


def test_every_label_comes_back_as_it_is():
    """Whatever stands in labels: blanks, quotes, braces, letters of any kind, one that begins another."""
    with Provider(answer=lambda prompt, _: {"response": STRANGE[int(prompt.rpartition("-")[2])]}) as provider:
        frame = pl.DataFrame({"t": [f"row-{at}" for at, _ in enumerate(STRANGE)]})
        out = classify(frame, "t", STRANGE, client=provider)
    assert out["label"].to_list() == STRANGE
    assert out["label"].dtype == pl.Enum(STRANGE)


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
