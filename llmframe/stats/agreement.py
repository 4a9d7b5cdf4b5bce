"""How far labels agree with gold labels."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from llmframe.stats.bootstrap import DRAWS, Floats, Resampling
from llmframe.stats.estimate import Estimate, unknown
from llmframe.stats.kappas import NO_ITEM, ONE_LABEL, ac1s, kappas, perfect_end, scikit_kappa
from llmframe.stats.pair_counts import PairCounts, count_pairs
from llmframe.stats.proportions import wilson_interval
from llmframe.stats.sequences import plain

MOST_CLASSES: Final = 50
"""Most labels for which each one's numbers and the table of confusions are told."""


MOST_LABELS: Final = 500
"""Most labels for which more than the accuracy is told: more are texts, not labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassAgreement:
    """What is known of one label.

    Attributes
    ----------
    label
        The label.
    gold, pred
        How many items have it by the gold, and by the answers.
    precision
        The part of the answers of it that is right; nan where nobody answered so.
    recall
        The part of the items of it that is answered so; nan where there is none.
    f1
        Harmonic mean of the two.
    """

    label: Hashable
    gold: int
    pred: int
    precision: Estimate
    recall: Estimate
    f1: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class NominalAgreement:
    """Labels against gold labels.

    Attributes
    ----------
    n
        Items.
    labels
        All labels.
    confusion
        Counts, a row for each gold label, a column for each answered one; empty with more than `MOST_CLASSES`.
    accuracy
        Part of the items that is right.
    balanced_accuracy
        Mean recall of the labels that the gold has.
    macro_f1
        Mean F1 of the labels that come.
    kappa
        Cohen's; low where one label is frequent, however good the answers are.
    ac1
        Gwet's; hardly moved by that.
    classes
        One for each label; empty with more than `MOST_CLASSES`.
    """

    n: int
    labels: tuple[Hashable, ...]
    confusion: tuple[tuple[int, ...], ...]
    accuracy: Estimate
    balanced_accuracy: Estimate
    macro_f1: Estimate
    kappa: Estimate
    ac1: Estimate
    classes: tuple[ClassAgreement, ...]


def nominal_agreement(  # noqa: PLR0913 - the facts of a bootstrap
    gold: Sequence[Hashable],
    pred: Sequence[Hashable],
    *,
    labels: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> NominalAgreement:
    """Accuracy, kappa, AC1, and precision, recall, F1 of each label, all with intervals.

    Parameters
    ----------
    gold, pred
        The right label and the answered one of each item, none of them null: items without either belong in neither.
    labels
        All labels there could be; `None`: those that come.
    clusters
        What each item belongs to; `None`: each is its own.
    draws, seed, level
        Of the bootstrap.

    Returns
    -------
    NominalAgreement
        Shares (accuracy, precision, recall) have Wilson's interval unless there are `clusters`, and balanced accuracy
        the one that recalls' make up; everything else has that of the bootstrap.

    Raises
    ------
    UsageError
        If lengths differ, a label is none of `labels`, or an argument is out of range.
    MissingExtraError
        Without scikit-learn: `pip install 'llmframe[judge]'`.

    Notes
    -----
    Cohen (1960), Educational and Psychological Measurement 20, p. 37, computed by scikit-learn; Gwet (2008), British
    Journal of Mathematical and Statistical Psychology 61, p. 29; Wilson (1927), JASA 22, p. 209; of a mean of shares by
    Zou and Donner (2008), Statistics in Medicine 27, p. 1693: its distance to an end is the root of the summed squares
    of theirs, over their number.
    """
    gold, pred, labels = plain(gold), plain(pred), None if labels is None else plain(labels)
    different = len({*gold, *pred, *(labels or ())})
    if different > MOST_LABELS:
        return _accuracy_alone(gold, pred, different=different, clusters=clusters, draws=draws, seed=seed, level=level)
    found, codes = count_pairs(gold, pred, labels=labels)
    sampling = Resampling.of(len(gold), clusters=clusters, draws=draws, seed=seed, level=level)
    redrawn = found.redrawn(codes, sampling)
    few = len(found.labels) <= MOST_CLASSES
    n = sampling.n
    none = "" if n else NO_ITEM
    return NominalAgreement(
        n=n,
        labels=found.labels,
        confusion=found.table() if few else (),
        accuracy=share(found.agreed, found.total, redrawn.agreed, redrawn.total, sampling, reason=NO_ITEM),
        balanced_accuracy=_balanced_accuracy(found, redrawn, sampling, reason=none),
        macro_f1=sampling.interval(_first(macro_f1(found)), macro_f1(redrawn), reason=none),
        kappa=_kappa(found, sampling, redrawn),
        ac1=_ac1(found, sampling, redrawn),
        classes=_classes(found, redrawn, sampling) if few else (),
    )


def balanced(counts: PairCounts) -> Floats:
    """Balanced accuracy of each sample, over the labels that its gold has."""
    return _mean_known(_divided(counts.hits, counts.of_gold))


def macro_f1(counts: PairCounts) -> Floats:
    """Macro F1 of each sample, over the labels that it has."""
    return _mean_known(_divided(2 * counts.hits, counts.of_gold + counts.of_pred))


def share(  # noqa: PLR0913 - two counts, twice
    hits: Floats, total: Floats, drawn_hits: Floats, drawn_total: Floats, sampling: Resampling, *, reason: str
) -> Estimate:
    """A proportion with Wilson's interval, by clusters with that of the bootstrap; `reason` says why it has no item."""
    n = int(total[0]) if len(total) else 0
    if not n:
        return unknown(reason, level=sampling.level)
    value = float(hits[0]) / n
    if sampling.size < sampling.n:
        return sampling.interval(value, _divided(drawn_hits, drawn_total), n=n)
    ends = wilson_interval(int(hits[0]), n, level=sampling.level)
    return Estimate(value=value, low=ends.low, high=ends.high, n=n, level=sampling.level)


def _balanced_accuracy(found: PairCounts, redrawn: PairCounts, sampling: Resampling, *, reason: str) -> Estimate:
    value = _first(balanced(found))
    if not sampling.n or sampling.size < sampling.n:
        return sampling.interval(value, balanced(redrawn), reason=reason)
    # draws of a rare label whose few items are all right are all right too, which made the bootstrap far too narrow
    below, above = 0.0, 0.0
    seen = [(int(hits), int(n)) for hits, n in zip(found.hits[0], found.of_gold[0], strict=True) if n]
    for hits, n in seen:
        ends = wilson_interval(hits, n, level=sampling.level)
        below += (hits / n - ends.low) ** 2
        above += (ends.high - hits / n) ** 2
    low, high = value - math.sqrt(below) / len(seen), value + math.sqrt(above) / len(seen)
    return Estimate(value=value, low=max(low, 0.0), high=min(high, 1.0), n=sampling.n, level=sampling.level)


def _accuracy_alone(
    gold: Sequence[Hashable], pred: Sequence[Hashable], *, different: int, **options: Any
) -> NominalAgreement:
    right = ["right" if one == other else "wrong" for one, other in zip(gold, pred, strict=True)]
    found = nominal_agreement(["right"] * len(gold), right, **options)
    none = unknown(
        f"{different:,} different labels are too many: sort them into fewer", n=found.n, level=found.accuracy.level
    )
    return replace(
        found, labels=(), confusion=(), classes=(), balanced_accuracy=none, macro_f1=none, kappa=none, ac1=none
    )


def _kappa(found: PairCounts, sampling: Resampling, redrawn: PairCounts) -> Estimate:
    if len({*found.gold.tolist(), *found.pred.tolist()}) < 2:  # noqa: PLR2004 - chance alone would agree always
        return unknown(ONE_LABEL if sampling.n else NO_ITEM, n=sampling.n, level=sampling.level)
    value = scikit_kappa(found)
    estimate = sampling.interval(value, kappas(redrawn))
    if found.agreed[0] < sampling.n:
        return estimate
    parts = found.of_gold[0] / sampling.n
    return perfect_end(estimate, sampling=sampling, expected=float(1 - (parts**2).sum()))


def _ac1(found: PairCounts, sampling: Resampling, redrawn: PairCounts) -> Estimate:
    if not sampling.n:
        return unknown(NO_ITEM, level=sampling.level)
    if len(found.labels) < 2:  # noqa: PLR2004 - nothing to choose from
        reason = f"{ONE_LABEL}; name the others there could be by `labels=`"
        return unknown(reason, n=sampling.n, level=sampling.level)
    estimate = sampling.interval(float(ac1s(found)[0]), ac1s(redrawn))
    if found.agreed[0] < sampling.n:
        return estimate
    parts = found.of_gold[0] / sampling.n
    chance = float((parts * (1 - parts)).sum()) / (len(found.labels) - 1)
    return perfect_end(estimate, sampling=sampling, expected=1 - chance)


def _classes(found: PairCounts, redrawn: PairCounts, sampling: Resampling) -> tuple[ClassAgreement, ...]:
    gold, pred, hits = found.of_gold, found.of_pred, found.hits
    drawn_gold, drawn_pred, drawn_hits = redrawn.of_gold, redrawn.of_pred, redrawn.hits
    classes: list[ClassAgreement] = []
    for at, label in enumerate(found.labels):
        both = gold[:, at] + pred[:, at]
        f1 = float(_divided(2 * hits[:, at], both)[0]) if len(both) else math.nan
        drawn_f1 = _divided(2 * drawn_hits[:, at], drawn_gold[:, at] + drawn_pred[:, at])
        classes.append(
            ClassAgreement(
                label=label,
                gold=int(gold[0, at]),
                pred=int(pred[0, at]),
                precision=share(
                    hits[:, at], pred[:, at], drawn_hits[:, at], drawn_pred[:, at], sampling, reason="never answered"
                ),
                recall=share(
                    hits[:, at], gold[:, at], drawn_hits[:, at], drawn_gold[:, at], sampling, reason="not in the gold"
                ),
                f1=sampling.interval(f1, drawn_f1, n=int(both[0]), reason="" if both[0] else "never comes"),
            )
        )
    return tuple(classes)


def _first(values: Floats) -> float:
    return float(values[0]) if len(values) else math.nan


def _divided(above: Floats, below: Floats) -> Floats:
    """A ratio; nan over nothing."""
    return np.divide(above, below, out=np.full(np.shape(below), math.nan), where=below > 0)


def _mean_known(rows: Floats) -> Floats:
    """Mean of each row's known numbers; nan where there is none."""
    known = ~np.isnan(rows)
    return _divided(np.where(known, rows, 0.0).sum(axis=1), known.sum(axis=1).astype(np.float64))
