"""How sure an answer is: a score for each of its fields that gets one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

ConfidenceSource = Literal[
    "stated", "logprobs", "votes", "panel", "no_logprobs", "unlocated", "low_label_mass", "tie", "no_valid_votes"
]
"""Where a confidence comes from, or from `"no_logprobs"` on why there is none."""

SOURCES: Final[tuple[ConfidenceSource, ...]] = (
    "stated",
    "logprobs",
    "votes",
    "panel",
    "no_logprobs",
    "unlocated",
    "low_label_mass",
    "tie",
    "no_valid_votes",
)

LABEL_MASS_FLOOR: Final = 0.8
"""The least probability that the allowed labels must have together for their shares to say anything."""


@dataclass(frozen=True, slots=True)
class Target:
    """A field that gets a confidence.

    Parameters
    ----------
    field
        The output column.
    key
        Its key in the JSON object of an answer; `None`: the whole text (free text).
    options
        What it may be, as it stands in JSON, in the schema's order (an optional field's `None` among them); empty
        for a free value.
    """

    field: str
    key: str | None
    options: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """How sure one value is.

    Parameters
    ----------
    confidence
        Probability that the value is the model's, in [0, 1]; `None` when it can't be told, and `source` says why.
    probabilities
        Of the target's options in their order, with sum 1; empty where they aren't known.
    mass
        By log-probabilities the probability of all options together before it was made 1; by votes the part of the
        samples that was valid. `None` where there is none.
    """

    confidence: float | None
    source: ConfidenceSource
    probabilities: tuple[float, ...] = ()
    mass: float | None = None


def told_source(scores: Sequence[Score]) -> ConfidenceSource:
    """The source of an answer's confidences; of several the reason why the first one without is without."""
    without = [score for score in scores if score.confidence is None]
    return (*without, scores[0])[0].source
