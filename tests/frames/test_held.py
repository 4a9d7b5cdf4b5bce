from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa

from llmframe.frames.held import held


def test_a_pandas_frame_is_held_with_its_own_index_object():
    frame = pd.DataFrame({"t": ["a", "b"]}, index=pd.Index([7, 7], name="key"))
    frame.attrs["from"] = "here"
    out = held(frame)
    frame["more"] = 1
    frame.loc[7, "t"] = "changed"
    assert out["t"].tolist() == ["a", "b"]
    assert list(out.columns) == ["t"]
    assert out.attrs == {"from": "here"}


def test_the_index_of_a_held_pandas_object_is_the_object_itself():
    frame, series = pd.DataFrame({"t": ["a"]}), pd.Series(["a"])
    assert held(frame).index is frame.index
    assert held(series).index is series.index


def test_a_pandas_series_is_held():
    series = pd.Series(["a", "b"], name="t")
    out = held(series)
    series.iloc[0] = "changed"
    assert (out.tolist(), out.name) == (["a", "b"], "t")


def test_a_polars_frame_is_held():
    frame = pl.DataFrame({"t": ["a", "b"]})
    out = held(frame)
    frame[0, "t"] = "changed"
    frame.insert_column(1, pl.Series("more", [1, 2]))
    assert out.to_dict(as_series=False) == {"t": ["a", "b"]}


def test_a_list_of_dicts_is_held():
    rows = [{"t": "a"}]
    out = held(rows)
    rows[0]["t"] = "changed"
    rows.append({"t": "b"})
    assert out == [{"t": "a"}]


def test_what_never_changes_and_what_is_no_frame_comes_back_as_it_is():
    table, other = pa.table({"t": ["a"]}), object()
    assert held(table) is table
    assert held(other) is other
