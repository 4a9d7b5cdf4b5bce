"""The values that sending options may have."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol, cast, runtime_checkable

from llmframe.errors import UsageError, did_you_mean


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
OutputMode = Literal["auto", "json_schema", "tools", "json", "score"]
CacheOption = bool | str | os.PathLike[str] | KeepsAnswers
Prices = Mapping[str, Mapping[str, float]]
"""Dollars per million tokens by model: `{"my-model": {"input": 0.15, "output": 0.6, "cached": 0.075, "batch": 1}}`."""

RATES: Final = ("input", "output", "cached", "batch")
"""What a model may have a price for; `cached` is input that the provider read from its own cache, `batch` the part of
the live price that a batch costs."""


def text(name: str, value: object) -> None:
    """Refuse what is neither text nor `None`."""
    if value is not None and not isinstance(value, str):
        raise UsageError(f"`{name}` must be text, got {type(value).__name__}")


def truth(name: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise UsageError(f"`{name}` must be True or False, got {value!r}")


def whole(name: str, value: object, *, least: int) -> None:
    """Refuse what is no whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"`{name}` must be a whole number of at least {least}, got {value!r}")


def positive(name: str, value: object) -> None:
    """Refuse what is no finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise UsageError(f"`{name}` must be a number above 0, got {value!r}")


def one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse a word that isn't among `known`, with the nearest of them."""
    if value not in known:
        raise UsageError(
            f"`{name}` must be one of {', '.join(map(repr, known))}, got {value!r}{did_you_mean(str(value), known)}"
        )


def mapping(name: str, value: object, *, example: str) -> None:
    """Refuse what is no mapping."""
    if not isinstance(value, Mapping):
        raise UsageError(f"`{name}` must be a dict such as {example}, got {type(value).__name__}")


def cache(value: object) -> None:
    """Refuse what names no cache, a misspelt `refresh` too."""
    fine = isinstance(value, (bool, os.PathLike, KeepsAnswers)) and not isinstance(value, type)
    if isinstance(value, str) and value.strip():
        if value != "refresh" and not set(value) & set("./\\") and (near := did_you_mean(value, ("refresh",))):
            raise UsageError(f"`cache` must be True, False, 'refresh', a path or a store, got {value!r}{near}")
        return
    if fine:
        return
    raise UsageError(f"`cache` must be True, False, 'refresh', a path or a store, got {value!r}")


def prices(value: object) -> None:
    """Refuse what is no table of prices."""
    example = '{"my-model": {"input": 0.15, "output": 0.6}}, in dollars per million tokens'
    mapping("prices", value, example=example)
    for model, rates in cast("Mapping[object, object]", value).items():
        if not isinstance(model, str) or not model.strip():
            raise UsageError(f"`prices` has the model {model!r}, which is no name; say {example}")
        place = f"prices[{model!r}]"
        mapping(place, rates, example='{"input": 0.15, "output": 0.6}')
        said = cast("Mapping[object, object]", rates)
        for rate, usd in said.items():
            if rate not in RATES:
                near = did_you_mean(rate, RATES) if isinstance(rate, str) else ""
                raise UsageError(f"`{place}` has no rate {rate!r}{near or ';'} rates: {', '.join(RATES)}")
            if isinstance(usd, bool) or not isinstance(usd, (int, float)) or not math.isfinite(usd) or usd < 0:
                raise UsageError(f"`{place}[{rate!r}]` must be a number of at least 0, got {usd!r}")
            if rate == "batch" and usd > 1:
                raise UsageError(f"`{place}['batch']` must be a part of the live price such as 0.5, got {usd!r}")
        for rate in ("input", "output"):
            if rate not in said:
                raise UsageError(f"`{place}` lacks {rate!r}, in dollars per million tokens (0 when it costs nothing)")
