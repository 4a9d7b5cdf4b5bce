"""Labels: what is taken, what is refused with its remedy, and how a prompt says them."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any, Literal, get_args

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError, create_model

from llmframe.core.jsontext import bare_label
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError
from llmframe.judge.labels import label_list, label_texts, literal_of, quoted, several_of

STRANGE = ("billing", "billing issue", "bill", 'say "no"', "a  b", "ünï", "日本", "{x}", "line\nbreak", "\\", "-")


class Topic(Enum):
    BUG = "bug"
    PRAISE = "praise"


@pytest.mark.parametrize(
    "labels", [["bug", "praise"], ("bug", "praise"), Literal["bug", "praise"], Topic, [Topic.BUG, Topic.PRAISE]]
)
def test_labels_are_texts_in_their_order(labels: Any):
    assert label_texts(labels) == ("bug", "praise")


def test_labels_may_hold_blanks_quotes_letters_of_any_kind_and_each_other():
    assert label_texts(list(STRANGE)) == STRANGE
    assert get_args(literal_of(STRANGE)) == STRANGE


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["only"], r"has 1 label; there must be two"),
        ([], r"has 0 label"),
        (["a", "a"], r"holds 'a' twice"),
        (["Bug", "bug "], r"holds 'Bug' and 'bug ', which only case, blanks or a full stop tell apart"),
        (["no", "no."], r"holds 'no' and 'no\.'"),
        (["STRASSE", "straße"], r"only case"),
        (["a", ""], r"holds '', which has nothing to answer with"),
        (["a", " ."], r"holds ' \.', which has nothing"),
        ([1, 2], r"holds 1, which is no text; write '1'"),
        (Literal[True, False], r"holds True, which is no text"),
        (["a", "b\ud800"], r"holds 'b.ud800', which can't be sent"),
        ("bug", r"a list of texts, Literal\[...\] or an Enum, got 'bug'"),
        ({"a", "b"}, r"got a set; a set has no order"),
        ({"a": "x", "b": "y"}, r"got a dict; say what labels mean by `descriptions=`"),
        (None, r"got a NoneType"),
        (pd.Series(["a", "b"]), r"got a Series; `.tolist\(\)`"),
        (pd.Series(["a", "b"]).to_numpy(), r"got an? \w+; `.tolist\(\)`"),
        (pl.Series(["a", "b"]), r"got a Series; `.to_list\(\)`"),
    ],
)
def test_labels_that_can_not_work_are_refused_with_a_remedy(labels: Any, said: str):
    with pytest.raises(UsageError, match=said):
        label_texts(labels)


@given(st.lists(st.text(max_size=6), max_size=4))
def test_an_answer_that_differs_by_what_reading_passes_over_is_one_label_or_they_are_refused(labels: list[str]):
    """Labels that are taken can always be told apart by the reader, which folds case, blanks and a full stop."""
    try:
        texts = label_texts(labels)
    except UsageError:
        assert len({bare_label(text) for text in labels}) < max(len(labels), 2) or "" in map(bare_label, labels)
        return
    schema = schema_of(literal_of(texts))
    for text in texts:
        for answer in (text, f" {text}.", json.dumps({"response": f"{text} "})):
            found = schema.read(answer if answer.startswith('{"response') else json.dumps(answer))
            assert getattr(found, "values", None) == (text,)


def test_labels_are_listed_in_json_quotes_with_what_they_mean():
    listed = label_list(('say "no"', "a  b ", "ünï\n"), {"a  b ": " two blanks "})
    assert listed == '- "say \\"no\\""\n- "a  b ": two blanks\n- "ünï\\n"'
    assert label_list(("bug", "praise"), {Topic.BUG: "broken"}) == '- "bug": broken\n- "praise"'


@given(st.text())
def test_a_quoted_label_is_one_line_that_reads_back(text: str):
    assert json.loads(quoted(text)) == text
    assert "\n" not in quoted(text)


@pytest.mark.parametrize(
    ("descriptions", "said"),
    [
        ({"bugs": "x"}, r"has 'bugs', which is no label; did you mean 'bug'\? labels: \['bug', 'praise'\]"),
        ({"bug": ""}, r"of 'bug' must be a text, got ''"),
        ({"bug": 3}, r"of 'bug' must be a text, got 3"),
        (["x"], r"a dict from label to text, got a list"),
    ],
)
def test_descriptions_of_no_label_or_without_words_are_refused(descriptions: Any, said: str):
    with pytest.raises(UsageError, match=said):
        label_list(("bug", "praise"), descriptions)


def test_several_labels_are_each_once_and_in_their_declared_order():
    several = TypeAdapter(several_of(("a", "b", "c")))
    assert several.validate_python(["c", "a", "c"]) == ["a", "c"]
    assert several.validate_python([]) == []
    with pytest.raises(ValidationError):
        several.validate_python(["d"])


def test_several_labels_are_asked_for_as_a_list_of_a_closed_kind():
    model: type[BaseModel] = create_model("Model", labels=(several_of(("a", "b")), ...))
    shape = model.model_json_schema()["properties"]["labels"]
    assert (shape["type"], shape["items"]["enum"]) == ("array", ["a", "b"])
