from __future__ import annotations

import pytest

from llmframe.core.outlay import Outlay, most_tokens
from llmframe.core.prices import EMBEDDED, Price

# gpt-4: $30 in and $60 out per million tokens
GPT_4 = Price("openai", "gpt-4-0613")


def test_dollars_lie_between_long_and_short_tokens_and_between_half_and_twice_the_output():
    outlay = Outlay(requests=100, characters=60_000, answer_tokens=10)
    assert (outlay.input_tokens, outlay.output_tokens) == (15_000, 1000)
    # 15,000 * 30e-6 + 1,000 * 60e-6; 12,000 * 30e-6 + 500 * 60e-6; 20,000 * 30e-6 + 2,000 * 60e-6
    assert outlay.usd(GPT_4) == pytest.approx(0.51)
    assert outlay.usd_range(GPT_4) == pytest.approx((0.39, 0.72))


def test_examples_leave_only_the_input_in_doubt():
    outlay = Outlay(requests=100, characters=60_000, answer_tokens=10, shown=True)
    assert outlay.usd_range(GPT_4) == pytest.approx((0.42, 0.66))


def test_a_bound_of_the_answer_bounds_estimate_and_range():
    outlay = Outlay(requests=100, characters=0, answer_tokens=10, most=8)
    # 100 * 8 * 60e-6 at most, 100 * 5 * 60e-6 at least
    assert outlay.output_tokens == 800
    assert outlay.usd_range(GPT_4) == pytest.approx((0.03, 0.048))


def test_without_a_price_there_is_no_range_and_an_embedded_model_costs_nothing():
    outlay = Outlay(requests=1, characters=40, answer_tokens=10)
    assert outlay.usd_range(Price(None, "nobody-knows-it")) is None
    assert outlay.usd_range(Price(EMBEDDED, "smollm2-135m")) == (0.0, 0.0)


def test_the_tighter_limit_decides_the_time():
    outlay = Outlay(requests=600, characters=400_000, answer_tokens=50)
    # 600 / 300 = 2 min; (100,000 + 30,000) / 26,000 = 5 min
    assert outlay.seconds(requests_per_minute=300, tokens_per_minute=None) == 120
    assert outlay.seconds(requests_per_minute=300, tokens_per_minute=26_000) == 300
    assert outlay.seconds(requests_per_minute=None, tokens_per_minute=None) is None


def test_a_batch_costs_its_part():
    outlay = Outlay(requests=100, characters=60_000, answer_tokens=10)
    price = Price(None, "m", {"m": {"input": 30, "output": 60, "batch": 0.25}})
    # a quarter of 0.51, of 0.39 and of 0.72
    assert outlay.usd(price, batch=True) == pytest.approx(0.1275)
    assert outlay.usd_range(price, batch=True) == pytest.approx((0.0975, 0.18))


@pytest.mark.parametrize(
    ("requests", "bytes_", "batches"),
    [(0, 0, 0), (1, 100, 1), (50_000, 190, 1), (50_001, 190, 2), (3, 190_000_000, 1), (3, 190_000_001, 2)],
)
def test_lines_or_bytes_decide_how_many_batches_there_are(requests: int, bytes_: int, batches: int):
    outlay = Outlay(requests=requests, characters=0, answer_tokens=1, bytes=bytes_)
    assert outlay.batches(lines=50_000, bytes=0.95 * 200_000_000) == batches


def test_the_parameters_bound_an_answer():
    assert most_tokens({"temperature": 0}) is None
    assert most_tokens({"max_tokens": 9, "max_completion_tokens": 7}) == 7
    assert most_tokens({"max_tokens": "9"}) is None
