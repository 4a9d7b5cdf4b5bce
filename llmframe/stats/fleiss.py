"""Fleiss' kappa: how far several ratings of the same items agree beyond chance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from llmframe.errors import UsageError
from llmframe.stats.extra import missing
from llmframe.stats.sequences import known_rows


def fleiss_kappa(ratings: Sequence[Sequence[Hashable]]) -> float:
    """Agreement of ratings beyond chance, whoever gave them.

    Parameters
    ----------
    ratings
        Items × ratings: as many of every item, at least two, none missing.

    Returns
    -------
    float
        1 where all agree, 0 by chance; nan without items, or where all ratings are one and the same.

    Raises
    ------
    UsageError
        If items have different numbers of ratings.
    MissingExtraError
        Without statsmodels.

    Notes
    -----
    Fleiss (1971), Psychological Bulletin 76, p. 378. Computed by statsmodels. Of two ratings it's Scott's pi.
    """
    ratings = known_rows(ratings)
    counts = sorted({len(item) for item in ratings})
    if len(counts) > 1:
        raise UsageError(
            f"Fleiss' kappa takes as many ratings of every item, got {counts[0]} of one and {counts[-1]} of another; "
            "`krippendorff_alpha` takes any number"
        )
    labels = list(dict.fromkeys(rating for item in ratings for rating in item))
    if len(labels) < 2:  # noqa: PLR2004 - chance alone would agree always
        return math.nan
    try:
        from statsmodels.stats import inter_rater  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("Fleiss' kappa", "statsmodels") from None
    import numpy as np  # noqa: PLC0415 - comes with statsmodels

    table = np.array([[list(item).count(label) for label in labels] for item in ratings])
    rater: Any = inter_rater
    return float(rater.fleiss_kappa(table))
