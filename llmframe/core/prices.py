"""The price of usage, by the user's own table or by those of genai-prices."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache

from llmframe.core.outcome import Usage

EMBEDDED = "embedded"
"""Provider name of models that run in this process: their tokens cost nothing."""

_LINEAR_FIELDS = ("input_mtok", "output_mtok", "cache_read_mtok")


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
        genai-prices.
    """

    __slots__ = ("_model", "_rates", "known", "provider")

    def __init__(
        self, provider: str | None, model: str, table: Mapping[str, Mapping[str, float]] | None = None
    ) -> None:
        self.provider, self._model = provider, model
        own = _own(provider, model, table or {})
        free = (0.0, 0.0, 0.0) if provider == EMBEDDED else None
        self._rates = own or free or _rates(provider, model)
        self.known: bool = self._rates is not None

    def usd(self, usage: Usage) -> float | None:
        """Dollars for `usage`; the cached part of the input at its own rate."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        if self._rates is None:
            return None
        if not self._rates:
            price = _calculated(self.provider, self._model, usage)
            return None if price is None else float(price)
        into, out, cached = self._rates
        hits = usage.cached_tokens or 0
        return ((usage.input_tokens - hits) * into + usage.output_tokens * out + hits * cached) / 1e6


def _own(
    provider: str | None, model: str, table: Mapping[str, Mapping[str, float]]
) -> tuple[float, float, float] | None:
    """The rates of `table` for a model; where its provider isn't known, whoever the table says it is."""
    names = [f"{provider}/{model}", model]
    if provider is None:
        names += [name for name in table if name.endswith(f"/{model}")]
    rates = next((table[name] for name in names if name in table), None)
    return None if rates is None else (rates["input"], rates["output"], rates.get("cached", rates["input"]))


@lru_cache(maxsize=256)
def _rates(provider: str | None, model: str) -> tuple[float, float, float] | tuple[()] | None:
    """Dollars per million input, output and cached tokens; `()` when the price has tiers; `None` when unknown.

    A look-up takes 140 µs in genai-prices, three multiplications take none, hence once a model.
    """
    from genai_prices import Usage as PricedUsage  # noqa: PLC0415 - its tables take 30 ms to load
    from genai_prices import calc_price  # noqa: PLC0415 - as above

    try:
        found = calc_price(PricedUsage(input_tokens=1, output_tokens=1), model_ref=model, provider_id=provider)
    except (LookupError, ValueError):
        return None
    into, out, cached = (getattr(found.model_price, name, None) for name in _LINEAR_FIELDS)
    if into is None or out is None:
        return None
    if not all(isinstance(rate, (int, float, Decimal)) for rate in (into, out, cached if cached is not None else 0)):
        return ()
    return float(into), float(out), float(into if cached is None else cached)


def _calculated(provider: str | None, model: str, usage: Usage) -> Decimal | None:
    from genai_prices import Usage as PricedUsage  # noqa: PLC0415 - as in `_rates`
    from genai_prices import calc_price  # noqa: PLC0415 - as in `_rates`

    priced = PricedUsage(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cache_read_tokens=usage.cached_tokens or 0
    )
    try:
        return calc_price(priced, model_ref=model, provider_id=provider).total_price
    except (LookupError, ValueError):
        return None
