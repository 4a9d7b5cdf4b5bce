"""The verbs that hand a frame back in parts."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from typing import Any, TypeVar, Unpack, cast

from llmframe.api.arguments import Arguments, MapOptions, arguments, lazy_kind
from llmframe.api.streaming import run_astream, run_stream
from llmframe.api.verbs import map as map_frame
from llmframe.errors import UsageError

F = TypeVar("F")


def stream(
    frame: F,
    prompt_template: object,
    schema: object = None,
    *,
    rows: int = 1000,
    ordered: bool = False,
    **options: Unpack[MapOptions],
) -> Generator[F]:
    """`map` in parts: `for part in df.llm.stream(...)` gets finished rows while others are still being asked.

    Memory stays bounded: parts that were handed over aren't kept, and while nobody takes one, no more are begun than
    `max_concurrency` requests need (at least 4 parts). All parts are one run, with one report, progress bar, budget
    and warning; equal prompts of different parts are asked once. Leaving the loop cancels what is in flight.

    Parameters
    ----------
    frame
        As `map`'s, but no lazy query: that has `sink_parquet`.
    prompt_template, schema
        As `map`'s.
    rows
        Rows of a part, at least 1; 1000. The last part may have fewer. A part comes when all of its rows are finished.
    ordered
        `False`: parts come as they finish, so a slow row holds up its own part alone; `True`: in the frame's order.
        Within a part rows keep their order and index.
    **options
        All others of `map`. `where` is evaluated once, over the whole frame.

    Yields
    ------
    same kind as `map` returns
        For a frame without rows one part, with the new columns.

    Raises
    ------
    UsageError
        By the call itself, before the loop, for whatever can't work.
    RowError
        Under `on_error="raise"`: the row's number is the whole frame's, `.frame` is its part.
    """
    said = _said_in_parts(frame, prompt_template, schema, options, verb="stream")
    return cast("Generator[F]", run_stream(frame, said, rows=rows, ordered=ordered))


def astream(
    frame: F,
    prompt_template: object,
    schema: object = None,
    *,
    rows: int = 1000,
    ordered: bool = False,
    **options: Unpack[MapOptions],
) -> AsyncGenerator[F]:
    """`stream` for async code: `async for part in df.llm.astream(...)`.

    Arguments, parts and errors are `stream`'s; a wrong call is told by the call itself, which isn't awaited. After a
    `break` requests are cancelled when the event loop gets to it; `contextlib.aclosing` waits for that.
    """
    said = _said_in_parts(frame, prompt_template, schema, options, verb="astream")
    return cast("AsyncGenerator[F]", run_astream(frame, said, rows=rows, ordered=ordered))


def write_out(verb: Callable[..., object]) -> None:
    """Have `help` and completion show the arguments that `verb` passes on: all of `map`'s."""
    own = inspect.signature(verb)
    names = set(own.parameters)
    (*said, _), passed = own.parameters.values(), inspect.signature(map_frame).parameters.values()
    cast("Any", verb).__signature__ = own.replace(
        parameters=[*said, *(parameter for parameter in passed if parameter.name not in names)]
    )


write_out(stream)
write_out(astream)


def _said_in_parts(
    frame: object, prompt_template: object, schema: object, options: MapOptions, *, verb: str
) -> Arguments:
    said = arguments(
        prompt_template, schema, cast("Mapping[str, object]", options), verb=verb, also=("rows", "ordered")
    )
    kind = lazy_kind(frame)
    if kind:
        instead = ", or write `.llm.map(...).sink_parquet(...)`" if kind == "LazyFrame" else ""
        raise UsageError(f"`{verb}` needs rows that are there: `.collect()` the lazy query first{instead}")
    if said.mode == "batch":
        raise UsageError(f'`{verb}` asks live; for `mode="batch"` use `map`, `submit` or `map_file`')
    return said
