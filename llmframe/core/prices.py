"""The price of usage, by the user's own table or by those of genai-prices."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from llmframe.core.outcome import Usage

EMBEDDED = "embedded"
"""Provider name of models that run in this process: their tokens cost nothing."""

BATCH_SHARE: Final = 0.5
"""Part of the live price that a batch costs where nobody says otherwise: the discount of OpenAI and Anthropic."""

PRIORITY: Final = "priority"
"""The service tier that costs more than the tables say."""

_FLEX: Final = "flex"
_LINEAR_FIELDS = ("input_mtok", "output_mtok", "cache_read_mtok")
_BATCH: Final[Mapping[str, str]] = {"processing": "batch"}


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars per million tokens of input, output, and input that the provider read from its own cache.

    `output` is `None` for models that only embed texts: they have no price for it.
    """

    input: float
    output: float | None
    cached: float

    def usd(self, into: int, out: int, hits: int) -> float | None:
        """Dollars for so many tokens in, out, and of those in from the cache."""
        if self.output is None and out:
            return None
        return ((into - hits) * self.input + out * (self.output or 0.0) + hits * self.cached) / 1e6


class Price:
    """What a model's tokens cost; `usd` answers `None` as long as something is unknown.

    Parameters
    ----------
    provider
        As in `provider/model`; `None` leaves it to the model's name.
    model
        The model's name as it is sent.
    table
        Dollars per million tokens of the user's own, by `"provider/model"` or `"model"`: it decides over the tables of
        genai-prices. `"batch"` in it is the part of them that a batch costs.
    tier
        The parameter `service_tier`. OpenAI's `"flex"` costs what a batch does; what `"priority"` costs more only a
        table of the user's own tells.
    """

    __slots__ = ("_batch", "_is_flex", "_model", "_rates", "_share", "known", "provider")

    def __init__(
        self,
        provider: str | None,
        model: str,
        table: Mapping[str, Mapping[str, float]] | None = None,
        *,
        tier: object = None,
    ) -> None:
        self.provider, self._model, self._share, self._is_flex = provider, model, BATCH_SHARE, False
        own = _own(provider, model, table or {})
        if own is not None:
            self._rates: Rates | _Tiers | None = _own_rates(own)
            self._share = own.get("batch", BATCH_SHARE)
            self._batch: Rates | _Tiers | None = None
        elif provider == EMBEDDED:
            self._rates, self._batch = Rates(0.0, 0.0, 0.0), None
        elif tier == PRIORITY:
            self._rates, self._batch = None, None
        else:
            self._is_flex = tier == _FLEX and provider == "openai"
            self._rates, self._batch = _rates(provider, model, batch=False), _rates(provider, model, batch=True)
        self.known: bool = self._rates is not None

    def usd(self, usage: Usage, *, batch: bool = False) -> float | None:
        """Dollars for `usage`; the cached part of the input at its own rate.

        Parameters
        ----------
        batch
            As the answer to a batch: at the provider's rates for it where genai-prices has them, else at half the live
            price, or at the part of it that the user's own table says.
        """
        if usage.input_tokens is None or usage.output_tokens is None or self._rates is None:
            return None
        as_batch = batch or self._is_flex
        told = self._batch if as_batch else self._rates
        share = 1.0
        if told is None:
            told, share, as_batch = self._rates, self._share, False
        if isinstance(told, Rates):
            usd = told.usd(usage.input_tokens, usage.output_tokens, usage.cached_tokens or 0)
        else:
            usd = _calculated(self.provider, self._model, usage, batch=as_batch)
        return None if usd is None else usd * share


@dataclass(frozen=True, slots=True)
class _Tiers:
    """A price that depends on how much there is: it's looked up for every usage."""

    rates: tuple[object, ...]


def _own(provider: str | None, model: str, table: Mapping[str, Mapping[str, float]]) -> Mapping[str, float] | None:
    """The entry of `table` for a model; where its provider isn't known, whoever the table says it is."""
    names = [f"{provider}/{model}", model]
    if provider is None:
        names += [name for name in table if name.endswith(f"/{model}")]
    return next((table[name] for name in names if name in table), None)


def _own_rates(rates: Mapping[str, float]) -> Rates:
    return Rates(rates["input"], rates["output"], rates.get("cached", rates["input"]))


@lru_cache(maxsize=256)
def _rates(provider: str | None, model: str, *, batch: bool) -> Rates | _Tiers | None:
    """A model's rates, live or those that the tables have for a batch; `None` when there are none.

    A look-up takes 140 µs in genai-prices, three multiplications take none, hence once a model.
    """
    from genai_prices import Usage as PricedUsage  # noqa: PLC0415 - its tables take 30 ms to load
    from genai_prices import calc_price  # noqa: PLC0415 - as above

    if batch and "price_context" not in inspect.signature(calc_price).parameters:  # before genai-prices 0.2
        return None
    context: dict[str, Any] = {"price_context": _BATCH} if batch else {}  # an older version knows none
    usage = PricedUsage(input_tokens=1, output_tokens=1)
    try:
        found = calc_price(usage, model_ref=model, provider_id=provider, **context)
    except (LookupError, ValueError):
        return None
    into, out, cached = (getattr(found.model_price, name, None) for name in _LINEAR_FIELDS)
    if into is None:
        return None
    rates: Rates | _Tiers = _Tiers((into, out, cached))
    if all(rate is None or isinstance(rate, (int, float, Decimal)) for rate in (into, out, cached)):
        rates = Rates(float(into), None if out is None else float(out), float(into if cached is None else cached))
    # a model without rates for batches is told at its live ones
    return None if batch and rates == _rates(provider, model, batch=False) else rates


def _calculated(provider: str | None, model: str, usage: Usage, *, batch: bool) -> float | None:
    from genai_prices import Usage as PricedUsage  # noqa: PLC0415 - as in `_rates`
    from genai_prices import calc_price  # noqa: PLC0415 - as in `_rates`

    priced = PricedUsage(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cache_read_tokens=usage.cached_tokens or 0
    )
    context: dict[str, Any] = {"price_context": _BATCH} if batch else {}  # an older version knows none
    try:
        return float(calc_price(priced, model_ref=model, provider_id=provider, **context).total_price)
    except (LookupError, ValueError):
        return None
