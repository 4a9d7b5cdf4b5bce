"""A missing cell is never sent as text: skipped, rendered as nothing, or refused, as `on_null` says."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from llmframe.errors import LlmframeWarning, UsageError
from llmframe.testing import Provider
from tests.contracts.kinds import Kind

MISSING = re.compile(r"nan|none|<na>|nat|null", re.IGNORECASE)

# The first cell is there, all others are missing.
HOLED: dict[str, Any] = {
    "object": pd.Series(["ok", None, float("nan"), pd.NA, pd.NaT], dtype=object),
    "str": pd.Series(["ok", None]),
    "float": pd.Series([1.5, None]),
    "Int64": pd.Series([1, None], dtype="Int64"),
    "boolean": pd.Series([True, None], dtype="boolean"),
    "datetime": pd.Series([pd.Timestamp("2024-01-02"), pd.NaT]),
    "zoned": pd.Series([pd.Timestamp("2024-01-02", tz="Europe/Berlin"), pd.NaT]),
    "timedelta": pd.Series([pd.Timedelta(seconds=1), pd.NaT]),
    "period": pd.Series([pd.Period("2024-01", "M"), pd.NaT]),
    "category": pd.Series(["ok", None], dtype="category"),
    "arrow": pd.Series(pd.arrays.ArrowExtensionArray(pa.array(["ok", None]))),
    "arrow-nan": pd.Series(pd.arrays.ArrowExtensionArray(pa.array([1.5, math.nan]))),
    "numpy-nat": pd.Series([np.datetime64("2024-01-02"), np.datetime64("NaT")], dtype=object),
    "polars-text": pl.Series(["ok", None]),
    "polars-int": pl.Series([1, None]),
    "polars-date": pl.Series([pd.Timestamp("2024-01-02").date(), None]),
    "polars-enum": pl.Series(["ok", None], dtype=pl.Enum(["ok"])),
    "polars-struct": pl.Series([{"a": 1}, None]),
    "polars-list": pl.Series([[1], None]),
}


def frame_of(column: Any) -> Any:
    return pd.DataFrame({"t": column}) if isinstance(column, pd.Series) else pl.DataFrame({"t": column})


@pytest.mark.parametrize("column", HOLED.values(), ids=HOLED.keys())
def test_a_missing_cell_is_not_asked_and_its_column_is_named(provider: Provider, column: Any):
    gaps = len(column) - 1
    with pytest.warns(LlmframeWarning, match=f"{gaps} null"):
        out = frame_of(column).llm.map("J {t}", schema=bool, client=provider)
    errors = [error if isinstance(error, str) else None for error in out["error"].to_list()]
    assert errors == [None] + ["null: missing value in 't'"] * gaps
    assert provider.requests == 1
    assert not [prompt for prompt in provider.prompts if MISSING.search(prompt)]


def test_blank_text_is_not_missing(kind: Kind, provider: Provider):
    out = kind.make({"t": ["", " "]}).llm.map("J {t}", schema=bool, client=provider)
    assert kind.to_dict(out)["error"] == [None, None]
    assert sorted(provider.prompts) == ["J ", "J  "]


def test_only_used_columns_matter(kind: Kind, provider: Provider):
    frame = kind.make({"t": ["a", "b"], "u": [None, "x"], "v": ["y", None]})
    with pytest.warns(LlmframeWarning, match="1 of 2 rows failed"):
        out = frame.llm.map("J {t} {v}", schema=bool, client=provider)
    assert kind.to_dict(out)["error"] == [None, "null: missing value in 'v'"]
    assert provider.prompts == ["J a y"]


def test_missing_cells_are_rendered_as_nothing_on_demand(kind: Kind, provider: Provider):
    frame = kind.make({"t": ["a", None], "n": [1.5, None]})
    out = frame.llm.map("J {t}|{n:.1f}|", schema=bool, client=provider, on_null="render")
    assert kind.to_dict(out)["error"] == [None, None]
    assert sorted(provider.prompts) == ["J a|1.5|", "J ||"]


def test_missing_cells_are_refused_on_demand(kind: Kind, provider: Provider):
    frame = kind.make({"t": ["a", None, None]})
    with pytest.raises(UsageError, match=r"column 't' has a null in 2 rows.*where=.*on_null="):
        frame.llm.map("J {t}", schema=bool, client=provider, on_null="raise")
    assert provider.requests == 0
    out = frame.llm.map("J {t}", schema=bool, client=provider, on_null="raise", where=[True, False, False])
    assert kind.to_dict(out)["error"] == [None, None, None]


def test_not_a_number_is_missing_in_pandas_and_a_value_in_polars(provider: Provider):
    with pytest.warns(LlmframeWarning, match="1 of 2 rows failed: 1 null"):
        pd.DataFrame({"x": [1.0, math.nan]}).llm.map("J {x}", schema=bool, client=provider)
    assert provider.prompts == ["J 1.0"]
    with pytest.warns(LlmframeWarning, match="1 of 3 rows failed: 1 null"):
        out = pl.DataFrame({"x": [1.0, None, math.nan]}).llm.map("J {x}", schema=bool, client=provider)
    assert out["error"].to_list() == [None, "null: missing value in 'x'", None]
    assert len(provider.prompts) == 2
    assert provider.prompts[1].casefold() == "j nan"


def test_a_missing_example_or_system_cell_names_its_column(kind: Kind, provider: Provider):
    frame = kind.make({"t": ["a", "b"], "role": ["judge", None]})
    with pytest.warns(LlmframeWarning, match="1 null"):
        out = frame.llm.map("J {t}", schema=bool, client=provider, system="You are a {role}.")
    assert kind.to_dict(out)["error"] == [None, "null: missing value in 'role'"]
    assert provider.requests == 1
