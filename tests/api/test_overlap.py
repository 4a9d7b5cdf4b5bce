"""Outputs that their own input would be read from, or overwritten by."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmframe.api.overlap import refuse_overlap
from llmframe.errors import UsageError

BAD = [
    ("r/a.parquet", "r/a.parquet", "is the input itself"),
    ("r", "r", "is the input itself"),
    ("r/", "r", "is the input itself"),
    ("r", "r/../r/a.parquet", "is the input itself"),
    ("r", "r/scored/", "is inside the input"),
    ("r", "r/scored.parquet", "is inside the input"),
    ("r/*.parquet", "r/out.parquet", "matches the input"),
    ("r/**/*.parquet", "r/x/y/out.parquet", "matches the input"),
    ("r/**/*.parquet", "r/out.parquet", "matches the input"),
    ("r/a.parquet", "r", "is inside the output"),
    ("s3://b/r", "s3://b/r/", "is the input itself"),
    ("s3://b/r", "s3://b/r/x", "is inside the input"),
]
GOOD = [
    ("r/a.parquet", "r/b.parquet"),
    ("r", "r-scored"),
    ("r/*.parquet", "r/out/x.parquet"),
    ("r/*.parquet", "r/out.csv"),
    ("s3://b/r", "s3://b/rr"),
    ("s3://b/r", "out"),
]


@pytest.mark.parametrize(("source", "target", "why"), BAD)
def test_an_output_in_its_own_input_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, target: str, why: str
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=why):
        refuse_overlap(source, target, files=("r/a.parquet",))


@pytest.mark.parametrize(("source", "target"), GOOD)
def test_an_output_beside_it_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, target: str):
    monkeypatch.chdir(tmp_path)
    refuse_overlap(source, target, files=("r/a.parquet",))


def test_a_link_is_what_it_leads_to(tmp_path: Path):
    (tmp_path / "r").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "r")
    with pytest.raises(UsageError, match="is inside the input"):
        refuse_overlap(str(tmp_path / "r"), str(tmp_path / "link" / "x.parquet"), files=())
