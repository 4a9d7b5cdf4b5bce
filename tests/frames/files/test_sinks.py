"""Choosing a format's sink, and what a format can hold."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

from llmframe.errors import UsageError
from llmframe.frames.files.formats import Named, named
from llmframe.frames.files.sinks import check_columns, sink_of

TABLE = pa.table({"a": [1, 2]})


@pytest.mark.parametrize(
    "name", ["x.parquet", "x.csv", "x.tsv", "x.jsonl", "x.arrow", "x.arrows", "x.csv.gz", "x.jsonl.xz"]
)
def test_equal_tables_make_equal_bytes(name):
    made = []
    for _ in range(2):
        file = io.BytesIO()
        with sink_of(file, TABLE.schema, named(name)) as sink:
            sink.write(TABLE)
        assert not file.closed
        made.append(file.getvalue())
    assert made[0] == made[1] != b""


@pytest.mark.parametrize("format_", ["csv", "tsv", "jsonl"])
def test_text_formats_refuse_bytes_before_anything_is_asked(format_):
    with pytest.raises(UsageError, match=f"column 'b' holds bytes, which {format_} can't"):
        check_columns(pa.schema([("a", pa.int64()), ("b", pa.binary())]), Named(format_))


def test_a_type_that_parquet_lacks_is_named_with_its_column():
    with pytest.raises(UsageError, match="column 'e' is month_day_nano_interval, which parquet can't hold"):
        check_columns(pa.schema([("a", pa.int64()), ("e", pa.month_day_nano_interval())]), Named("parquet"))


@pytest.mark.parametrize("format_", ["parquet", "ipc", "csv", "jsonl"])
def test_the_types_of_answers_are_held_by_every_format(format_):
    schema = pa.schema(
        [
            ("label", pa.dictionary(pa.int32(), pa.string())),
            ("when", pa.timestamp("us", "UTC")),
            ("took", pa.duration("us")),
            ("cost", pa.decimal128(38, 2)),
            ("tags", pa.list_(pa.struct([("a", pa.string())]))),
        ]
    )
    check_columns(schema, Named(format_))
