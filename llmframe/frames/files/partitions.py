"""Columns that the names of folders hold, as in `year=2024/part-0.parquet`."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

from llmframe.errors import UsageError
from llmframe.frames.files.ports import FileInfo

NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
"""The name that stands for null."""

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Partitions:
    """What the folders' names say: a type a column, and each file's values.

    Columns are int64 when every value is a whole number as one writes it, else text: `month=01` stays "01".
    """

    fields: tuple[Any, ...] = ()
    values: tuple[tuple[object, ...], ...] = ()

    def extended(self, schema: Any) -> Any:
        """`schema` with the columns at its end; a column that the files have themselves is left as it is."""
        for field in self.fields:
            if field.name not in schema.names:
                schema = schema.append(field)
        return schema

    def attached(self, table: Any, file: int) -> Any:
        """`table`, of the file with this number, with its columns."""
        if not self.fields:
            return table
        for field, value in zip(self.fields, self.values[file], strict=True):
            if field.name not in table.column_names:
                table = table.append_column(field, pa.repeat(pa.scalar(value, field.type), len(table)))
        return table


def partitions_of(files: Sequence[FileInfo]) -> Partitions:
    """The partitions of the files of a folder; none where they lie in no subfolders.

    Raises
    ------
    UsageError
        If the files have different keys.
    """
    split = [[part.partition("=") for part in file.name.split("/")[:-1]] for file in files]
    keys = [[key for key, _, _ in parts] for parts in split]
    for file, other in zip(files, keys, strict=True):
        if other != keys[0]:
            raise UsageError(
                f"files of one folder have different partitions: {files[0].name!r} has {keys[0]}, {file.name!r} {other}"
            )
    if not keys or not keys[0]:
        return Partitions()
    texts = [[None if value == NULL_FOLDER else unquote(value) for _, _, value in parts] for parts in split]
    whole = [all(text is None or _WHOLE.fullmatch(text) for text in column) for column in zip(*texts, strict=True)]
    fields = [pa.field(key, pa.int64() if number else pa.string()) for key, number in zip(keys[0], whole, strict=True)]
    values = [
        tuple(int(text) if number and text is not None else text for text, number in zip(row, whole, strict=True))
        for row in texts
    ]
    return Partitions(tuple(fields), tuple(values))
