"""What a run reads: the rows of files, in order."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyarrow ships no types: its values are Any at this seam.

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from llmframe.errors import UsageError
from llmframe.frames.files.agreement import conformed
from llmframe.frames.files.csv_reader import CsvReader
from llmframe.frames.files.cutting import cut
from llmframe.frames.files.delta_reader import DeltaReader
from llmframe.frames.files.formats import checked_format
from llmframe.frames.files.ipc_reader import IpcReader
from llmframe.frames.files.jsonl_reader import JsonlReader
from llmframe.frames.files.listing import Listing, listed
from llmframe.frames.files.openings import storage_of
from llmframe.frames.files.parquet_reader import ParquetReader
from llmframe.frames.files.partitions import Partitions, partitions_of
from llmframe.frames.files.ports import FileInfo, Reader, Storage
from llmframe.frames.files.type_names import types_of

_DELIMITERS = {"csv": ",", "tsv": "\t"}


@dataclass(frozen=True, slots=True)
class Source:
    """Files of one format with one schema, as `open_source` found them.

    Parameters
    ----------
    address
        The source as its user writes it.
    format
        `"parquet"`, `"csv"`, `"tsv"`, `"jsonl"`, `"ipc"` or `"delta"`.
    schema
        The pyarrow schema of all rows, with the metadata of the (first) file.
    identity
        A hex digest over the files' names, sizes and times of change or tags; of a Delta table's id and version.
    files
        Where the files lie, in the order in which they are read.
    rows
        How many rows there are; None for CSV and Arrow streams, where nobody knows before they are read.
    storage, place
        Where the source lies, and what was asked for in the storage's own form.
    is_folder
        Whether that is a folder or a Delta table, all of whose files belong to the source.
    """

    address: str
    format: str
    schema: Any
    identity: str
    files: tuple[str, ...]
    rows: int | None
    storage: Storage
    place: str
    is_folder: bool
    _reader: Reader
    _found: tuple[FileInfo, ...]
    _partitions: Partitions

    @property
    def names(self) -> list[str]:
        """The columns' names, in order."""
        return list(self.schema.names)

    def current_identity(self) -> str:
        """The identity of what stands there by now: another than `identity` says that something has changed.

        Raises
        ------
        UsageError
            If nothing is left.
        """
        if self.format == "delta":
            return _digest(DeltaReader(self.address).identity())
        return _digest(_seen(listed(self.storage, self.place, self.format)))

    def tables(self, rows: int, max_bytes: int, *, start: int = 0) -> Iterator[Any]:
        """The rows in order, as tables of at most `rows` rows and about `max_bytes`.

        Parameters
        ----------
        rows, max_bytes
            At least 1. A table may hold rows of several files.
        start
            How many rows to leave out at the beginning; parquet passes over finished row groups unread. When `start` is
            the end of a table of an earlier run with the same `rows` and `max_bytes`, the further tables are those that
            the earlier run would have made.

        Yields
        ------
        pyarrow.Table
            With `schema`. What lies in memory is one table and one piece of a file, whatever the files' size.

        Raises
        ------
        UsageError
            If a file can't be read; the message names it, and never quotes a cell.
        """
        if rows < 1 or max_bytes < 1 or start < 0:
            raise UsageError(f"`rows` and `max_bytes` must be at least 1, `start` 0: {rows}, {max_bytes}, {start}")
        return cut(self._pieces(start), rows=rows, max_bytes=max_bytes)

    def _pieces(self, skip: int) -> Iterator[Any]:
        for number, file in enumerate(self._found):
            for piece in self._reader.pieces(file, skip=skip):
                length = piece if isinstance(piece, int) else len(piece)
                if length <= skip:
                    skip -= length
                    continue
                rest = cast("Any", piece).slice(skip)
                yield conformed(self._partitions.attached(rest, number), self.schema)
                skip = 0


def open_source(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the public word
    types: Mapping[str, object] | None = None,
) -> Source:
    """The rows of a file, of a folder's files, or of the files that a pattern matches.

    Parameters
    ----------
    path
        A path of this machine or an fsspec address (`s3://bucket/folder`). A folder means all its files of one format;
        hidden files and those that begin with `_` are left out, subfolders like `year=2024` become columns at the end.
        A folder with a Delta log is a Delta table.
    format
        One of `formats.FORMATS`; by default the names tell it.
    types
        For CSV and TSV, where every column is text: the types of some columns, `{"stars": "int64"}`.

    Raises
    ------
    UsageError
        If there is no such file, its format is unknown, files have different columns, or the content isn't of the
        format.
    MissingExtraError
        If a package is missing for an address or for Delta.
    """
    storage, place = storage_of(path)
    listing = listed(storage, place, checked_format(format))
    address = storage.shown(place)
    if types and listing.format not in _DELIMITERS:
        raise UsageError(
            f"`types` is for CSV and TSV, whose cells are all text; {address!r} ({listing.format}) has types"
        )
    if listing.format == "delta":
        delta = DeltaReader(address)
        return _source(storage, place, Listing("delta", delta.files(), folder=True), delta)
    reader = _reader(storage, listing.format)
    if types and isinstance(reader, CsvReader):
        reader = reader.typed(types_of(types, columns=reader.schema(listing.files).names))
    return _source(storage, place, listing, reader)


def _source(storage: Storage, place: str, listing: Listing, reader: Reader) -> Source:
    delta = isinstance(reader, DeltaReader)
    partitions = partitions_of(listing.files) if listing.folder and not delta else Partitions()
    return Source(
        address=storage.shown(place),
        format=listing.format,
        schema=partitions.extended(reader.schema(listing.files)),
        identity=_digest(reader.identity() if delta else _seen(listing)),
        files=tuple(file.path for file in listing.files),
        rows=reader.rows(listing.files),
        storage=storage,
        place=place,
        is_folder=listing.folder,
        _reader=reader,
        _found=listing.files,
        _partitions=partitions,
    )


def _seen(listing: Listing) -> str:
    return json.dumps([(file.name, file.size, file.stamp) for file in listing.files])


def _digest(seen: str) -> str:
    return hashlib.sha256(seen.encode()).hexdigest()


def _reader(storage: Storage, format_: str) -> Reader:
    match format_:
        case "parquet":
            return ParquetReader(storage)
        case "ipc":
            return IpcReader(storage)
        case "jsonl":
            return JsonlReader(storage)
        case _:
            return CsvReader(storage, delimiter=_DELIMITERS[format_])
