"""Prompts: from a template to the messages of a row."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.outcome import Failure
from llmframe.core.request import Question
from llmframe.core.template import Template, compile_prompt
from llmframe.errors import UsageError


def texts(prompt, *columns):
    return compile_prompt(prompt, ["a", "b"][: len(columns)]).render(columns)


def test_a_prompt_knows_the_positions_of_its_columns_in_frame_order():
    prompt = compile_prompt("{c} {a} {c}", ["a", "b", "c"], system="about {b.x}")
    assert (prompt.positions, prompt.columns) == ((0, 1, 2), ("a", "b", "c"))
    assert compile_prompt("{c}", ["a", "b", "c"]).positions == (2,)


def test_one_slot_is_a_text_and_several_are_a_tuple():
    assert texts("J {a}: {b}", ["x", "y"], [1, 2]) == ["J x: 1", "J y: 2"]
    both = compile_prompt("J {a}", ["a", "b"], system="S {b}")
    rendered = both.render([["x"], [1]])
    assert rendered == [("S 1", "J x")]
    assert both.messages(rendered[0]) == [
        {"role": "system", "content": "S 1"},
        {"role": "user", "content": "J x"},
    ]


def test_messages_keep_roles_parts_and_constants():
    literal = Template("{x}", literal=True)
    prompt = compile_prompt(
        [
            {"role": "system", "content": "S"},
            {"role": "user", "content": [{"type": "text", "text": "{a}"}, {"type": "text", "text": literal}]},
            {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "{{ b }}!"},
        ],
        ["a", "b"],
    )
    rendered = prompt.render([["{b}"], ["{{ a }}"]])
    assert rendered == [("{b}", "{{ a }}!")]
    assert prompt.messages(rendered[0]) == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": [{"type": "text", "text": "{b}"}, {"type": "text", "text": "{x}"}]},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "{{ a }}!"},
    ]


def test_messages_are_fresh_each_time():
    prompt = compile_prompt("{a}", ["a"], system="S")
    prompt.messages("x")[0]["content"] = "changed"
    assert prompt.messages("x")[0]["content"] == "S"


# Missing cells


def test_a_null_in_a_used_column_fails_the_row_and_names_the_column():
    null = Failure("null", "missing value in 'a'")
    assert texts("J {a}", ["ok", None, "", " "]) == ["J ok", null, "J ", "J  "]
    assert str(null) == "null: missing value in 'a'"
    assert compile_prompt("J {a}", ["a", "b"]).render([["x"]]) == ["J x"]


def test_nan_is_a_value_and_null_is_not():
    assert texts("J {a}", [1.0, None, math.nan]) == ["J 1.0", Failure("null", "missing value in 'a'"), "J NaN"]


def test_a_null_can_be_empty_text():
    prompt = compile_prompt("J {a} {b:.2f}!", ["a", "b"], on_null="render")
    assert prompt.render([["x", None, None], [1, None, 2]]) == ["J x 1.00!", "J  !", "J  2.00!"]


@pytest.mark.parametrize("source", ["{a}{b}", "{{ a }}{{ b }}", "{% if b %}{{ a }}{% endif %}"])
def test_null_is_told_before_other_faults_of_the_row(source):
    assert compile_prompt(source, ["a", "b"]).render([[b"x"], [None]]) == [Failure("null", "missing value in 'b'")]


def test_a_null_in_a_system_slot_fails_the_row_too():
    prompt = compile_prompt(lambda row: row["a"], ["a", "b"], system="S {b}")
    assert prompt.render([["x", "y"], [None, 1]]) == [Failure("null", "missing value in 'b'"), ("S 1", "y")]


# Which language a template is in


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ a }}", "X"),
        ("{{- a }}", "X"),
        ("{%if a%}{{a}}{%endif%}", "X"),
        ("{# why #}{{ a }}", "X"),
        ('{"label": "pos"} {{ a }}', '{"label": "pos"} X'),
    ],
)
def test_jinja_is_read_by_its_marks(source, text):
    assert texts(source, ["X"]) == [text]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('Reply as {{"label": "pos"}} for {a}', 'Reply as {"label": "pos"} for X'),
        ('Reply as\n{{\n  "label": "pos"\n}}\nfor {a}', 'Reply as\n{\n  "label": "pos"\n}\nfor X'),
        ("100 {% of {a}", "100 {% of X"),
    ],
)
def test_doubled_braces_without_a_blank_are_braces(source, text):
    assert texts(source, ["X"]) == [text]


@pytest.mark.parametrize(
    "source", ["{{ a }} {b}", "{% if a %}{b}{% endif %}", '{{ "label": "x" }} {a}', "{{ a }} {oops}"]
)
def test_a_mixture_is_refused_and_names_the_way_out(source):
    with pytest.raises(
        UsageError, match=r'llmframe.Template\(text, syntax="braces"\) or llmframe.Template\(text, syntax="jinja2"\)'
    ):
        compile_prompt(source, ["a", "b"])


def test_the_syntax_can_be_said_by_hand():
    source = "{{ b }} {a}"
    assert compile_prompt(Template(source, syntax="braces"), ["a", "b"]).render([["x"]]) == ["{ b } x"]
    assert compile_prompt(Template(source, syntax="jinja2"), ["a", "b"]).render([["x"]]) == ["x {a}"]
    assert texts(Template("{{a}}", syntax="jinja2"), ["x"]) == ["x"]


def test_jinja_names_that_are_absent_are_refused_before_rendering():
    with pytest.raises(UsageError, match=r"column 'reviews', which is absent; did you mean 'review'"):
        compile_prompt("{% for w in words %}{{ w }}{% endfor %}{{ reviews }}", ["review", "words"])


def test_a_column_wins_over_a_jinja_global():
    assert compile_prompt("{{ range }}", ["range"]).render([["x"]]) == ["x"]
    assert texts("{% for i in range(2) %}{{ a }}{% endfor %}", ["x"]) == ["xx"]


# What is refused before the first request


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("Is it positive?", r"uses no column.*'{a}'.*literal=True.*columns: 'a', 'b'"),
        ("J {{a}}", r"uses no column.*write '{a}'.*jinja2"),
        ("J {}", r"uses no column.*cell of a Series"),
        ("{{ 1 + 1 }}", "uses no column"),
        ("{% set x = 1 %}{{ 1 / 0 }}", "prompt can't be rendered: ZeroDivisionError"),
        ("", "empty"),
        ("  \n", "empty"),
        ("\ud800 {a}", "lone surrogate"),
        (None, "type 'NoneType'"),
        (3, "type 'int'"),
        ([], "empty list"),
        ([{"role": "user", "content": 3}], "prompt holds 'int' where a template is expected"),
        ([{"role": "usr", "content": "{a}"}], "role 'usr'"),
    ],
)
def test_a_prompt_that_cannot_work_is_refused(prompt, message):
    with pytest.raises(UsageError, match=message):
        compile_prompt(prompt, ["a", "b"])


def test_a_misspelt_column_in_the_system_text_is_refused():
    with pytest.raises(UsageError, match="system uses column 'aa'"):
        compile_prompt("{a}", ["a"], system="{aa}")


def test_two_system_texts_are_refused():
    messages = [{"role": "system", "content": "x"}, {"role": "user", "content": "{a}"}]
    with pytest.raises(UsageError, match="system message of their own"):
        compile_prompt(messages, ["a"], system="y")


def test_a_name_of_two_columns_is_refused_only_where_it_is_used():
    assert compile_prompt("{b}", ["a", "b", "a"]).positions == (1,)
    for prompt in ("{a}", "{{ a }}", lambda row: row["a"]):
        with pytest.raises(UsageError, match="column 'a', of which there are 2"):
            compile_prompt(prompt, ["a", "b", "a"])


def test_an_unknown_null_policy_is_refused():
    with pytest.raises(UsageError, match=r"on_null='skp' isn't known; did you mean 'skip'\?"):
        compile_prompt("{a}", ["a"], on_null="skp")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"text": "a", "syntax": "jinja"}, r"syntax='jinja' isn't known; did you mean 'jinja2'\?"),
        ({"text": "a", "syntax": "braces", "literal": True}, "leave out syntax='braces'"),
        ({"text": 3}, "not 'int'"),
        ({"text": " "}, "empty"),
    ],
)
def test_a_template_checks_its_values(values, message):
    with pytest.raises(UsageError, match=message):
        Template(**values)


# Without a column


def test_a_literal_is_sent_as_it_is_for_every_row():
    prompt = compile_prompt(Template("{a} {{ b }}", literal=True), ["a", "b"])
    assert prompt.positions == ()
    assert prompt.render([], rows=2) == [(), ()]
    assert prompt.messages(()) == [{"role": "user", "content": "{a} {{ b }}"}]


def test_a_column_in_the_system_text_is_enough():
    assert compile_prompt("Is it positive?", ["a"], system="{a}").render([["x"]]) == ["x"]


def test_a_chunk_without_rows_is_empty():
    assert compile_prompt("{a}", ["a"]).render([[]]) == []
    assert compile_prompt("{a}", ["a"], system="{a}").render([[]]) == []
    assert compile_prompt(Template("x", literal=True), ["a"]).render([]) == []


# On a Series


def test_a_series_has_one_cell():
    for source in ("J {}", "J {t}", "J {{ t }}"):
        assert compile_prompt(source, ["t"], series=True).render([["x"]]) == ["J x"]
    assert compile_prompt("J {:.1f}", [""], series=True).render([[1]]) == ["J 1.0"]


@pytest.mark.parametrize(
    ("source", "message"),
    [("J", "has 0"), ("{} {}", "has 2"), ("{} {t}", "has 2"), ("{other}", "column 'other'"), ("{{}}", "has 0")],
)
def test_a_series_prompt_without_exactly_one_cell_is_refused(source, message):
    with pytest.raises(UsageError, match=message):
        compile_prompt(source, ["t"], series=True)


def test_a_series_may_have_a_literal():
    prompt = compile_prompt(Template("always {}", literal=True), ["t"], series=True)
    assert prompt.messages(prompt.render([], rows=1)[0]) == [{"role": "user", "content": "always {}"}]


# Callables


def test_a_callable_gets_every_column_and_gives_text_or_messages():
    def ask(row):
        return [{"role": "user", "content": "many"}] if row["a"] > 1 else f"one {row['b']}"

    prompt = compile_prompt(ask, ["a", "b"], system="S")
    assert prompt.positions == (0, 1)
    rendered = prompt.render([[1, 2, None], ["x", "y", "z"]])
    assert rendered[0] == "one x"
    assert [entry["content"] for entry in prompt.messages(rendered[0])] == ["S", "one x"]
    assert [entry["content"] for entry in prompt.messages(rendered[1])] == ["S", "many"]
    assert rendered[2] == Failure("null", "missing value in 'a'")


def test_texts_and_messages_of_a_callable_never_meet():
    message = {"role": "user", "content": "x"}
    prompt = compile_prompt(lambda row: row["a"], ["a"])
    rendered = prompt.render([["x", [message]]])
    assert len(set(rendered)) == 2
    assert prompt.messages(rendered[0]) == prompt.messages(rendered[1]) == [message]


# Laws

CELL = (
    st.none() | st.text("{}%ab. \ud800") | st.integers() | st.floats() | st.binary(max_size=1) | st.lists(st.booleans())
)
PROMPTS = ["{a}|{b:>5}|{a}", "{{ a }}{% if b %}{{ b }}{% endif %}", lambda row: f"{row['a']}{row.get('b')}"]


@pytest.mark.parametrize("source", PROMPTS)
@given(rows=st.lists(st.tuples(CELL, CELL), max_size=8), cut=st.integers(0, 8))
def test_a_row_renders_the_same_in_any_chunk(source, rows, cut):
    prompt = compile_prompt(source, ["a", "b"], system="{b}")

    def rendered(part):
        return prompt.render([[a for a, _ in part], [b for _, b in part]])

    assert rendered(rows) == rendered(rows[:cut]) + rendered(rows[cut:])


@given(st.lists(st.tuples(st.text("{}%# ab"), st.text("{}%# ab")), min_size=1))
def test_cells_are_never_read_again(rows):
    columns = [[a for a, _ in rows], [b for _, b in rows]]
    assert texts("<{a}|{b}>", *columns) == [f"<{a}|{b}>" for a, b in rows]
    assert texts("<{{ a }}|{{ b }}>", *columns) == [f"<{a}|{b}>" for a, b in rows]


@pytest.mark.parametrize(
    ("source", "series", "character"),
    [("{review", False, 1), ("J: {review", False, 4), ("J {{text}} {review of", False, 12), ("J {", True, 3)],
)
def test_a_brace_that_stays_open_is_told_where_no_column_is_used(source, series, character):
    with pytest.raises(UsageError, match=f"; the brace at character {character} stays open, close it as in "):
        compile_prompt(source, ["review"], series=series)


def test_a_lone_brace_beside_a_column_is_text():
    assert texts("{a} {", ["X"]) == ["X {"]
    assert texts("{a} {}", ["X"]) == ["X {}"]


@pytest.mark.parametrize(
    "source",
    [
        "{a}",
        '<{a}> ü "quoted" {b}',
        Template("no column", literal=True),
        [
            {"role": "user", "content": "{a}"},
            {"role": "assistant", "content": "-"},
            {"role": "user", "content": "{b}"},
        ],
        [{"role": "user", "content": [{"type": "text", "text": "{a}"}, {"type": "text", "text": "and {b}"}]}],
        [{"role": "system", "content": "{b}"}, {"role": "user", "content": "{a}"}],
        lambda row: row["a"],
        lambda row: [{"role": "user", "content": row["b"]}],
    ],
    ids=["one", "two", "literal", "turns", "parts", "system", "callable", "callable-messages"],
)
@pytest.mark.parametrize("system", [None, "be short", "about {b}"])
@given(rows=st.lists(st.tuples(st.text(), st.text()), max_size=4))
def test_the_prepared_keys_are_those_of_the_messages(source, system, rows):
    if isinstance(source, list) and source[0]["role"] == "system":
        system = None
    prompt = compile_prompt(source, ["a", "b"], system=system, examples=[({"a": "1", "b": "2"}, "ß")])
    fingerprints = Question(identity="x", model="m", params={"seed": 1}, schema="", output_mode="auto").fingerprints()
    key = prompt.keys(fingerprints)
    cells = {"a": [a for a, _ in rows], "b": [b for _, b in rows]}
    for rendered in prompt.render([cells[name] for name in prompt.columns], rows=len(rows)):
        if not isinstance(rendered, Failure):
            assert key(rendered) == fingerprints.key(prompt.messages(rendered))


def test_only_a_callable_may_tell_equal_rows_apart():
    assert compile_prompt("{a}", ["a"]).pure
    assert compile_prompt("{{ a }}", ["a"]).pure
    assert not compile_prompt(lambda row: row["a"], ["a"]).pure
    assert not compile_prompt(lambda row: row["a"], ["a"], system="{a}").pure
