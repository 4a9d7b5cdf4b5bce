"""A target that is one file."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from datetime import date

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmframe.errors import StoreError, UsageError
from llmframe.frames.files import open_source, open_target

ENUM = pa.dictionary(pa.int32(), pa.string())
TABLE = pa.table(
    {
        "text": pa.array(["a", None, "", 'says "b", then\nc'], pa.large_string()),
        "n": pa.array([1, None, -3, 4], pa.int16()),
        "day": pa.array([date(2024, 1, 2)] * 4),
        "label": pa.array(["good", "bad", None, "good"]).cast(ENUM),
    }
).replace_schema_metadata({"owner": "somebody"})
NAMES = ["parquet", "arrow", "arrows", "csv", "tsv", "csv.gz", "csv.xz", "jsonl", "jsonl.zst", "jsonl.bz2"]


def written(path, table=TABLE, *, rows=1, mode="error", **options):
    """`table` in parts of `rows` rows, published and cleaned up."""
    target = open_target(path, **options)
    names = []
    for start in range(0, len(table), rows):
        names.append(target.part_name(len(names)))
        target.write_part(names[-1], table.slice(start, rows))
    target.publish(names, table.schema, mode=mode)
    target.clean()
    return target


@pytest.mark.parametrize("end", NAMES)
def test_rows_come_back_in_order_and_nothing_else_is_left(tmp_path, end):
    written(tmp_path / f"out.{end}")
    assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == [f"out.{end}"]
    source = open_source(tmp_path / f"out.{end}")
    [table] = source.tables(100, 10**6)
    assert [None if n is None else int(n) for n in table["n"].to_pylist()] == [1, None, -3, 4]
    assert table["text"].to_pylist() == TABLE["text"].to_pylist()


@pytest.mark.parametrize("end", ["parquet", "arrow", "arrows"])
def test_types_labels_and_metadata_are_exactly_those_of_the_schema(tmp_path, end):
    written(tmp_path / f"out.{end}")
    source = open_source(tmp_path / f"out.{end}")
    assert source.schema.equals(TABLE.schema, check_metadata=True)
    [table] = source.tables(100, 10**6)
    assert table.to_pydict() == TABLE.to_pydict()


def test_every_library_reads_parquet(tmp_path):
    written(tmp_path / "out.parquet")
    assert pd.read_parquet(tmp_path / "out.parquet")["label"].tolist()[:2] == ["good", "bad"]
    assert pl.read_parquet(tmp_path / "out.parquet")["text"].to_list() == TABLE["text"].to_pylist()
    assert pq.read_table(tmp_path / "out.parquet")["day"].to_pylist() == [date(2024, 1, 2)] * 4


def test_every_library_reads_arrow(tmp_path):
    written(tmp_path / "out.arrow")
    assert pd.read_feather(tmp_path / "out.arrow")["text"].tolist()[3] == 'says "b", then\nc'
    assert pl.read_ipc((tmp_path / "out.arrow").read_bytes())["n"].to_list() == [1, None, -3, 4]
    assert pyarrow.feather.read_table(tmp_path / "out.arrow")["label"].to_pylist() == ["good", "bad", None, "good"]


def test_every_library_reads_csv(tmp_path):
    written(tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["n"].tolist()[2:] == [-3, 4]
    assert pl.read_csv(tmp_path / "out.csv")["text"].to_list() == TABLE["text"].to_pylist()
    with (tmp_path / "out.csv").open(newline="") as file:
        assert list(csv.reader(file))[4] == ['says "b", then\nc', "4", "2024-01-02", "good"]


def test_every_library_reads_json_lines(tmp_path):
    written(tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert lines[1] == {"text": None, "n": None, "day": "2024-01-02", "label": "bad"}
    assert pl.read_ndjson(tmp_path / "out.jsonl")["text"].to_list() == TABLE["text"].to_pylist()
    assert pd.read_json(tmp_path / "out.jsonl", lines=True)["n"].tolist()[2:] == [-3, 4]


def test_equal_rows_make_equal_bytes_whatever_the_parts(tmp_path):
    for end in ("parquet", "csv.gz", "jsonl.xz"):
        written(tmp_path / f"a.{end}", rows=1)
        written(tmp_path / f"b.{end}", rows=3)
        assert (tmp_path / f"a.{end}").read_bytes() == (tmp_path / f"b.{end}").read_bytes(), end


def test_small_parts_share_a_row_group(tmp_path):
    written(tmp_path / "out.parquet", pa.table({"n": range(100)}), rows=10)
    assert pq.ParquetFile(tmp_path / "out.parquet").num_row_groups == 1


@pytest.mark.parametrize("end", NAMES)
def test_no_part_makes_a_valid_file_without_rows(tmp_path, end):
    written(tmp_path / f"out.{end}", TABLE.slice(0, 0))
    content = (tmp_path / f"out.{end}").read_bytes()
    if end == "csv.gz":
        assert gzip.decompress(content) == b"text,n,day,label\n"
    if end == "jsonl":
        assert content == b""
    if end in {"parquet", "arrow"}:
        assert open_source(tmp_path / f"out.{end}").schema.equals(TABLE.schema, check_metadata=True)


def test_what_stands_there_is_said_and_parts_arent_it(tmp_path):
    target = open_target(tmp_path / "out.csv")
    target.write_part(target.part_name(0), TABLE)
    assert target.occupied() is None
    (tmp_path / "out.csv").write_text("mine\n")
    assert target.occupied() == "a file of 5 bytes"


def test_a_file_that_came_meanwhile_isnt_overwritten(tmp_path):
    target = open_target(tmp_path / "out.csv")
    target.write_part(target.part_name(0), TABLE)
    (tmp_path / "out.csv").write_text("mine\n")
    with pytest.raises(StoreError, match="which wasn't there before; it stays") as caught:
        target.publish([target.part_name(0)], TABLE.schema, mode="error")
    assert caught.value.reason == "foreign"
    assert (tmp_path / "out.csv").read_text() == "mine\n"
    assert list(target.parts()) == [target.part_name(0)]


def test_an_older_file_is_replaced_in_one_step(tmp_path):
    (tmp_path / "out.csv").write_text("old\n")
    with (tmp_path / "out.csv").open() as reader:  # who has it open reads it to its end
        written(tmp_path / "out.csv", mode="replace")
        assert reader.read() == "old\n"
    assert pl.read_csv(tmp_path / "out.csv").shape == (4, 4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("end", NAMES)
def test_a_publication_that_fails_leaves_the_older_file_and_no_other(tmp_path, end):
    path = tmp_path / f"out.{end}"
    path.write_bytes(b"old")
    target = open_target(path)
    target.write_part(target.part_name(0), TABLE)
    with pytest.raises(UsageError, match="is gone"):
        target.publish([target.part_name(0), target.part_name(1)], TABLE.schema, mode="replace")
    assert path.read_bytes() == b"old"
    assert [each.name for each in (tmp_path / f".out.{end}.llmframe").iterdir()] == [target.part_name(0)]


FULL = """
import resource, signal, sys
import numpy as np, pyarrow as pa
from llmframe.errors import StoreError
from llmframe.frames.files import open_target
target = open_target(sys.argv[1])
numbers = np.random.default_rng(0).integers(0, 2**62, 20_000)
table = pa.table({"n": numbers, "text": [str(n) for n in numbers]})
names = [target.part_name(at) for at in range(10)]
for at, name in enumerate(names):
    target.write_part(name, table.slice(at * 2000, 2000))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    target.publish(names, table.schema, mode="replace")
except StoreError as error:
    print(error.reason, len(target.parts()))
try:
    target.write_part(target.part_name(10), table)
except StoreError as error:
    print(error.reason, len(target.parts()))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of file sizes")
@pytest.mark.parametrize("end", ["parquet", "csv.gz"])
def test_no_room_left_is_said_and_nothing_is_lost(tmp_path, end):
    path = tmp_path / f"out.{end}"
    path.write_bytes(b"old")
    child = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    assert child.stdout.splitlines() == ["full 10", "full 10"]
    assert child.stderr == ""
    assert path.read_bytes() == b"old"
    assert len(list((tmp_path / f".out.{end}.llmframe").iterdir())) == 10


@settings(max_examples=30)
@given(cells=st.lists(st.text(alphabet=st.sampled_from("=+-@\t\r\n ,;\"'\uff1d\ufeffaé1."), max_size=6), min_size=1))
def test_a_safe_file_has_no_formula_and_loses_nothing(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("safe") / "out.csv"
    table = pa.table({"text": cells, "n": pa.array([-1] * len(cells))})
    written(path, table, rows=2, spreadsheet_safe=True)
    found = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))[1:]
    assert [n for _, n in found] == ["-1"] * len(cells)
    for (text, _), cell in zip(found, cells, strict=True):
        assert text in (cell, "'" + cell)
        assert text[:1] not in tuple("\t\r\n")
        if text.lstrip()[:1] in tuple("=+-@\uff1d"):
            float(text)  # numbers alone may begin with a sign


def test_unsafe_is_what_a_model_wrote(tmp_path):
    written(tmp_path / "out.csv", pa.table({"text": ["=1+1"]}))
    assert (tmp_path / "out.csv").read_text() == "text\n=1+1\n"


def test_labels_inside_lists_are_refused_by_an_arrow_file_before_anything_is_asked(tmp_path):
    schema = pa.schema([("tags", pa.list_(ENUM))])
    with pytest.raises(UsageError, match=r"column 'tags' .* can't hold labels inside of lists"):
        open_target(tmp_path / "out.arrow").check(schema)
    open_target(tmp_path / "out.arrows").check(schema)
    open_target(tmp_path / "out.parquet").check(schema)


def test_a_file_in_an_object_store_is_there_at_once():
    target = written("memory://file-target/out.parquet")
    assert target.occupied() is not None
    assert target.parts() == {}
    [table] = open_source("memory://file-target/out.parquet").tables(10, 10**6)
    assert table.to_pydict() == TABLE.to_pydict()
