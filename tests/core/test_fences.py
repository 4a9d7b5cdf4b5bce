"""Fences around cells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.fences import fenced, fenced_text
from llmframe.core.template import Template, compile_prompt

TEXTS = st.lists(st.text(alphabet="a`\n", max_size=12), min_size=1, max_size=3)


def test_a_plain_text_stands_between_three_backticks():
    assert fenced_text("good") == "```\ngood\n```"


def test_a_fence_is_longer_than_any_run_in_the_text():
    # a run of 4 in the text: the fence has 5
    assert fenced_text("```` x ```") == "`````\n```` x ```\n`````"


def test_all_texts_of_a_row_have_the_same_fence():
    assert fenced([["a", "a"], ["```", "b"]]) == [["````\na\n````", "```\na\n```"], ["````\n```\n````", "```\nb\n```"]]


@given(TEXTS)
def test_no_text_has_a_line_that_is_its_fence(texts: list[str]):
    found = [column[0] for column in fenced([[text] for text in texts])]
    fence = found[0].split("\n", 1)[0]
    assert all(text == f"{fence}\n{inside}\n{fence}" for text, inside in zip(found, texts, strict=True))
    assert not any(fence in inside for inside in texts)


def test_a_fenced_template_fences_its_cells_alone():
    prompt = compile_prompt(Template("A {a}\nB {b} {{x}}", fenced=True), ["a", "b"])
    [rendered] = prompt.render([["u ```"], ["v"]])
    assert prompt.messages(rendered)[0]["content"] == "A ````\nu ```\n````\nB ````\nv\n```` {x}"


def test_marks_of_jinja_are_text_in_a_fenced_template():
    prompt = compile_prompt(Template("{% x %} {a}", fenced=True), ["a"])
    [rendered] = prompt.render([["u"]])
    assert prompt.messages(rendered)[0]["content"] == "{% x %} ```\nu\n```"


def test_an_example_of_a_fenced_template_is_fenced_too():
    prompt = compile_prompt(Template("{a}", fenced=True), ["a"], examples=[({"a": "u"}, "yes")])
    [rendered] = prompt.render([["v"]])
    assert [message["content"] for message in prompt.messages(rendered)] == ["```\nu\n```", "yes", "```\nv\n```"]


def test_a_null_is_still_a_null():
    prompt = compile_prompt(Template("{a}", fenced=True), ["a"])
    [failure] = prompt.render([[None]])
    assert getattr(failure, "kind", None) == "null"
