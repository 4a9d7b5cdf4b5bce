"""Prompts that are a function of the row."""

from __future__ import annotations

import json
import re

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


def told(function, row=None):
    """The detail of a failure, with the line counted from the function's first."""
    tail = CallablePrompt(function).tail({"a": "secret"} if row is None else row)
    assert isinstance(tail, Failure)
    assert tail.kind == "render"
    first = function.__code__.co_firstlineno
    return re.sub(r"line (\d+)", lambda found: f"line +{int(found[1]) - first}", tail.detail)


def test_an_exception_is_the_rows_failure_and_tells_its_line_and_no_cell():
    def failing(error):
        def function(row):
            raise error(row["a"])

        return told(function)

    here = "in the prompt callable, line +{} of test_callables.py"
    assert failing(ValueError) == f"ValueError {here.format(1)}"
    assert failing(KeyError) == f"KeyError {here.format(1)}"
    assert told(lambda row: row["x"]) == f"KeyError: 'x' {here.format(0)}"
    assert told(lambda row: row[row["a"]]) == f"KeyError {here.format(0)}"
    assert told(lambda row: {"k": "v"}[row["a"].upper()]) == f"KeyError {here.format(0)}"


def test_the_line_is_the_innermost_of_the_users_own_file():
    def deeper(text):
        return json.loads(text)

    def function(row):
        return deeper(row["a"])

    first = deeper.__code__.co_firstlineno - function.__code__.co_firstlineno
    assert told(function) == f"JSONDecodeError in the prompt callable, line +{first + 1} of test_callables.py"
    assert CallablePrompt("{b}".format_map).tail({"a": "x"}) == Failure(
        "render", "KeyError: 'b' in the prompt callable"
    )


def test_a_column_read_as_an_attribute_is_told_that_the_row_is_a_dict():
    place = "in the prompt callable, line +0 of test_callables.py"
    assert told(lambda r: r.review) == f"AttributeError: the row is a dict, r['review'] and not r.review {place}"
    assert told(lambda r: getattr(r, r["a"])) == f"AttributeError {place}"
    assert told(lambda r: getattr(r, r["a"][:3])) == f"AttributeError {place}"
    assert told(lambda r: r["a"].review) == f"AttributeError {place}"


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
