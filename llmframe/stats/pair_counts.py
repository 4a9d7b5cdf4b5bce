"""How often each pair of labels comes, in the items there are and in samples drawn from them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llmframe.errors import UsageError
from llmframe.stats.bootstrap import Floats, Resampling

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCounts:
    """Pairs of a gold label and an answered one, with their counts in one or more samples.

    Attributes
    ----------
    labels
        All labels; K of them.
    gold, pred
        Places among `labels`, one for each pair that comes at all; shape (pairs,).
    counts
        How often; shape (samples, pairs).
    """

    labels: tuple[Any, ...]
    gold: Codes
    pred: Codes
    counts: Floats

    @property
    def total(self) -> Floats:
        """Items; shape (samples,)."""
        return self.counts.sum(axis=1)

    @property
    def agreed(self) -> Floats:
        """Items whose labels are equal; shape (samples,)."""
        return self.counts[:, self.gold == self.pred].sum(axis=1)

    @property
    def of_gold(self) -> Floats:
        """Items of each gold label; shape (samples, K)."""
        return self.counts @ self._members(self.gold)

    @property
    def of_pred(self) -> Floats:
        """Items answered by each label; shape (samples, K)."""
        return self.counts @ self._members(self.pred)

    @property
    def hits(self) -> Floats:
        """Items of each label that are answered right; shape (samples, K)."""
        return (self.counts * (self.gold == self.pred)) @ self._members(self.gold)

    def table(self) -> tuple[tuple[int, ...], ...]:
        """The first sample as a table, a row for each gold label, a column for each answered one."""
        cells = np.zeros((len(self.labels), len(self.labels)), dtype=np.int64)
        cells[self.gold, self.pred] = self.counts[0]
        return tuple(map(tuple, cells.tolist()))

    def redrawn(self, codes: Codes, sampling: Resampling) -> PairCounts:
        """The counts in each draw; `codes` is every item's place among the pairs."""
        pairs = len(self.gold)
        if not sampling.n:
            return replace(self, counts=np.zeros((0, pairs)))
        if sampling.size == sampling.n:
            # items drawn one by one fall on the pairs like this, whatever n is
            random = np.random.default_rng(sampling.seed)
            drawn = random.multinomial(sampling.n, self.counts[0] / sampling.n, size=sampling.draws)
            return replace(self, counts=drawn.astype(np.float64))
        sums = np.bincount(sampling.codes * pairs + codes, minlength=sampling.size * pairs)
        clusters = sums.reshape(sampling.size, pairs).astype(np.float64)
        return replace(self, counts=np.concatenate([weights @ clusters for weights in sampling.weights()]))

    def _members(self, codes: Codes) -> Floats:
        return np.eye(len(self.labels))[codes]


def count_pairs(
    gold: Sequence[Hashable], pred: Sequence[Hashable], *, labels: Sequence[Hashable] | None = None
) -> tuple[PairCounts, Codes]:
    """The counts of all items as a single sample, and each item's place among the pairs.

    Parameters
    ----------
    gold, pred
        A label an item, none of them null.
    labels
        All labels in their order; `None`: those that come, sorted.

    Raises
    ------
    UsageError
        If the lengths differ, or a label is none of `labels`.
    """
    if len(gold) != len(pred):
        raise UsageError(f"`gold` has {len(gold)} items and `pred` {len(pred)}; give both for the same items")
    known = tuple(sorted_labels([*gold, *pred])) if labels is None else tuple(labels)
    places = {label: place for place, label in enumerate(known)}
    for name, said in (("gold", gold), ("pred", pred)):
        other = next((label for label in said if label not in places), None)
        if other is not None:
            raise UsageError(f"`{name}` has {other!r}, which is none of the labels {list(known)}; name all of them")
    first = np.array([places[label] for label in gold], dtype=np.int64)
    second = np.array([places[label] for label in pred], dtype=np.int64)
    size = max(1, len(known))
    pairs, codes, counts = np.unique(first * size + second, return_inverse=True, return_counts=True)
    found = PairCounts(
        labels=known, gold=pairs // size, pred=pairs % size, counts=counts.astype(np.float64).reshape(1, -1)
    )
    return found, codes.reshape(-1)


def sorted_labels(labels: Sequence[Hashable]) -> list[Any]:
    """The different ones in order: numbers, then texts, then others by their text."""
    different: list[Any] = list(dict.fromkeys(labels))
    return sorted(different, key=_order)


def _order(label: object) -> tuple[int, float, str]:
    if isinstance(label, int | float):
        return 0, label, ""
    return (1, 0.0, label) if isinstance(label, str) else (2, 0.0, str(label))
