"""Sending options: how requests leave the process, with one rule for who decides.

The call decides over `with use(...)`, that over `use(...)`, that over the environment (`LLMFRAME_MODEL`,
`LLMFRAME_REQUESTS_PER_MINUTE`, …), that over the built-in default. `params` are merged key by key along the
same order; a `client` sets aside the `base_url` and `api_key` of whoever is farther, a `base_url` their `client`. An
option that isn't said is `UNSET`, because `None` says something: no limit.
"""

from __future__ import annotations

import contextvars
import enum
import math
import os
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import TracebackType
from typing import Any, Final, Literal, Protocol, Self, cast, get_args, runtime_checkable

from llmframe.environment import PREFIX, from_environment
from llmframe.errors import UsageError, did_you_mean

CONCURRENCY_BOUND: Final = 256
"""Most requests in flight of one call, when nothing is said; how many there are is found while it runs."""


@runtime_checkable
class KeepsAnswers(Protocol):
    """A store of the user's own, as `llmframe.stores.base.Store` describes it."""

    def get_many(self, keys: Any) -> Any:
        """Entries by key."""
        ...

    def put_many(self, entries: Any) -> None:
        """Keep entries."""
        ...


Priority = Literal["high", "normal", "low"]
OutputMode = Literal["auto", "json_schema", "tools", "json"]
CacheOption = bool | str | os.PathLike[str] | KeepsAnswers


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
        `{"seconds": 600}`: nothing is sent later than that many seconds after the first request could go; rows that
        weren't reached get the error `budget`. Dollars, tokens and calls aren't available in this version.
    cache
        Where answers are looked up and kept. `True`: a file in the user's cache folder; a path: that file; a store of
        your own (`llmframe.stores.base.Store`); `"refresh"`: ask again and keep in the user's cache folder; `False`:
        nothing is kept after the run. Replies of a `llmframe.testing.Provider` stay in the process unless a path or a
        store is given.
    output_mode
        `"json_schema"`, `"tools"`, `"json"`, or `"auto"`, which steps down once when the server refuses.
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
    budget: Mapping[str, float] | None = None
    cache: CacheOption = True
    output_mode: OutputMode = "auto"

    def __post_init__(self) -> None:
        """Refuse values that can't work, before anything is sent."""
        for name in ("model", "base_url", "api_key"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise UsageError(f"`{name}` must be text, got {type(value).__name__}")
        if not isinstance(self.params, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
            raise UsageError(f"`params` must be a dict such as {{'temperature': 0}}, got {type(self.params).__name__}")
        _whole("max_concurrency", self.max_concurrency, least=1)
        _whole("max_attempts", self.max_attempts, least=1)
        _whole("reask", self.reask, least=0)
        _positive("timeout", self.timeout)
        for name in ("requests_per_minute", "tokens_per_minute"):
            if getattr(self, name) is not None:
                _positive(name, getattr(self, name))
        _one_of("priority", self.priority, get_args(Priority))
        if not isinstance(self.hedge, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
            raise UsageError(f"`hedge` must be True or False, got {self.hedge!r}")
        if self.budget is not None:
            _seconds_alone(self.budget)
        _cache(self.cache)
        _one_of("output_mode", self.output_mode, get_args(OutputMode))

    @property
    def budget_seconds(self) -> float | None:
        """Seconds that the run may send for; `None` without a limit."""
        return None if self.budget is None else self.budget["seconds"]


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
    budget: Mapping[str, float] | Unset | None = UNSET,
    cache: CacheOption | Unset = UNSET,
    output_mode: OutputMode | Unset = UNSET,
    **unknown: object,
) -> Scope:
    """Set sending options for the process, or under `with` for a block.

    Every call adds to what was said before; `params` are merged key by key.

    Parameters
    ----------
    model, base_url, api_key, client, params, max_concurrency, requests_per_minute, tokens_per_minute, \
priority, timeout, max_attempts, reask, hedge, budget, cache, output_mode
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


PROVIDER_WORDS: Final = frozenset(
    "temperature max_tokens max_completion_tokens top_p top_k seed stop presence_penalty frequency_penalty "
    "logit_bias logprobs top_logprobs reasoning_effort service_tier user metadata store verbosity extra_body "
    "stream extra_headers min_p repetition_penalty safety_settings thinking".split()
)
"""Words that belong into `params`; used for the error that says so."""

SYNONYMS: Final[Mapping[str, str]] = {
    "prompt": "prompt_template",
    "template": "prompt_template",
    "response_model": "schema",
    "output_schema": "schema",
    "model_class": "schema",
    "name": "into",
    "column": "into",
    "output_column": "into",
    "max_workers": "max_concurrency",
    "workers": "max_concurrency",
    "concurrency": "max_concurrency",
    "rpm": "requests_per_minute",
    "tpm": "tokens_per_minute",
    "retries": "max_attempts",
    "max_retries": "max_attempts",
    "api_base": "base_url",
    "deadline": "budget",
    "max_seconds": "budget",
    "time_limit": "budget",
    "chunk_size": "rows",
    "chunksize": "rows",
    "batch_size": "rows",
}
"""What other libraries call an argument, with its name here."""


def refuse_unknown(unknown: Mapping[str, object], known: tuple[str, ...], *, verb: str) -> None:
    """Raise `UsageError` for an argument that `verb` doesn't have; a provider's word is sent to `params`."""
    for name, value in unknown.items():
        if name in PROVIDER_WORDS:
            shown = repr(value) if isinstance(value, (int, float, bool, str)) else "..."
            raise UsageError(f'`{name}` is a word of the provider: give it as params={{"{name}": {shown}}}')
        meant = SYNONYMS.get(name)
        near = f"; did you mean {meant!r}?" if meant in known else did_you_mean(name, known)
        raise UsageError(f"`{verb}` has no argument {name!r}{near or ';'} arguments: {', '.join(known)}")


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
    if isinstance(base.get("params"), Mapping) and isinstance(said.get("params"), Mapping):
        merged["params"] = {
            **cast("Mapping[str, object]", base["params"]),
            **cast("Mapping[str, object]", said["params"]),
        }
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


def _whole(name: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"`{name}` must be a whole number of at least {least}, got {value!r}")


def _positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise UsageError(f"`{name}` must be a number above 0, got {value!r}")


def _one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(
            f"`{name}` must be one of {', '.join(map(repr, known))}, got {value!r}{did_you_mean(str(value), known)}"
        )


def _cache(value: object) -> None:
    fine = isinstance(value, (bool, os.PathLike, KeepsAnswers)) and not isinstance(value, type)
    if isinstance(value, str) and value.strip():
        if value != "refresh" and not set(value) & set("./\\") and (near := did_you_mean(value, ("refresh",))):
            raise UsageError(f"`cache` must be True, False, 'refresh', a path or a store, got {value!r}{near}")
        return
    if fine:
        return
    raise UsageError(f"`cache` must be True, False, 'refresh', a path or a store, got {value!r}")


def _seconds_alone(budget: object) -> None:
    form = 'say budget={"seconds": 600}'
    if not isinstance(budget, Mapping):
        raise UsageError(
            f"`budget` must be a mapping with the key 'seconds', got {budget!r}: {form}; dollars, tokens and calls "
            "aren't available in this version (`.llm.plan(...)` tells them before a run)"
        )
    said = cast("Mapping[object, object]", budget)
    for key in said:
        if key != "seconds":
            near = did_you_mean(str(key), ("seconds",)) if isinstance(key, str) else ""
            raise UsageError(f"`budget` with the key {key!r} isn't available in this version{near or ';'} {form}")
    if "seconds" not in said:
        raise UsageError(f"`budget` is empty: {form}")
    _positive("budget['seconds']", said["seconds"])
