"""Typed columns between outcomes and a dataframe library."""

from __future__ import annotations

from typing import get_args

from llmframe.core.columns import Column, ColumnType, TypeKind


def test_types_are_equal_by_what_they_say():
    labels = ColumnType("enum", labels=("pos", "neg"))
    assert labels == ColumnType("enum", labels=("pos", "neg"))
    assert labels != ColumnType("enum", labels=("neg", "pos"))  # declared order counts
    assert len({ColumnType("list", item=labels), ColumnType("list", item=labels)}) == 1
    assert ColumnType("datetime", utc=True) != ColumnType("datetime")


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
    )


def test_a_column_shows_no_cell():
    assert "secret" not in repr(Column("review", ColumnType("string"), ["secret"]))
