"""Limits are read from headers in every form that servers write, and junk is never worse than silence."""

from __future__ import annotations

import math
from dataclasses import astuple

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from llmframe.clients.rate_headers import read
from llmframe.core.ratelimits import Allowance, RateLimits

NOW = 1_767_225_600.0
"""2026-01-01T00:00:00Z"""

NAMES = [
    *(f"x-ratelimit-{part}-{kind}" for part in ("limit", "remaining", "reset") for kind in ("requests", "tokens")),
    *(
        f"anthropic-ratelimit-{kind}-{part}"
        for part in ("limit", "remaining", "reset")
        for kind in ("requests", "tokens", "input-tokens", "output-tokens")
    ),
]


def requests(**parts: str) -> Allowance | None:
    found = read({f"x-ratelimit-{part}-requests": value for part, value in parts.items()}, now=lambda: NOW)
    return None if found is None else found.requests


def test_an_answer_without_them_tells_nothing():
    assert read({}) is None
    assert read({"date": "Thu, 01 Jan 2026 00:00:00 GMT", "x-request-id": "1", "x-ratelimit-policy": "60;w=60"}) is None


@pytest.mark.parametrize("kind", [dict, httpx2.Headers, lambda pairs: CIMultiDictProxy(CIMultiDict(pairs))])
def test_openais_headers_are_read_whatever_their_case(kind: type[dict[str, str]]):
    headers = kind(
        [
            ("X-RateLimit-Limit-Requests", "500"),
            ("X-RateLimit-Remaining-Requests", "499"),
            ("X-RateLimit-Reset-Requests", "120ms"),
            ("x-ratelimit-limit-tokens", "30000"),
            ("x-ratelimit-remaining-tokens", "29000"),
            ("x-ratelimit-reset-tokens", "2s"),
        ]
    )
    # 0.12 s · 500 / 1 and 2 s · 30,000 / 1,000 are a minute each.
    assert read(headers) == RateLimits(requests=Allowance(500, 499, 0.12), tokens=Allowance(30_000, 29_000, 2))


def test_anthropics_headers_are_read_with_their_moments():
    headers = {
        "anthropic-ratelimit-requests-limit": "4000",
        "anthropic-ratelimit-requests-remaining": "3999",
        "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:01Z",
        "anthropic-ratelimit-tokens-limit": "90000",
        "anthropic-ratelimit-input-tokens-limit": "80000",
        "anthropic-ratelimit-input-tokens-remaining": "80000",
        "anthropic-ratelimit-input-tokens-reset": "2025-12-31T23:59:59Z",
        "anthropic-ratelimit-output-tokens-remaining": "0",
        "anthropic-ratelimit-output-tokens-reset": "2026-01-01T01:00:12.5+01:00",
    }
    assert read(headers, now=lambda: NOW) == RateLimits(
        requests=Allowance(4000, 3999, 1),
        tokens=Allowance(90_000, None, None),
        input_tokens=Allowance(80_000, 80_000, 0),
        output_tokens=Allowance(None, 0, 12.5),
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360),
        ("120ms", 0.12),
        ("1s", 1),
        ("0s", 0),
        ("1h2m3.5s", 3723.5),
        ("1d", 86_400),
        ("250µs", 0.00025),
        ("17", 17),
        ("17.25", 17.25),
        (" 2S ", 2),
        ("1767225660", 60),
        ("1767225660000", 60),
        ("1767225000", 0),
        ("2026-01-01T00:01:00Z", 60),
        ("2026-01-01T00:01:00", 60),
        ("2025-12-31T00:00:00+00:00", 0),
    ],
)
def test_a_reset_is_seconds_whatever_its_form(text: str, seconds: float):
    assert requests(reset=text) == Allowance(None, None, pytest.approx(seconds))


@pytest.mark.parametrize(
    ("text", "number"),
    [("1,000", 1000), ("1,234,567", 1_234_567), ("100, 100", 100), ("100, 100;w=60", 100), ("60;w=60", 60), ("0", 0)],
)
def test_a_number_may_have_commas_and_company(text: str, number: float):
    assert requests(limit=text) == Allowance(number, None, None)


def test_of_a_header_given_twice_the_first_counts():
    pairs = [("x-ratelimit-limit-requests", "60"), ("X-RateLimit-Limit-Requests", "90")]
    assert read(CIMultiDict(pairs)) == read(httpx2.Headers(pairs)) == RateLimits(requests=Allowance(60, None, None))


@pytest.mark.parametrize(
    "text",
    ["-1", "", " ", "nan", "inf", "-inf", "1e300", "1e15", "many", "-6m", "6x", "m", "0x10", "1s extra", "9" * 500],
)
def test_junk_is_unsaid(text: str):
    assert requests(limit=text, remaining=text, reset=text) is None
    assert requests(limit="60", remaining=text, reset=text) == Allowance(60, None, None)


@pytest.mark.parametrize(
    ("limit", "remaining", "reset", "told"),
    [
        ("14400", "14370", "2m59.56s", None),  # 179.56 · 14,400 / 30 = 86,189 s: a day
        ("1000", "999", "1m26.4s", None),  # a day
        ("60", "30", "30.0", 60),  # 60 s
        ("100", "0", "150s", 100),  # the first second may be rounding: 149 s
        ("100", "0", "151.5s", None),
        ("4000", "3999", "1", 4000),  # a whole second may stand for 15 ms
        ("100", "100", "24h", 100),  # nothing used, nothing known
        ("100", "120", "24h", 100),
    ],
)
def test_a_limit_over_another_period_than_a_minute_is_no_limit_per_minute(
    limit: str, remaining: str, reset: str, told: float | None
):
    found = requests(limit=limit, remaining=remaining, reset=reset)
    assert found is not None
    assert (found.limit, found.remaining) == (told, float(remaining))
    assert found.reset is not None


junk = st.one_of(
    st.text(max_size=80),
    st.text(alphabet="0123456789.,-+:;eETZWhdmsµun \n", max_size=40),
    st.floats().map(str),
    st.datetimes().map(lambda moment: moment.isoformat()),
)


@given(st.dictionaries(st.sampled_from(NAMES), junk))
def test_nothing_that_a_server_writes_raises_or_gives_a_number_that_isnt_one(headers: dict[str, str]):
    found = read(headers, now=lambda: NOW)
    values = [] if found is None else [value for entry in astuple(found) if entry is not None for value in entry]
    assert all(value is None or (math.isfinite(value) and value >= 0) for value in values)
