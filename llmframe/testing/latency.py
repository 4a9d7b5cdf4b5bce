"""How long a simulated provider takes for an answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import cast

Latency = float | Callable[[str], float] | Callable[[str, int], float]
"""Seconds, or a function of the last user message, or of that and the requests in flight."""


def latency_of(given: Latency) -> float | Callable[[str, int], float]:
    """The latency as a number, or as a function of prompt and requests in flight."""
    if not callable(given):
        return given
    if _takes_two(given):
        return cast("Callable[[str, int], float]", given)
    of_prompt = cast("Callable[[str], float]", given)
    return lambda prompt, _: of_prompt(prompt)


def _takes_two(function: Callable[..., float]) -> bool:
    """Whether two arguments must be given by position; one with a default is the function's own affair."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some functions written in C have none
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in positional and one.default is one.empty for one in parameters) > 1
