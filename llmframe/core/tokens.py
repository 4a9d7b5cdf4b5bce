"""The tokens of a reply, with what the model might have said in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Token:
    """One token as the provider reports it.

    Parameters
    ----------
    text
        Its UTF-8 bytes; a token may be a part of a character.
    logprob
        Natural logarithm of its probability.
    top
        The likeliest tokens at its place with theirs, in the provider's order. The token itself may be missing.
    """

    text: bytes
    logprob: float
    top: Sequence[tuple[bytes, float]] = ()
