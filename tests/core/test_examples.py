"""Few-shot examples in a prompt."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from llmframe.core.request import Question
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


PAIRS = [({"t": text, "n": number}, f"answer {number}") for number, text in enumerate("abc")]


def with_examples(prompt, **options):
    return compile_prompt(prompt, ["t", "n"], examples=PAIRS, **options)


def answers(prompt, *row) -> list[str]:
    """The answers that a row is shown."""
    messages = prompt.messages(prompt.render([[cell] for cell in row])[0])
    return [entry["content"] for entry in messages if str(entry["content"]).startswith("answer")]


def by_role(row):
    return [{"role": "system", "content": f"S {row['n']}"}, {"role": "user", "content": [PART | {"text": row["t"]}]}]


PART = {"type": "text"}
FORMS = {
    "braces": "J {t}",
    "jinja": "{% if t %}J {{ t }}{% endif %}",
    "messages": [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "A {t}"},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": [PART | {"text": "B {t}"}, PART | {"text": "C"}]},
    ],
    "callable": lambda row: "J " + row["t"],
    "callable of messages": by_role,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_row_is_not_shown_its_own_answer_and_all_others(form):
    prompt = with_examples(form)
    cells = {"t": "b", "n": 9}
    assert answers(prompt, *[cells[name] for name in prompt.columns]) == ["answer 0", "answer 2"]
    cells["t"] = "d"
    assert answers(prompt, *[cells[name] for name in prompt.columns]) == ["answer 0", "answer 1", "answer 2"]


def test_what_stands_before_and_behind_the_examples_stays():
    prompt = with_examples("J {t}", system="S")
    assert [entry["content"] for entry in prompt.messages("J c")] == [
        "S", "J a", "answer 0", "J b", "answer 1", "J c",
    ]  # fmt: skip


def test_a_system_message_with_a_cell_does_not_make_it_another_row():
    prompt = with_examples("J {t}", system="S {n}")
    assert answers(prompt, "b", 7) == ["answer 0", "answer 2"]
    prompt = with_examples(
        [{"role": "user", "content": "J {t}"}, {"role": "user", "content": "of {n}"}], system="S {n}"
    )
    assert answers(prompt, "b", 7) == ["answer 0", "answer 1", "answer 2"]
    assert answers(prompt, "b", 1) == ["answer 0", "answer 2"]


def test_examples_of_a_series_are_left_out_too():
    prompt = compile_prompt("J {}", ["t"], series=True, examples=[("a", "answer 0"), ("b", "answer 1")])
    assert answers(prompt, "a") == ["answer 1"]


def test_all_examples_of_one_text_are_left_out_and_without_any_the_row_is_asked_alone():
    prompt = compile_prompt("J {t}", ["t"], examples=[({"t": "a"}, "answer 0"), ({"t": "a", "n": 1}, "answer 1")])
    assert [entry["content"] for entry in prompt.messages("J a")] == ["J a"]


def test_what_the_prompt_does_not_use_makes_no_other_row():
    assert answers(with_examples("J {n}"), 1) == ["answer 0", "answer 2"]
    assert answers(with_examples("J {n}"), 1.0) == ["answer 0", "answer 1", "answer 2"]  # it reads 1.0


def test_a_missing_cell_that_is_empty_text_is_that_of_an_example():
    for template in ("J {t}", "{t}"):
        prompt = compile_prompt(template, ["t"], examples=[({"t": ""}, "answer 0")], on_null="render")
        assert answers(prompt, None) == []


@given(
    form=st.sampled_from([*FORMS.values(), "{n} {t}", Template("constant", literal=True)]),
    system=st.sampled_from([None, "S", "S {n}"]),
    shown=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=4),
    row=st.tuples(st.sampled_from("abc"), st.integers(0, 2)),
)
def test_the_key_of_a_row_is_that_of_the_messages_it_is_sent_as(form, system, shown, row):
    assume(system is None or form not in (by_role, FORMS["messages"]))
    examples = [({"t": text, "n": number}, "answer") for text, number in shown]
    prompt = compile_prompt(form, ["t", "n"], system=system, examples=examples)
    question = Question(identity="i", model="m", params={}, schema="", output_mode="auto").fingerprints()
    rendered = prompt.render([[dict(zip("tn", row, strict=True))[name]] for name in prompt.columns], rows=1)[0]
    assert prompt.keys(question)(rendered) == question.key(prompt.messages(rendered))
