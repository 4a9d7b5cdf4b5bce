"""The verb `embed` over any frame."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from llmframe.api.arguments import Fallback, LoopOption, Mode, OnError, lazy_kind
from llmframe.api.eager import INTERRUPTED, is_empty_list
from llmframe.api.embedding import EmbedAsking, EmbedPart, embed_asking, embed_part
from llmframe.core.template import OnNull
from llmframe.engine import bridge
from llmframe.engine.progress import Progress, ProgressOption, listener
from llmframe.errors import UsageError
from llmframe.options import UNSET, BudgetOption, CacheOption, Prices, Priority, Unset

F = TypeVar("F")


def embed(  # noqa: PLR0913 - the verb's arguments, written out
    frame: F,
    column: object = None,
    *,
    into: str = "embedding",
    prefix: str = "",
    dimensions: int | None = None,
    batch_size: int | None = None,
    wait: float = 0.0,
    where: object = None,
    on_null: OnNull = "skip",
    overwrite: bool = False,
    on_error: OnError = "column",
    mode: Mode = "live",
    fallback: Fallback = "batch",
    loop: LoopOption = "thread",
    meta: bool = False,
    progress: ProgressOption = None,
    model: str | Unset | None = UNSET,
    base_url: str | Unset | None = UNSET,
    api_key: str | Unset | None = UNSET,
    client: object = UNSET,
    params: Mapping[str, object] | Unset = UNSET,
    max_concurrency: int | Unset = UNSET,
    requests_per_minute: float | Unset | None = UNSET,
    tokens_per_minute: float | Unset | None = UNSET,
    priority: Priority | Unset = UNSET,
    timeout: float | Unset = UNSET,
    max_attempts: int | Unset = UNSET,
    budget: BudgetOption | Unset | None = UNSET,
    prices: Prices | Unset = UNSET,
    cache: CacheOption | Unset = UNSET,
    **unknown: object,
) -> F:
    """Add the vectors of a column's texts, as a column of 32-bit floats.

    Equal texts are asked once, many texts a request. Rows keep their place; a row that fails gets a null and its
    `error`: `null`, `empty` and texts that are surely too long without being sent.

    Parameters
    ----------
    frame
        A pandas or polars DataFrame or Series, a `pyarrow.Table`, or a list of dicts. It is never changed.
    column
        A column's name, or a template of columns such as `"{title}: {body}"`; of a Series nothing, or a template with
        `{}`.
    into
        Name of the new column.
    prefix
        Stands before the names of all new columns.
    dimensions
        Numbers of a vector, for models that let one choose; else what the model gives.
    batch_size
        Texts of one request, at most; 2,048, and 300,000 tokens. A request that is refused for its size is halved, and
        what follows is sent in smaller ones.
    wait
        Seconds that texts which don't fill a request wait for texts of other calls, to go in one request with them; the
        oldest sets the deadline. For servers that embed a text for each of many callers; calls with a `budget` don't
        share. 0: at once.
    where, on_null, overwrite, on_error, mode, fallback, loop, meta, progress
        As in `map`.
    model
        A model that embeds, `"openai/text-embedding-3-small"`, or any name beside `base_url` or `client`. That of
        `use()` isn't taken, nor are its `params`: they speak of a model that chats.
    base_url, api_key
        An endpoint with OpenAI's `/embeddings`.
    client
        Your `AsyncOpenAI` or `AsyncAzureOpenAI` client, or a `llmframe.testing.Provider`.
    params
        What is sent beside the texts (`user`, or a server's own such as `input_type`).
    max_concurrency, requests_per_minute, tokens_per_minute, priority, timeout, max_attempts, budget, prices, cache
        As in `map`; a request is one HTTP request, however many texts it has.
    **unknown
        Refused, with the nearest name.

    Returns
    -------
    same kind as `frame`
        Old columns untouched, new ones at the end: the vectors, then `error` (text, null when answered). A Series gives
        a Series of vectors. polars `Array(Float32, n)`, Arrow `FixedSizeList(float, n)`, pandas and dicts arrays.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.
    RowError
        Under `on_error="raise"`.
    KeyboardInterrupt
        When interrupted, with what was answered in its `.frame`.

    Warns
    -----
    LlmframeWarning
        Once at the end, counting failed rows by kind.
    """
    ask = _said(locals(), verb="embed")
    if is_empty_list(frame):
        ask.client()
        return cast("F", [])
    part = embed_part(frame, ask, verb="embed")
    show, close = listener(ask.arguments.progress)
    try:
        try:
            if ask.arguments.loop == "current":
                bridge.run_here(lambda: _on_callers_loop(part, show), interrupt=part.run.cancel)
            else:
                bridge.run(part.work(show), interrupt=part.run.cancel, verb="embed")
        finally:
            close(part.run.progress())
        return cast("F", part.finish())
    except KeyboardInterrupt as interrupt:
        interrupt.args = interrupt.args or (INTERRUPTED,)
        part.run.frame = part.result()
        interrupt.frame = part.run.frame  # pyright: ignore[reportAttributeAccessIssue] - ours to add
        raise


async def aembed(  # noqa: PLR0913 - as `embed`
    frame: F,
    column: object = None,
    *,
    into: str = "embedding",
    prefix: str = "",
    dimensions: int | None = None,
    batch_size: int | None = None,
    wait: float = 0.0,
    where: object = None,
    on_null: OnNull = "skip",
    overwrite: bool = False,
    on_error: OnError = "column",
    mode: Mode = "live",
    fallback: Fallback = "batch",
    loop: LoopOption = "thread",
    meta: bool = False,
    progress: ProgressOption = None,
    model: str | Unset | None = UNSET,
    base_url: str | Unset | None = UNSET,
    api_key: str | Unset | None = UNSET,
    client: object = UNSET,
    params: Mapping[str, object] | Unset = UNSET,
    max_concurrency: int | Unset = UNSET,
    requests_per_minute: float | Unset | None = UNSET,
    tokens_per_minute: float | Unset | None = UNSET,
    priority: Priority | Unset = UNSET,
    timeout: float | Unset = UNSET,
    max_attempts: int | Unset = UNSET,
    budget: BudgetOption | Unset | None = UNSET,
    prices: Prices | Unset = UNSET,
    cache: CacheOption | Unset = UNSET,
    **unknown: object,
) -> F:
    """`embed` for async code: `out = await llmframe.aembed(frame, ...)`; cancelling it cancels its requests.

    Arguments, result and errors are `embed`'s. A client with a transport of its own is used on the running loop.
    """
    ask = _said(locals(), verb="aembed")
    if is_empty_list(frame):
        ask.client()
        return cast("F", [])
    part = embed_part(frame, ask, verb="aembed")
    show, close = listener(ask.arguments.progress)
    at_home = ask.arguments.loop == "current" or getattr(part.prepared.client, "foreign_loop", False)
    try:
        if at_home:
            await _on_callers_loop(part, show)
        else:
            await bridge.arun(part.work(show), interrupt=part.run.cancel)
    except asyncio.CancelledError:
        part.run.frame = part.result()
        raise
    finally:
        close(part.run.progress())
    return cast("F", part.finish())


async def _on_callers_loop(part: EmbedPart, show: Callable[[Progress], None] | None) -> None:
    home = asyncio.get_running_loop()
    await bridge.arun(part.work(show, home), interrupt=part.run.cancel)


def _said(values: Mapping[str, object], *, verb: str) -> EmbedAsking:
    kind = lazy_kind(values["frame"])
    if kind is not None:
        raise UsageError(
            f"`{verb}` needs rows that are there, and a {kind} has none yet: collect first, "
            f"`lf.collect().llm.{verb}(...)`"
        )
    options = {name: value for name, value in values.items() if name not in ("frame", "column")}
    unknown = cast("Mapping[str, object]", options.pop("unknown"))
    return embed_asking(values["column"], {**options, **unknown}, verb=verb)
