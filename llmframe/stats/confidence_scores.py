"""Scores of confidences against what was right, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from llmframe.stats.bootstrap import DRAWS, Floats, Resampling
from llmframe.stats.curves import FLOOR
from llmframe.stats.estimate import Estimate, unknown
from llmframe.stats.reliability import NullBand, auroc, brier, calibration_error, debiased_error, log_loss, null_band

NO_ITEM: Final = "no item has both a confidence and gold"

FEW: Final = 10
"""Wrong answers, or right ones, below which the interval of the AUROC is too narrow, and it is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceScores:
    """What confidences are worth.

    Attributes
    ----------
    n
        Items.
    ece
        Expected calibration error; nan without items.
    chance
        What it is by chance alone.
    debiased
        Squared calibration error less what chance adds to it.
    brier, log_loss
        Mean squared and mean logarithmic loss.
    auroc
        How often a right answer is surer than a wrong one; 0.5 is chance.
    """

    n: int
    ece: float
    chance: NullBand
    debiased: float
    brier: Estimate
    log_loss: Estimate
    auroc: Estimate

    @property
    def by_chance(self) -> bool:
        """Whether the calibration error is no larger than chance makes it in 97.5 % of cases."""
        return self.ece <= self.chance.high


def confidence_scores(  # noqa: PLR0913 - the facts of a bootstrap
    confidences: Sequence[float],
    right: Sequence[bool],
    *,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> ConfidenceScores:
    """Calibration error beside its null band, Brier score, log loss and AUROC.

    Parameters
    ----------
    confidences
        In [0, 1].
    right
        Whether each answer is right.
    clusters
        What each item belongs to; `None`: each is its own.
    draws, seed, level
        Of the bootstrap, which gives the intervals of Brier score, log loss and AUROC. A calibration error is above 0
        by chance, and more so in a bootstrap's draws, hence it has its null band instead.

    Raises
    ------
    UsageError
        If sequences aren't of equal length, or a number is out of range.
    MissingExtraError
        Without scikit-learn: `pip install 'llmframe[judge]'`.
    """
    sure, hit = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    error, chance = calibration_error(confidences, right), null_band(confidences, seed=seed, level=level)
    debiased = debiased_error(confidences, right)
    if not len(sure):
        none = unknown(NO_ITEM, level=level)
        return ConfidenceScores(n=0, ece=error, chance=chance, debiased=debiased, brier=none, log_loss=none, auroc=none)
    sampling = Resampling.of(len(sure), clusters=clusters, draws=draws, seed=seed, level=level)
    held = np.clip(np.where(hit > 0, sure, 1 - sure), FLOOR, 1 - FLOOR)
    losses = np.column_stack([(sure - hit) ** 2, -np.log(held), np.ones(len(sure))])
    drawn = _redrawn(losses, sure, hit, sampling)
    area = auroc(confidences, right)
    alike = "" if not math.isnan(area) else f"all answers are {'right' if right[0] else 'wrong'}"
    return ConfidenceScores(
        n=len(sure),
        ece=error,
        chance=chance,
        debiased=debiased,
        brier=sampling.interval(brier(confidences, right), drawn[:, 0]),
        log_loss=sampling.interval(log_loss(confidences, right), drawn[:, 1]),
        auroc=_rare(sampling.interval(area, drawn[:, 2], reason=alike), right),
    )


def _rare(area: Estimate, right: Sequence[bool]) -> Estimate:
    """With a reason where so few answers are wrong, or right, that draws of them vary too little."""
    wrong = len(right) - sum(right)
    fewer, what = min((wrong, "wrong"), (len(right) - wrong, "right"))
    if fewer >= FEW or math.isnan(area.low):
        return area
    reason = f"only {fewer} of the answers are {what}: the interval is likely too narrow; label more rows"
    return replace(area, reason="; ".join(filter(None, (reason, area.reason))))


def _redrawn(losses: Floats, sure: Floats, hit: Floats, sampling: Resampling) -> Floats:
    """Both mean losses and the AUROC of each draw; shape (draws, 3).

    The area comes from how many right and wrong answers of each distinct confidence a draw has.
    """
    order = np.argsort(sure, kind="stable")
    starts = np.flatnonzero(np.diff(sure[order], prepend=-1.0))
    codes, hits = sampling.codes[order], hit[order]
    sums = sampling.summed(losses)
    parts: list[Floats] = []
    for counts in sampling.weights():
        totals = counts @ sums
        drawn = counts[:, codes]
        rights = drawn * hits
        wrongs = drawn - rights
        if len(starts) < len(codes):
            rights, wrongs = (np.add.reduceat(each, starts, axis=1) for each in (rights, wrongs))
        every = rights.sum(axis=1) * wrongs.sum(axis=1)
        below = np.cumsum(wrongs, axis=1) - wrongs / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            areas = np.einsum("ij,ij->i", rights, below) / every
            parts.append(np.column_stack([totals[:, :2] / totals[:, 2:], areas]))
    return np.concatenate(parts)
