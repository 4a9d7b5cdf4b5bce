"""Where the rows of a call come from and go to, and what of it may be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from llmframe.api.passages import OWN_OPTIONS, ends_of, most_rows
from llmframe.errors import UsageError

UNSAID: dict[str, Any] = {"format": None, "target_format": None, "exists": "error", "types": None}


@pytest.fixture
def said(tmp_path: Path) -> dict[str, Any]:
    pq.write_table(pa.table({"text": ["a", "b"]}), tmp_path / "in.parquet")
    return {"source": tmp_path / "in.parquet", "target": tmp_path / "out.csv", "spreadsheet_safe": False, **UNSAID}


def test_ends_are_opened_and_tell_how_files_are_read(said: dict[str, Any]):
    assert {*said, "rows"} == set(OWN_OPTIONS)
    ends = ends_of(said)
    assert (ends.source.rows, ends.target.format, ends.exists) == (2, "csv", "error")
    assert ends.read_as == {"format": None, "types": None, "spreadsheet_safe": False, "target": "csv"}
    assert ends_of({**said, "spreadsheet_safe": True}).read_as != ends.read_as


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"exists": "ask"}, "`exists` must be one of 'error', 'replace', 'append', got 'ask'"),
        ({"spreadsheet_safe": "yes"}, "`spreadsheet_safe` must be True or False, got 'yes'"),
        ({"source": "none.parquet"}, "none.parquet"),
    ],
)
def test_an_end_that_cant_be_is_refused(said: dict[str, Any], change: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        ends_of({**said, **change})


def test_the_target_is_no_part_of_the_source(said: dict[str, Any]):
    with pytest.raises(UsageError, match="would overwrite the input"):
        ends_of({**said, "target": said["source"]})


def test_a_part_has_the_usual_rows_unless_said():
    assert (most_rows(None, usual=7), most_rows(3, usual=7)) == (7, 3)
    for wrong in (0, -1, True, 2.0, "3"):
        with pytest.raises(UsageError, match="`rows` must be a whole number of at least 1"):
            most_rows(wrong, usual=7)
