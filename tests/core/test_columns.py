"""Typed columns between outcomes and a dataframe library."""

from __future__ import annotations

from array import array
from typing import get_args

from llmframe.core.columns import Column, ColumnType, TypeKind


def test_types_are_equal_by_what_they_say():
    labels = ColumnType("enum", labels=("pos", "neg"))
    assert labels == ColumnType("enum", labels=("pos", "neg"))
    assert labels != ColumnType("enum", labels=("neg", "pos"))  # declared order counts
    assert len({ColumnType("list", item=labels), ColumnType("list", item=labels)}) == 1
    assert ColumnType("datetime", utc=True) != ColumnType("datetime")
    assert ColumnType("vector", size=2) != ColumnType("vector", size=3)


def test_the_kinds_are_a_closed_list():
    """Every frame library maps each of them; a new one is a change in all of them."""
    assert get_args(TypeKind) == (
        "enum",
        "string",
        "bool",
        "int",
        "float",
        "date",
        "datetime",
        "duration",
        "decimal",
        "list",
        "struct",
        "json",
        "vector",
    )


def test_a_column_shows_no_cell():
    assert "secret" not in repr(Column("review", ColumnType("string"), ["secret"]))


def test_rows_take_their_value_by_place_and_from_the_end():
    column = Column("c", ColumnType("int"), [7, 8, None], rows=array("q", [1, -1, 1, 0]))
    assert column.spread() == [8, None, 8, 7]
    assert column.unshared() == [8, None, 8, 7]
    assert Column("c", ColumnType("int"), [7, None]).spread() == [7, None]
    assert Column("c", ColumnType("int"), [7], rows=array("q")).spread() == []


def test_unshared_lists_and_dicts_are_each_rows_own():
    nested = ColumnType("struct", fields=(("tags", ColumnType("list", item=ColumnType("string"))),))
    column = Column("c", nested, [{"tags": ["a"]}, None], rows=array("q", [0, 0, 1]))
    first, second, third = column.unshared()
    assert (first, second, third) == ({"tags": ["a"]}, {"tags": ["a"]}, None)
    assert first is not second
    assert first["tags"] is not second["tags"]
