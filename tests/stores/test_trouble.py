"""Faults in the words of a store."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import get_args

import pytest

from llmframe.errors import StoreTrouble
from llmframe.stores.trouble import DamageError, store_error, translated, trouble


def fault(code: int, name: str) -> sqlite3.Error:
    error = sqlite3.OperationalError("near a secret cell")
    error.sqlite_errorcode, error.sqlite_errorname = code, name
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (fault(sqlite3.SQLITE_CORRUPT_VTAB, "SQLITE_CORRUPT_VTAB"), "damaged"),  # extended codes end in the plain one
        (fault(sqlite3.SQLITE_NOTADB, "SQLITE_NOTADB"), "damaged"),
        (DamageError("tables"), "damaged"),
        (fault(sqlite3.SQLITE_BUSY_SNAPSHOT, "SQLITE_BUSY_SNAPSHOT"), "locked"),
        (fault(sqlite3.SQLITE_READONLY, "SQLITE_READONLY"), "readonly"),
        (fault(sqlite3.SQLITE_FULL, "SQLITE_FULL"), "full"),
        (fault(sqlite3.SQLITE_IOERR_READ, "SQLITE_IOERR_READ"), "io"),
        (sqlite3.OperationalError("without a code"), "io"),
        (OSError(errno.ENOSPC, "No space left on device"), "full"),
        (PermissionError(errno.EACCES, "Permission denied"), "readonly"),
        (OSError(errno.EROFS, "Read-only file system"), "readonly"),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory"), "io"),
    ],
)
def test_a_fault_has_one_reason(error, reason, tmp_path: Path):
    assert trouble(error, tmp_path / "answers.sqlite") == reason


@pytest.mark.parametrize("reason", get_args(StoreTrouble))
def test_every_message_names_the_path_and_a_way_out(reason):
    error = store_error(Path("/cache/answers.sqlite"), reason)
    assert error.reason == reason
    assert str(error).startswith("the store '/cache/answers.sqlite' ")
    assert str(error).endswith("Give `cache=` another path, or `cache=False` to keep nothing.")


def test_sqlites_own_wording_is_left_out_for_it_may_quote_a_cell():
    error = translated(fault(sqlite3.SQLITE_IOERR_READ, "SQLITE_IOERR_READ"), Path("/cache/a.sqlite"))
    assert "SQLITE_IOERR_READ" in str(error)
    assert "secret" not in str(error)
