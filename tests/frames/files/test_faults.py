"""Faults of files."""

from __future__ import annotations

import errno

import pyarrow as pa
import pytest

from llmframe.errors import StoreError, UsageError
from llmframe.frames.files.faults import reading, writing


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        (errno.ENOSPC, "full", "no room is left"),
        (errno.EROFS, "readonly", "can't be written there by this user"),
        (errno.EACCES, "readonly", "can't be written there by this user"),
        (errno.EIO, "io", "goes on where it stopped"),
    ],
)
def test_a_fault_while_writing_names_the_target_and_its_reason(code, reason, words):
    with pytest.raises(StoreError, match=f"'out.csv' can't be written.*{words}") as caught, writing("out.csv"):
        raise OSError(code, "the system's words")
    assert caught.value.reason == reason


def test_a_store_error_passes_through_unchanged():
    with pytest.raises(StoreError, match=r"^as it was$"), writing("out.csv"):
        raise StoreError("as it was", reason="foreign")


def test_a_file_that_is_gone_is_told_so():
    with pytest.raises(UsageError, match=r"'in\.csv' is gone"), reading("in.csv", "CSV"):
        raise FileNotFoundError


@pytest.mark.parametrize("error", [pa.ArrowInvalid("bad footer\nmore"), EOFError(), OSError(errno.EIO, "bad disk")])
def test_a_fault_while_reading_names_the_file_on_one_line(error):
    with pytest.raises(UsageError, match=r"^'in.parquet' can't be read[^\n]*$"), reading("in.parquet", "parquet"):
        raise error
