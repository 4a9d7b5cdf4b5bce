"""Vectors that are already in a frame go through a map as they came."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import llmframe
from llmframe.testing import Provider

TABLE = pa.table(
    {
        "t": ["row-1", "row-2", "row-3"],
        "single": pa.array([[0.1, 2.0], [3.0, -4.0], [0.0, 1e-9]], pa.list_(pa.float32(), 2)),
        "double": pa.array([[0.1, 2.0], [3.0, -4.0], [0.0, 1e-9]], pa.list_(pa.float64(), 2)),
        "half": pa.array(list(np.array([[1, 2], [3, 4], [5, 6]], "float16")), pa.list_(pa.float16(), 2)),
        "ragged": pa.array([[0.1], None, []], pa.list_(pa.float32())),
    }
)
NAMES = TABLE.column_names[1:]
ADDED = ["response", "error"]


def asked(frame, provider: Provider, **options):
    return llmframe.map(frame, "Do {t}", client=provider, **options)


def test_arrow_keeps_type_and_bytes(provider: Provider):
    out = asked(TABLE, provider)
    assert out.select(TABLE.column_names).equals(TABLE)


def test_polars_keeps_arrays_eager_and_lazy(provider: Provider):
    frame = pl.DataFrame({"t": TABLE["t"].to_pylist()}).with_columns(
        pl.Series("single", TABLE["single"].to_pylist(), dtype=pl.Array(pl.Float32, 2)),
        pl.Series("double", [[0.1, 2.0], None, [0.0, 1.0]], dtype=pl.Array(pl.Float64, 2)),
        pl.Series("matrix", np.arange(12.0).reshape(3, 2, 2)),
    )
    assert asked(frame, provider).select(frame.columns).equals(frame)
    lazy = asked(frame.lazy(), provider).collect()
    assert lazy.select(frame.columns).equals(frame)
    assert lazy.select(frame.columns).schema == frame.schema


def test_pandas_keeps_its_objects_and_arrow_dtypes(provider: Provider):
    arrays = list(np.arange(6, dtype="float64").reshape(3, 2))
    frame = pd.DataFrame(
        {
            "t": TABLE["t"].to_pylist(),
            "arrays": pd.Series(arrays, dtype=object),
            "arrow": pd.arrays.ArrowExtensionArray(TABLE["single"]),
        }
    )
    out = asked(frame, provider)
    assert all(mine is theirs for mine, theirs in zip(out["arrays"], arrays, strict=True))
    assert out["arrow"].dtype == frame["arrow"].dtype
    assert out["arrow"].array.__arrow_array__().equals(frame["arrow"].array.__arrow_array__())


def test_a_list_of_dicts_keeps_the_very_values(provider: Provider):
    vectors = [np.ones(2, "float32"), [0.1, 0.2], None]
    out = asked([{"t": f"row-{at}", "v": vector} for at, vector in enumerate(vectors)], provider)
    assert all(row["v"] is vector for row, vector in zip(out, vectors, strict=True))


@pytest.mark.parametrize("extension", ["parquet", "arrow", "arrows"])
def test_files_keep_type_and_bytes(provider: Provider, tmp_path, extension):
    pq.write_table(TABLE, tmp_path / "in.parquet")
    llmframe.map_file(tmp_path / "in.parquet", tmp_path / f"out.{extension}", "Do {t}", client=provider)
    data = (tmp_path / f"out.{extension}").read_bytes()
    if extension == "parquet":
        out = pq.read_table(io.BytesIO(data))
    else:
        out = (pa.ipc.open_file if extension == "arrow" else pa.ipc.open_stream)(data).read_all()
    assert out.column_names == [*TABLE.column_names, *ADDED]
    for name in NAMES:
        if extension == "parquet" and int(pa.__version__.split(".")[0]) < 26:  # it could write null vectors, not read
            assert out[name].to_pylist() == TABLE[name].to_pylist()
        else:
            assert out[name].combine_chunks().equals(TABLE[name].combine_chunks())


def test_json_lines_have_their_numbers(provider: Provider, tmp_path):
    pq.write_table(TABLE, tmp_path / "in.parquet")
    llmframe.map_file(tmp_path / "in.parquet", tmp_path / "out.jsonl", "Do {t}", client=provider)
    first = (tmp_path / "out.jsonl").read_text().splitlines()[0]
    assert '"single":[0.1,2.0],"double":[0.1,2.0],"half":[1.0,2.0],"ragged":[0.1],' in first


def test_delta_keeps_the_numbers_as_lists(provider: Provider, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    pq.write_table(TABLE, tmp_path / "in.parquet")
    llmframe.map_file(tmp_path / "in.parquet", tmp_path / "out", "Do {t}", client=provider, target_format="delta")
    back = deltalake.DeltaTable(tmp_path / "out").to_pyarrow_table()
    assert {name: back[name].to_pylist() for name in NAMES} == {name: TABLE[name].to_pylist() for name in NAMES}
    assert back.schema.field("single").type == pa.list_(pa.float32())
