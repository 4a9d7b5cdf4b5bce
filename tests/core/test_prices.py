"""Dollars for tokens, against hand computation."""

from __future__ import annotations

import inspect
from decimal import Decimal

import pytest
from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.outcome import Usage
from llmframe.core.prices import EMBEDDED, Price

TOKENS = st.integers(0, 2_000_000)
HAS_BATCH_RATES = pytest.mark.skipif(
    "price_context" not in inspect.signature(calc_price).parameters, reason="genai-prices before 0.2 has none"
)


def test_gpt_4o_mini_by_hand():
    """Dollars a million: 0.15 in, 0.60 out, 0.075 for input that was read from the provider's cache."""
    price = Price("openai", "gpt-4o-mini")
    assert price.usd(Usage(1_000_000, 0, 0)) == pytest.approx(0.15)
    assert price.usd(Usage(0, 1_000_000, 0)) == pytest.approx(0.60)
    # 600·0.15 + 400·0.075 + 100·0.60 = 90 + 30 + 60 = 180 millionths
    assert price.usd(Usage(1000, 100, 400)) == pytest.approx(0.000180)
    assert price.known


@given(TOKENS, TOKENS, st.floats(0, 1))
def test_a_price_agrees_with_the_tables(into: int, out: int, hit: float):
    cached = int(into * hit)
    priced = PricedUsage(input_tokens=into, output_tokens=out, cache_read_tokens=cached)
    expected = calc_price(priced, model_ref="gpt-4o-mini", provider_id="openai").total_price
    assert Price("openai", "gpt-4o-mini").usd(Usage(into, out, cached)) == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("tokens", [1000, 250_000])
def test_a_price_with_tiers_is_looked_up_for_every_usage(tokens: int):
    priced = PricedUsage(input_tokens=tokens, output_tokens=100, cache_read_tokens=0)
    expected = calc_price(priced, model_ref="gemini-2.5-pro", provider_id="google").total_price
    assert isinstance(expected, Decimal)
    assert Price("google", "gemini-2.5-pro").usd(Usage(tokens, 100, 0)) == pytest.approx(float(expected))
    assert Price("google", "gemini-2.5-pro").known


def test_a_model_without_a_price_is_unknown_and_not_free():
    price = Price(None, "a-model-of-nobody-1234")
    assert not price.known
    assert price.usd(Usage(1, 1, 0)) is None


@pytest.mark.parametrize("provider", ["nobody", "openai"])
def test_an_unknown_provider_or_model_is_unknown(provider: str):
    assert Price(provider, "a-model-of-nobody-1234").usd(Usage(1, 1, 0)) is None


@pytest.mark.parametrize("usage", [Usage(), Usage(5, None, 0), Usage(None, 5, 0)])
def test_unknown_usage_has_an_unknown_price(usage: Usage):
    assert Price("openai", "gpt-4o-mini").usd(usage) is None
    assert Price(EMBEDDED, "smollm2-135m").usd(usage) is None


def test_a_model_in_this_process_costs_nothing():
    price = Price(EMBEDDED, "smollm2-135m")
    assert price.known
    assert price.usd(Usage(1_000_000, 1_000_000, 0)) == 0.0


TABLE = {"mine": {"input": 1.0, "output": 4.0, "cached": 0.25}, "openai/gpt-4o-mini": {"input": 2, "output": 3}}


def test_a_table_of_ones_own_decides_over_the_others():
    # 600·1 + 400·0.25 + 100·4 = 1100 millionths
    assert Price(None, "mine", TABLE).usd(Usage(1000, 100, 400)) == pytest.approx(0.0011)
    # 1000·2 + 100·3 = 2300 millionths; without a rate of its own the cached part costs as any
    assert Price("openai", "gpt-4o-mini", TABLE).usd(Usage(1000, 100, 400)) == pytest.approx(0.0023)
    assert Price(EMBEDDED, "mine", TABLE).usd(Usage(1_000_000, 0, 0)) == pytest.approx(1.0)
    assert Price("openai", "gpt-4o", TABLE).usd(Usage(1_000_000, 0, 0)) != pytest.approx(2.0)


def test_the_providers_own_entry_comes_first_and_any_providers_serves_where_nobody_is_known():
    table = {"m": {"input": 1, "output": 1}, "groq/m": {"input": 9, "output": 9}, "x/only": {"input": 7, "output": 7}}
    assert Price("groq", "m", table).usd(Usage(1_000_000, 0, 0)) == 9
    assert Price("other", "m", table).usd(Usage(1_000_000, 0, 0)) == 1
    assert Price(None, "only", table).usd(Usage(1_000_000, 0, 0)) == 7
    assert not Price("other", "only", table).known


def test_a_price_of_nothing_is_known():
    price = Price(None, "mine", {"mine": {"input": 0, "output": 0}})
    assert price.known
    assert price.usd(Usage(1000, 1000, 0)) == 0


def test_a_provider_that_tells_no_cached_part_is_charged_in_full():
    assert Price("openai", "gpt-4o-mini").usd(Usage(1_000_000, 0, None)) == pytest.approx(0.15)


def test_a_batch_costs_half_where_nobody_says_otherwise():
    # 600·1 + 400·0.25 + 100·4 = 1100 millionths live
    assert Price(None, "mine", TABLE).usd(Usage(1000, 100, 400), batch=True) == pytest.approx(0.00055)
    # the tables have no batch figures for this one: 1,000,000 at 0.02 a million, halved
    assert Price("openai", "text-embedding-3-small").usd(Usage(1_000_000, 0, 0), batch=True) == pytest.approx(0.01)
    assert Price(None, "a-model-of-nobody-1234").usd(Usage(1, 1, 0), batch=True) is None
    assert Price("openai", "gpt-4o-mini").usd(Usage(None, 1, 0), batch=True) is None
    assert Price(EMBEDDED, "smollm2-135m").usd(Usage(1000, 1000, 0), batch=True) == 0.0


def test_ones_own_table_says_what_part_of_the_price_a_batch_costs():
    rates = {"input": 1.0, "output": 4.0}
    for share, expected in ((0.75, 3.0), (1, 4.0), (0, 0.0)):  # 1,000,000 tokens out at 4
        price = Price("openai", "gpt-4o-mini", {"openai/gpt-4o-mini": {**rates, "batch": share}})
        assert price.usd(Usage(0, 1_000_000, 0), batch=True) == pytest.approx(expected)
        assert price.usd(Usage(0, 1_000_000, 0)) == pytest.approx(4.0)


def test_a_batch_of_gpt_4o_mini_by_hand():
    """Dollars a million in a batch: 0.075 in, 0.30 out."""
    price = Price("openai", "gpt-4o-mini")
    assert price.usd(Usage(1_000_000, 0, 0), batch=True) == pytest.approx(0.075)
    assert price.usd(Usage(0, 1_000_000, 0), batch=True) == pytest.approx(0.30)


@HAS_BATCH_RATES
@pytest.mark.parametrize(
    ("provider", "model", "usage"),
    [
        ("openai", "gpt-4o-mini", (1000, 100, 400)),  # its cached input is no cheaper in a batch
        ("anthropic", "claude-haiku-4-5", (1000, 100, 400)),  # Anthropic's discounts are multiplied
        ("google", "gemini-2.5-pro", (250_000, 100, 0)),  # has tiers
    ],
)
def test_the_tables_own_figures_for_batches_decide(provider: str, model: str, usage: tuple[int, int, int]):
    into, out, hits = usage
    priced = PricedUsage(input_tokens=into, output_tokens=out, cache_read_tokens=hits)
    expected = calc_price(priced, model_ref=model, provider_id=provider, price_context={"processing": "batch"})
    found = Price(provider, model).usd(Usage(into, out, hits), batch=True)
    assert found == pytest.approx(float(expected.total_price))


def test_openais_flex_tier_costs_what_a_batch_does():
    for model in ("gpt-4o-mini", "text-embedding-3-small"):
        usage = Usage(1_000_000, 0, 0)
        expected = Price("openai", model).usd(usage, batch=True)
        assert Price("openai", model, tier="flex").usd(usage) == pytest.approx(expected)
        assert Price("openai", model, tier="flex").usd(usage, batch=True) == pytest.approx(expected)
    groq = "llama-3.1-8b-instant"  # another provider's flex is another thing
    assert Price("groq", groq, tier="flex").usd(Usage(1000, 10, 0)) == Price("groq", groq).usd(Usage(1000, 10, 0))


@pytest.mark.parametrize("tier", [None, "auto", "default"])
def test_the_usual_tier_has_the_usual_price(tier: object):
    assert Price("openai", "gpt-4o-mini", tier=tier).usd(Usage(1_000_000, 0, 0)) == pytest.approx(0.15)


def test_a_dearer_tier_is_unknown_but_by_ones_own_table():
    dear = Price("openai", "gpt-4o-mini", tier="priority")
    assert not dear.known
    assert dear.usd(Usage(1, 1, 0)) is None
    own = Price("openai", "gpt-4o-mini", {"gpt-4o-mini": {"input": 0.25, "output": 1.0}}, tier="priority")
    assert own.usd(Usage(1_000_000, 0, 0)) == pytest.approx(0.25)
    assert Price(EMBEDDED, "smollm2-135m", tier="priority").usd(Usage(1000, 1000, 0)) == 0.0


def test_a_model_that_embeds_has_a_price_without_output():
    price = Price("openai", "text-embedding-3-small")
    assert price.known
    assert price.usd(Usage(1_000_000, 0, 0)) == pytest.approx(0.02)
    assert price.usd(Usage(1_000_000, 1, 0)) is None
