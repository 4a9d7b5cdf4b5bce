"""Jinja2 templates over columns."""

from __future__ import annotations

import math
import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.cells import CellError, cell_text
from llmframe.core.jinja import compile_jinja
from llmframe.core.outcome import Failure
from llmframe.errors import UsageError


def filled(text, on_null="skip", **cells):
    template = compile_jinja(text, on_null=on_null)
    result = template.fill({name: [cells[name]] for name in template.columns}, 1)
    return result.failures.get(0, result.texts[0])


def test_columns_are_the_names_that_the_template_leaves_undefined():
    source = "{% set a = x %}{% for i in items %}{{ i }}{{ loop.index }}{% endfor %}{{ a }}{{ y if z }}"
    assert compile_jinja(source).columns == ("items", "x", "y", "z")


def test_the_final_line_break_is_kept():
    assert filled("{{ x }}\n", x="a") == "a\n"


@pytest.mark.parametrize(
    "value",
    [True, 1, 1.0, 1e16, math.nan, math.inf, "{{ x }} {y} <b>", Decimal("1E+3"), timedelta(hours=1), uuid.UUID(int=1),
     datetime(2024, 5, 1, tzinfo=UTC), [1, None, "a"], {"a": [1.0]}],
)  # fmt: skip
def test_a_printed_cell_has_the_text_of_a_cell(value):
    assert filled("a {{ x }}", x=value) == "a " + cell_text(value)


@given(st.text("{}%# x\\n"))
def test_cells_are_never_read_as_templates(text):
    assert filled("{{ x }}|{{ x }}", x=text) == f"{text}|{text}"


def test_values_are_native():
    assert (
        filled("{{ '%.2f' | format(x) }} {{ x + 1 }} {{ s.a.b }} {{ s['a'].b }}", x=1.5, s={"a": {"b": 2}})
        == "1.50 2.5 2 2"
    )
    assert filled("{% for i in xs %}{{ i }};{% endfor %}", xs=[1, True, 2.0]) == "1;True;2.0;"


def test_a_structs_own_fields_win_over_the_methods_of_dict():
    assert filled("{{ s.items }} {{ s.keys }}", s={"items": 3, "keys": "k"}) == "3 k"


def test_a_method_or_object_that_is_printed_fails_the_row():
    result = filled("{{ s.items }}", s={"a": 1})
    assert isinstance(result, Failure)
    assert result.kind == "render"


@pytest.mark.parametrize(
    "source", ["{{ x.__class__ }}", "{{ x.__class__.__mro__ }}", "{{ ''.__class__.__base__.__subclasses__() }}{{ x }}"]
)
def test_walking_into_objects_fails_the_row(source):
    result = filled(source, x=uuid.UUID(int=0))
    assert isinstance(result, Failure)
    assert result.kind == "render"
    assert result.detail.startswith("SecurityError")


@pytest.mark.parametrize(
    ("source", "cell"),
    [
        ("{{ x + 1 }}", "secret"),
        ("{{ 1 / x }}", 0),
        ("{{ x | int(base=99) + d[x] }}", "secret"),
        ("{{ [1][x] + 1 }}", 7),
    ],
)
def test_what_goes_wrong_at_run_time_is_the_rows_failure(source, cell):
    cells = {"x": cell, "d": {}} if "d[" in source else {"x": cell}
    result = filled(source, **cells)
    assert isinstance(result, Failure)
    assert result.kind == "render"


def test_messages_of_python_errors_stay_out_for_they_quote_cells():
    assert filled("{{ x + 1 }}", x="secret") == Failure("render", "TypeError in the template")


def test_an_absent_struct_field_is_a_failure():
    result = filled("{{ s.a }}", s={"b": 1})
    assert isinstance(result, Failure)
    assert result.detail.startswith("UndefinedError: 'dict object' has no attribute 'a'")


@pytest.mark.parametrize(
    "source",
    ["{{ s.a }}", "{{ s.a | upper }}", "{{ s['a'] ~ '' }}", "{{ s.b[0] }}", "{% for x in s.b %}{{ x }}{% endfor %}"],
)
def test_a_null_inside_follows_the_policy(source):
    cell = {"a": None, "b": [None]}
    assert filled(source, s=cell) == Failure("null", "missing value in the template")
    assert filled(source, "render", s=cell) == ""


def test_an_empty_null_never_prints_none():
    assert filled("{{ x | upper }}{{ x ~ 'a' }}", "render", x=None) == "a"


def test_cells_without_text_fail_whether_or_not_they_are_printed():
    assert filled("{{ x | length }}", x=b"abc") == Failure("encoding", "bytes aren't text in column 'x'")
    assert filled("{% if x %}y{% endif %}", x="\ud800") == Failure(
        "encoding", "lone surrogate at character 1 in column 'x'"
    )
    assert filled("{{ s.a ~ '' }}", s={"a": "\ud800"}) == Failure(
        "encoding", "lone surrogate at character 1 in the template"
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{{ x", r"prompt isn't valid Jinja2: line 2: .*syntax=\"braces\""),
        ('{{ "label": "pos" }}', "isn't valid Jinja2"),
        ("{{ x | nosuchfilter }}", "nosuchfilter"),
        ("{% include 'a' %}", "other templates"),
        ("{{ [1, 2] | random }}", "random"),
    ],
)
def test_a_template_that_cannot_be_compiled_is_refused(source, message):
    with pytest.raises(UsageError, match=message):
        compile_jinja(source)


def test_nothing_random_is_at_hand():
    assert compile_jinja("{{ range(2) }} {{ lipsum() }}").columns == ("lipsum",)


def test_a_column_wins_over_a_global():
    assert compile_jinja("{{ range }}", ["range"]).columns == ("range",)


@given(
    st.one_of(st.integers(), st.floats(), st.text(), st.lists(st.floats()), st.dictionaries(st.text(), st.booleans()))
)
def test_jinja_and_braces_write_the_same_text(value):
    try:
        expected = cell_text(value)
    except CellError:
        return
    assert filled("{{ x }}", x=value) == expected
