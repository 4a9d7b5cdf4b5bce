"""What a server says about its limits is a value."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import pytest

from llmframe.core.ratelimits import Allowance, RateLimits


def test_nothing_said_is_nothing_known():
    limits = RateLimits()
    assert (limits.requests, limits.tokens, limits.input_tokens, limits.output_tokens) == (None, None, None, None)


def test_limits_are_equal_by_value_survive_pickling_and_dont_change():
    limits = RateLimits(requests=Allowance(500.0, 499.0, 0.12), tokens=Allowance(None, 0.0, None))
    assert pickle.loads(pickle.dumps(limits)) == limits  # noqa: S301 - our own bytes
    with pytest.raises(FrozenInstanceError):
        limits.requests = None  # pyright: ignore[reportAttributeAccessIssue]
