"""The estimate of some rows of a frame by one method."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from llmframe.errors import UsageError
from llmframe.judge.estimate_rows import Floats
from llmframe.report.estimates import EstimateReport, Method
from llmframe.stats.corrected import Bounds, Corrected
from llmframe.stats.estimate import unknown
from llmframe.stats.ppi import ppi_mean
from llmframe.stats.rogan_gladen import rogan_gladen
from llmframe.stats.weighted_gold import weighted_mean

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is estimated, and how.

    Attributes
    ----------
    bounds
        Least and greatest value that the estimate can have.
    apart
        Whether known rows don't count to a share by error rates.
    """

    method: Method
    of: str
    judge: tuple[str, ...]
    gold: tuple[str, ...]
    bounds: Bounds | None
    apart: bool
    level: float
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Numbers of all rows; nan where there is none."""

    judge: Floats
    gold: Floats
    chance: Floats | None
    clusters: Sequence[Hashable] | None


def estimated(data: Numbers, rows: Rows, question: Question) -> EstimateReport:
    """The estimate of the rows at these places."""
    used = rows[np.isfinite(data.judge[rows])]
    known = used[np.isfinite(data.gold[used])]
    found = _found(data, used, known, question)
    # without an interval the reason stands in its place
    notes = [*question.notes, "" if math.isnan(found.estimate.low) else found.estimate.reason]
    return EstimateReport(
        method=question.method,
        of=question.of,
        judge=question.judge,
        gold=question.gold,
        rows=len(rows),
        known=len(known),
        unanswered=len(rows) - len(used),
        found=found,
        notes=tuple(note for note in notes if note),
    )


def estimated_group(data: Numbers, rows: Rows, question: Question) -> EstimateReport:
    """The estimate of some rows; what is refused for all is told for a group."""
    quiet = replace(question, notes=())
    try:
        return estimated(data, rows, quiet)
    except UsageError as error:
        report = estimated(data, rows, replace(quiet, method="gold"))
        nothing = unknown(str(error), n=report.known, level=question.level)
        return replace(report, method=question.method, found=replace(report.found, estimate=nothing), notes=())


def _found(data: Numbers, used: Rows, known: Rows, question: Question) -> Corrected:
    said, gold = data.judge, data.gold
    rest = used[~np.isfinite(gold[used])]
    if question.method == "rogan_gladen":
        wanted = rest if question.apart else used
        return rogan_gladen(
            (gold[known] == 1).tolist(), (said[known] == 1).tolist(), (said[wanted] == 1).tolist(), level=question.level
        )
    chance = _by_row(data, used, known) if data.chance is None else data.chance
    if chance is not None:
        clusters = None if data.clusters is None else [data.clusters[at] for at in used]
        found = weighted_mean(
            said[used], gold[used], chance[used], clusters=clusters, level=question.level, bounds=question.bounds
        )
    else:
        found = ppi_mean(
            gold[known],
            said[known],
            said[rest],
            clusters=None if data.clusters is None else [data.clusters[at] for at in known],
            rest_clusters=None if data.clusters is None else [data.clusters[at] for at in rest],
            level=question.level,
            bounds=question.bounds,
        )
    if question.method == "gold":
        return Corrected(estimate=found.gold, gold=found.gold, naive=found.naive, n=found.n, rest=found.rest)
    if question.method == "naive":
        reason = "the judge's answers as they are: the interval knows nothing of its errors"
        return Corrected(
            estimate=replace(found.naive, reason=found.naive.reason or reason),
            gold=found.gold,
            naive=found.naive,
            n=found.n,
            rest=found.rest,
        )
    return found


def _by_row(data: Numbers, used: Rows, known: Rows) -> Floats | None:
    """The probability by which rows of clusters of unequal size were picked one by one; else `None`.

    The larger a cluster, the likelier some row of it is known, so the clusters with known rows are no random sample.
    """
    if data.clusters is None or not len(known):
        return None
    sizes = Counter(data.clusters[at] for at in used)
    there = Counter(data.clusters[at] for at in known)
    if len(set(sizes.values())) == 1 or all(sizes[cluster] == count for cluster, count in there.items()):
        return None
    return np.full(len(data.judge), len(known) / len(used))
