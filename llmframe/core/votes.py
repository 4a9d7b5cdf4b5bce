"""What several samples of one request say together."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, NamedTuple

from llmframe.core.scores import ConfidenceSource

# Made once: `json.dumps` makes an encoder in every call that asks for these, and each option is a call.
_key: Final = json.JSONEncoder(sort_keys=True, default=str).encode


class Moments(NamedTuple):
    """Mean and standard deviation, in the unit of the levels."""

    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class Vote:
    """What the valid samples say of one field.

    Parameters
    ----------
    value
        The most frequent value; `None` when there is none, or a tie.
    confidence
        Its part of the samples, in (0, 1]; `None` when `source` isn't `"votes"`.
    source
        `"votes"`, `"tie"` or `"no_valid_votes"`.
    probabilities
        The part of each option in their order; empty without options or samples.
    leaders
        Places among the samples: the first one of each most frequent value, one unless there's a tie.
    """

    value: object
    confidence: float | None
    source: ConfidenceSource
    probabilities: tuple[float, ...] = ()
    leaders: tuple[int, ...] = ()


def tally(
    values: Sequence[object], options: Sequence[object], *, logprobs: Sequence[float | None] | None = None
) -> Vote:
    """Count the values of valid samples.

    Parameters
    ----------
    values
        One a valid sample. Values are equal when their JSON text is: 1, 1.0 and True are three.
    options
        All that a value may be; empty for a free value.
    logprobs
        Log-probability of each sample's value, `None` where it isn't known. They decide a tie.

    Returns
    -------
    Vote
        The most frequent value. On a tie the one whose samples have the largest mean log-probability; a tie it stays
        when those means are equal, or a tied value has a sample without one.

    Notes
    -----
    Self-consistency, Wang et al. (2022), arXiv 2203.11171: p_k = n_k / n over valid samples.
    """
    keys = [_key(value) for value in values]
    counts = Counter(keys)
    if not counts:
        return Vote(None, None, "no_valid_votes")
    left = Counter(counts)
    # options that are one value in their column ("1" and 1 are text there) have its votes once
    shares = tuple(left.pop(_key(option), 0) / len(keys) for option in options)
    most = max(counts.values())
    leading = [key for key in counts if counts[key] == most]
    if len(leading) > 1 and logprobs is not None:
        means = {key: _mean([each for own, each in zip(keys, logprobs, strict=True) if own == key]) for key in leading}
        if not any(map(math.isnan, means.values())):
            leading = [key for key in leading if means[key] == max(means.values())]
    leaders = tuple(keys.index(key) for key in leading)
    if len(leading) > 1:
        return Vote(None, None, "tie", shares, leaders)
    return Vote(values[leaders[0]], most / len(keys), "votes", shares, leaders)


def settled(counts: Sequence[int], *, left: int) -> bool:
    """Whether no more samples need to be asked.

    Parameters
    ----------
    counts
        Votes of each value so far, in any order; values without votes may be left out.
    left
        Samples that could still be asked, at least 0.

    Returns
    -------
    bool
        True when none is left, when those left can't overtake or reach the leading value, or when the first leads the
        second so clearly that P(X > 1/2) > 0.95 for X ~ Beta(n1 + 1, n2 + 1).

    Notes
    -----
    Adaptive-Consistency, Aggarwal et al. (2023), arXiv 2305.11860. For whole numbers the beta tail is a binomial one,
    P(X > 1/2) = P(Binomial(n1 + n2 + 1, 1/2) <= n1), which is compared in whole numbers here. Another label than by
    asking all samples comes out in no row of up to 7 samples, and with two labels in at most 5 % of up to 40, whatever
    their probabilities are (counted exactly in the tests).
    """
    first, second = [*sorted(counts, reverse=True), 0, 0][:2]
    if left == 0 or first - second > left:
        return True
    flips = first + second + 1
    return 20 * sum(math.comb(flips, heads) for heads in range(first + 1)) > 19 * 2**flips


def first_wave(samples: int) -> int:
    """How many samples may be asked at once, because no fewer can settle it.

    Parameters
    ----------
    samples
        Most samples of a row, at least 1.

    Returns
    -------
    int
        4, or fewer when a majority of `samples` is fewer.
    """
    return next(asked for asked in count(1) if settled((asked,), left=samples - asked))


def expected(levels: Sequence[float], probabilities: Sequence[float]) -> Moments:
    """Mean and standard deviation of a distribution over numbered levels.

    Parameters
    ----------
    levels
        The number of each level.
    probabilities
        Of each level, with sum 1; empty when it isn't known.

    Returns
    -------
    Moments
        Both nan without probabilities.

    Raises
    ------
    ValueError
        If there are as many of neither.

    Notes
    -----
    G-Eval, Liu et al. (2023), arXiv 2303.16634: the mean over the levels' probabilities instead of the likeliest level.
    """
    if not probabilities:
        return Moments(math.nan, math.nan)
    mean = math.fsum(level * share for level, share in zip(levels, probabilities, strict=True))
    variance = math.fsum(share * (level - mean) ** 2 for level, share in zip(levels, probabilities, strict=True))
    return Moments(mean, math.sqrt(variance))


def _mean(logprobs: Sequence[float | None]) -> float:
    """The mean; nan when one is missing."""
    return math.fsum(math.nan if each is None else each for each in logprobs) / len(logprobs)
