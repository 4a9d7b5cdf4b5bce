"""The ports and those that keep them."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

from llmframe.frames.files.csv_reader import CsvReader
from llmframe.frames.files.formats import named
from llmframe.frames.files.ipc_reader import IpcReader
from llmframe.frames.files.jsonl_reader import JsonlReader
from llmframe.frames.files.openings import storage_of
from llmframe.frames.files.parquet_reader import ParquetReader
from llmframe.frames.files.ports import Reader, Sink, Storage, Target
from llmframe.frames.files.sinks import sink_of
from llmframe.frames.files.targets import open_target

HERE = storage_of("x")[0]


@pytest.mark.parametrize("address", ["x.csv", "memory://ports/x.csv"])
def test_a_storage_has_all_that_the_port_says(address):
    assert isinstance(storage_of(address)[0], Storage)


@pytest.mark.parametrize(
    "reader", [ParquetReader(HERE), IpcReader(HERE), JsonlReader(HERE), CsvReader(HERE, delimiter=",")]
)
def test_a_reader_has_all_that_the_port_says(reader):
    assert isinstance(reader, Reader)


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "x.jsonl", "x.arrow"])
def test_a_sink_has_all_that_the_port_says(name):
    with sink_of(io.BytesIO(), pa.schema([("a", pa.int64())]), named(name)) as sink:
        assert isinstance(sink, Sink)


@pytest.mark.parametrize(("name", "format_"), [("x.csv", None), ("x/", "csv"), ("x", "delta")])
def test_a_target_has_all_that_the_port_says(tmp_path, name, format_):
    assert isinstance(open_target(f"{tmp_path}/{name}", format=format_), Target)
