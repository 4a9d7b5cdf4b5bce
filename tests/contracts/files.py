"""Files that hold rows, written and read by their libraries' own means."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class FileKind:
    """A kind of file: its name, how a table gets there, and how columns come back as Python values."""

    name: str
    extension: str
    write: Callable[[pa.Table, Path], object]
    read: Callable[[Path], dict[str, list[Any]]]


def _delta(table: pa.Table, path: Path) -> None:
    import deltalake

    deltalake.write_deltalake(str(path), table)


def _read_delta(path: Path) -> dict[str, list[Any]]:
    import deltalake

    return deltalake.DeltaTable(str(path)).to_pyarrow_table().to_pydict()


def _lines(table: pa.Table, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), "utf-8")


def _read_lines(path: Path) -> dict[str, list[Any]]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return {name: [row.get(name) for row in rows] for name in rows[0]}


def _read_csv(path: Path) -> dict[str, list[Any]]:
    return pl.read_csv(path).to_dict(as_series=False)


KINDS = [
    FileKind(
        "pandas-parquet", ".parquet", lambda t, p: t.to_pandas().to_parquet(p), lambda p: pq.read_table(p).to_pydict()
    ),
    FileKind(
        "polars-parquet",
        ".parquet",
        lambda t, p: pl.from_arrow(t).write_parquet(p),
        lambda p: pl.read_parquet(p).to_dict(as_series=False),
    ),
    FileKind("pandas-csv", ".csv", lambda t, p: t.to_pandas().to_csv(p, index=False), _read_csv),
    FileKind("polars-csv", ".csv", lambda t, p: pl.from_arrow(t).write_csv(p), _read_csv),
    FileKind("jsonl", ".jsonl", _lines, _read_lines),
    FileKind(
        "polars-ipc",
        ".arrow",
        lambda t, p: pl.from_arrow(t).write_ipc(p),
        lambda p: pl.read_ipc(p).to_dict(as_series=False),
    ),
    FileKind(
        "pandas-feather",
        ".feather",
        lambda t, p: t.to_pandas().to_feather(p),
        lambda p: pa.Table.from_pandas(pd.read_feather(p)).to_pydict(),
    ),
    FileKind("delta", "", _delta, _read_delta),
]
