from __future__ import annotations

import deltalake
import fsspec
import pyarrow as pa
import pytest

from llmframe.frames.files.sources import open_source
from llmframe.frames.files.touching import touches


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("data/a.csv", "data/b.csv", "other/c.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("t\n1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("data/a.csv", "data/a.csv", True),
        ("data/a.csv", "data/../data/./a.csv", True),
        ("data/a.csv", "data", True),  # a folder that is replaced takes the file with it
        ("data/a.csv", "data/out.csv", False),
        ("data/a.csv", "data/out", False),
        ("data", "data", True),
        ("data", "data/out.parquet", True),
        ("data", "data/out/", True),
        ("data", "data2", False),
        ("data", "other/out.csv", False),
        ("data/*.csv", "data/a.csv", True),
        ("data/*.csv", "data/out.csv", True),
        ("data/*.csv", "data/out.parquet", False),
        ("data/*.csv", "other/out.csv", False),
        ("**/*.csv", "new/out.csv", True),
        ("**/*.csv", "new/out", True),
        ("*/[ab].csv", "new/", True),
        ("*/a.csv", "new/out.csv", False),
        ("*/a.csv", "new", False),
    ],
)
def test_an_output_that_would_be_read_as_the_source_touches_it(data, source, target, expected):
    assert touches(open_source(source), target) is expected
    assert touches(open_source(data / source), target) is expected


def test_links_are_followed(data):
    (data / "link").symlink_to(data / "data")
    assert touches(open_source("data"), "link/out.csv")
    assert touches(open_source("link/a.csv"), "data/a.csv")


def test_a_delta_table_is_touched_by_itself_and_what_lies_in_it(data):
    deltalake.write_deltalake("table", pa.table({"t": [1]}))
    source = open_source("table")
    assert touches(source, "table")
    assert touches(source, "table/out.parquet")
    assert not touches(source, "table2")


def test_addresses_are_compared_by_protocol_and_path(data):
    with fsspec.open("memory://touching/a.csv", "w") as file:
        file.write("t\n1\n")
    assert touches(open_source("memory://touching/a.csv"), "memory:///touching/a.csv")
    assert touches(open_source("memory://touching"), "memory://touching/out.csv")
    assert touches(open_source("memory://touching/*.csv"), "memory://touching/out.csv")
    assert not touches(open_source("memory://touching"), "memory://elsewhere/out.csv")
    assert not touches(open_source("memory://touching/a.csv"), "/touching/a.csv")
    assert not touches(open_source("data"), "memory://data")
