"""What Arrow types become in a Delta table."""

from __future__ import annotations

import pyarrow as pa
import pytest

from llmframe.frames.files.delta_types import delta_field, delta_schema, delta_type


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (pa.uint8(), pa.int16()),
        (pa.uint16(), pa.int32()),
        (pa.uint32(), pa.int64()),
        (pa.uint64(), pa.decimal128(20, 0)),  # 2**64 - 1 has 20 digits
        (pa.float16(), pa.float32()),
        (pa.timestamp("ns"), pa.timestamp("us")),
        (pa.timestamp("s", "Europe/Berlin"), pa.timestamp("us", "UTC")),
        (pa.dictionary(pa.int8(), pa.string()), pa.string()),
        (pa.list_(pa.uint8()), pa.list_(pa.int16())),
        (pa.list_(pa.float32(), 3), pa.list_(pa.float32())),
        (pa.list_(pa.uint8(), 3), pa.list_(pa.int16())),
        (pa.large_list(pa.float16()), pa.large_list(pa.float32())),
        (pa.struct([("a", pa.uint8())]), pa.struct([("a", pa.int16())])),
        (pa.map_(pa.string(), pa.uint8()), pa.map_(pa.string(), pa.int16())),
        (pa.int64(), pa.int64()),
        (pa.duration("s"), pa.duration("s")),
    ],
)
def test_a_type_becomes_the_next_one_that_delta_has(given, kept):
    assert delta_type(given) == kept


def test_a_field_keeps_its_name_nullability_and_metadata():
    field = delta_field(pa.field("a", pa.uint8(), nullable=False, metadata={"unit": "m"}))
    assert field.equals(pa.field("a", pa.int16(), nullable=False, metadata={"unit": "m"}), check_metadata=True)


def test_a_schema_keeps_its_metadata():
    assert delta_schema(pa.schema([("a", pa.uint8())], metadata={"k": "v"})).metadata == {b"k": b"v"}
