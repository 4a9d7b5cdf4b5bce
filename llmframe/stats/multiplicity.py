"""Many tests at once: how many of what is called a finding are none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from llmframe.stats.extra import missing


def false_discovery(p: Sequence[float]) -> list[float]:
    """The q of each p: the least false discovery rate at which its test is among the findings.

    Parameters
    ----------
    p
        One a test, in [0, 1]; nan for a test that couldn't be made, which counts for none.

    Returns
    -------
    list of float
        In [0, 1], in the order of `p`, never below it; nan where `p` is.

    Raises
    ------
    MissingExtraError
        Without statsmodels.

    Notes
    -----
    Benjamini and Hochberg (1995), JRSS B 57, p. 289: the expected share of wrong findings among those with q up to a
    level is at most that level, for tests that are independent or positively dependent. Where no effect is there at
    all, the chance of any finding is at most the level. Computed by statsmodels.

    Examples
    --------
    >>> [round(q, 3) for q in false_discovery([0.01, 0.5, 0.02])]
    [0.03, 0.5, 0.03]
    """
    known = [each for each in p if not math.isnan(each)]
    if not known:
        return [math.nan] * len(p)
    try:
        from statsmodels.stats import multitest  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("a false discovery rate", "statsmodels") from None
    tests: Any = multitest
    corrected = iter(tests.multipletests(known, method="fdr_bh")[1].tolist())
    return [math.nan if math.isnan(each) else float(next(corrected)) for each in p]
