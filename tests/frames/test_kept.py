from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError
from llmframe.frames.kept import kept

NOON = datetime(2024, 7, 1, 12)  # noqa: DTZ001 - naive on purpose
CENT = ColumnType("decimal", scale=2)
PAIR = ColumnType("struct", fields=(("a", ColumnType("int")), ("b", ColumnType("string"))))


@pytest.mark.parametrize(
    ("type_", "old", "new"),
    [
        (ColumnType("enum", labels=("x",)), "x", "x"),
        (ColumnType("string"), "x", "x"),
        (ColumnType("bool"), True, True),
        (ColumnType("int"), 3.0, 3),
        (ColumnType("int"), Decimal("3.0"), 3),
        (ColumnType("int"), 2**63 - 1, 2**63 - 1),
        (ColumnType("float"), 3, 3.0),
        (ColumnType("date"), NOON.replace(hour=0), date(2024, 7, 1)),
        (ColumnType("date"), date(2024, 7, 1), date(2024, 7, 1)),
        (ColumnType("datetime"), NOON, NOON),
        (
            ColumnType("datetime", utc=True),
            NOON.replace(tzinfo=timezone(timedelta(hours=2))),
            datetime(2024, 7, 1, 10, tzinfo=UTC),
        ),
        (ColumnType("duration"), timedelta(1), timedelta(1)),
        (CENT, 3, Decimal("3.00")),
        (CENT, Decimal("1.500"), Decimal("1.50")),
        (ColumnType("list", item=ColumnType("int")), [1.0, None], [1, None]),
        (PAIR, {"a": 1.0}, {"a": 1, "b": None}),
        (ColumnType("json"), '{"a":1}', '{"a":1}'),
        (ColumnType("json"), {"a": ["ß"]}, '{"a":["ß"]}'),
    ],
)
def test_what_fits_is_converted(type_, old, new):
    column = kept(Column("c", type_, ["asked", None, None]), [True, False, False], [old, old, None], dtype="d")
    assert column.values == ["asked", new, None]
    assert type(column.values[1]) is type(new)


@pytest.mark.parametrize(
    ("type_", "old", "wanted"),
    [
        (ColumnType("enum", labels=("x",)), "y", "one of its labels"),
        (ColumnType("enum", labels=("x",)), ["x"], "one of its labels"),
        (ColumnType("string"), 1, "text"),
        (ColumnType("bool"), 1, "true or false"),
        (ColumnType("int"), 1.5, "a whole number"),
        (ColumnType("int"), True, "a whole number"),
        (ColumnType("int"), 2**63, "a whole number of 64 bits"),
        (ColumnType("int"), math.inf, "a whole number"),
        (ColumnType("int"), "1", "a whole number"),
        (ColumnType("float"), "1.5", "a number"),
        (ColumnType("date"), NOON, "a date"),
        (ColumnType("datetime"), NOON.replace(tzinfo=UTC), "without a time zone"),
        (ColumnType("datetime"), "2024-07-01T12:00:00.000000001", "whole microseconds"),
        (ColumnType("datetime", utc=True), NOON, "with a time zone"),
        (ColumnType("duration"), 5, "a duration"),
        (CENT, Decimal("1.505"), "its scale can hold"),
        (CENT, Decimal("NaN"), "its scale can hold"),
        (CENT, 10**37, "its scale can hold"),
        (CENT, 1.5, "a decimal number"),
        (ColumnType("list", item=ColumnType("int")), ["x"], "a whole number"),
        (ColumnType("list", item=ColumnType("int")), "x", "a list"),
        (PAIR, {"a": 1, "z": 2}, "a record with its fields"),
        (ColumnType("json"), b"x", "JSON"),
    ],
)
def test_what_would_need_a_guess_is_an_error(type_, old, wanted):
    with pytest.raises(UsageError, match=rf"column 'c' \(d\).*isn't .*{wanted}.*drop `where`"):
        kept(Column("c", type_, [None]), [False], [old], dtype="d")


def test_cells_of_rows_that_are_asked_are_not_looked_at():
    column = Column("c", ColumnType("int"), [1])
    assert kept(column, [True], ["no number"], dtype="d") == column
