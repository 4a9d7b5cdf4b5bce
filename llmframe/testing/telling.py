"""How a simulated provider tells log-probabilities, and where it falls short."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Logprobs:
    """How a simulated provider tells log-probabilities.

    Parameters
    ----------
    outside
        Probability of all that is none of the listed values, where one begins. Above 0.5 the model's probabilities
        from before a grammar is applied: the answer's own may be missing among the likeliest.
    most
        The largest `top_logprobs` that is taken; more is a 400 that names it.
    tops
        Alternatives of a token that come back at most, whatever is asked; `None`: all that are asked for.
    per_byte
        Whether every byte is a token.
    tells_bytes
        Whether a token's bytes are told beside its text; without them a part of a character can't be read.
    hides_emitted
        Whether the token itself is left out of the likeliest.
    """

    outside: float = 0.01
    most: int = 20
    tops: int | None = None
    per_byte: bool = False
    tells_bytes: bool = True
    hides_emitted: bool = False


USUAL: Final = Logprobs()
"""As OpenAI tells them."""
