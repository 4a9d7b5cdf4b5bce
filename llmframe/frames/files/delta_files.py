"""Data files of a Delta table, written in the order of their rows.

deltalake's own writer spreads batches over its threads, so that rows come out in another order each time.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# deltalake is untyped at this seam: its values are Any.

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from llmframe.frames.files.cutting import size_of
from llmframe.frames.files.formats import Named
from llmframe.frames.files.ports import Storage
from llmframe.frames.files.sinks import sink_of

FILE_BYTES: Final = 2**30
"""Size in memory of the rows of a file, about: several files can be read, and fetched again, at once."""

PARQUET: Final = Named("parquet", None, ".parquet")

NAME: Final = re.compile(r"part-\d{5}-[0-9a-f-]{36}-c\d{3}(\.\w+)?\.parquet")
"""What we and deltalake call the files of a table: a killed run may leave some that no commit names."""

_PLAIN_FEATURES: Final = frozenset({"appendOnly", "invariants", "timestampNtz"})
"""Features that ask nothing of the files of a table whose columns have no marks of Delta's."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that is there, and that no commit names yet."""

    path: str
    name: str
    size: int
    rows: int


def is_plain(table: Any) -> bool:
    """Whether a table takes parquet files as they are: without partitions, other column names, checks or row ids."""
    known = table.metadata()
    features = set(table.protocol().writer_features or [])
    marks = any(key.startswith("delta.") for field in table.schema().fields for key in field.metadata)
    return not (known.partition_columns or known.configuration or marks or features - _PLAIN_FEATURES)


def fits(table: Any, schema: Any, *, replaced: bool) -> bool:
    """Whether files with `schema` (deltalake's) can be committed to a plain table as they are."""
    if table.schema().to_json() == schema.to_json():
        return True
    return replaced and "timestamp_ntz" not in schema.to_json()  # that asks for a feature which only the writer adds


def write_files(
    storage: Storage, folder: str, tables: Iterator[Any], schema: Any, *, through: str
) -> Iterator[DataFile]:
    """Write the rows of `tables`, one file after the other, so that names sort as rows do.

    Parameters
    ----------
    storage, folder
        The table's place.
    tables
        With the pyarrow schema `schema`.
    through
        A temporary name, as `Storage.writer` takes it.

    Yields
    ------
    DataFile
        Each file once it is there, so that a caller can remove them after a failure.
    """
    storage.make_folder(folder)
    run, number, held = uuid4(), 0, next(tables, None)
    while held is not None:
        name = f"part-{number:05d}-{run}-c000.zstd.parquet"
        path = storage.join(folder, name)
        rows = size = 0
        with storage.writer(path, through=through) as file, sink_of(file, schema, PARQUET) as sink:
            while held is not None and size < FILE_BYTES:
                sink.write(held)
                rows, size = rows + len(held), size + size_of(held)
                held = next(tables, None)
        found = storage.file(path)
        yield DataFile(path, name, 0 if found is None else found.size, rows)
        number += 1


def actions(lake: Any, files: list[DataFile], *, now_ms: int) -> list[Any]:
    """The files as additions of a commit."""
    return [
        lake.transaction.AddAction(file.name, file.size, {}, now_ms, True, json.dumps({"numRecords": file.rows}))  # noqa: FBT003 - deltalake's own signature, positional
        for file in files
    ]
