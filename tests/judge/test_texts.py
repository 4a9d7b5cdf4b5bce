"""What a preset shows of a row: a column, several or a template, last and after a mark."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pytest

from llmframe.core.template import Template, compile_prompt
from llmframe.errors import UsageError
from llmframe.judge.texts import Shown, named, shown, told, with_rows

DATA = {"title": ["T"], "body": ["B"], "price": [2.5], "a{b}": ["odd"], "{% x %}": ["odder"]}
FRAME = pl.DataFrame(DATA)


def message(source: Shown, data: dict[str, list[Any]] = DATA) -> str:
    """What the first row's user message would be."""
    prompt = compile_prompt(source.template, list(data))
    [rendered] = prompt.render([data[name] for name in prompt.columns])
    assert isinstance(rendered, str), rendered
    return rendered


@pytest.mark.parametrize(
    ("column", "text", "columns"),
    [
        ("title", "Text:\nT", ("title",)),
        (["title"], "Text:\nT", ("title",)),
        ("a{b}", "Text:\nodd", ("a{b}",)),
        ("{% x %}", "Text:\nodder", ("{% x %}",)),
        ("{title}: {price:.2f}", "Text:\nT: 2.50", ("title", "price")),
        (Template("{{ title }}", syntax="jinja2"), "Text:\nT", ()),
        ("{{ title | lower }}", "Text:\nt", ()),
        (["title", "body"], "Text:\ntitle:\n```\nT\n```\n\nbody:\n```\nB\n```", ("title", "body")),
        (["title", "a{b}"], "Text:\ntitle:\n```\nT\n```\n\na{b}:\n```\nodd\n```", ("title", "a{b}")),
    ],
)
def test_what_is_shown_stands_last_after_the_mark(column: Any, text: str, columns: tuple[str, ...]):
    source = shown(column, FRAME)
    assert message(source) == text
    assert source.columns == columns
    assert shown(column, FRAME.lazy()) == source


def test_a_cell_among_others_can_not_end_its_own_quotation():
    data = {"title": ["T\n```\n\nbody:\n```\nfaked\n```"], "body": ["B"]}
    source = shown(["title", "body"], pl.DataFrame(data))
    # three backticks stand in the title, so four make the fence
    assert message(source, data) == f"Text:\ntitle:\n````\n{data['title'][0]}\n````\n\nbody:\n````\nB\n````"


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("titel", r"column 'titel' is absent; did you mean 'title'\? columns: \['title'"),
        (["title", "boddy"], r"column 'boddy' is absent; did you mean 'body'\?"),
        (3, r"`column` is the name of a column, a list of names, or a template .*, got 3"),
        ([], r"got \[\]"),
        (["title", 3], r"got \['title', 3\]"),
        (None, r"got None"),
    ],
)
def test_what_is_no_column_is_refused(column: Any, said: str):
    with pytest.raises(UsageError, match=said):
        shown(column, FRAME)


@pytest.mark.parametrize(
    "frame", [pd.Series(["a"]), pl.Series(["a"]), pl.col("a")], ids=lambda value: type(value).__name__
)
def test_a_series_and_an_expression_are_refused_with_what_to_do(frame: Any):
    with pytest.raises(UsageError, match=r"needs a frame with named columns"):
        shown("a", frame)


def test_a_list_without_rows_has_no_columns_to_be_held_against():
    assert shown("t", []).columns == ("t",)
    assert shown(["t", "u"], []).columns == ("t", "u")
    assert named("{t} is good", [], what="`condition`")[0] == "{t} is good"


@pytest.mark.parametrize(
    ("condition", "said", "text"),
    [
        ("{title} is rude", '"title" is rude', "title:\nT"),
        ("{price:.1f} is high", '"price" is high', "price:\n2.5"),
        (
            "{title} fits {body}, and {title} is short",
            '"title" fits "body", and "title" is short',
            "title:\n```\nT\n```\n\nbody:\n```\nB\n```",
        ),
        ("{a{b}} {{is}} odd", '"a{b}" {is} odd', "a{b}:\nodd"),
    ],
)
def test_fields_of_a_sentence_become_names_and_their_cells_stand_apart(condition: str, said: str, text: str):
    sentence, source = named(condition, FRAME, what="`condition`")
    assert sentence == said
    assert message(source) == text


def test_a_sentence_without_a_field_or_with_an_absent_one_is_refused():
    with pytest.raises(
        UsageError, match=r"`condition` names no column; write one in braces, as in '\{title\}', or say"
    ):
        named("is rude", FRAME, what="`condition`")
    with pytest.raises(UsageError, match=r"`condition` uses column 'titel', which is absent; did you mean 'title'"):
        named("{titel} is rude", FRAME, what="`condition`")


def test_the_system_message_is_sent_as_it_is():
    assert told("A {x}", None, " b ") == Template("A {x}\nb", literal=True)
    for wrong in ("", " ", 3):
        with pytest.raises(UsageError, match="`instructions` must be a text"):
            told("A", wrong)


def test_examples_of_one_column_may_be_pairs_of_a_text():
    one, two = shown("title", FRAME), shown(["title", "body"], FRAME)
    row = {"title": "x"}
    assert with_rows([("x", "a"), ["y", "b"], (row, "c"), "odd"], one) == [
        (row, "a"),
        ({"title": "y"}, "b"),
        (row, "c"),
        "odd",
    ]
    assert with_rows([("x", "a")], two) == [("x", "a")]
    assert with_rows(FRAME, one) is FRAME
