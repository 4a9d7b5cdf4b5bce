"""How an outcome goes with one number when others are held: a coefficient from what was observed, no experiment."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np

from llmframe.stats.estimate import Estimate
from llmframe.stats.extra import missing
from llmframe.stats.shifts import Shift, few

FEWEST: Final = 10
"""Fewest items, and fewest of the rarer outcome, for which a coefficient is told."""

UNSURE: Final = 50.0
"""Above this a logistic coefficient or its error stands for a sum that has no maximum."""


def logistic_slope(
    outcome: Sequence[bool],
    number: Sequence[float],
    held: Sequence[Sequence[float]] = (),
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Shift:
    """How much the log-odds of an outcome grow with a number, at equal values of the others.

    Parameters
    ----------
    outcome
        One an item.
    number
        The number whose coefficient is told, one an item.
    held
        Further numbers, each a sequence with one an item.
    clusters
        What each item belongs to. `None`: each is its own.
    level
        Two-sided coverage of the interval, in (0, 1).

    Returns
    -------
    Shift
        The coefficient; nan, with the reason, with fewer than 10 of either outcome, where the numbers don't vary, or
        where they tell the outcome without fail.

    Raises
    ------
    MissingExtraError
        Without statsmodels.

    Notes
    -----
    Maximum likelihood with the sandwich standard error, by cluster where they are said. Computed by statsmodels.
    """
    rarer = min(sum(outcome), len(outcome) - sum(outcome))
    if rarer < FEWEST:
        return _unknown(len(outcome), level, f"{rarer} of the rarer outcome are fewer than {FEWEST}")
    return _fitted("Logit", [float(each) for each in outcome], number, held, clusters=clusters, level=level)


def linear_slope(
    outcome: Sequence[float],
    number: Sequence[float],
    held: Sequence[Sequence[float]] = (),
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Shift:
    """How much an outcome grows with a number by least squares, at equal values of the others.

    Arguments and result as of `logistic_slope`.
    """
    if len(outcome) < FEWEST:
        return _unknown(len(outcome), level, f"{len(outcome)} items are fewer than {FEWEST}")
    return _fitted("OLS", outcome, number, held, clusters=clusters, level=level)


def _fitted(  # noqa: PLR0913 - the facts of a fit
    kind: str,
    outcome: Sequence[float],
    number: Sequence[float],
    held: Sequence[Sequence[float]],
    *,
    clusters: Sequence[Hashable] | None,
    level: float,
) -> Shift:
    try:
        import statsmodels.api  # noqa: PLC0415 - an extra
        from statsmodels.tools import sm_exceptions  # noqa: PLC0415 - comes with it
    except ImportError:
        raise missing("a regression coefficient", "statsmodels") from None
    n, models, faults = len(outcome), statsmodels.api, sm_exceptions
    columns = [np.asarray(column, dtype=np.float64) for column in (number, *held)]
    used = [columns[0], *(column for column in columns[1:] if column.std())]
    table = np.column_stack([np.ones(n), *used])
    if np.linalg.matrix_rank(table) < table.shape[1]:
        return _unknown(n, level, "the number doesn't vary, or goes with what is held")
    groups = _codes(n, clusters)
    several = len(set(groups)) < n
    how: dict[str, Any] = {"cov_type": "HC1"}
    if several:
        how = {"cov_type": "cluster", "cov_kwds": {"groups": np.array(groups)}}
    if len(set(groups)) < table.shape[1] + 1:
        return _unknown(n, level, f"{len(set(groups))} clusters are too few")
    errors: Any = (faults.PerfectSeparationError, np.linalg.LinAlgError)
    model: Any = getattr(models, kind)(np.asarray(outcome, dtype=np.float64), table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what doesn't converge is told below
        try:
            found: Any = model.fit(disp=0, **how) if kind == "Logit" else model.fit(**how)
        except errors:
            return _unknown(n, level, "the numbers tell the outcome without fail")
        slope, se = float(found.params[1]), float(found.bse[1])
        low, high = found.conf_int(alpha=1 - level)[1].tolist()
        p = float(found.pvalues[1])
    if kind == "OLS" and found.ssr <= 1e-9 * found.centered_tss:
        return _unknown(n, level, "the numbers tell the outcome without fail")
    if not math.isfinite(se) or (kind == "Logit" and max(abs(found.params).max(), found.bse.max()) > UNSURE):
        return _unknown(n, level, "the numbers tell the outcome without fail")
    size = len(set(groups))
    effect = Estimate(value=slope, low=low, high=high, n=n, level=level, reason=few(size))
    return Shift(effect=effect, se=se, p=p, clusters=size)


def _codes(n: int, clusters: Sequence[Hashable] | None) -> list[int]:
    places: dict[Hashable, int] = {}
    return [places.setdefault(each, len(places)) for each in (range(n) if clusters is None else clusters)]


def _unknown(n: int, level: float, reason: str) -> Shift:
    return Shift(effect=Estimate(value=math.nan, n=n, level=level, reason=reason))
