"""How many rows with a known answer a question takes, and what a number of them can show."""

from __future__ import annotations

import math

from llmframe.errors import UsageError
from llmframe.stats.proportions import quantile


def rows_for_share(half_width: float, *, share: float = 0.5, level: float = 0.95) -> int:
    """Known answers for a share's interval of ± `half_width`.

    Parameters
    ----------
    half_width
        Wanted distance from the share to either end, in (0, 0.5).
    share
        The share that is expected; 0.5 takes most.
    level
        Two-sided coverage, in (0, 1).

    Returns
    -------
    int
        Rows; the least for which the normal interval is narrow enough.

    Raises
    ------
    UsageError
        If an argument is out of range.

    Notes
    -----
    n = z² share (1 - share) / half_width² (Cochran 1977, Sampling Techniques, section 4.4).

    Examples
    --------
    >>> rows_for_share(0.05), rows_for_share(0.05, share=0.1)
    (385, 139)
    """
    _between("half_width", half_width, 0.0, 0.5)
    _between("share", share, 0.0, 1.0)
    return rows_for_mean(half_width, sd=math.sqrt(share * (1 - share)), level=level)


def rows_for_mean(half_width: float, *, sd: float, level: float = 0.95) -> int:
    """Known answers for a mean's interval of ± `half_width`.

    Parameters
    ----------
    half_width
        Wanted distance from the mean to either end, in the scores' unit, above 0.
    sd
        Standard deviation of the scores that is expected, above 0.
    level
        Two-sided coverage, in (0, 1).

    Notes
    -----
    n = (z sd / half_width)².

    Examples
    --------
    >>> rows_for_mean(0.1, sd=0.8)
    246
    """
    _between("half_width", half_width, 0.0, math.inf)
    _between("sd", sd, 0.0, math.inf)
    return _whole((quantile(level) * sd / half_width) ** 2)


def rows_for_difference(difference: float, *, sd: float, power: float = 0.8, level: float = 0.95) -> int:
    """Items for a paired mean difference to be seen with a given power.

    Parameters
    ----------
    difference
        Mean difference by item that should be seen, not 0.
    sd
        Standard deviation of the differences by item, above 0.
    power
        Probability that the two-sided test at 1 - `level` sees it, in (0.5, 1).
    level
        Of the interval that belongs to the test.

    Notes
    -----
    n = ((z of the level + z of the power) sd / difference)², the normal approximation of the paired t test.

    Examples
    --------
    >>> rows_for_difference(0.1, sd=0.5)
    197
    """
    _between("difference", abs(difference), 0.0, math.inf)
    _between("sd", sd, 0.0, math.inf)
    return _whole(((quantile(level) + _power_quantile(power)) * sd / difference) ** 2)


def rows_for_mcnemar(only_a: float, only_b: float, *, power: float = 0.8, level: float = 0.95) -> int:
    """Items for McNemar's test between two accuracies on the same items.

    Parameters
    ----------
    only_a, only_b
        Shares of items that only the first and only the second is expected to have right, in [0, 1], not equal.
    power
        Probability that the two-sided test at 1 - `level` sees it, in (0.5, 1).
    level
        1 less the test's level.

    Notes
    -----
    Connor (1987), Biometrics 43, p. 207: n = (z of the level √d + z of the power √(d - e²))² / e² with the share that
    differs d = only_a + only_b and the difference e = only_b - only_a.

    Examples
    --------
    >>> rows_for_mcnemar(0.05, 0.1)
    469
    """
    differing, effect = only_a + only_b, only_b - only_a
    if min(only_a, only_b) < 0 or differing > 1 or effect == 0:
        raise UsageError(
            f"`only_a` and `only_b` are shares of items, not equal, with a sum of at most 1, got {only_a!r} and "
            f"{only_b!r}"
        )
    root = quantile(level) * math.sqrt(differing) + _power_quantile(power) * math.sqrt(differing - effect**2)
    return _whole((root / effect) ** 2)


def detectable_difference(n: int, *, sd: float, power: float = 0.8, level: float = 0.95) -> float:
    """The least mean difference that `n` items show with a given power: the inverse of `rows_for_difference`.

    Returns
    -------
    float
        In the scores' unit; nan for fewer than two items.

    Examples
    --------
    >>> round(detectable_difference(197, sd=0.5), 3)
    0.1
    """
    _between("sd", sd, 0.0, math.inf)
    if n < 2:  # noqa: PLR2004 - one item has no spread
        return math.nan
    return (quantile(level) + _power_quantile(power)) * sd / math.sqrt(n)


def with_judge(rows: int, *, correlation: float, judged: int) -> int:
    """Known answers that do the work of `rows` known answers alone once a judge has answered many rows.

    Parameters
    ----------
    rows
        Known answers that the question takes without a judge, from any function of this module.
    correlation
        Of the judge's and the known answers, in [-1, 1]; below 0 the judge is of no use.
    judged
        Rows in all that the judge has answered, the known ones among them.

    Returns
    -------
    int
        Between (1 - correlation²) × `rows` and `rows`; `rows` where the judge has answered no more than that.

    Notes
    -----
    With n known answers and N others the variance of PPI++ at its best lam (Angelopoulos, Duchi, Zrnic 2023, arXiv
    2311.01453) is (σ²/n) (1 - ρ² N/(n + N)), hence n = rows (1 - ρ² (judged - n)/judged), which is solved for n.

    Examples
    --------
    >>> with_judge(385, correlation=0.7, judged=10_000)
    201
    """
    if not -1 <= correlation <= 1:
        raise UsageError(f"`correlation` is between -1 and 1, got {correlation!r}")
    if rows < 0 or judged < 0:
        raise UsageError(f"`rows` and `judged` are counts, got {rows!r} and {judged!r}")
    if judged <= rows or correlation <= 0:
        return rows
    square = correlation**2
    return min(rows, _whole(rows * (1 - square) / (1 - rows * square / judged)))


def _whole(rows: float) -> int:
    """Rounded up; a whole number stays one though its square had a rounding error."""
    return max(1, math.ceil(rows - 1e-9))


def _power_quantile(power: float) -> float:
    _between("power", power, 0.5, 1.0)
    return quantile(2 * power - 1)


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low < value < high:
        raise UsageError(f"`{name}` is above {low:g}{f' and below {high:g}' if high < math.inf else ''}, got {value!r}")
