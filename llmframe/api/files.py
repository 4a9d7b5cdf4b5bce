"""`map` over files: read in parts, written when all of them are there."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Unpack, cast, get_args

from llmframe.api.arguments import Arguments, MapOptions, arguments, one_of
from llmframe.api.backfill import PART_BYTES, Backfill, Passage
from llmframe.api.batching import batching
from llmframe.api.jobdigest import job_digest
from llmframe.api.planning import plan_parts
from llmframe.api.prepared import Prepared, asking, prepare
from llmframe.api.publishing import Job, Ledger
from llmframe.api.verbs import map as map_frame
from llmframe.core.columns import Column
from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.report import PlanReport, RunReport

FilePath = str | os.PathLike[str]

Exists = Literal["error", "replace", "append"]

PART_ROWS: Final = 8192
"""Rows of a part unless said."""

OWN_OPTIONS: Final = ("source", "target", "format", "target_format", "exists", "types", "spreadsheet_safe", "rows")
"""Arguments that the verbs over files have beside `map`'s."""


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
    most = _rows(rows)
    opened = open_source(source, format=format, types=types)
    prepared = _prepared(opened, said, verb="plan")
    return plan_parts(prepared, _planned(opened, prepared, most))


def _planned(opened: Any, whole: Prepared, rows: int) -> Iterator[Prepared]:
    for table in opened.tables(rows, PART_BYTES):
        frame, where = wrap(table), whole.asking.arguments.where
        asked = None if where is None else frame.mask(where)
        yield Prepared(whole.asking, frame, whole.prompt, whole.client, asked)


def _passage(said: Mapping[str, Any], *, verb: str) -> Passage:
    """A call of `map_file`, checked to the last argument."""
    from llmframe.frames.files import open_source, open_target, touches  # noqa: PLC0415 - loads pyarrow

    given = _arguments(said["prompt_template"], said["schema"], said["options"], verb=verb)
    if verb == "map_file" and given.loop == "current":
        raise UsageError("`loop='current'` needs async code: `await llmframe.amap_file(...)`")
    most, place, address = _rows(said["rows"]), cast("FilePath", said["source"]), cast("FilePath", said["target"])
    one_of("exists", said["exists"], get_args(Exists))
    if not isinstance(said["spreadsheet_safe"], bool):
        raise UsageError(f"`spreadsheet_safe` must be True or False, got {said['spreadsheet_safe']!r}")
    source = open_source(place, format=said["format"], types=said["types"])
    if touches(source, address):
        raise UsageError(
            f"the output {os.fspath(address)!r} would overwrite the input {os.fspath(place)!r}, or be read with it the "
            "next time; name a place outside"
        )
    prepared = _prepared(source, given, verb=verb)
    batching(prepared.asking, prepared.client)
    result = _empty_result(prepared)
    target = open_target(
        address, format=said["target_format"], fallback=source.format, spreadsheet_safe=said["spreadsheet_safe"]
    )
    target.check(result.schema)
    _refuse_occupied(target, said["exists"])
    files = {name: said[name] for name in ("format", "types", "spreadsheet_safe")} | {"target": target.format}
    job = Job(digest=job_digest(prepared.asking, prepared.client, files), source=source.identity, rows=most)
    return Passage(
        prepared=prepared,
        source=source,
        reopened=source.current_identity,
        total=source.rows,
        ledger=Ledger(target, job),
        target=target.address,
        schema=result.schema,
        lock=_lock(target.address),
        rows=most,
        exists="overwrite" if said["exists"] == "replace" and target.format == "delta" else said["exists"],
    )


def _arguments(prompt_template: object, schema: object, options: object, *, verb: str) -> Arguments:
    told = {"labels": "string", **cast("Mapping[str, object]", options)}
    said = arguments(prompt_template, schema, told, verb=verb, also=OWN_OPTIONS)
    if said.on_null == "raise":
        raise UsageError(
            '`on_null="raise"` needs rows that are there; `llmframe.plan_file` counts nulls beforehand, and '
            "`where=` leaves them out"
        )
    if said.where is not None and not callable(said.where) and not hasattr(said.where, "meta"):
        raise UsageError(
            "`where` over files is a function of a `pyarrow.Table` that returns one boolean a row, or a polars "
            f"expression, got {type(said.where).__name__}"
        )
    return said


def _rows(rows: object) -> int:
    if rows is None:
        return PART_ROWS
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise UsageError(f"`rows` must be a whole number of at least 1, got {rows!r}")
    return rows


def _prepared(source: Any, said: Arguments, *, verb: str) -> Prepared:
    """The map over no rows: whatever columns decide is told here."""
    return prepare(asking(said), wrap(source.schema.empty_table()), verb=verb)


def _empty_result(prepared: Prepared) -> Any:
    """The output without rows; raises where values that stay can't stay what they are."""
    ask, frame = prepared.asking, prepared.frame
    columns = [Column(name, type_, []) for name, type_ in ask.layout.types]
    result: Any = frame.attach(columns, replace=ask.arguments.overwrite)
    if ask.arguments.where is not None:
        before = cast("Any", frame.native).schema
        for name in (column.name for column in columns if column.name in frame.names):
            if before.field(name).type != result.schema.field(name).type:
                raise UsageError(
                    f"`overwrite=True` under `where` keeps values of column {name!r}, which are "
                    f"{before.field(name).type} and would have to be {result.schema.field(name).type}; "
                    "name the new columns apart with `prefix=`"
                )
    return result


def _refuse_occupied(target: Any, exists: str) -> None:
    delta = target.format == "delta"
    if exists == "append" and not delta:
        raise UsageError(f"`exists='append'` is for Delta tables, and {target.address!r} is {target.format}")
    found = target.occupied()
    state = target.read_state() if found is None and not target.single else None
    if found is None and state is not None and state.get("done"):
        found = "the output of an earlier run"
        if exists == "replace":
            return
    if found is None:
        return
    if not target.single and found != "the output of an earlier run":
        raise UsageError(f"{target.address!r} is {found}, which stay as they are; name an empty or a new folder")
    if exists == "error":
        more = ', or `exists="append"` to add rows' if delta else ""
        raise UsageError(
            f'{target.address!r} is there already ({found}); say `exists="replace"` to have it replaced when the new '
            f"one is finished{more}, or name another output"
        )
    if delta and not found.startswith("a Delta table"):
        raise UsageError(f"{target.address!r} is {found}, and no Delta table; name another place")


def _lock(address: str) -> Path | None:
    """The lock file beside a target of this machine; elsewhere nobody can tell whether its process lives."""
    if "://" in address:
        return None
    path = Path(address)
    return path.with_name(f".{path.name}.llmframe.lock")


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
