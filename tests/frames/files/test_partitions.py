"""Columns in the names of folders."""

from __future__ import annotations

import pyarrow as pa
import pytest

from llmframe.errors import UsageError
from llmframe.frames.files.partitions import partitions_of
from llmframe.frames.files.ports import FileInfo


def columns(*names):
    found = partitions_of([FileInfo(name, name, 0) for name in names])
    table = pa.table({"a": [1]})
    return [found.attached(table, at).to_pylist()[0] for at in range(len(names))]


def test_files_in_no_subfolder_have_no_further_columns():
    assert columns("a.csv", "b.csv") == [{"a": 1}, {"a": 1}]


def test_whole_numbers_are_numbers_and_the_rest_is_text_as_it_stands():
    assert columns("y=2024/m=01/c=x%2Fy/0.csv", "y=2023/m=12/c=z/0.csv") == [
        {"a": 1, "y": 2024, "m": "01", "c": "x/y"},
        {"a": 1, "y": 2023, "m": "12", "c": "z"},
    ]


def test_the_default_partition_is_null():
    assert columns("y=__HIVE_DEFAULT_PARTITION__/0.csv", "y=3/0.csv") == [{"a": 1, "y": None}, {"a": 1, "y": 3}]


def test_a_column_of_the_files_own_stays():
    assert columns("a=7/0.csv") == [{"a": 1}]


def test_the_schema_has_the_columns_that_the_tables_have():
    found = partitions_of([FileInfo("y=1/0.csv", "y=1/0.csv", 0)])
    schema = pa.schema([("a", pa.int64())], metadata={"k": "v"})
    assert found.extended(schema) == schema.append(pa.field("y", pa.int64()))
    assert found.extended(schema).metadata == {b"k": b"v"}


def test_different_keys_are_an_error_that_names_both_files():
    with pytest.raises(UsageError, match=r"'y=1/0.csv' has \['y'\], 'm=1/0.csv' \['m'\]"):
        columns("y=1/0.csv", "m=1/0.csv")
