"""Few-shot examples in a prompt."""

from __future__ import annotations

import pytest

from llmframe.core.template import Template, compile_prompt
from llmframe.errors import UsageError


def told(prompt):
    return [(entry["role"], entry["content"]) for entry in prompt.messages(prompt.render([["row"]])[0])]


def test_examples_stand_between_system_and_the_row_and_use_the_prompts_template():
    prompt = compile_prompt(
        "J {t}", ["t"], system="S", examples=[({"t": "{t}", "more": 1}, "pos"), ({"t": 1.0}, '{"a": 1}')]
    )
    assert told(prompt) == [
        ("system", "S"),
        ("user", "J {t}"),
        ("assistant", "pos"),
        ("user", "J 1.0"),
        ("assistant", '{"a": 1}'),
        ("user", "J row"),
    ]


def test_an_example_has_all_turns_but_the_system_messages():
    prompt = compile_prompt(
        [
            {"role": "system", "content": "S"},
            {"role": "user", "content": "A {t}"},
            {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "B"},
        ],
        ["t"],
        examples=[({"t": "e"}, "yes")],
    )
    assert [text for _, text in told(prompt)] == ["S", "A e", "ok", "B", "yes", "A row", "ok", "B"]


def test_examples_of_a_series_are_cells():
    prompt = compile_prompt("J {}", ["t"], series=True, examples=[("e", "yes"), ({"k": 1}, "no")])
    assert [text for _, text in told(prompt)] == ["J e", "yes", 'J {"k":1}', "no", "J row"]


def test_examples_of_a_callable_are_its_own_texts():
    prompt = compile_prompt(lambda row: "J " + row["t"], ["t"], examples=[({"t": "e"}, "yes")])
    assert [text for _, text in told(prompt)] == ["J e", "yes", "J row"]


def test_examples_of_a_jinja_template_are_rendered_by_it():
    prompt = compile_prompt("{% if t %}J {{ t }}{% endif %}", ["t"], examples=[({"t": "e"}, "yes")])
    assert [text for _, text in told(prompt)] == ["J e", "yes", "J row"]


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (({"x": 1}, "a"), "example 1 lacks column 't', which the prompt uses; columns: 'x'$"),
        (({"tt": 1}, "a"), "example 1 lacks column 't', which the prompt uses; columns: 'tt'$"),
        (({"t": None}, "a"), "example 1: missing value in 't'"),
        (({"t": b""}, "a"), "example 1 can't be rendered: bytes"),
        (({"t": "e"}, 1), "answer of type 'int'"),
        (("e", "a"), "row of type 'str'"),
        ("ea", "example 1 is no pair"),
        (({"t": "e"},), "example 1 is no pair"),
    ],
)
def test_an_example_that_does_not_fit_is_refused(example, message):
    with pytest.raises(UsageError, match=message):
        compile_prompt("J {t}", ["t"], examples=[example])


def test_an_example_that_fails_in_the_callable_is_refused():
    with pytest.raises(UsageError, match="example 2 can't be rendered: KeyError: 't'"):
        compile_prompt(lambda row: row["t"], ["t"], examples=[({"t": "e"}, "a"), ({}, "a")])


def test_a_null_in_an_example_can_be_empty_text():
    prompt = compile_prompt("J {t}", ["t"], examples=[({"t": None}, "none")], on_null="render")
    assert told(prompt)[0] == ("user", "J ")


def test_constant_prompts_have_examples_too():
    prompt = compile_prompt(Template("{always}", literal=True), ["t"], examples=[({}, "a")])
    assert [entry["content"] for entry in prompt.messages(())] == ["{always}", "a", "{always}"]
