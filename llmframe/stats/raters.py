"""How far several people agree with each other, and a judge with them."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from llmframe.errors import UsageError
from llmframe.stats.alpha import PAIR, Ratings, alphas, order_of, raters_of, why_unknown
from llmframe.stats.bootstrap import DRAWS, Resampling
from llmframe.stats.estimate import Estimate
from llmframe.stats.panels import Level
from llmframe.stats.sequences import known, known_rows, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanCeiling:
    """Krippendorff's alpha of people, and of people with a judge among them, over the same items.

    Attributes
    ----------
    raters
        People.
    items
        Items that the judge and at least two people rated.
    humans
        Alpha of the people.
    with_judge
        Alpha of the people and the judge.
    change
        The second less the first, by the same draws: below 0 where the judge agrees with people less than they do.
    """

    raters: int
    items: int
    humans: Estimate
    with_judge: Estimate
    change: Estimate


def human_ceiling(  # noqa: PLR0913 - the facts of a bootstrap
    judge: Sequence[Any],
    humans: Ratings,
    *,
    scale: Level = "nominal",
    labels: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> HumanCeiling:
    """What agreement people reach among themselves, beside what they reach with a judge.

    Parameters
    ----------
    judge
        Its rating of each item; `None` or NaN: it has none, and the item counts for neither alpha.
    humans
        Items × people; `None` or NaN where one gave no rating.
    scale, labels, clusters, draws, seed, level
        As in `alpha`.
    """
    if len(judge) != len(humans):
        raise UsageError(f"`judge` has {len(judge)} items and `humans` {len(humans)}; give both for the same items")
    judge, humans = known(judge), known_rows(humans)
    labels, clusters = (None if each is None else plain(each) for each in (labels, clusters))
    rows = [at for at, said in enumerate(judge) if said is not None and raters_of(humans[at]) >= PAIR]
    alone = [list(humans[at]) for at in rows]
    both = [[judge[at], *humans[at]] for at in rows]
    order = order_of([*both], scale, labels)
    kept = None if clusters is None else [clusters[at] for at in rows]
    sampling = Resampling.of(len(rows), clusters=kept, draws=draws, seed=seed, level=level)
    first, drawn_first = alphas(alone, scale, order, sampling)
    second, drawn_second = alphas(both, scale, order, sampling)
    reason = why_unknown(first if math.isnan(first) else second, len(rows))
    return HumanCeiling(
        raters=max(map(len, humans), default=0),
        items=len(rows),
        humans=sampling.interval(first, drawn_first, reason=why_unknown(first, len(rows))),
        with_judge=sampling.interval(second, drawn_second, reason=why_unknown(second, len(rows))),
        change=sampling.interval(second - first, drawn_second - drawn_first, reason=reason),
    )


def consensus(ratings: Ratings, *, scale: Level, labels: Sequence[Hashable] | None = None) -> list[Any]:
    """One rating of each item: the most frequent label, the median level, the mean number.

    Parameters
    ----------
    ratings
        Items × raters; `None` where one gave no rating.
    scale
        `"nominal"`: `None` where two labels are equally frequent. `"ordinal"`: a median between two levels is the
        even one of them, counted from the lowest. `"interval"`: the mean.
    labels
        Of an ordinal scale all levels from low to high; `None`: as numbers sort.
    """
    given = [[each for each in item if each is not None] for item in ratings]
    if scale == "interval":
        return [statistics.fmean(item) if item else None for item in given]
    if scale == "nominal":
        return [_most_frequent(item) for item in given]
    order = order_of(ratings, scale, labels)
    places = {label: place for place, label in enumerate(order)}
    return [order[round(statistics.median(places[each] for each in item))] if item else None for item in given]


def _most_frequent(item: Sequence[Hashable]) -> Hashable:
    first = Counter(item).most_common(2)
    return None if not first or (len(first) == PAIR and first[0][1] == first[1][1]) else first[0][0]
