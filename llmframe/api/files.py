"""`map` over files: read in parts, written when all of them are there."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final, Unpack, cast

from llmframe.api.arguments import Arguments, MapOptions, arguments
from llmframe.api.backfill import Backfill, Passage
from llmframe.api.batching import batching
from llmframe.api.passages import (
    OWN_OPTIONS,
    Exists,
    FilePath,
    check_rows,
    check_target,
    empty_result,
    ends_of,
    most_rows,
    parts_of,
    passage,
)
from llmframe.api.planning import plan_parts
from llmframe.api.prepared import Prepared, asking, prepare
from llmframe.api.verbs import map as map_frame
from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.report import PlanReport, RunReport

PART_ROWS: Final = 8192
"""Rows of a part unless said."""


def map_file(  # noqa: PLR0913 - the options of files beside `map`'s
    source: FilePath,
    target: FilePath,
    prompt_template: object,
    schema: object = None,
    *,
    format: str | None = None,  # noqa: A002 - the argument's name
    target_format: str | None = None,
    exists: Exists = "error",
    types: Mapping[str, str] | None = None,
    spreadsheet_safe: bool = False,
    rows: int | None = None,
    **options: Unpack[MapOptions],
) -> RunReport:
    """`map` from files to a file, in bounded memory, so that a run that was killed goes on where it was.

    The input is read in parts, each written when its rows are finished; the output appears when all of them are there.
    Rows, their order, the other columns, their types and metadata are the input's.

    Parameters
    ----------
    source
        A file, a folder, a pattern (`"reviews/*.parquet"`) or an fsspec address (`"s3://bucket/reviews"`) of parquet,
        CSV, JSON lines, Arrow IPC, or a Delta table.
    target
        Where the rows go, as a file, a folder or a table. Never `source` itself or a place inside it.
    prompt_template, schema
        As `map`'s.
    format, target_format
        `"parquet"`, `"csv"`, `"tsv"`, `"jsonl"`, `"ipc"` or `"delta"`; unless said, names tell them, and a folder's
        files are as the input's.
    exists
        What an output that is there means: `"error"` (before anything is sent), `"replace"`, or for a Delta table
        `"append"`.
    types
        Of a CSV, whose columns are text: the types of some, in Arrow's words: `{"stars": "int64"}`.
    spreadsheet_safe
        Whether text in a CSV output that a spreadsheet would take for a formula gets an apostrophe before it.
    rows
        Most rows of a part; 8192, and at most about 16 MB.
    **options
        All others of `map`. `labels` is `"string"` unless said. `where` is a function of a `pyarrow.Table` or a polars
        expression, evaluated for each part on its own.

    Returns
    -------
    RunReport
        Counts, tokens, dollars. `.output` is `None` when a budget, a wrong key or `llmframe.cancel()` stopped the run
        before its last row: finished parts are kept then, and the same call goes on.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.
    StoreError
        When the output can't be written, or the input changed meanwhile; answers are kept.
    RowError
        Under `on_error="raise"`; `.frame` is the part of the failed row, and the output isn't written.
    KeyboardInterrupt
        When interrupted; the same call goes on.

    Warns
    -----
    LlmframeWarning
        Once at the end, counting failed rows by kind.
    """
    return Backfill(_passage(locals(), verb="map_file"), verb="map_file").run()


async def amap_file(  # noqa: PLR0913 - as above
    source: FilePath,
    target: FilePath,
    prompt_template: object,
    schema: object = None,
    *,
    format: str | None = None,  # noqa: A002 - as above
    target_format: str | None = None,
    exists: Exists = "error",
    types: Mapping[str, str] | None = None,
    spreadsheet_safe: bool = False,
    rows: int | None = None,
    **options: Unpack[MapOptions],
) -> RunReport:
    """`map_file` for async code; cancelling it cancels its requests, and the same call goes on.

    Arguments, result and errors are `map_file`'s.
    """
    return await Backfill(_passage(locals(), verb="amap_file"), verb="amap_file").arun()


def plan_file(  # noqa: PLR0913 - as above
    source: FilePath,
    prompt_template: object,
    schema: object = None,
    *,
    format: str | None = None,  # noqa: A002 - as above
    types: Mapping[str, str] | None = None,
    rows: int | None = None,
    **options: Unpack[MapOptions],
) -> PlanReport:
    """What `map_file` with the same arguments would do, found without a request; the input is read once.

    Parameters
    ----------
    source, prompt_template, schema, format, types, rows
        As `map_file`'s.
    **options
        All others of `map`.

    Returns
    -------
    PlanReport
        Rows, distinct requests, those answered already, estimated tokens and dollars, the first rendered prompts.

    Raises
    ------
    UsageError
        As `map_file`, apart from what is about its output.
    """
    from llmframe.frames.files import open_source  # noqa: PLC0415 - loads pyarrow

    said = _arguments(prompt_template, schema, options, verb="plan_file")
    most = most_rows(rows, usual=PART_ROWS)
    opened = open_source(source, format=format, types=types)
    prepared = _prepared(opened, said, verb="plan")
    return plan_parts(prepared, parts_of(opened, prepared, rows=most))


def _passage(said: Mapping[str, Any], *, verb: str) -> Passage:
    """A call of `map_file`, checked to the last argument."""
    given = _arguments(said["prompt_template"], said["schema"], said["options"], verb=verb)
    if verb == "map_file" and given.loop == "current":
        raise UsageError("`loop='current'` needs async code: `await llmframe.amap_file(...)`")
    rows, ends = most_rows(said["rows"], usual=PART_ROWS), ends_of(said)
    prepared = _prepared(ends.source, given, verb=verb)
    batching(prepared.asking, prepared.client)
    result = empty_result(prepared)
    check_target(ends, result)
    return passage(prepared, ends, result, rows=rows)


def _arguments(prompt_template: object, schema: object, options: object, *, verb: str) -> Arguments:
    told = {"labels": "string", **cast("Mapping[str, object]", options)}
    said = arguments(prompt_template, schema, told, verb=verb, also=OWN_OPTIONS)
    check_rows(said)
    return said


def _prepared(source: Any, said: Arguments, *, verb: str) -> Prepared:
    """The map over no rows: whatever columns decide is told here."""
    return prepare(asking(said), wrap(source.schema.empty_table()), verb=verb)


def _write_out(verb: Any) -> None:
    """Have `help` and completion show the arguments that `verb` passes on."""
    own = inspect.signature(verb)
    names = set(own.parameters)
    (*said, _), passed = own.parameters.values(), inspect.signature(map_frame).parameters.values()
    more = [parameter for parameter in passed if parameter.name not in {*names, "frame"}]
    at = [parameter.replace(default="string") if parameter.name == "labels" else parameter for parameter in more]
    verb.__signature__ = own.replace(parameters=[*said, *at])


for _verb in (map_file, amap_file, plan_file):
    _write_out(_verb)
