"""Quantiles from bins, against the sorted list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.histogram import Histogram


def counted(values: list[float]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    return histogram


def test_without_a_duration_there_are_no_quantiles():
    assert Histogram().quantiles((0.5, 0.95, 0.99)) == [None, None, None]


@pytest.mark.parametrize("value", [0.0, 1e-5, 0.037, 2.5, 1e6])
def test_equal_durations_have_themselves_as_quantiles(value: float):
    assert counted([value] * 7).quantiles((0.5, 0.99, 1.0)) == [value, value, value]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([4.0, 1.0, 3.0, 2.0], [2.0, 4.0, 4.0]),  # ranks ⌈0.5·4⌉ = 2, ⌈0.95·4⌉ = 4, ⌈0.99·4⌉ = 4
        ([float(n) for n in range(1, 101)], [50.0, 95.0, 99.0]),
        ([float(n) for n in range(1, 201)], [100.0, 190.0, 198.0]),
    ],
)
def test_quantiles_are_of_nearest_rank(values: list[float], expected: list[float]):
    assert counted(values).quantiles((0.5, 0.95, 0.99)) == pytest.approx(expected, rel=0.01)


@given(st.lists(st.floats(2e-4, 9e3), min_size=1, max_size=60), st.sampled_from([0.01, 0.5, 0.95, 0.99, 1.0]))
def test_a_quantile_is_within_a_hundredth_of_the_sorted_lists(values: list[float], level: float):
    exact = sorted(values)[max(0, -int(-level * len(values) // 1) - 1)]
    assert counted(values).quantiles((level,)) == [pytest.approx(exact, rel=0.0101)]


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=30))
def test_no_quantile_leaves_the_range_of_what_was_seen(values: list[float]):
    for found in counted(values).quantiles((0.01, 0.5, 1.0)):
        assert found is not None
        assert min(values) <= found <= max(values)


def test_memory_does_not_grow_with_the_durations():
    histogram = counted([0.5])
    before = len(histogram._bins)
    for value in range(10_000):
        histogram.add(value * 7.0)
    assert len(histogram._bins) == before
    assert (histogram.count, histogram.longest) == (10_001, 69_993.0)
