"""A confidence threshold that comes with a bound on the errors above it."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from llmframe.errors import UsageError
from llmframe.stats.certificate import Certificate, Needed, Trial, percent
from llmframe.stats.extra import missing
from llmframe.stats.risk_coverage import RiskCoverage, risk_coverage

START: Final = 30
"""Fewest kept gold rows that are tested."""

ALLOWED: Final = 5
"""Errors that the first test lets pass where there is gold enough: one early error then doesn't end all."""

STEPS: Final = 20
"""Tests at most."""

NEEDED_AT: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Coverages for which it is told how much gold they would take."""

CHANCE: Final = 0.8
"""Probability to be certified, with that much gold."""

MOST_GOLD: Final = 100_000
"""Gold rows beyond which a number is of no use."""


def certified_threshold(  # noqa: PLR0913 - the facts of a certificate
    confidences: Sequence[float],
    right: Sequence[bool],
    *,
    target_error: float = 0.05,
    delta: float = 0.1,
    start: int | None = None,
    steps: int = STEPS,
) -> Certificate:
    """The confidence from which on answers are wrong at most as often as `target_error`.

    Parameters
    ----------
    confidences
        Of the gold rows, in [0, 1]. These are a random sample of the rows to be labelled; nothing was tuned on them,
        neither prompt and examples nor a calibration of these confidences.
    right
        Whether each answer is right.
    target_error
        Largest share of wrong answers among those that are kept, in (0, 1).
    delta
        Probability that the promise is broken, over the draw of the gold rows, in (0, 1).
    start
        Gold rows that are kept by the first, strictest test; `None`: `first_kept` of the three numbers.
    steps
        Tests at most, from `start` to all gold rows in equal distances.

    Returns
    -------
    Certificate
        With a threshold of nan where the first test fails, or gold is too little for one.

    Raises
    ------
    UsageError
        If an argument is out of range, or the two sequences aren't of equal length.
    MissingExtraError
        Without scipy.

    Notes
    -----
    Fixed-sequence testing, of Learn then Test (Angelopoulos et al., 2021, arXiv 2110.01052), with the exact bound of a
    binomial (Clopper, Pearson, 1934, Biometrika 26, p. 404). How many rows each test keeps is settled by `n`,
    `target_error` and `delta` before any answer is looked at; the tests run from the strictest on and stop at the
    first that fails, so that each may use all of `delta`. The naive choice, the largest coverage whose observed risk
    meets the target, breaks it about every second time. Rows of equal confidence are kept together.
    """
    _check_share(target_error, "target_error")
    _check_share(delta, "delta")
    if not isinstance(steps, int) or steps < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
        raise UsageError(f"`steps` is a whole number from 1 on, got {steps!r}")
    if start is not None and (not isinstance(start, int) or start < START):  # pyright: ignore[reportUnnecessaryIsInstance] - as above
        raise UsageError(f"`start` is a whole number from {START} on, got {start!r}: fewer rows tell too little")
    curve = risk_coverage(confidences, right)
    fewest = fewest_gold(target_error, delta)
    first = first_kept(curve.n, target_error, delta) if start is None else start
    tests: list[Trial] = []
    for kept in _grid(curve.n, first, steps):
        step = curve.at(kept / curve.n)
        if tests and tests[-1].step == step:
            continue
        bound = upper_bound(step.errors, step.kept, delta=delta)
        tests.append(Trial(step=step, bound=bound, passed=bound <= target_error))
        if not tests[-1].passed:
            break
    passed = [test for test in tests if test.passed]
    last = passed[-1] if passed else None
    needed = _needed(curve, target_error, delta, above=last.step.coverage if last else 0.0)
    return Certificate(
        threshold=last.step.threshold if last else math.nan,
        coverage=last.step.coverage if last else 0.0,
        kept=last.step.kept if last else 0,
        errors=last.step.errors if last else 0,
        bound=last.bound if last else math.nan,
        target_error=target_error,
        delta=delta,
        n=curve.n,
        tests=tuple(tests),
        needed=needed,
        reason="" if last else _reason(tests, curve.n, max(first, fewest)),
    )


def upper_bound(errors: int, kept: int, *, delta: float) -> float:
    """Exact upper bound of a risk: it is larger with probability at most `delta`.

    Parameters
    ----------
    errors, kept
        Counts, 0 ≤ errors ≤ kept.
    delta
        In (0, 1).

    Returns
    -------
    float
        The 1 − delta quantile of Beta(errors + 1, kept − errors); 1 where all are wrong, nan where there is none.

    Raises
    ------
    MissingExtraError
        Without scipy.

    Notes
    -----
    Clopper, Pearson (1934), Biometrika 26, p. 404, one-sided.
    """
    if not 0 <= errors <= kept:
        raise UsageError(f"expected 0 ≤ errors ≤ kept, got errors={errors!r} and kept={kept!r}")
    if errors == kept:
        return 1.0 if kept else math.nan
    return float(_special().betaincinv(errors + 1, kept - errors, 1 - delta))


def fewest_gold(target_error: float, delta: float, *, errors: int = 0) -> int:
    """Fewest kept gold rows, from `START` on, that certify the target with so many errors among them.

    Without an error it's log(delta) / log(1 − target_error), rounded up: 45 rows for 5 % at delta 0.1.

    Raises
    ------
    UsageError
        If a share isn't in (0, 1).
    MissingExtraError
        Without scipy.
    """
    _check_share(target_error, "target_error")
    _check_share(delta, "delta")
    return _fewest(target_error, delta, errors)


@functools.lru_cache(maxsize=256)
def _fewest(target_error: float, delta: float, errors: int) -> int:
    kept = max(START, errors + 1, math.ceil(math.log(delta) / math.log1p(-target_error)))
    if upper_bound(errors, kept, delta=delta) <= target_error:
        return kept
    low, high = kept, 2 * kept
    while upper_bound(errors, high, delta=delta) > target_error:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if upper_bound(errors, middle, delta=delta) <= target_error else (middle, high)
    return high


def first_kept(n: int, target_error: float, delta: float) -> int:
    """How many of `n` gold rows the first test keeps.

    So many that it passes with up to five errors, or with as many as leave it a third of the gold rows.
    """
    for errors in range(ALLOWED, 0, -1):
        kept = fewest_gold(target_error, delta, errors=errors)
        if kept <= n // 3:
            return kept
    return fewest_gold(target_error, delta)


def _grid(n: int, first: int, steps: int) -> list[int]:
    if n < first:
        return []
    distance = (n - first) / max(1, steps - 1)
    return sorted({*(first + round(distance * number) for number in range(steps - 1)), n}) if steps > 1 else [first]


def _needed(curve: RiskCoverage, target_error: float, delta: float, *, above: float) -> tuple[Needed, ...]:
    if not curve.n:
        return ()
    found: list[Needed] = []
    for coverage in NEEDED_AT:
        if coverage <= above:
            continue
        step = curve.at(coverage)
        kept = _kept_for(step.risk, target_error, delta)
        rows = None if kept is None else math.ceil(kept / coverage)
        found.append(Needed(coverage=coverage, risk=step.risk, rows=rows if rows and rows <= MOST_GOLD else None))
    return tuple(found)


def _kept_for(risk: float, target_error: float, delta: float) -> int | None:
    """Fewest kept rows whose test passes with probability `CHANCE` at this true risk; `None` if none does."""
    if risk >= target_error:
        return None
    kept, most = _passing(target_error, delta)
    passes = (most >= 0) & (_special().bdtr(np.maximum(most, 0), kept, risk) >= CHANCE)
    return int(kept[passes.argmax()]) if passes.any() else None


@functools.lru_cache(maxsize=16)
def _passing(target_error: float, delta: float) -> tuple[Any, Any]:
    """Numbers of kept rows, and the most errors with which each passes its test (-1: it can't)."""
    # every number up to a hundred, then steps of about 1 %: nobody labels more exactly than that
    kept = np.unique(np.geomspace(fewest_gold(target_error, delta), MOST_GOLD, 1000).round().astype(np.int64))
    # by duality, these are the errors that the target itself gives at most as rarely as delta
    most = np.floor(_special().bdtrik(delta, kept, target_error))
    return kept, most + (_special().bdtr(most + 1, kept, target_error) <= delta)


def _reason(tests: Sequence[Trial], n: int, least: int) -> str:
    if not tests:
        return f"{n:,} gold rows are too few for a test, which keeps at least {least:,}"
    test = tests[0]
    return (
        f"of the {test.step.kept:,} surest gold rows {test.step.errors:,} are wrong, so it may be {percent(test.bound)}"
    )


def _check_share(value: float, name: str) -> None:
    if not isinstance(value, int | float) or not 0 < value < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
        raise UsageError(f"`{name}` is between 0 and 1, got {value!r}; 0.05 is 5 %")


def _special() -> Any:
    try:
        from scipy import special  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("a certified threshold", "scipy") from None
    return special
