"""One map over one frame, checked to the last argument: what follows can only fail row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from llmframe.api.arguments import Arguments, calibration_of
from llmframe.api.examples import examples_of, read_examples
from llmframe.api.layout import Layout
from llmframe.batch.chat import ChatDrafts, ChatReading
from llmframe.batch.drafts import Invalid, Lines
from llmframe.clients import open_client
from llmframe.clients.base import Client
from llmframe.clients.batch import Batches
from llmframe.clients.params import Logprobs, scored_params
from llmframe.core.columns import Column
from llmframe.core.plan import Plan
from llmframe.core.request import Question
from llmframe.core.schema import Schema, schema_of
from llmframe.core.template import Prompt, compile_prompt
from llmframe.errors import UsageError
from llmframe.frames.base import Frame


@dataclass(frozen=True, slots=True)
class Asking:
    """What a map asks, apart from any rows."""

    arguments: Arguments
    schema: Schema
    layout: Layout

    @property
    def gives_series(self) -> bool:
        """Whether a Series gets a Series back: for one value, with nothing beside it."""
        return self.schema.single and len(self.layout.parts) == 2  # noqa: PLR2004 - the value and its error

    def client(self, *, sends: bool = True, sample: int = 0) -> Client:
        """A client for one part of a run; nothing is opened yet. One that never `sends` needs no key and no package."""
        sending = self.arguments.sending
        return open_client(
            model=sending.model,
            base_url=sending.base_url,
            api_key=sending.api_key,
            client=sending.client,
            params=self.params(sample),
            schema=self.schema,
            output_mode=sending.output_mode,
            timeout=sending.timeout,
            sending=sends,
            logprobs=self._logprobs(sample),
        )

    def prompt(self, names: Sequence[str], *, series: bool) -> Prompt:
        """The template compiled against these columns."""
        said = self.arguments
        template = said.prompt_template
        return compile_prompt(
            template,
            names,
            system=said.system,  # pyright: ignore[reportArgumentType] - checked there
            examples=examples_of(said.examples, self.schema, template=template, series=series),
            on_null=said.on_null,
            series=series,
        )

    def question(self, client: Client | Batches, *, sample: int = 0) -> Question:
        """What all requests of the map share in their fingerprint, or all of one `sample`."""
        sending, params = self.arguments.sending, self.params(sample)
        if self._logprobs(sample) != "no" and any(dialect.logprobs for dialect in client.dialects):
            params = scored_params(params)
        return Question(
            identity=client.identity,
            model=client.model,
            params=params,
            schema=self.schema.canonical,
            output_mode=sending.output_mode,
            sample=sample,
        )

    def _logprobs(self, sample: int) -> Logprobs:
        """Whether requests of a sample ask for log-probabilities."""
        if self.arguments.confidence == "logprobs":
            return "asked"
        return "tried" if self.arguments.confidence == "auto" and not sample else "no"

    def params(self, sample: int = 0) -> Mapping[str, object]:
        """What the requests of a sample send beside their messages; a seed would make all samples one."""
        params = self.arguments.sending.params
        return _with_seed(params, sample) if sample else params

    def lines(self, batches: Batches, *, clock: Callable[[], float]) -> Lines:
        """What its requests are in batches."""
        sending, schema, invalid = self.arguments.sending, self.schema, Invalid()
        limit = sending.params.get("max_tokens", sending.params.get("max_completion_tokens"))
        drafts = ChatDrafts(batches, schema, max_tokens=limit if isinstance(limit, int) else None, invalid=invalid)
        components = self.question(batches).components()
        reading = ChatReading(schema, components=components, clock=clock, invalid=invalid, learn=drafts.learn)
        return Lines(
            kind="chat",
            drafts=drafts,
            read=reading.read,
            dialects=batches.dialects,
            reask=sending.reask,
            invalid=invalid,
        )


def _with_seed(params: Mapping[str, object], sample: int) -> Mapping[str, object]:
    """`params` with the number of the sample added to a seed, which may also stand in `extra_body`."""
    seed, extra = params.get("seed"), params.get("extra_body")
    if isinstance(seed, int):
        params = {**params, "seed": seed + sample}
    if isinstance(extra, Mapping) and "seed" in extra:
        params = {**params, "extra_body": _with_seed(cast("Mapping[str, object]", extra), sample)}
    return params


def asking(arguments: Arguments, *, struct: bool = False) -> Asking:
    """Check what is asked for; `struct` when all columns go into one struct anyway (a polars expression)."""
    into = arguments.into
    plain = schema_of(
        arguments.schema,
        into=None if struct else into,
        labels=arguments.labels,
        nested=arguments.nested,
        confidence=arguments.confidence,
    )
    if arguments.votes > 1 and arguments.confidence == "votes" and plain.model is None:
        raise UsageError(
            "votes count equal answers, and free texts are hardly ever equal; pass a schema, for example Literal[...], "
            'or use `confidence="logprobs"`'
        )
    layout = Layout(
        schema=plain,
        prefix=arguments.prefix,
        into=None if plain.single or struct else into,
        meta=arguments.meta,
        distribution=arguments.distribution,
        calibration=calibration_of(arguments.calibration),
        labels=arguments.labels,
    )
    examples = read_examples(arguments.examples, plain, template=arguments.prompt_template)
    return Asking(replace(arguments, examples=examples), plain, layout)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A map over a frame, ready to run."""

    asking: Asking
    frame: Frame
    prompt: Prompt
    client: Client
    asked: list[bool] | None

    def plan(self, *, sample: int = 0, asked: list[bool] | None = None) -> Plan:
        """A fresh plan of the frame's rows, or of those `asked`; of another sample they are other requests."""
        return Plan(
            self.prompt,
            self.asking.question(self.client, sample=sample).fingerprints(),
            length=len(self.frame),
            read=self.frame.cells,
            asked=self.asked if asked is None else asked,
        )

    def kept(self, columns: Sequence[Column]) -> list[Column]:
        """`columns` with rows outside `where` keeping what an overwritten column holds."""
        said = self.asking.arguments
        if self.asked is None or not said.overwrite:
            return list(columns)
        existing = set(self.frame.names)
        return [self.frame.kept(column, self.asked) if column.name in existing else column for column in columns]


def prepare(ask: Asking, frame: Frame, *, verb: str) -> Prepared:
    """Check everything that a frame decides: columns, collisions, `where`, nulls, the client.

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
    client = ask.client(sends=verb != "plan")
    prepared = Prepared(ask, frame, prompt, client, asked)
    if asked is not None and said.overwrite:
        prepared.kept([Column(name, type_, [None] * len(frame)) for name, type_ in ask.layout.types])
    if said.on_null == "raise":
        _refuse_nulls(prepared)
    return prepared


def _refuse_nulls(prepared: Prepared) -> None:
    frame, asked = prepared.frame, prepared.asked
    for position in prepared.prompt.positions:
        if not frame.null_count(position):
            continue
        (cells,) = frame.cells([position], 0, len(frame))
        nulls = sum(cell is None and (asked is None or asked[row]) for row, cell in enumerate(cells))
        if nulls:
            raise UsageError(
                f"column {frame.names[position]!r} has a null in {nulls:,} rows that would be asked; "
                'drop them with `where=`, or say on_null="skip" or on_null="render"'
            )
