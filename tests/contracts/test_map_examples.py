"""Few-shot examples from a frame: a row is never shown its own answer, and all parts of a call see the same."""

from __future__ import annotations

import json
from typing import Any, Literal

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


ROWS: dict[str, list[Any]] = {"t": ["a", "b", "c", "d"], "label": ["pos", "neg", "pos", "neg"]}

SEEN = {
    "J a": [("J b", "neg"), ("J c", "pos")],
    "J b": [("J a", "pos"), ("J c", "pos")],
    "J c": [("J a", "pos"), ("J b", "neg")],
    "J d": [("J a", "pos"), ("J b", "neg"), ("J c", "pos")],
}
"""What each row is shown when the first three are the examples."""


def seen(provider: Provider) -> dict[str, list[tuple[str, str]]]:
    """By a row's own text the examples that it was sent with."""
    found: dict[str, list[tuple[str, str]]] = {}
    for body in provider.bodies:
        *shown, asked = body["messages"]
        pairs = [
            (shown[at]["content"], *json.loads(shown[at + 1]["content"]).values()) for at in range(0, len(shown), 2)
        ]
        assert asked["content"] not in found
        found[asked["content"]] = pairs
    return found


FORMS: dict[str, Any] = {
    "braces": "J {t}",
    "jinja": "{% if t %}J {{ t }}{% endif %}",
    "messages": [{"role": "user", "content": "J {t}"}],
    "callable": lambda row: f"J {row['t']}",
    "callable of messages": lambda row: [{"role": "user", "content": f"J {row['t']}"}],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_row_among_the_examples_is_shown_all_others(library: Kind, provider: Provider, form: Any):
    frame = library.make(ROWS)
    llmframe.map(frame, form, Verdict, client=provider, examples=library.head(frame, 3), prefix="x_")
    assert seen(provider) == SEEN


def test_cells_of_every_kind_are_known_as_those_of_an_example(kind: Kind, provider: Provider):
    frame = kind.make({"n": [1, 2, None], "label": ["pos", "neg", "pos"]})
    llmframe.map(frame, "J {n}", Verdict, client=provider, examples=kind.head(frame, 1), prefix="x_", on_null="render")
    own = [text for text in seen(provider) if text.startswith("J 1")]  # 1.0 where pandas holds a gap as NaN
    assert [seen(provider)[text] for text in own] == [[]]
    assert [len(pairs) for pairs in seen(provider).values()].count(1) == 2


def test_rows_of_a_series_are_not_shown_their_own_answers(library: Kind, provider: Provider):
    examples = library.head(library.make({"t": ROWS["t"], "response": ROWS["label"]}), 3)
    series = library.make_series(ROWS["t"], "t")
    series.llm.map("J {}", schema=["pos", "neg"], client=provider, examples=examples)
    assert seen(provider) == SEEN


def test_rows_of_a_lazy_query_are_not_shown_their_own_answers(provider: Provider):
    frame = pl.DataFrame(ROWS)
    query = frame.lazy().llm.map("J {t}", schema=Verdict, client=provider, examples=frame.head(3), prefix="x_")
    query.collect()
    assert seen(provider) == SEEN


def test_rows_of_an_expression_are_not_shown_their_own_answers(provider: Provider):
    frame = pl.DataFrame(ROWS)
    frame.select(pl.col("t").llm.map("J {}", schema=Verdict, client=provider, examples=frame.head(3)))
    assert seen(provider) == SEEN


def test_every_part_of_a_query_sees_the_examples_as_they_were_when_it_was_made(provider: Provider):
    examples = pd.DataFrame(ROWS).head(2)
    lazily = {"client": provider, "schema": Verdict, "examples": examples, "cache": False, "progress": False}
    query = pl.DataFrame({"t": ["e"]}).lazy().llm.map("J {t}", **lazily)
    expression = pl.col("t").llm.map("J {}", **lazily)
    examples["t"] = ["other", "texts"]
    examples["label"] = "none of the labels"
    for _ in range(2):
        query.collect()
        pl.DataFrame({"t": ["e"]}).select(expression)
    shown = [[message["content"] for message in body["messages"]] for body in provider.bodies]
    assert shown == [["J a", '{"label": "pos"}', "J b", '{"label": "neg"}', "J e"]] * len(shown)
    assert len(shown) >= 2


def test_a_pairs_row_may_change_once_the_query_is_made(provider: Provider):
    row = {"t": "a"}
    query = (
        pl.DataFrame({"t": ["e"]})
        .lazy()
        .llm.map("J {t}", schema=Verdict, client=provider, examples=[(row, {"label": "pos"})])
    )
    row["t"] = "b"
    query.collect()
    assert seen(provider) == {"J e": [("J a", "pos")]}


def test_equal_rows_are_one_request_and_the_same_one_the_next_time(library: Kind, provider: Provider):
    frame = library.make({name: [*values, values[0]] for name, values in ROWS.items()})
    options: dict[str, Any] = {"client": provider, "examples": library.head(frame, 3), "prefix": "x_"}
    assert frame.llm.plan("J {t}", schema=Verdict, **options).requests == 4
    frame.llm.map("J {t}", schema=Verdict, **options)
    assert seen(provider) == SEEN
    frame.llm.map("J {t}", schema=Verdict, **options)
    assert provider.requests == 4


def test_a_row_that_is_the_only_example_is_asked_without_any(library: Kind, provider: Provider):
    frame = library.make({"t": ["a"], "label": ["pos"]})
    frame.llm.map("J {t}", schema=Verdict, client=provider, examples=frame, prefix="x_")
    assert seen(provider) == {"J a": []}


WRONG: dict[str, Any] = {
    "pandas text": pd.DataFrame({"t": ["x", "y"], "label": ["pos", "mixed"]}),
    "pandas category": pd.DataFrame({"t": ["x", "y"], "label": pd.Categorical(["pos", "mixed"])}),
    "polars text": pl.DataFrame({"t": ["x", "y"], "label": ["pos", "mixed"]}),
    "polars category": pl.DataFrame(
        {"t": ["x", "y"], "label": ["pos", "mixed"]}, schema_overrides={"label": pl.Categorical}
    ),
    "polars enum": pl.DataFrame(
        {"t": ["x", "y"], "label": ["pos", "mixed"]}, schema_overrides={"label": pl.Enum(["pos", "mixed"])}
    ),
    "records": [{"t": "x", "label": "pos"}, {"t": "y", "label": "mixed"}],
    "pairs": [({"t": "x"}, "pos"), ({"t": "y"}, "mixed")],
}

MISSING: dict[str, Any] = {
    "pandas text": pd.DataFrame({"t": ["x", "y"], "label": ["pos", None]}),
    "pandas category": pd.DataFrame({"t": ["x", "y"], "label": pd.Categorical(["pos", None])}),
    "polars text": pl.DataFrame({"t": ["x", "y"], "label": ["pos", None]}),
    "polars enum": pl.DataFrame(
        {"t": ["x", "y"], "label": ["pos", None]}, schema_overrides={"label": pl.Enum(["pos", "neg"])}
    ),
    "pairs": [({"t": "x"}, "pos"), ({"t": "y"}, None)],
}


@pytest.mark.parametrize("examples", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("schema", [Verdict, ["pos", "neg"]])
def test_a_label_that_is_not_allowed_is_named_with_its_example_and_the_labels(
    library: Kind, provider: Provider, examples: Any, schema: Any
):
    if isinstance(examples, list) and isinstance(examples[0], tuple) and schema is Verdict:
        examples = [(row, {"label": label}) for row, label in examples]
    frame = library.make({"t": ["a"]})
    with pytest.raises(UsageError, match=r"example 2\b.*must be 'pos' or 'neg', got 'mixed'$"):
        frame.llm.map("J {t}", schema=schema, client=provider, examples=examples)
    assert provider.requests == 0


@pytest.mark.parametrize("examples", MISSING.values(), ids=MISSING.keys())
@pytest.mark.parametrize("schema", [Verdict, ["pos", "neg"]])
def test_a_label_that_is_missing_is_named_with_its_example_and_the_labels(
    library: Kind, provider: Provider, examples: Any, schema: Any
):
    if isinstance(examples, list) and isinstance(examples[0], tuple) and schema is Verdict:
        examples = [(row, {"label": label}) for row, label in examples]
    frame = library.make({"t": ["a"]})
    with pytest.raises(UsageError, match=r"example 2\b.*must be 'pos' or 'neg', got None$"):
        frame.llm.map("J {t}", schema=schema, client=provider, examples=examples)
    assert provider.requests == 0


def test_the_column_of_a_refused_label_is_named(library: Kind, provider: Provider):
    examples = library.make({"t": ["x"], "mood": ["mixed"]})
    with pytest.raises(UsageError, match=r"example 1 \(column 'mood'\)"):
        library.make({"t": ["a"]}).llm.map("J {t}", schema=["pos", "neg"], client=provider, examples=examples)
