"""One `embed` over one frame: checked, run, its vectors as a column."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, cast

from llmframe.api.answering import carry_out, stage_of
from llmframe.api.arguments import LOCAL_ARGUMENTS, Arguments, Fallback, LoopOption, Mode, OnError
from llmframe.api.batching import batching
from llmframe.api.eager import Part
from llmframe.api.keeping import store_of
from llmframe.api.layout import Layout
from llmframe.api.prepared import Asking, Prepared
from llmframe.api.runs import new_run
from llmframe.batch.drafts import Lines
from llmframe.batch.embeddings import EmbeddingDrafts, EmbeddingReading
from llmframe.clients.batch import Batches
from llmframe.clients.embeddings import EmbeddingClient, open_embeddings
from llmframe.core.columns import Column
from llmframe.core.embeddings import CANONICAL, Width, embedding_schema, text_prompt
from llmframe.core.request import Question
from llmframe.core.template import OnNull, Prompt, Template, compile_prompt
from llmframe.engine.bridge import Post
from llmframe.engine.embedding import Embedder
from llmframe.engine.hop import OnLoop
from llmframe.engine.packing import INPUT_TOKENS, REQUEST_INPUTS, Bounds
from llmframe.engine.progress import Progress, ProgressOption
from llmframe.engine.sharing import shared_here
from llmframe.errors import UsageError, did_you_mean
from llmframe.frames import wrap
from llmframe.frames.base import Frame
from llmframe.options import (
    SENDING_OPTIONS,
    UNSET,
    BudgetOption,
    CacheOption,
    Prices,
    Priority,
    Unset,
    refuse_unknown,
    resolve_options,
)


class EmbedOptions(TypedDict, total=False):
    """The keyword arguments of `embed`, for the verbs that pass them on."""

    into: str
    prefix: str
    dimensions: int | None
    batch_size: int | None
    wait: float
    where: object
    on_null: OnNull
    overwrite: bool
    on_error: OnError
    mode: Mode
    fallback: Fallback
    loop: LoopOption
    meta: bool
    progress: ProgressOption
    model: str | Unset | None
    base_url: str | Unset | None
    api_key: str | Unset | None
    client: object
    params: Mapping[str, object] | Unset
    max_concurrency: int | Unset
    requests_per_minute: float | Unset | None
    tokens_per_minute: float | Unset | None
    priority: Priority | Unset
    timeout: float | Unset
    max_attempts: int | Unset
    budget: BudgetOption | Unset | None
    prices: Prices | Unset
    cache: CacheOption | Unset


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedAsking(Asking):
    """What an `embed` asks, apart from any rows.

    Parameters
    ----------
    column
        A column's name, or a template; `None` for a Series' cells.
    dimensions
        Numbers of a vector, where the model lets one choose.
    batch_size
        Texts of one request, at most.
    wait
        Seconds that texts which don't fill a request wait for other calls' texts.
    """

    column: str | Template | None
    dimensions: int | None
    batch_size: int
    wait: float
    width: Width = field(default_factory=Width)

    def client(self, *, sends: bool = True, sample: int = 0) -> EmbeddingClient:  # noqa: ARG002 - a text has one vector
        """A client for one part of a run; nothing is opened yet."""
        sending = self.arguments.sending
        return open_embeddings(
            model=sending.model,
            base_url=sending.base_url,
            api_key=sending.api_key,
            client=sending.client,
            params=sending.params,
            dimensions=self.dimensions,
            timeout=sending.timeout,
            sending=sends,
        )

    def sized(self) -> EmbedAsking:
        """The same with the width that vectors are known to have by now."""
        (asked,) = self.schema.fields
        schema = embedding_schema(asked.name, self.width)
        return replace(self, schema=schema, layout=replace(self.layout, schema=schema))

    def prompt(self, names: Sequence[str], *, series: bool) -> Prompt:
        """The column or template compiled against these columns."""
        said, on_null = self.column, self.arguments.on_null
        if said is None and not series:
            raise UsageError(
                f"`embed` needs the column whose texts are embedded, or a template; columns: {_few(names)}"
            )
        if series and said in (None, *names):
            return compile_prompt("{}", names, on_null=on_null, series=True)
        if isinstance(said, str) and said in names:
            if names.count(said) > 1:
                raise UsageError(f"column {said!r} is there {names.count(said)} times; rename one of them")
            cells = compile_prompt("{}", [said], on_null=on_null, series=True)  # whatever braces the name has
            return replace(cells, positions=(names.index(said),))
        if isinstance(said, str) and "{" not in said:
            raise UsageError(
                f"no column {said!r}{did_you_mean(said, names) or ';'} columns: {_few(names)}; a template names "
                'columns in braces, "{title}: {body}"'
            )
        return compile_prompt(said, names, on_null=on_null, series=series)

    def question(self, client: Any, *, sample: int = 0) -> Question:  # noqa: ARG002 - as above
        """What all requests of the call share in their fingerprint."""
        params = dict(self.arguments.sending.params)
        if self.dimensions is not None:
            params["dimensions"] = self.dimensions
        return Question(
            identity=client.identity, model=client.model, params=params, schema=CANONICAL, output_mode="auto"
        )

    def bounds(self, client: EmbeddingClient) -> Bounds:
        """Of one request."""
        return Bounds(inputs=self.batch_size, alone=INPUT_TOKENS if client.knows_limit else None)

    def lines(self, batches: Batches, *, clock: Callable[[], float]) -> Lines:
        """What its requests are in batches; a vector that doesn't fit isn't asked for again, as live."""
        reading = EmbeddingReading(self.width, components=self.question(batches).components(), clock=clock)
        drafts = EmbeddingDrafts(batches, bounds=self.bounds(self.client()))
        return Lines(kind="embeddings", drafts=drafts, read=reading.read, dialects=(), reask=0, invalid={})


@dataclass(slots=True)
class EmbedPart(Part):
    """One part of an `embed`'s run."""

    def work(
        self, listener_: Callable[[Progress], None] | None, home: asyncio.AbstractEventLoop | None = None
    ) -> Callable[[Post], Coroutine[Any, Any, None]]:
        """The coroutine of the private loop, for the bridge."""
        return lambda post: self._embed(post, listener_, home)

    def columns(self) -> list[Column]:
        """The new columns as far as outcomes are there; the vectors' width is what the answers had."""
        layout = cast("EmbedAsking", self.prepared.asking).sized().layout
        return self.prepared.kept(layout.columns(self.plan, self.outcomes, missing=self.run.missing))

    async def _embed(
        self, post: Post, listener: Callable[[Progress], None] | None, home: asyncio.AbstractEventLoop | None
    ) -> None:
        ask, own = cast("EmbedAsking", self.prepared.asking), cast("EmbeddingClient", self.prepared.client)
        client = own if home is None else OnLoop(own, home)
        settled, store = self.settled, self.store
        stage = stage_of(self.prepared, self.run) if settled is None else None
        if stage is not None:
            settled, store = stage.settled, stage.store
        worker = Embedder(
            self.run,
            self.plan,
            client=client,
            width=ask.width,
            options=ask.arguments.sending,
            bounds=ask.bounds(own),
            store=store,
            shared=shared_here(),
            outcomes=self.outcomes,
            wait=ask.wait,
            fail_fast=ask.arguments.on_error == "raise",
            components=ask.question(own).components(),
            settled=settled,
        )
        await carry_out(worker, client, self.run, self.plan, self.outcomes, post=post, listener=listener, stage=stage)


def embed_asking(column: object, options: Mapping[str, object], *, verb: str) -> EmbedAsking:
    """Check what a call says.

    Raises
    ------
    UsageError
        For an unknown argument, or a value that can't work.
    """
    known = ("column", *EmbedOptions.__annotations__)
    refuse_unknown({name: value for name, value in options.items() if name not in known}, known, verb=verb)
    if column is not None and not isinstance(column, str | Template):
        raise UsageError(f"`column` must be a column's name or a template, got {type(column).__name__!r}")
    dimensions, batch_size, wait = (options[name] for name in ("dimensions", "batch_size", "wait"))
    local = {name: value for name, value in options.items() if name in LOCAL_ARGUMENTS and name != "into"}
    said = {name: value for name, value in options.items() if name in SENDING_OPTIONS and value is not UNSET}
    sending = resolve_options(said)
    # `use(model=..., params=...)` speaks of a model that chats: it embeds nothing, and its params are refused
    sending = replace(
        sending,
        model=cast("str | None", said.get("model")),
        params=cast("Mapping[str, object]", said.get("params", {})),
    )
    if not isinstance(options["into"], str) or not options["into"]:
        raise UsageError(f"`into` must be the name of a column, got {options['into']!r}")
    arguments = Arguments(prompt_template=column, schema=None, sending=sending, **cast("Any", local))
    width = Width(None if dimensions is None else _whole("dimensions", dimensions))
    schema = embedding_schema(options["into"], width)
    return EmbedAsking(
        arguments,
        schema,
        Layout(schema=schema, prefix=arguments.prefix, meta=arguments.meta),
        column=column,
        dimensions=width.asked,
        batch_size=REQUEST_INPUTS if batch_size is None else min(_whole("batch_size", batch_size), REQUEST_INPUTS),
        wait=_seconds(wait),
        width=width,
    )


def embed_part(native: object, ask: EmbedAsking, *, verb: str) -> EmbedPart:
    """Check everything that a frame decides, and begin a run over its rows.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.
    """
    prepared, said = embed_prepared(wrap(native), ask, verb=verb), ask.arguments
    client = prepared.client
    run = new_run(
        model=client.model,
        provider=client.provider,
        rows=len(prepared.frame),
        budget=said.sending.budget,
        prices=said.sending.prices,
        tier=said.sending.params.get("service_tier"),
    )
    return EmbedPart(prepared, run, prepared.plan(), store_of(said.sending.cache, client))


def embed_prepared(frame: Frame, ask: EmbedAsking, *, verb: str) -> Prepared:
    """Check everything that a frame decides.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.
    """
    said = ask.arguments
    prompt = ask.prompt(frame.names, series=frame.single)
    if not frame.single:
        ask.layout.check(frame.names, overwrite=said.overwrite, verb=verb)
    asked = None if said.where is None else frame.mask(said.where)
    client = ask.client()
    prompt = text_prompt(prompt, most_tokens=INPUT_TOKENS if client.knows_limit else None)
    prepared = Prepared(ask, frame, prompt, client, asked)
    if said.on_null == "raise":
        _refuse_nulls(prompt, frame, asked)
    batching(ask, client)
    return prepared


def _refuse_nulls(prompt: Prompt, frame: Frame, asked: list[bool] | None) -> None:
    for position in prompt.positions:
        if frame.null_count(position):
            (cells,) = frame.cells([position], 0, len(frame))
            nulls = sum(cell is None and (asked is None or asked[row]) for row, cell in enumerate(cells))
            if nulls:
                raise UsageError(
                    f"column {frame.names[position]!r} has a null in {nulls:,} rows that would be asked; drop them "
                    'with `where=`, or say on_null="skip"'
                )


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"`{name}` must be a whole number from 1 up, got {value!r}")
    return value


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise UsageError(f"`wait` must be seconds from 0 up, got {value!r}")
    return float(value)


def _few(names: Sequence[str]) -> str:
    most = 20
    return ", ".join(map(repr, names[:most])) + (", …" if len(names) > most else "")
