"""`embed` over files: read in parts, written when all of them are there."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Unpack, cast

from llmframe.api.backfill import GOES_ON, Backfill, begin_run
from llmframe.api.batching import batching
from llmframe.api.before import Before
from llmframe.api.embed import embed
from llmframe.api.embedding import EmbedAsking, EmbedOptions, EmbedPart, embed_asking, embed_prepared
from llmframe.api.gauging import Gauge, first_texts
from llmframe.api.keeping import store_of, store_of_parts
from llmframe.api.passages import (
    Ends,
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
from llmframe.api.prepared import Prepared
from llmframe.api.publishing import LASTING
from llmframe.core.embeddings import Width
from llmframe.core.template import Template
from llmframe.engine import bridge
from llmframe.errors import ErrorKind, UsageError
from llmframe.frames import wrap
from llmframe.report import RunReport
from llmframe.stores.base import Store

PART_ROWS: Final = 4096
"""Rows of a part unless said: two full requests. With 1,536 numbers a vector its column takes 25 MB."""

LASTING_TEXTS: Final[frozenset[ErrorKind]] = frozenset({*LASTING, "empty", "context_length"})
"""Failures that lie in the texts."""

_UNSAID: Final = {name: parameter.default for name, parameter in inspect.signature(embed).parameters.items()}


def embed_file(  # noqa: PLR0913 - the options of files beside `embed`'s
    source: FilePath,
    target: FilePath,
    column: str | Template,
    *,
    format: str | None = None,  # noqa: A002 - the argument's name
    target_format: str | None = None,
    exists: Exists = "error",
    types: Mapping[str, str] | None = None,
    spreadsheet_safe: bool = False,
    rows: int | None = None,
    **options: Unpack[EmbedOptions],
) -> RunReport:
    """`embed` from files to a file, in bounded memory, so that a run that was killed goes on where it was.

    As with `map_file`, the input is read in parts, each written when its rows are finished; the output appears when all
    of them are there. Vectors are lists of fixed size in Parquet, Arrow and Delta, and JSON text in CSV and JSON lines.

    Parameters
    ----------
    source, target, format, target_format, exists, types, spreadsheet_safe
        As `map_file`'s.
    column
        A column's name, or a template of columns such as `"{title}: {body}"`.
    rows
        Most rows of a part; 4096, and at most about 16 MB as they are read. Requests aren't shared by parts, unless
        `wait` says so.
    **options
        All others of `embed`. `where` is a function of a `pyarrow.Table` or a polars expression, evaluated for each
        part on its own. Without `dimensions` the first text is embedded alone, before all others, also with
        `mode="batch"`: its vector tells the output's width. One that is kept tells it without a request.

    Returns
    -------
    RunReport
        Counts, tokens, dollars. `.output` is `None` when a budget, a wrong key or `llmframe.cancel()` stopped the run
        before its last row: finished parts are kept then, and the same call goes on.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.
    LlmframeError
        When the first texts have no vector, and `dimensions` isn't said.
    StoreError
        When the output can't be written, or the input changed meanwhile; vectors are kept.
    RowError
        Under `on_error="raise"`; `.frame` is the part of the failed row, and the output isn't written.
    KeyboardInterrupt
        When interrupted; the same call goes on.

    Warns
    -----
    LlmframeWarning
        Once at the end, counting failed rows by kind.
    """
    opened = _opened(locals(), verb="embed_file")
    opened.texts()
    if opened.unsized:
        try:
            bridge.run(opened.gauge(None).work, interrupt=opened.before.run.cancel, verb="embed_file")
        except KeyboardInterrupt as interrupt:
            interrupt.args = interrupt.args or (GOES_ON,)
            raise
    return opened.backfill("embed_file").run()


async def aembed_file(  # noqa: PLR0913 - as above
    source: FilePath,
    target: FilePath,
    column: str | Template,
    *,
    format: str | None = None,  # noqa: A002 - as above
    target_format: str | None = None,
    exists: Exists = "error",
    types: Mapping[str, str] | None = None,
    spreadsheet_safe: bool = False,
    rows: int | None = None,
    **options: Unpack[EmbedOptions],
) -> RunReport:
    """`embed_file` for async code; cancelling it cancels its requests, and the same call goes on.

    Arguments, result and errors are `embed_file`'s.
    """
    opened = _opened(locals(), verb="aembed_file")
    await asyncio.to_thread(opened.texts)
    if opened.unsized:
        said, client = opened.ask.arguments, opened.prepared.client
        at_home = said.loop == "current" or getattr(client, "foreign_loop", False)
        gauge = opened.gauge(asyncio.get_running_loop() if at_home else None)
        await bridge.arun(gauge.work, interrupt=opened.before.run.cancel)
    return await opened.backfill("aembed_file").arun()


@dataclass(slots=True)
class _Opened:
    """A call whose ends are open, and whose vectors' width may still have to be found."""

    ask: EmbedAsking
    prepared: Prepared
    ends: Ends
    rows: int
    store: Store
    unsized: list[Prepared]
    before: Before

    def texts(self) -> None:
        """Find the texts that tell the width, where nothing else does; the input's first rows are read for it."""
        if self.ask.width.size is None:
            kept = store_of(_read(self.ask.arguments.sending.cache), self.prepared.client)
            self.unsized = first_texts(parts_of(self.ends.source, self.prepared, rows=self.rows), self.ask, kept)

    def gauge(self, home: asyncio.AbstractEventLoop | None) -> Gauge:
        """What asks them."""
        return Gauge(self.ask, self.unsized, self.before, home=home)

    def backfill(self, verb: str) -> Backfill:
        """The whole run, when the width is known; in a file without any text it stays unknown."""
        prepared = replace(self.prepared, asking=self.ask.sized())
        way = passage(
            prepared, self.ends, empty_result(prepared), rows=self.rows, part=EmbedPart, lasting=LASTING_TEXTS
        )
        return Backfill(way, verb=verb, before=self.before)


def _opened(said: Mapping[str, Any], *, verb: str) -> _Opened:
    """A call of `embed_file`, checked to the last argument; its run begins."""
    told = cast("dict[str, object]", said["options"])
    options = {name: told.get(name, _UNSAID[name]) for name in EmbedOptions.__annotations__}
    ask = embed_asking(said["column"], {**options, **told}, verb=verb)
    check_rows(ask.arguments)
    if verb == "embed_file" and ask.arguments.loop == "current":
        raise UsageError("`loop='current'` needs async code: `await llmframe.aembed_file(...)`")
    rows, ends = most_rows(said["rows"], usual=PART_ROWS), ends_of(said)
    prepared = embed_prepared(wrap(ends.source.schema.empty_table()), ask, verb=verb)
    guess = replace(ask, width=Width(ask.width.asked or 1)).sized()  # what can't be written has no width that can
    check_target(ends, empty_result(replace(prepared, asking=guess)))
    by_batches = batching(ask, prepared.client)
    cache = ask.arguments.sending.cache
    store = store_of_parts(cache, prepared.client) if by_batches is None else by_batches.store
    before = Before(run=begin_run(prepared), store=store, settled={})
    return _Opened(ask, prepared, ends, rows, store, [], before)


def _read(cache: Any) -> Any:
    """Where a width may be known from: also what is asked again has the width that it had."""
    return True if cache == "refresh" else cache


def _write_out(verb: Any) -> None:
    """Have `help` and completion show the arguments that `verb` passes on."""
    own, passed = inspect.signature(verb), inspect.signature(embed).parameters.values()
    (*said, _) = own.parameters.values()
    more = [parameter for parameter in passed if parameter.name not in {*own.parameters, "frame"}]
    verb.__signature__ = own.replace(parameters=[*said, *more])


for _verb in (embed_file, aembed_file):
    _write_out(_verb)
