"""Sending options: how requests leave the process, with one rule for who decides.

The call decides over `with use(...)`, that over `use(...)`, that over the environment (`LLMFRAME_MODEL`,
`LLMFRAME_REQUESTS_PER_MINUTE`, …), that over the built-in default. `params` and `prices` are merged key by key along
the same order; a `client` sets aside the `base_url` and `api_key` of whoever is farther, a `base_url` their `client`.
An option that isn't said is `UNSET`, because `None` says something: no limit.
"""

from __future__ import annotations

import contextvars
import enum
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import TracebackType
from typing import Final, Self, cast, get_args

from llmframe import option_values as check
from llmframe.budget import BudgetOption, budget_of
from llmframe.environment import PREFIX, from_environment
from llmframe.errors import UsageError
from llmframe.option_values import CacheOption, KeepsAnswers, OutputMode, Prices, Priority
from llmframe.words import PROVIDER_WORDS, SYNONYMS, refuse_unknown

__all__ = [
    "CONCURRENCY_BOUND",
    "PROVIDER_WORDS",
    "SENDING_OPTIONS",
    "SYNONYMS",
    "UNSET",
    "BudgetOption",
    "CacheOption",
    "KeepsAnswers",
    "OutputMode",
    "Prices",
    "Priority",
    "Scope",
    "SendOptions",
    "Unset",
    "refuse_unknown",
    "resolve_options",
    "use",
]

CONCURRENCY_BOUND: Final = 256
"""Most requests in flight of one call, when nothing is said; how many there are is found while it runs."""

MERGED: Final = ("params", "prices")
"""Options of which every call says a part."""


class Unset(enum.Enum):
    """The type of `UNSET`."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        """`UNSET`, as it stands in signatures."""
        return "UNSET"


UNSET: Final = Unset.UNSET
"""An option that wasn't said: the next one in line decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOptions:
    """The sending options of one call, all decided.

    Parameters
    ----------
    model
        `"provider/model"`, `"local/smollm2-135m"`, or any name together with `base_url` or `client`.
    base_url, api_key
        An OpenAI-compatible endpoint.
    client
        Your own `AsyncOpenAI`, `AsyncAzureOpenAI`, instructor client, or a `llmframe.testing.Provider`.
    params
        Sent beside the messages (`temperature`, `max_tokens`, `seed`, …); nothing else is.
    max_concurrency
        Upper bound of this call's requests in flight, at least 1; their number is found while it runs.
    requests_per_minute, tokens_per_minute
        Requests, and tokens sent and answered, a minute, over all calls of the process to the same endpoint, key and
        model; of running calls that say different rates the lowest holds. `None`: learnt from the server's answers.
    priority
        Whose turn comes first among calls that share endpoint, key and model: `"high"`, `"normal"` and `"low"` get
        16 : 4 : 1 turns, calls of one class take turns, and nobody starves. An interactive call beside a backfill of
        a million rows gets every second turn by itself; say `"low"` for the backfill, or `"high"` for the other, and
        it gets more.
    timeout
        Seconds for one attempt, from its admission to the last byte; with `params={"stream": True}` the longest
        silence between two pieces of an answer.
    max_attempts
        Most attempts a row for transient faults; waiting out rate limits has a budget of its own (10 minutes a row).
        With 1 nothing is sent again, after a rate limit neither.
    reask
        Further asks after an invalid reply.
    hedge
        Send a request that takes longer than 95 % of the others a second time; the first answer counts. At most 5 %
        more requests, all of them counted and paid.
    budget
        What the call may spend: dollars (`1.0`), or any of `{"usd": 1, "tokens": 2_000_000, "calls": 1_000, "seconds":
        600}`, or a `llmframe.Budget` that several calls share. What a request is expected to take is set aside before
        it goes, and settled by what the provider counted; nothing goes that would take more than is left. Rows that
        weren't reached get the error `budget`. Dollars need a known price.
    prices
        Dollars per million tokens, by `"provider/model"` or `"model"`: `{"my-model": {"input": 0.15, "output": 0.6,
        "cached": 0.075, "batch": 0.5}}`. Without `cached`, input from the provider's cache costs as any; `batch` is the
        part of them that a batch costs, without it half. They decide over the tables of genai-prices, and are merged
        model by model like `params`.
    cache
        Where answers are looked up and kept. `True`: a file in the user's cache folder; a path: that file; a store of
        your own (`llmframe.stores.base.Store`); `"refresh"`: ask again and keep in the user's cache folder; `False`:
        nothing is kept after the run. Replies of a `llmframe.testing.Provider` stay in the process unless a path or a
        store is given.
    output_mode
        `"json_schema"`, `"tools"`, `"json"`, or `"auto"`, which steps down once when the server refuses. `"score"`:
        embedded models and schemas of one closed field; no answer is written, the labels' probabilities are read.
    """

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    client: object = field(default=None, repr=False)
    params: Mapping[str, object] = field(default_factory=dict[str, object])
    max_concurrency: int = CONCURRENCY_BOUND
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    priority: Priority = "normal"
    timeout: float = 60.0
    max_attempts: int = 5
    reask: int = 1
    hedge: bool = False
    budget: BudgetOption | None = None
    prices: Prices = field(default_factory=dict[str, Mapping[str, float]])
    cache: CacheOption = True
    output_mode: OutputMode = "auto"

    def __post_init__(self) -> None:
        """Refuse values that can't work, before anything is sent."""
        for name in ("model", "base_url", "api_key"):
            check.text(name, getattr(self, name))
        check.mapping("params", self.params, example="{'temperature': 0}")
        check.whole("max_concurrency", self.max_concurrency, least=1)
        check.whole("max_attempts", self.max_attempts, least=1)
        check.whole("reask", self.reask, least=0)
        check.positive("timeout", self.timeout)
        for name in ("requests_per_minute", "tokens_per_minute"):
            if getattr(self, name) is not None:
                check.positive(name, getattr(self, name))
        check.one_of("priority", self.priority, get_args(Priority))
        check.truth("hedge", self.hedge)
        budget_of(self.budget)
        check.prices(self.prices)
        check.cache(self.cache)
        check.one_of("output_mode", self.output_mode, get_args(OutputMode))


SENDING_OPTIONS: Final = tuple(f.name for f in fields(SendOptions))
"""Names that `use()`, every verb and the environment (`LLMFRAME_<NAME>`) share."""


def resolve_options(said: Mapping[str, object]) -> SendOptions:
    """The options of a call that said `said` (entries that are `UNSET` were not said).

    Raises
    ------
    UsageError
        If a value can't work, or an environment variable can't be read as its option.
    """
    values: Mapping[str, object] = {}
    default = [layer for layer, _ in _process_default]
    said = {name: value for name, value in said.items() if value is not UNSET}
    environment = from_environment()
    for layer in (environment, *default, *_scopes.get()[-1:], said):
        values = _merged(values, layer)
    try:
        return SendOptions(**values)  # pyright: ignore[reportArgumentType] - checked by `__post_init__`
    except UsageError:
        _blame({name: value for name, value in environment.items() if values.get(name) is value})
        raise


class Scope:
    """What `use()` returns: as it stands the process default is set; under `with`, only the block's."""

    __slots__ = ("__weakref__", "_said")

    def __init__(self, said: Mapping[str, object]) -> None:
        self._said = said

    def __enter__(self) -> Self:
        """Turn the process default that `use()` set into one of this block (and this context) alone."""
        _take_back(self._said)
        scopes = _scopes.get()
        _scopes.set((*scopes, _merged(scopes[-1] if scopes else {}, self._said)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the block's options."""
        _scopes.set(_scopes.get()[:-1])

    def __repr__(self) -> str:
        """The names that were said, without their values: a key may be among them."""
        return f"<llmframe options: {', '.join(sorted(self._said)) or 'none'}>"


def use(  # noqa: PLR0913 - the sending options, written out
    *,
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
) -> Scope:
    """Set sending options for the process, or under `with` for a block.

    Every call adds to what was said before; `params` and `prices` are merged key by key.

    Parameters
    ----------
    model, base_url, api_key, client, params, max_concurrency, requests_per_minute, tokens_per_minute, \
priority, timeout, max_attempts, reask, hedge, budget, prices, cache, output_mode
        As in `llmframe.options.SendOptions`.
    **unknown
        Refused, with the nearest name.

    Returns
    -------
    Scope
        Usable as a context manager: `with llmframe.use(model="openai/gpt-4o-mini"): ...`.

    Raises
    ------
    UsageError
        If a name or a value can't work.

    Examples
    --------
    >>> import llmframe
    >>> with llmframe.use(max_concurrency=4):
    ...     llmframe.options.resolve_options({}).max_concurrency
    4
    """
    refuse_unknown(unknown, SENDING_OPTIONS, verb="use")
    said = {name: value for name, value in locals().items() if name in SENDING_OPTIONS and value is not UNSET}
    resolve_options(said)
    scope = Scope(said)
    _set_default(scope, said)
    return scope


_Layer = tuple[Mapping[str, object], "weakref.ref[Scope]"]

_process_default: tuple[_Layer, ...] = ()
_changing_default: Final = threading.Lock()
_scopes: contextvars.ContextVar[tuple[Mapping[str, object], ...]] = contextvars.ContextVar(
    "llmframe_options", default=()
)


def _set_default(scope: Scope, said: Mapping[str, object]) -> None:
    """Say `said` over the process default: a layer of its own as long as `scope` may still take it back."""
    global _process_default  # noqa: PLW0603 - the one process-wide state, by design
    with _changing_default:
        layers = list(_process_default)
        while len(layers) > 1 and layers[-1][1]() is layers[-2][1]() is None:  # nobody can take these back any more
            (above, owner), (below, _) = layers.pop(), layers.pop()
            layers.append((_merged(below, above), owner))
        _process_default = (*layers, (said, weakref.ref(scope)))


def _take_back(said: Mapping[str, object]) -> None:
    global _process_default  # noqa: PLW0603 - as above
    with _changing_default:
        _process_default = tuple(layer for layer in _process_default if layer[0] is not said)


def _merged(base: Mapping[str, object], said: Mapping[str, object]) -> Mapping[str, object]:
    merged = {**_settled(base), **_settled(said)}
    for name in MERGED:
        below, above = base.get(name), said.get(name)
        if isinstance(below, Mapping) and isinstance(above, Mapping):
            merged[name] = {**cast("Mapping[str, object]", below), **cast("Mapping[str, object]", above)}
    return merged


def _blame(environment: Mapping[str, object]) -> None:
    """Raise again what an environment variable is to blame for, under its name."""
    for name, value in environment.items():
        try:
            SendOptions(**{name: value})  # pyright: ignore[reportArgumentType] - checked by `__post_init__`
        except UsageError as error:
            raise UsageError(f"environment variable {PREFIX}{name.upper()}: {error}") from None


def _settled(said: Mapping[str, object]) -> Mapping[str, object]:
    """What `said` decides: who names a client wants no other address or key, who names an address no other client."""
    if said.get("client") is not None:
        return {"base_url": None, "api_key": None, **said}
    return {"client": None, **said} if said.get("base_url") is not None else said
