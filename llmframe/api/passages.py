"""The way of a call over files: from a source to a target, checked before anything is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from llmframe.api.arguments import Arguments, one_of
from llmframe.api.backfill import PART_BYTES, Passage
from llmframe.api.eager import Part
from llmframe.api.jobdigest import job_digest
from llmframe.api.prepared import Prepared
from llmframe.api.publishing import LASTING, Job, Ledger
from llmframe.core.columns import Column
from llmframe.errors import ErrorKind, UsageError
from llmframe.frames import wrap

if TYPE_CHECKING:
    from llmframe.frames.files import Source, Target

FilePath = str | os.PathLike[str]

Exists = Literal["error", "replace", "append"]

OWN_OPTIONS: Final = ("source", "target", "format", "target_format", "exists", "types", "spreadsheet_safe", "rows")
"""Arguments that the verbs over files have beside those of the verbs over frames."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Where rows come from and where they go.

    Parameters
    ----------
    exists
        What becomes of an output that is there.
    read_as
        How the files are read and written, as far as it changes the output.
    """

    source: Source
    target: Target
    exists: str
    read_as: Mapping[str, object]


def ends_of(said: Mapping[str, Any]) -> Ends:
    """The ends that a call names, by the names of `OWN_OPTIONS`; an output that is there isn't looked at yet.

    Raises
    ------
    UsageError
        If one of them can't be read or written, or they are the same place.
    """
    from llmframe.frames.files import open_source, open_target, touches  # noqa: PLC0415 - loads pyarrow

    place, address = cast("FilePath", said["source"]), cast("FilePath", said["target"])
    one_of("exists", said["exists"], get_args(Exists))
    if not isinstance(said["spreadsheet_safe"], bool):
        raise UsageError(f"`spreadsheet_safe` must be True or False, got {said['spreadsheet_safe']!r}")
    source = open_source(place, format=said["format"], types=said["types"])
    if touches(source, address):
        raise UsageError(
            f"the output {os.fspath(address)!r} would overwrite the input {os.fspath(place)!r}, or be read with it the "
            "next time; name a place outside"
        )
    target = open_target(
        address, format=said["target_format"], fallback=source.format, spreadsheet_safe=said["spreadsheet_safe"]
    )
    files = {name: said[name] for name in ("format", "types", "spreadsheet_safe")} | {"target": target.format}
    return Ends(source=source, target=target, exists=said["exists"], read_as=files)


def check_rows(said: Arguments) -> None:
    """Refuse what needs rows that are there."""
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


def most_rows(rows: object, *, usual: int) -> int:
    """Most rows of a part, as said or else the usual number."""
    if rows is None:
        return usual
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise UsageError(f"`rows` must be a whole number of at least 1, got {rows!r}")
    return rows


def parts_of(source: Source, whole: Prepared, *, rows: int) -> Iterator[Prepared]:
    """The parts of a source, each as `whole` over its rows."""
    where = whole.asking.arguments.where
    for table in source.tables(rows, PART_BYTES):
        frame = wrap(table)
        yield replace(whole, frame=frame, asked=None if where is None else frame.mask(where))


def check_target(ends: Ends, result: Any) -> None:
    """Refuse a target that can't hold `result`, the output without rows, or that is there and mustn't be."""
    ends.target.check(result.schema)
    _refuse_occupied(ends.target, ends.exists)


def passage(  # noqa: PLR0913 - one argument a fact
    prepared: Prepared,
    ends: Ends,
    result: Any,
    *,
    rows: int,
    part: type[Part] = Part,
    lasting: frozenset[ErrorKind] = LASTING,
) -> Passage:
    """A way that is checked.

    Parameters
    ----------
    prepared
        The call over a table without rows.
    result
        The output without rows.
    rows
        Most rows of a part.
    part
        What each part is.
    lasting
        Failures that no other attempt can mend.
    """
    source, target, exists = ends.source, ends.target, ends.exists
    digest = job_digest(prepared.asking, prepared.client, ends.read_as)
    return Passage(
        prepared=prepared,
        source=source,
        reopened=source.current_identity,
        total=source.rows,
        ledger=Ledger(target, Job(digest=digest, source=source.identity, rows=rows), lasting=lasting),
        target=target.address,
        schema=result.schema,
        lock=_lock(target.address),
        rows=rows,
        exists="overwrite" if exists == "replace" and target.format == "delta" else exists,
        part=part,
    )


def empty_result(prepared: Prepared) -> Any:
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
