"""Prompts that are a function of the row."""

from __future__ import annotations

import json

import pytest

from llmframe.core.callables import CallablePrompt, tail_messages
from llmframe.core.outcome import Failure
from llmframe.errors import UsageError

NULL = Failure("null", "missing value in 'b'")
READS = [
    lambda row: f"{row['b']}",
    lambda row: f"{row.get('b')}",
    lambda row: f"{row.get('b', 'x')}",
    lambda row: " ".join(map(str, row.values())),
    lambda row: " ".join(f"{key}={value}" for key, value in row.items()),
    json.dumps,
    lambda row: json.dumps({**row}),
    lambda row: str(dict(row)),
    lambda row: str(row.copy()),
    lambda row: str(row | {}),
    lambda row: str({} | row),
    lambda row: "{b}".format(**row),
    "{b}".format_map,
    lambda row: f"{row.pop('b')}",
    lambda row: row["b"].upper(),
]


@pytest.mark.parametrize("function", READS)
def test_a_null_that_is_read_fails_the_row(function):
    assert CallablePrompt(function).tail({"a": "x", "b": None}) == NULL


@pytest.mark.parametrize("function", READS)
def test_nulls_can_be_empty_text(function):
    tail = CallablePrompt(function, on_null="render").tail({"a": "x", "b": None})
    assert isinstance(tail, tuple)
    assert "None" not in tail[0]


def test_a_null_that_is_not_read_costs_nothing():
    prompt = CallablePrompt(lambda row: f"{row['a']} {len(row)} {'b' in row} {sorted(row)}")
    assert prompt.tail({"a": "x", "b": None}) == ("x 2 True ['a', 'b']",)


def test_each_row_is_a_fresh_dict():
    row = {"a": "x"}
    prompt = CallablePrompt(lambda r: r.pop("a") + str(r))
    assert prompt.tail(row) == prompt.tail(row) == ("x{}",)
    assert row == {"a": "x"}


def test_an_exception_is_the_rows_failure_and_tells_no_cell():
    def failing(error):
        def function(row):
            raise error(row["a"])

        return CallablePrompt(function).tail({"a": "secret"})

    assert failing(ValueError) == Failure("render", "ValueError in the prompt callable")
    assert failing(KeyError) == Failure("render", "KeyError in the prompt callable")
    assert CallablePrompt(lambda row: row["x"]).tail({"a": "secret"}) == Failure("render", "KeyError: 'x'")
    assert CallablePrompt(lambda row: row[row["a"]]).tail({"a": "secret"}) == Failure(
        "render", "KeyError in the prompt callable"
    )
    assert CallablePrompt(lambda row: {"k": "v"}[row["a"].upper()]).tail({"a": "secret"}) == Failure(
        "render", "KeyError in the prompt callable"
    )


def test_an_interrupt_is_not_a_row():
    def interrupted(row):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CallablePrompt(interrupted).tail({})


@pytest.mark.parametrize(
    "result",
    [None, 3, b"x", {"role": "user", "content": "secret"}, [], ["secret"], [{"role": "secret", "content": "a"}],
     [{"role": "user", "content": None}], [{"role": "user", "content": [{"type": "image_url"}]}]],
)  # fmt: skip
def test_something_else_than_text_or_messages_is_the_rows_failure(result):
    tail = CallablePrompt(lambda row: result).tail({})
    assert isinstance(tail, Failure)
    assert tail.kind == "render"
    assert "secret" not in tail.detail


def test_messages_come_through():
    messages = [
        {"role": "system", "content": "ü"},
        {"role": "user", "content": [{"type": "text", "text": "{a}"}]},
    ]
    tail = CallablePrompt(lambda row: messages).tail({"a": 1})
    assert isinstance(tail, tuple)
    assert tail_messages(tail) == messages
    assert tail_messages(("only text",)) == [{"role": "user", "content": "only text"}]
    beside = CallablePrompt(lambda row: messages, own_system=True).tail({"a": 1})
    assert isinstance(beside, Failure)


def test_lone_surrogates_are_an_encoding_failure():
    tail = CallablePrompt(lambda row: "a\ud800").tail({})
    assert tail == Failure("encoding", "lone surrogate at character 2 in what the prompt callable returned")
    nested = CallablePrompt(lambda row: [{"role": "user", "content": "\ud800"}]).tail({})
    assert isinstance(nested, Failure)
    assert nested.kind == "encoding"


def test_an_async_function_is_refused():
    async def prompt(row):
        return "x"

    with pytest.raises(UsageError, match="async"):
        CallablePrompt(prompt)
