"""Traits of a provider that tells log-probabilities."""

from __future__ import annotations

from llmframe.testing.telling import USUAL, Logprobs


def test_by_default_they_are_told_as_openai_does():
    assert Logprobs() == USUAL
    assert (USUAL.most, USUAL.tops, USUAL.per_byte, USUAL.tells_bytes, USUAL.hides_emitted) == (
        20,
        None,
        False,
        True,
        False,
    )
