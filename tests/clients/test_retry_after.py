"""Retry-After in every form that servers send."""

from __future__ import annotations

import pytest

from llmframe.clients.retry_after import retry_after

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"retry-after": " 0.3 "}, 0.3),
        ({"Retry-After": "180"}, 180.0),
        ({"Retry-After-Ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"Retry-After": "Tue, 14 Nov 2023 22:13:23 GMT"}, 3.0),
        ({"Retry-After": "Tue, 14 Nov 2023 22:13:10 GMT"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "0"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": ""}, None),
        ({}, None),
    ],
)
def test_only_a_positive_finite_wait_is_advice(headers: dict[str, str], seconds: float | None):
    assert retry_after(headers, now=lambda: NOW) == seconds
