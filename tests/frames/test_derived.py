"""Columns and rows made of others: the same on every kind of frame, lazy ones included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.columns import ColumnType
from llmframe.errors import UsageError
from llmframe.frames.derived import derive, dropped, exploded, names_of, rows_where, where_true

INT = ColumnType("int")
SIZE = ColumnType("enum", labels=("short", "long"))
ITEM = (("what", ColumnType("string")), ("count", INT))
ITEMS = pa.list_(pa.struct([("what", pa.string()), ("count", pa.int64())]))
DATA: dict[str, list[Any]] = {"t": ["a", None, "ccc", "bb"], "n": [1, 2, 3, 4]}


def indexed(data: dict[str, list[Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(data)
    frame.index = pd.Index([7, 7, 3, 9][: len(frame)], name="key")
    return frame


def listed(data: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]


MAKERS: dict[str, Any] = {
    "pandas": indexed,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "records": listed,
}


@pytest.fixture(params=MAKERS, ids=str)
def make(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param]


def columns(frame: Any) -> dict[str, list[Any]]:
    """Columns as Python values, `None` for what is missing."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pd.DataFrame):
        return {
            str(name): [
                None if pd.api.types.is_scalar(cell) and pd.isna(cell) else cell for cell in frame[name].tolist()
            ]
            for name in frame.columns
        }
    if isinstance(frame, list):
        keys = dict.fromkeys(key for row in frame for key in row)
        return {key: [row.get(key) for row in frame] for key in keys}
    return frame.to_dict(as_series=False) if isinstance(frame, pl.DataFrame) else frame.to_pydict()


def lengths(cells: list[list[object]]) -> list[list[object]]:
    [texts] = cells
    sizes: list[object] = [None if text is None else len(str(text)) for text in texts]
    words: list[object] = [None if text is None else "short" if len(str(text)) < 2 else "long" for text in texts]
    return [sizes, words]


OUTPUTS = [("size", INT), ("word", SIZE)]
DERIVED = {"size": [1, None, 3, 2], "word": ["short", None, "long", "long"]}


def test_derived_columns_stand_at_the_end(make: Any):
    out = derive(make(DATA), ["t"], OUTPUTS, lengths)
    assert type(out) is type(make(DATA))
    assert columns(out) == {**DATA, **DERIVED}
    assert list(columns(out)) == ["t", "n", "size", "word"]


def test_dropped_columns_go_and_one_that_is_not_there_is_passed_over(make: Any):
    assert columns(derive(make(DATA), ["t"], OUTPUTS, lengths, drop=["t", "x"])) == {"n": DATA["n"], **DERIVED}
    assert columns(dropped(make(DATA), ["n", "x"])) == {"t": DATA["t"]}


def test_a_taken_name_is_replaced_in_place_or_refused(make: Any):
    frame = make({"size": [0, 0, 0, 0], **DATA})
    with pytest.raises(UsageError, match="column 'size' exists"):
        derive(frame, ["t"], OUTPUTS, lengths)
    out = derive(frame, ["t"], OUTPUTS, lengths, replace=True)
    assert list(columns(out)) == ["size", "t", "n", "word"]
    assert columns(out)["size"] == DERIVED["size"]


def test_derived_columns_can_be_inputs(make: Any):
    out = derive(make(DATA), ["t"], OUTPUTS, lengths)
    again = derive(out, ["word", "size"], [("said", ColumnType("string"))], lambda cells: [[*map(repr, cells[0])]])
    assert columns(again)["said"] == ["'short'", "None", "'long'", "'long'"]


def test_an_absent_input_is_named_with_what_is_there(make: Any):
    with pytest.raises(UsageError, match=r"column 'T' is absent; did you mean 't'\? columns: \['t', 'n'\]"):
        derive(make(DATA), ["T"], OUTPUTS, lengths)


def test_the_rows_of_a_value_stay_in_order_and_nulls_are_no(make: Any):
    out = derive(make(DATA), ["t"], OUTPUTS, lengths)
    assert columns(rows_where(out, "word", "long"))["t"] == ["ccc", "bb"]
    assert columns(rows_where(out, "size", 1))["t"] == ["a"]
    assert columns(rows_where(out, "size", 7)).get("t", []) == []
    yes = derive(make(DATA), ["t"], [("yes", ColumnType("bool"))], lambda cells: [[text and True for text in cells[0]]])
    assert columns(rows_where(yes, "yes", value=True))["n"] == [1, 3, 4]


LISTS = [[{"what": "x", "count": 1}, {"what": "y", "count": None}], [], None, [{"what": "z", "count": 3}]]
EXPLODED = {
    "t": ["a", "a", None, "ccc", "bb"],
    "what": ["x", "y", None, None, "z"],
    "count": [1, None, None, None, 3],
    "n": [1, 1, 2, 3, 4],
}


def with_lists(make: Any, **more: Any) -> Any:
    data = {"t": DATA["t"], "items": LISTS, "n": DATA["n"], **more}
    return make({**data, "items": pa.array(LISTS, ITEMS)}) if make is pa.table else make(data)


def test_items_become_rows_and_rows_without_stay(make: Any):
    out = exploded(with_lists(make), "items", ITEM)
    assert columns(out) == EXPLODED
    assert list(columns(out)) == list(EXPLODED)
    assert names_of(out) == list(EXPLODED)


def test_a_field_may_have_the_name_of_the_lists(make: Any):
    data = {"t": ["a"], "what": [[{"what": "x", "count": 1}, {"what": "y", "count": 2}]]}
    out = exploded(make(data), "what", ITEM)
    assert columns(out) == {"t": ["a", "a"], "what": ["x", "y"], "count": [1, 2]}


def test_a_clash_of_a_field_and_a_column_is_refused_renamed_or_replaced(make: Any):
    frame = with_lists(make, count=[0, 0, 0, 0])
    with pytest.raises(UsageError, match=r"field 'count', and the frame a column of that name.*`prefix=`"):
        exploded(frame, "items", ITEM)
    assert list(columns(exploded(frame, "items", ITEM, prefix="i_"))) == ["t", "i_what", "i_count", "n", "count"]
    assert columns(exploded(frame, "items", ITEM, replace=True)) == EXPLODED


def test_a_frame_without_rows_keeps_its_shape():
    for make in (pd.DataFrame, pl.DataFrame, pl.LazyFrame):
        frame = make({"t": ["x"], "items": [LISTS[0]]}).head(0)
        out = exploded(derive(frame, ["t"], OUTPUTS, lengths), "items", ITEM)
        assert columns(rows_where(out, "word", "long")) == {
            "t": [],
            "what": [],
            "count": [],
            "size": [],
            "word": [],
        }
    nothing: list[dict[str, Any]] = []
    assert exploded(derive(nothing, ["t"], OUTPUTS, lengths), "items", ITEM) == []
    assert rows_where(nothing, "t", "a") == dropped(nothing, ["t"]) == names_of(nothing) == []


def test_index_attributes_and_other_dtypes_of_pandas_stay():
    frame = indexed(DATA).astype({"n": "int16"})
    frame.attrs["own"] = 1
    out = derive(frame, ["t"], OUTPUTS, lengths, drop=["t"])
    assert out.index is frame.index
    assert out.attrs == {"own": 1}
    assert {name: str(dtype) for name, dtype in out.dtypes.items()} == {
        "n": "int16",
        "size": "Int64",
        "word": "category",
    }
    kept = rows_where(out, "word", "long")
    assert kept.index.tolist() == [3, 9]
    assert kept.index.name == "key"
    items = exploded(with_lists(indexed), "items", ITEM)
    assert items.index.tolist() == [7, 7, 7, 3, 9]
    assert str(items["count"].dtype) == "Int64"


def test_columns_of_one_name_in_pandas_are_left_alone():
    frame = pd.DataFrame([[1, "a", 2]], columns=["n", "t", "n"])
    out = derive(frame, ["t"], OUTPUTS, lengths, drop=["t"])
    assert list(out.columns) == ["n", "n", "size", "word"]


def test_metadata_of_arrow_and_enums_of_polars_stay():
    table = pa.table(DATA).replace_schema_metadata({"own": "1"})
    out = rows_where(derive(table, ["t"], OUTPUTS, lengths, drop=["t"]), "word", "long")
    assert out.schema.metadata == {b"own": b"1"}
    assert str(out.schema.field("word").type) == "dictionary<values=string, indices=int32, ordered=0>"
    query = derive(pl.LazyFrame(DATA), ["t"], OUTPUTS, lengths)
    assert query.collect_schema()["word"] == pl.Enum(["short", "long"])
    assert query.collect().schema == derive(pl.DataFrame(DATA), ["t"], OUTPUTS, lengths).schema


def test_records_keep_lacking_what_they_lacked_and_their_own_keys():
    rows: list[dict[Any, Any]] = [{"t": "a", 1: "x"}, {"t": "bb"}]
    out = derive(rows, ["t"], OUTPUTS, lengths, drop=["t", "word"])
    assert out == [{1: "x", "size": 1}, {"size": 2}]
    assert rows == [{"t": "a", 1: "x"}, {"t": "bb"}]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_lazy_derivation_gets_only_rows_that_a_later_filter_leaves(engine: Any):
    seen: list[object] = []

    def watched(cells: list[list[object]]) -> list[list[object]]:
        seen.extend(cells[0])
        return lengths(cells)

    query = derive(pl.LazyFrame(DATA), ["t"], OUTPUTS, watched).filter(pl.col("n") > 2)
    assert query.collect(engine=engine)["size"].to_list() == [3, 2]
    assert seen == ["ccc", "bb"]


def test_a_lazy_derivation_is_written_part_by_part(tmp_path: Path):
    rows = 300_000
    parts: list[int] = []

    def watched(cells: list[list[object]]) -> list[list[object]]:
        parts.append(len(cells[0]))
        return [cells[0]]

    numbers = pl.LazyFrame({"n": pl.int_range(rows, eager=True)})
    numbers.sink_parquet(tmp_path / "in.parquet", row_group_size=50_000)
    query = derive(pl.scan_parquet(tmp_path / "in.parquet"), ["n"], [("m", INT)], watched, drop=["n"])
    rows_where(query, "m", 299_999).sink_parquet(tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet")["m"].to_list() == [299_999]
    assert sum(parts) == rows
    assert max(parts) <= rows // 2


@pytest.mark.parametrize(
    "native", [pd.Series(["a"]), pl.Series(["a"]), pl.col("t"), "text"], ids=lambda value: type(value).__name__
)
def test_what_has_no_named_columns_is_refused(native: Any):
    with pytest.raises(UsageError, match=r"needs a frame with named columns|expected a pandas or polars"):
        derive(native, ["t"], OUTPUTS, lengths)


@given(st.lists(st.none() | st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=8))
def test_every_kind_explodes_alike(sizes: list[list[int] | None]):
    lists = [None if row is None else [{"what": str(n), "count": n} for n in row] for row in sizes]
    row = list(range(len(lists)))
    made = [
        pd.DataFrame({"row": row, "items": pd.Series(lists, dtype=object)}),
        pl.DataFrame({"row": row, "items": lists}, schema_overrides={"items": pl.List(pl.Struct(dict(POLARS)))}),
        pa.table({"row": row, "items": pa.array(lists, ITEMS)}),
        [{"row": at, "items": each} for at, each in enumerate(lists)],
    ]
    expected = [(at, n) for at, each in enumerate(sizes) for n in (each or [None])]
    for frame in [*made, made[1].lazy()]:
        out = columns(exploded(frame, "items", ITEM))
        assert list(zip(out["row"], out["count"], strict=True)) == expected


POLARS = {"what": pl.String, "count": pl.Int64}


def test_a_column_of_booleans_tells_which_rows_are_asked():
    for frame in [
        pd.DataFrame({"t": ["a", "b", "c"], "on": pd.array([True, False, None], dtype="boolean")}),
        pl.DataFrame({"t": ["a", "b", "c"], "on": [True, False, None]}),
        pa.table({"t": ["a", "b", "c"], "on": [True, False, None]}),
        [{"t": "a", "on": True}, {"t": "b", "on": False}, {"t": "c", "on": None}],
    ]:
        assert where_true(frame, "on") == [True, False, False]
    lazy: Any = where_true(pl.LazyFrame({"on": [True]}), "on")
    assert lazy.meta.output_name() == "on"
    assert where_true([], "on") is None
