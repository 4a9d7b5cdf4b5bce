"""Types by name."""

from __future__ import annotations

import pyarrow as pa
import pytest

from llmframe.errors import UsageError
from llmframe.frames.files.type_names import type_named, types_of


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("int64", pa.int64()),
        ("Int64", pa.int64()),
        ("int", pa.int64()),
        ("float", pa.float64()),
        ("str", pa.string()),
        ("boolean", pa.bool_()),
        ("date", pa.date32()),
        ("datetime", pa.timestamp("us")),
        ("timestamp[ns]", pa.timestamp("ns")),
        ("decimal(12, 2)", pa.decimal128(12, 2)),
        (pa.int8(), pa.int8()),
    ],
)
def test_a_type_has_the_names_that_people_write(name, type_):
    assert type_named(name) == type_


@pytest.mark.parametrize("name", ["integr", "decimal(99, 2)", "", 3, int])
def test_an_unknown_name_is_an_error_that_lists_some(name):
    with pytest.raises(UsageError, match="types: string, int64"):
        type_named(name)


def test_a_type_for_a_column_that_is_absent_is_an_error_with_the_nearest():
    with pytest.raises(UsageError, match=r"'star', which is absent; did you mean 'stars'"):
        types_of({"star": "int"}, columns=["stars", "text"])
    assert types_of(None, columns=["a"]) == {}
