from __future__ import annotations

import pytest

from llmframe.testing.latency import latency_of


def test_a_number_stays_a_number():
    assert latency_of(0.5) == 0.5


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (lambda prompt: len(prompt) / 2, 2.5),
        (lambda prompt, in_flight: len(prompt) * in_flight, 35),
        (lambda prompt, factor=2: len(prompt) * factor, 10),
        (float, 12345),
    ],
    ids=["prompt", "both", "default", "built in"],
)
def test_a_function_gets_the_prompt_and_the_load_if_it_asks_for_it(given, seconds):
    found = latency_of(given)
    assert callable(found)
    assert found("12345", 7) == seconds
