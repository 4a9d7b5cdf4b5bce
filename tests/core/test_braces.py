"""Brace templates: what is a field, what is text."""

from __future__ import annotations

import math
import uuid
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmframe.core.braces import BraceTemplate, Field, parse_braces
from llmframe.core.outcome import Failure
from llmframe.errors import UsageError


def filled(text, **cells):
    """The text of one row, or its failure."""
    template = BraceTemplate(parse_braces(text, list(cells)))
    result = template.fill({name: [cells[name]] for name in template.columns}, 1)
    return result.failures.get(0, result.texts[0])


STRANGE_NAMES = [
    "user.name", "case:id", "a[0]", "Review Text", "größe", "from", "0", "x!r", "a}b", "{", "}", "{}", "", " ",
    "a.b.c:.2f", "{{x}}", '"label": "pos"', "line\nbreak", "评论",
]  # fmt: skip


@pytest.mark.parametrize("name", STRANGE_NAMES)
def test_every_column_can_be_used_by_its_exact_name(name):
    assert parse_braces("Judge {" + name + "} now", STRANGE_NAMES) == ("Judge ", Field(name), " now")


@given(st.text(), st.lists(st.text(), max_size=5))
@example("x}", ["x"])
@example("{", ["{{", "}"])
def test_any_name_between_braces_is_that_column(name, others):
    assert parse_braces("{" + name + "}", [name, *others]) == (Field(name),)


def test_an_exact_name_wins_over_struct_fields_and_specs():
    names = ["user", "user.name", "price", "price:.2f"]
    assert parse_braces("{user.name}{price:.2f}", names) == (Field("user.name"), Field("price:.2f"))
    assert parse_braces("{user.age}", names) == (Field("user", ("age",)),)
    assert parse_braces("{user.name.first:>5}", names) == (Field("user.name", ("first",), ">5"),)
    assert parse_braces("{price:.3f}", names) == (Field("price", (), ".3f"),)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ('Reply as {"label": "pos"} for {t}', 'Reply as {"label": "pos"} for T'),
        ('Reply as {{"label": "pos"}} for {t}', 'Reply as {"label": "pos"} for T'),
        ("{{{t}}}", "{T}"),
        ("{{t}} {t}", "{t} T"),
        ("{{{{t}}}} {t}", "{{t}} T"),
        ('{"label": {"of": {"text": "{t}"}}}', '{"label": {"of": {"text": "T"}}}'),
        ('{"a": {t}}', '{"a": T}'),
        ('{{"a": {{"b": {t}}}}}', '{"a": {"b": T}}'),
        ('{\n  "label": "pos"\n}\n{t}', '{\n  "label": "pos"\n}\nT'),
        ("a lone { and {t}", "a lone { and T"),
        ("a lone } and {t}", "a lone } and T"),
        ("{t} at the end {", "T at the end {"),
        ("{} [] {t}", "{} [] T"),
        ("{,} {1,2} {'a'} {t}", "{,} {1,2} {'a'} T"),
        ("{t}{t}", "TT"),
    ],
)
def test_braces_that_are_no_field_are_text(template, text):
    assert filled(template, t="T") == text


@given(st.text())
@example("{x}}{")
def test_doubling_braces_gives_any_text_back(text):
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert parse_braces(doubled, ["x"]) == ((text,) if text else ())
    assert filled("{x}" + doubled + "{x}", x="{x}") == "{x}" + text + "{x}"


@given(st.lists(st.tuples(st.text("{}x!:[]. "), st.text("{}%")), min_size=1))
def test_cells_full_of_braces_come_out_as_they_are(rows):
    template = BraceTemplate(parse_braces("a {x}|{y} b", ["x", "y"]))
    texts = template.fill({"x": [x for x, _ in rows], "y": [y for _, y in rows]}, len(rows)).texts
    assert texts == ["a " + x + "|" + y + " b" for x, y in rows]


@pytest.mark.parametrize(
    ("template", "names", "message"),
    [
        (
            "J {txt}",
            ["text", "id"],
            r"column 'txt', which is absent; did you mean 'text'\? columns: 'text', 'id'.*'{{txt}}'",
        ),
        ("J {Review Txet}", ["Review Text"], r"did you mean 'Review Text'"),
        ("J {user.names}", ["user.name"], r"did you mean 'user.name'"),
        ("J {case:idd}", ["case:id"], r"did you mean 'case:id'"),
        ("J {prce:.2f}", ["price"], r"'prce:.2f'"),
        ("J { text }", ["text"], r"blanks inside '{ text }'; write '{text}'"),
        ("J { txet }", ["text"], r"column 'txet', which is absent; did you mean 'text'"),
        ("J {0}", ["text"], r"column '0', which is absent; columns: 'text'"),
        ("J {0}", [], r"column '0', which is absent; there are no columns; at character 3"),
        ("J {y[0]}", ["text"], r"column 'y\[0\]', which is absent"),
        ("J {y!r}", ["text"], r"column 'y!r', which is absent"),
        ("12345 {oops}", ["t"], r"at character 7"),
    ],
)
def test_an_absent_column_is_refused_with_the_nearest_names(template, names, message):
    with pytest.raises(UsageError, match=message):
        parse_braces(template, names)


def test_a_message_lists_at_most_twenty_columns():
    with pytest.raises(UsageError, match=r"'c19', … \(500 in all\)"):
        parse_braces("{nothing}", [f"c{i}" for i in range(500)])


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("{x.__class__.__init__.__globals__[os].environ}", "attributes and items of objects can't"),
        ("{x.__class__}", "attributes and items of objects can't"),
        ("{x.a.__dict__}", "attributes and items of objects can't"),
        ("{x[0]}", "attributes and items of objects can't"),
        ("{x[key]}", "attributes and items of objects can't"),
        ("{x!r}", "conversions"),
        ("{x!s:>5}", "conversions"),
        ("{x:{y}}", "braces inside a field"),
        ("{x:>{y}}", "braces inside a field"),
        ("{x:>999999999}", "end at 1000"),
        ("{x:.1001f}", "end at 1000"),
        ("{x:0999999999999999999999999999999}", "end at 1000"),
        ("{x:oops}", "isn't known"),
        ("{x:c}", "isn't known"),
        ("{x:n}", "isn't known"),
        ("{x:%999999999d}", "isn't known"),
        ("{x.}", "struct field is expected"),
        ("{x.split()}", "struct field is expected"),
    ],
)
def test_walks_conversions_and_unbounded_specs_are_refused(field, reason):
    with pytest.raises(UsageError, match=reason):
        parse_braces(f"J {field}", ["x", "y"])


@pytest.mark.parametrize(
    ("spec", "value", "text"),
    [
        (".2f", 3.14159, "3.14"),
        (".2f", 3, "3.00"),
        (".2f", Decimal("2.005"), "2.00"),  # half to even, as Decimal rounds
        (",", 1234567, "1,234,567"),
        (">5", "ab", "   ab"),
        (".3", "abcdef", "abc"),
        ("*^7", "abc", "**abc**"),
        ("05d", 42, "00042"),
        (".1%", 0.256, "25.6%"),
        ("x", 255, "ff"),
        (">1000", "a", " " * 999 + "a"),
        ("%Y-%m", date(2024, 5, 1), "2024-05"),
        ("%H:%M", datetime(2024, 5, 1, 9, 30), "09:30"),  # noqa: DTZ001 - naive on purpose
        ("%H h", time(9, 30), "09 h"),
        (".2f", math.nan, "NaN"),  # as it is without a spec: `nan` never goes out
        (".2f", -math.inf, "-Infinity"),
        (">6", None, ""),
    ],
)
def test_a_format_spec_writes_the_types_it_is_made_for(spec, value, text):
    assert filled("{x:" + spec + "}", x=value) == text


class Size(Enum):
    BIG = 12.345


def test_a_format_spec_takes_an_enum_by_its_value():
    assert filled("{x:.1f}", x=Size.BIG) == "12.3"


@pytest.mark.parametrize(
    ("spec", "value", "told"),
    [
        (".2f", "free", "'str'"),
        (".2f", date(2024, 5, 1), "'date'"),
        ("%Y", 3, "'int'"),
        (">5", [1], "'list'"),
        (">5", timedelta(1), "'timedelta'"),
        (">5", uuid.UUID(int=0), "'UUID'"),
        ("x", 1.5, "'float'"),
        (",", "free", "'str'"),
    ],
)
def test_a_spec_on_a_value_it_does_not_fit_fails_that_row(spec, value, told):
    detail = f"format spec {spec!r} doesn't fit a value of type {told} in column 'price'"
    assert filled("{price:" + spec + "}", price=value) == Failure("render", detail)


def test_a_struct_field_is_read_from_dicts_only():
    assert filled("{s.a}", s={"a": 1}) == "1"
    assert filled("{s.a.b c:.1f}", s={"a": {"b c": 2}}) == "2.0"
    assert filled("{s.a}", s={"a": {"b": [1]}}) == '{"b":[1]}'
    assert filled("{s.items}", s={"items": "own"}) == "own"
    assert filled("{s.a}", s={"b": 1}) == Failure("render", "no field 'a' in column 's.a'")
    assert filled("{s.real}", s=5) == Failure("render", "no field 'real' in a value of type 'int' in column 's.real'")


def test_a_null_struct_field_follows_the_null_policy():
    pieces = parse_braces("J {s.a.b}", ["s"])
    cells = {"s": [{"a": None}, {"a": {"b": None}}, {"a": {"b": 1}}]}
    skipped = BraceTemplate(pieces, "skip").fill(cells, 3)
    assert skipped.failures == dict.fromkeys([0, 1], Failure("null", "missing value in 's.a.b'"))
    rendered = BraceTemplate(pieces, "render").fill(cells, 3)
    assert (rendered.texts, rendered.failures) == (["J ", "J ", "J 1"], {})


def test_a_cell_without_text_fails_its_row_only():
    template = BraceTemplate(parse_braces("{x} {y:>2}", ["x", "y"]))
    result = template.fill({"x": ["a", b"b", "c"], "y": ["a", "b", "\ud800"]}, 3)
    assert result.texts[0] == "a  a"
    assert {row: failure.kind for row, failure in result.failures.items()} == {1: "encoding", 2: "encoding"}


def test_empty_braces_are_the_cell_of_a_series_only():
    assert parse_braces("J {} {{}}", ["t"], series=True) == ("J ", Field("t"), " {}")
    assert parse_braces("J {:.2f}", ["t"], series=True) == ("J ", Field("t", (), ".2f"))
    assert parse_braces("J {}", ["t"]) == ("J {}",)
    assert parse_braces("J {}", ["", "t"]) == ("J ", Field(""))


@given(st.text("{}ab.:![] \"'\n,1%>"), st.lists(st.text("ab{}.: ", max_size=3), max_size=3))
def test_any_template_is_either_read_or_refused(text, names):
    try:
        pieces = parse_braces(text, names)
    except UsageError:
        return
    assert {piece.column for piece in pieces if isinstance(piece, Field)} <= set(names)
