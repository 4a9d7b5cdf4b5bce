"""Several judges' votes on the same items: who wins, how surely, and how far the judges agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, Generic, Literal, TypeVar

from llmframe.errors import MissingExtraError, UsageError
from llmframe.stats.sequences import known, known_rows, plain

L = TypeVar("L", bound=Hashable)

MIN_GOLD: Final = 10
"""Fewest items of known label from which judges are weighed: with fewer one item turns a weight about."""

FOLDS: Final = 5
"""Parts of the items of known label; the weights for one part come from the others."""

SAME: Final = 1e-9
"""Shares that are nearer than this are a tie: they are sums of the same numbers in another order."""

PAIR: Final = 2

Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True, slots=True)
class Elected(Generic[L]):
    """What a panel decided, item by item.

    Parameters
    ----------
    winners
        The label; `None` for a tie or an item without a vote.
    shares
        The first label's part of the item's votes, or its posterior probability, in [0, 1]; of a tie that of each
        label in it; nan without a vote.
    ties
        Whether two labels or more are first.
    votes
        How many judges voted.
    """

    winners: tuple[L | None, ...]
    shares: tuple[float, ...]
    ties: tuple[bool, ...]
    votes: tuple[int, ...]


def majority(votes: Sequence[Sequence[L | None]]) -> Elected[L]:
    """The label that most judges chose.

    Parameters
    ----------
    votes
        Items × judges; `None` where a judge gave no valid vote, which counts neither for nor against.

    Notes
    -----
    Panels of judges: Verga et al. (2024), arXiv 2404.18796.

    Examples
    --------
    >>> majority([["yes", "yes", "no"], ["yes", "no", None]]).winners
    ('yes', None)
    """
    votes = known_rows(votes)
    counts = [Counter(vote for vote in item if vote is not None) for item in votes]
    shares = [{label: count / item.total() for label, count in item.items()} for item in counts]
    return _elected(shares, votes)


def weights_from_gold(
    votes: Sequence[Sequence[L | None]], gold: Sequence[L | None], *, labels: Sequence[L]
) -> tuple[float, ...]:
    """What each judge's vote is worth, by how often it was right where the label is known.

    Parameters
    ----------
    votes
        Items × judges.
    gold
        One known label an item, `None` where unknown.
    labels
        All labels; K is their number, at least 2.

    Returns
    -------
    tuple of float
        A natural log-odds a judge, w = log(q (K − 1) / (1 − q)): 0 for one that guesses, or of which nothing is known,
        negative for one that is wrong more often than chance. q = (right + 1) / (votes + K), which is never 0 or 1.

    Raises
    ------
    UsageError
        If fewer than `MIN_GOLD` items have a known label.

    Notes
    -----
    With these weights the summed weights of a label are, up to a constant, the logarithm of its posterior under equal
    priors, when judges err independently and each wrong label is as likely as another.
    """
    votes, gold = known_rows(votes), known(gold)
    labelled = [(item, label) for item, label in zip(votes, gold, strict=True) if label is not None]
    enough_gold(len(labelled))
    return _weights(labelled, max(PAIR, len(labels)), judges=len(votes[0]))


def cross_fitted_weights(
    votes: Sequence[Sequence[L | None]], gold: Sequence[L | None], *, labels: Sequence[L], folds: int = FOLDS
) -> list[tuple[float, ...]]:
    """`weights_from_gold` for every item, none of them from the item's own known label.

    Items of known label are dealt to `folds` parts, label by label in their order, and each part is weighed by the
    other parts; items without one by all. No chance is in it.

    Raises
    ------
    UsageError
        As `weights_from_gold`.
    """
    votes, gold = known_rows(votes), known(gold)
    everywhere = weights_from_gold(votes, gold, labels=labels)
    order = {label: place for place, label in enumerate(dict.fromkeys(gold))}
    places = sorted((at for at, label in enumerate(gold) if label is not None), key=lambda at: order[gold[at]])
    out = [everywhere] * len(votes)
    for fold in range(folds):
        others = [(votes[at], gold[at]) for turn, at in enumerate(places) if turn % folds != fold]
        weights = _weights(others, max(PAIR, len(labels)), judges=len(everywhere))
        for at in places[fold::folds]:
            out[at] = weights
    return out


def weighted(
    votes: Sequence[Sequence[L | None]], weights: Sequence[Sequence[float]], *, labels: Sequence[L]
) -> Elected[L]:
    """The label whose judges weigh most, with its posterior probability.

    Parameters
    ----------
    votes
        Items × judges.
    weights
        Items × judges, as `cross_fitted_weights` gives them.
    labels
        All labels: one that nobody chose has the weight 0, and wins against judges that are worse than chance.

    Returns
    -------
    Elected
        `shares` is the softmax of the summed weights: a probability as far as the judges err independently.
    """
    votes, weights, labels = known_rows(votes), known_rows(weights), plain(labels)
    posteriors: list[list[float]] = []
    for item, worth in zip(votes, weights, strict=True):
        sums = dict.fromkeys(labels, 0.0)
        for vote, weight in zip(item, worth, strict=True):
            if vote is not None:
                sums[vote] += weight
        top = max(sums.values())
        powers = [math.exp(total - top) for total in sums.values()]
        posteriors.append([power / sum(powers) for power in powers])
    return most_probable(posteriors, votes, labels)


def most_probable(
    posteriors: Sequence[Sequence[float]], votes: Sequence[Sequence[L | None]], labels: Sequence[L]
) -> Elected[L]:
    """The label of the highest posterior; the columns of `posteriors` are `labels`."""
    items = [dict(zip(labels, item, strict=True)) for item in posteriors]
    return _elected(items, votes)


def krippendorff_alpha(
    votes: Sequence[Sequence[L | None]], *, order: Sequence[L] | None = None, level: Level = "nominal"
) -> float:
    """Krippendorff's alpha: how far the judges agree beyond chance, over items that two judges or more voted on.

    Parameters
    ----------
    votes
        Items × judges, `None` or NaN where a judge gave no valid vote. Items with fewer votes may be shorter.
    order
        The labels from low to high, for `level="ordinal"`; `None`: as they sort.
    level
        `"nominal"`; `"ordinal"`, where near labels are half an agreement; `"interval"`, for numbers.

    Returns
    -------
    float
        1 for judges that always agree, 0 for chance; nan where nothing can be told: no such item, or a single label
        in all of them.

    Raises
    ------
    MissingExtraError
        If the package `krippendorff` isn't installed.

    Notes
    -----
    Krippendorff (2011), Computing Krippendorff's alpha-reliability. Computed by the package `krippendorff`.
    """
    try:
        import krippendorff  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError(
            "Krippendorff's alpha needs krippendorff, which isn't installed: `pip install 'llmframe[judge]'`"
        ) from None
    pairable = [item for item in known_rows(votes) if sum(vote is not None for vote in item) >= PAIR]
    seen = {vote for item in pairable for vote in item if vote is not None}
    if len(seen) < PAIR:
        return math.nan
    ranked: list[Any] = sorted(seen, key=_sortable) if order is None else plain(order)
    codes: dict[Any, float] = {
        label: float(label) if level == "interval" else float(place) for place, label in enumerate(ranked)
    }
    placed = [[math.nan if vote is None else codes[vote] for vote in item] for item in pairable]
    data = list(zip_longest(*placed, fillvalue=math.nan))
    domain = sorted({codes[label] for label in seen})
    alpha: Any = krippendorff.alpha
    return float(alpha(reliability_data=data, level_of_measurement=level, value_domain=domain))


def enough_gold(count: int) -> None:
    """Raise `UsageError` where too few labels are known to weigh judges by."""
    if count < MIN_GOLD:
        raise UsageError(
            f"judges are weighed by at least {MIN_GOLD} known labels, got {count}; label more rows, or let all judges "
            'count alike with `vote="majority"`'
        )


def _weights(known: Sequence[tuple[Sequence[Any], Any]], labels: int, *, judges: int) -> tuple[float, ...]:
    found: list[float] = []
    for judge in range(judges):
        valid = [item[judge] == label for item, label in known if item[judge] is not None]
        accuracy = (sum(valid) + 1) / (len(valid) + labels)
        found.append(math.log(accuracy * (labels - 1) / (1 - accuracy)))
    return tuple(found)


def _elected(shares: Sequence[dict[Any, float]], votes: Sequence[Sequence[object]]) -> Elected[Any]:
    """The first by every item's shares; nothing for one without a vote."""
    winners: list[object] = []
    tops: list[float] = []
    ties: list[bool] = []
    counts = [sum(vote is not None for vote in item) for item in votes]
    for item, count in zip(shares, counts, strict=True):
        top = max(item.values()) if count else math.nan
        first = [label for label, share in item.items() if share >= top - SAME]
        winners.append(first[0] if len(first) == 1 else None)
        tops.append(top)
        ties.append(len(first) > 1)
    return Elected(tuple(winners), tuple(tops), tuple(ties), tuple(counts))


def _sortable(label: object) -> tuple[str, object]:
    return type(label).__name__, label
