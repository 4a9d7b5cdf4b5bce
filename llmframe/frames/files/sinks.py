"""The sink of a format."""

from __future__ import annotations

import io
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa

from llmframe.errors import UsageError
from llmframe.frames.files.arrow_sink import IpcSink, ParquetSink
from llmframe.frames.files.compression import compressed
from llmframe.frames.files.faults import ARROW_ERRORS
from llmframe.frames.files.formats import TEXT_FORMATS, Named
from llmframe.frames.files.json_cells import binary_columns
from llmframe.frames.files.ports import Sink
from llmframe.frames.files.text_sink import CsvSink, JsonlSink

_arrow: Any = pa
STREAM_EXTENSION = ".arrows"
"""Of Arrow IPC, the stream."""


@contextmanager
def sink_of(file: BinaryIO, schema: Any, kind: Named, *, safe: bool = False) -> Generator[Sink]:
    """A sink into `file`, complete after the block; `file` stays open.

    Parameters
    ----------
    file
        Open for writing.
    schema
        The pyarrow schema of all tables.
    kind
        Format and compression.
    safe
        For CSV and TSV: no cell becomes a formula in a spreadsheet.
    """
    with compressed(file, kind.compression) as stream:
        match kind.format:
            case "parquet":
                sink: Sink = ParquetSink(stream, schema)
            case "ipc":
                sink = IpcSink(stream, schema, stream=kind.extension == STREAM_EXTENSION)
            case "jsonl":
                sink = JsonlSink(stream, schema)
            case _:
                sink = CsvSink(stream, schema, delimiter="\t" if kind.format == "tsv" else ",", safe=safe)
        try:
            yield sink
        except BaseException:
            sink.abandon()
            raise
        sink.close()


def check_columns(schema: Any, kind: Named) -> None:
    """Raise `UsageError` for a column that the format can't hold, before anything is asked."""
    if kind.format in TEXT_FORMATS:
        for name in binary_columns(schema):
            raise UsageError(f"column {name!r} holds bytes, which {kind.format} can't: write parquet, or drop it")
        return
    for field in schema:
        if kind.format == "ipc" and kind.extension != STREAM_EXTENSION and _has_labels_inside(field.type):
            raise UsageError(
                f"column {field.name!r} is {field.type}: an Arrow file can't hold labels inside of lists and structs; "
                f"write parquet, or a stream ({STREAM_EXTENSION})"
            )
        one = _arrow.schema([field.with_nullable(nullable=True)])
        try:
            with sink_of(io.BytesIO(), one, kind) as sink:
                sink.write(_arrow.table([_arrow.nulls(1, field.type)], schema=one))
        except ARROW_ERRORS as error:
            raise UsageError(
                f"column {field.name!r} is {field.type}, which {kind.format} can't hold: {error}"
            ) from None


def _has_labels_inside(type_: Any) -> bool:
    """Whether dictionaries stand below a type: a file holds one for all batches, which pyarrow can only keep on top."""
    if _arrow.types.is_dictionary(type_):
        return _has_labels_inside(type_.value_type)
    below = [type_.field(at).type for at in range(type_.num_fields)]
    return any(_arrow.types.is_dictionary(each) or _has_labels_inside(each) for each in below)
