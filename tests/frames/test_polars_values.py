from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.frames.polars_values import typed_series

LABELS = pl.Enum(["a", "b"])
LEAVES = {
    pl.String(): st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    pl.Int64(): st.integers(-(2**63), 2**63 - 1),
    pl.Boolean(): st.booleans(),
    LABELS: st.sampled_from(["a", "b"]),
}


def _with_values(dtype):
    """Pairs of a dtype and a strategy for its values, from those of its parts."""
    return st.just((dtype, st.none() | LEAVES[dtype]))


SHAPES = st.recursive(
    st.sampled_from(list(LEAVES)).flatmap(_with_values),
    lambda inner: st.one_of(
        inner.map(lambda part: (pl.List(part[0]), st.none() | st.lists(part[1], max_size=3))),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda parts: (
                pl.Struct({f"f{at}": part[0] for at, part in enumerate(parts)}),
                st.none() | st.fixed_dictionaries({f"f{at}": part[1] for at, part in enumerate(parts)}),
            )
        ),
    ),
    max_leaves=4,
)


@given(st.data())
def test_values_of_any_shape_come_back_as_they_went_in(data):
    dtype, value = data.draw(SHAPES)
    values = data.draw(st.lists(value, max_size=6))
    series = typed_series("x", values, dtype)
    assert series.name == "x"
    assert series.dtype == dtype
    assert series.to_list() == values


def test_empty_lists_and_null_lists_stay_apart():
    dtype = pl.List(pl.List(pl.Struct({"a": LABELS})))
    values = [[], None, [[]], [None, [], [None, {"a": None}, {"a": "b"}]]]
    assert typed_series("x", values, dtype).to_list() == values


def test_nested_leaves_keep_their_parameters():
    dtype = pl.Struct({"at": pl.List(pl.Datetime("us", "UTC")), "price": pl.Decimal(38, 2), "day": pl.Date})
    values = [{"at": [datetime(2024, 1, 1, tzinfo=UTC)], "price": Decimal("1.50"), "day": date(2024, 1, 1)}, None]
    series = typed_series("x", values, dtype)
    assert series.dtype == dtype
    assert series.to_list() == values


def test_a_field_that_a_record_lacks_is_null():
    assert typed_series("x", [{"a": 1}], pl.Struct({"a": pl.Int64, "b": pl.String})).to_list() == [{"a": 1, "b": None}]


@pytest.mark.parametrize("dtype", [pl.List(LABELS), pl.Struct({"a": pl.List(LABELS)})])
def test_a_nested_value_outside_its_dtype_is_an_error(dtype):
    value = ["c"] if isinstance(dtype, pl.List) else {"a": ["c"]}
    with pytest.raises(pl.exceptions.InvalidOperationError):
        typed_series("x", [value], dtype)
