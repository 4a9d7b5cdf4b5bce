"""The values that sending options may have; most of them are tested as options."""

from __future__ import annotations

import math
from typing import Any

import pytest

from llmframe import option_values as values
from llmframe.errors import UsageError


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (5, '`prices` must be a dict such as {"my-model": {"input": 0.15, "output": 0.6}}, in dollars per million tok'),
        ({3: {}}, "`prices` has the model 3, which is no name; say"),
        ({" ": {}}, "`prices` has the model ' ', which is no name; say"),
        ({"m": 5}, '`prices[\'m\']` must be a dict such as {"input": 0.15, "output": 0.6}, got int'),
        ({"m": {"input": 1}}, "`prices['m']` lacks 'output', in dollars per million tokens (0 when it costs nothing)"),
        ({"m": {"output": 1}}, "`prices['m']` lacks 'input'"),
        ({"m": {"inputs": 1, "output": 1}}, "`prices['m']` has no rate 'inputs'; did you mean 'input'"),
        ({"m": {1: 1}}, "`prices['m']` has no rate 1; rates: input, output, cached, batch"),
        (
            {"m": {"input": 1, "output": 1, "batch": 50}},
            "`prices['m']['batch']` must be a part of the live price such as 0.5, got 50",
        ),
        ({"m": {"input": -1, "output": 1}}, "`prices['m']['input']` must be a number of at least 0, got -1"),
        ({"m": {"input": 1, "output": math.nan}}, "`prices['m']['output']` must be a number of at least 0, got nan"),
        ({"m": {"input": True, "output": 1}}, "`prices['m']['input']` must be a number of at least 0, got True"),
        ({"m": {"input": "1", "output": 1}}, "`prices['m']['input']` must be a number of at least 0, got '1'"),
    ],
)
def test_a_table_of_prices_that_can_not_be_one_is_refused(table: Any, message: str):
    with pytest.raises(UsageError) as caught:
        values.prices(table)
    assert str(caught.value).startswith(message)


def test_a_price_may_be_nothing():
    values.prices({})
    values.prices({"m": {"input": 0, "output": 0.0}, "openai/m": {"input": 1, "output": 2, "cached": 0.5}})


def test_a_store_is_known_by_what_it_does():
    class Keeps:
        def get_many(self, keys: Any) -> Any:
            return {}

        def put_many(self, entries: Any) -> None:
            """Nothing."""

    values.cache(Keeps())
    with pytest.raises(UsageError, match="`cache` must be"):
        values.cache(Keeps)
