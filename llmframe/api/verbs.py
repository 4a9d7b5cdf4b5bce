"""The verbs as functions over any frame."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from llmframe.api.arguments import (
    Arguments,
    Fallback,
    Labels,
    LoopOption,
    Mode,
    Nested,
    OnError,
    arguments,
    lazy_kind,
)
from llmframe.api.eager import run_amap, run_map
from llmframe.api.lazy import run_expression, run_lazy
from llmframe.api.planning import run_plan
from llmframe.core.calibration import Calibration
from llmframe.core.scoring import Confidence
from llmframe.core.template import OnNull
from llmframe.engine.progress import ProgressOption
from llmframe.errors import UsageError
from llmframe.options import UNSET, BudgetOption, CacheOption, OutputMode, Prices, Priority, Unset
from llmframe.report import PlanReport

if TYPE_CHECKING:
    import polars as pl

F = TypeVar("F")


def map(  # noqa: A001, PLR0913 - the verb's name; the one written-out signature
    frame: F,
    prompt_template: object,
    schema: object = None,
    *,
    system: object = None,
    examples: object = None,
    where: object = None,
    on_null: OnNull = "skip",
    prefix: str = "",
    into: str | None = None,
    overwrite: bool = False,
    labels: Labels = "enum",
    nested: Nested = "native",
    confidence: Confidence | None = None,
    samples: int | None = None,
    distribution: bool = False,
    calibration: Calibration | str | os.PathLike[str] | None = None,
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
    reask: int | Unset = UNSET,
    hedge: bool | Unset = UNSET,
    budget: BudgetOption | Unset | None = UNSET,
    prices: Prices | Unset = UNSET,
    cache: CacheOption | Unset = UNSET,
    output_mode: OutputMode | Unset = UNSET,
    **unknown: object,
) -> F:
    """Ask a language model about every row, and add its validated answers as columns.

    Equal prompts are asked once. Rows keep their place; a row that fails gets nulls and its `error`.

    Parameters
    ----------
    frame
        A pandas or polars DataFrame or Series, a polars LazyFrame or expression, a `pyarrow.Table`, or a list of
        dicts. It is never changed.
    prompt_template
        Text with `{column}` fields (on a Series `{}`), Jinja2 text, chat messages whose contents are templates, a
        `llmframe.Template`, or a callable from a row (a dict) to text or messages.
    schema
        What an answer is: a Pydantic model, dataclass or TypedDict (a column for each field), or one value:
        `Literal[...]`, an Enum, a list of labels, `bool`, `int`, `float`, `str`, `list[T]`. `None`: free text.
    system
        System message, a template too.
    examples
        Few-shot: a frame with input and answer columns, or a list of `(row, answer)` pairs. An example that asks what a
        row asks is left out for that row, so `examples=df.sample(6)` over `df` shows no row its own answer.
    where
        Which rows are asked: a mask, a function of the frame, `pd.col(...)`, a polars expression. Null is no.
    on_null
        For a null in a used column: `"skip"` (nothing is sent, `error` names the column), `"render"` (empty
        text), `"raise"` (before anything is sent).
    prefix
        Stands before the name of every new column, `error` included.
    into
        One struct column of this name that holds everything; for one value, the name of its column (`"response"`).
    overwrite
        Replace columns that are there, in place; under `where`, rows that aren't asked keep their values.
    labels
        `"enum"`: a Literal is a categorical (pandas) or an Enum (polars); `"string"`: plain text.
    nested
        `"native"`: lists and structs; `"json"`: JSON text.
    confidence
        Adds `confidence`, float in [0, 1], and `confidence_source`; with several closed fields (Literal, Enum, bool)
        `<field>_confidence` of each. `"logprobs"`: the label's probability among the allowed ones, by the tokens'
        log-probabilities; null where the allowed labels have less than 0.8 together. `"votes"`: the part of `samples`
        that said so, live only. `"auto"`: log-probabilities, or votes where the endpoint tells none. `"stated"`: what
        the model says, in the schema's field `confidence` or one that is added; it rarely means much.
    samples
        Votes a request may get; 5. It gets fewer when they are settled before.
    distribution
        Add `distribution`, the probability of every allowed label (a struct of floats), and `label_mass`, what they
        had together; by votes the part of the samples that was valid.
    calibration
        A `llmframe.Calibration` or the path of a saved one, for this prompt and model; `confidence` is calibrated,
        `confidence_raw` stands beside it.
    on_error
        `"column"`, or `"raise"`: at the first failure stop sending, then raise with `.frame`.
    mode
        `"live"`; or `"batch"`, the provider's Batch API: half the price, an answer within hours, the same frame.
    fallback
        Of rows that a batch left without a valid answer: `"batch"` sends them in another one, twice at most; `"live"`
        asks them live, at the full price; `None` gives them their error.
    loop
        `"thread"`: a private event loop; `"current"`: the caller's own running loop, nested by nest-asyncio.
    meta
        Add `llm_meta`: model, attempts, tokens, usd, seconds, finish_reason, source, price, fingerprint.
    progress
        `None`: a bar on a terminal or in a notebook; `True`, `False`; or a callable that gets `Progress`.
    model
        `"provider/model"`, `"local/smollm2-135m"`, or any name beside `base_url` or `client`.
    base_url, api_key
        An OpenAI-compatible endpoint.
    client
        Your `AsyncOpenAI`, `AsyncAzureOpenAI` or instructor client, or a `llmframe.testing.Provider`.
    params
        What is sent beside the messages (`temperature`, `max_tokens`, `seed`, ...). Nothing else is sent.
    max_concurrency
        Upper bound of requests in flight; 256. Their number is found while it runs.
    requests_per_minute, tokens_per_minute
        Kept over all calls of the process to the same endpoint, key and model; learnt from the server's answers when
        not said.
    priority
        `"high"`, `"normal"` or `"low"`: calls to the same endpoint, key and model get turns 16 : 4 : 1, those of one
        class one after the other; nobody starves.
    timeout
        Seconds for one attempt, from its admission to the last byte; 60. With `params={"stream": True}` the longest
        silence between two pieces of an answer.
    max_attempts
        Most attempts a row for transient faults; 5. Rate limits are waited out apart from them, for up to 10 minutes
        a row; with 1 nothing is sent again.
    reask
        Further asks after an invalid reply; 1.
    hedge
        Send a request that takes longer than 95 % of the others a second time; the first answer counts. At most 5 %
        more requests, all counted and paid.
    budget
        What the call may spend: dollars (`1.0`), any of `{"usd": 1, "tokens": 2_000_000, "calls": 1_000, "seconds":
        600}`, or a `llmframe.Budget` shared by calls; rows that it didn't reach get the error `budget`.
    prices
        Your own, in dollars per million tokens: `{"my-model": {"input": 0.15, "output": 0.6, "cached": 0.075}}`.
    cache
        `True`: answers are kept in the user's cache folder; a path or store: there; `"refresh"`: ask again; `False`.
    output_mode
        `"json_schema"`, `"tools"`, `"json"`; `"auto"` begins with the first and steps down when it is refused.
        `"score"`: an embedded model and one closed field; labels are weighed, none is written.
    **unknown
        Refused, with the nearest name; a provider's word is sent to `params`. But for `cascade=[cheap, strong]` with
        `gold` and the other arguments of `llmframe.cascade`, which is then asked in place of one model.

    Returns
    -------
    same kind as `frame`
        Old columns untouched, new ones at the end: the schema's fields, then `error` (text, null when answered).
        A Series and one value give a Series. A LazyFrame stays lazy; an expression is a Struct named `llm`.

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
    if "cascade" in unknown:
        return cast("F", _cascade("cascade", locals()))
    said = _said(locals(), verb="map")
    kind = lazy_kind(frame)
    if kind and said.mode == "batch":
        what = "an expression" if kind == "Expr" else "a LazyFrame"
        raise UsageError(
            f'{what} asks live, part by part; for `mode="batch"` use `df.llm.map` on what `.collect()` gives, or '
            "`llmframe.map_file`"
        )
    if kind == "LazyFrame":
        return cast("F", run_lazy(cast("pl.LazyFrame", frame), said))
    if kind == "Expr":
        return cast("F", run_expression(cast("pl.Expr", frame), said))
    return cast("F", run_map(frame, said))


async def amap(  # noqa: PLR0913 - as `map`
    frame: F,
    prompt_template: object,
    schema: object = None,
    *,
    system: object = None,
    examples: object = None,
    where: object = None,
    on_null: OnNull = "skip",
    prefix: str = "",
    into: str | None = None,
    overwrite: bool = False,
    labels: Labels = "enum",
    nested: Nested = "native",
    confidence: Confidence | None = None,
    samples: int | None = None,
    distribution: bool = False,
    calibration: Calibration | str | os.PathLike[str] | None = None,
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
    reask: int | Unset = UNSET,
    hedge: bool | Unset = UNSET,
    budget: BudgetOption | Unset | None = UNSET,
    prices: Prices | Unset = UNSET,
    cache: CacheOption | Unset = UNSET,
    output_mode: OutputMode | Unset = UNSET,
    **unknown: object,
) -> F:
    """`map` for async code: `out = await llmframe.amap(frame, ...)`; cancelling it cancels its requests.

    Arguments, result and errors are `map`'s. A client with a transport of its own is used on the running loop.
    """
    if "cascade" in unknown:
        return cast("F", await _cascade("acascade", locals()))
    said = _said(locals(), verb="amap")
    if lazy_kind(frame) == "LazyFrame":
        return cast("F", run_lazy(cast("pl.LazyFrame", frame), said))
    if lazy_kind(frame) == "Expr":
        return cast("F", run_expression(cast("pl.Expr", frame), said))
    return cast("F", await run_amap(frame, said))


def plan(  # noqa: PLR0913 - as `map`
    frame: object,
    prompt_template: object,
    schema: object = None,
    *,
    system: object = None,
    examples: object = None,
    where: object = None,
    on_null: OnNull = "skip",
    prefix: str = "",
    into: str | None = None,
    overwrite: bool = False,
    labels: Labels = "enum",
    nested: Nested = "native",
    confidence: Confidence | None = None,
    samples: int | None = None,
    distribution: bool = False,
    calibration: Calibration | str | os.PathLike[str] | None = None,
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
    reask: int | Unset = UNSET,
    hedge: bool | Unset = UNSET,
    budget: BudgetOption | Unset | None = UNSET,
    prices: Prices | Unset = UNSET,
    cache: CacheOption | Unset = UNSET,
    output_mode: OutputMode | Unset = UNSET,
    **unknown: object,
) -> PlanReport:
    """What `map` with the same arguments would do, found without a request.

    Nothing is sent, so it needs neither a key nor the provider's package.

    Returns
    -------
    PlanReport
        Rows, distinct requests, those answered already, estimated tokens and dollars, the first rendered prompts.

    Raises
    ------
    UsageError
        As `map`; also for a lazy query, whose rows aren't there yet.
    """
    if "cascade" in unknown:
        return cast("PlanReport", _cascade("cascade", locals(), plan=True))
    said = _said(locals(), verb="plan")
    if lazy_kind(frame):
        raise UsageError("`plan` needs rows that are there: collect (part of) the lazy query first")
    return run_plan(frame, said)


def _said(values: Mapping[str, object], *, verb: str) -> Arguments:
    options = {name: value for name, value in values.items() if name not in ("frame", "prompt_template", "schema")}
    unknown = cast("Mapping[str, object]", options.pop("unknown"))
    return arguments(values["prompt_template"], values["schema"], {**options, **unknown}, verb=verb)


def _cascade(name: str, values: Mapping[str, object], **more: object) -> Any:
    """What `llmframe.cascade` or its twin, which stand above this module, make of a call with `cascade=`."""
    taken = ("frame", "prompt_template", "schema", "unknown")
    unknown = dict(cast("Mapping[str, object]", values["unknown"]))
    defaults = {each.name: each.default for each in inspect.signature(map).parameters.values()}
    said = {key: value for key, value in values.items() if key not in taken and value is not defaults[key]}
    function = getattr(sys.modules["llmframe"], name)
    asked = (values["frame"], values["prompt_template"], values["schema"], unknown.pop("cascade"))
    return function(*asked, **said, **unknown, **more)
