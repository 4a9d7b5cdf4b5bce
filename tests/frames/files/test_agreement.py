"""One schema of several files."""

from __future__ import annotations

import pyarrow as pa
import pytest

from llmframe.errors import UsageError
from llmframe.frames.files.agreement import agreed, conformed

A = pa.schema([("n", pa.int64()), ("s", pa.string())], metadata={"from": "a"})


def test_the_first_files_metadata_counts_and_the_order_of_columns_doesnt():
    other = pa.schema([("s", pa.string()), ("n", pa.int64())])
    assert agreed([("a", A), ("b", other)]).equals(A, check_metadata=True)


def test_a_column_may_be_null_when_it_may_in_any_file():
    strict = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    assert agreed([("a", strict), ("b", pa.schema([("n", pa.int64())]))]).field("n").nullable
    assert not agreed([("a", strict), ("b", strict)]).field("n").nullable


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (A.append(pa.field("x", pa.int8())), "'b' has a column 'x', 'a' has none"),
        (A.remove(1), "'a' has a column 's', 'b' has none"),
        (A.set(0, pa.field("n", pa.int32())), "column 'n' is int64 in 'a' and int32 in 'b'"),
        (A.append(pa.field("s", pa.string())), "'b' has two columns named 's'"),
    ],
)
def test_a_difference_is_an_error_that_names_both_files_and_the_column(schema, message):
    with pytest.raises(UsageError, match=message):
        agreed([("a", A), ("b", schema)])


def test_a_table_gets_the_order_and_the_metadata_of_the_schema():
    table = pa.table({"s": ["x"], "n": [1]})
    assert conformed(table, A).schema.equals(A, check_metadata=True)
    assert conformed(table, A).to_pylist() == [{"n": 1, "s": "x"}]
