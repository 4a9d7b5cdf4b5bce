"""What all rows would come to if each was known: a judge's answers, corrected by those that are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Final, Literal, cast

import numpy as np

from llmframe.errors import UsageError, did_you_mean
from llmframe.frames import Frame, wrap
from llmframe.judge.columns import comparable, said_or_column
from llmframe.judge.estimate_rows import EstimateRows, Floats, chances, estimate_rows, less
from llmframe.judge.estimated import Numbers, Question, estimated, estimated_group
from llmframe.judge.gold_guards import EQUAL, unequally_picked
from llmframe.judge.review import PROBABILITY
from llmframe.report.estimates import EstimateReport
from llmframe.stats.guards import check_gold

METHODS: Final = ("ppi++", "rogan_gladen", "gold", "naive")

WHAT: Final = "a corrected estimate"


def estimate(  # noqa: PLR0913 - the facts of an estimate
    frame: object,
    judge: str | tuple[str, str],
    gold: object,
    *,
    method: Literal["ppi++", "rogan_gladen", "gold", "naive"] = "ppi++",
    random: bool | None = None,
    label: Hashable = None,
    by: object = None,
    cluster: object = None,
    probability: object = None,
    tuned: bool = False,
    apart: bool = False,
    level: float = 0.95,
) -> EstimateReport:
    """The mean, or the share of a label, that all rows would have if each had a known answer.

    Parameters
    ----------
    frame
        All rows, those with a known answer among them. It is never changed.
    judge
        The column with the judge's answers: scores, labels, probabilities of `label`, or a distribution. Two columns,
        with two golds: the difference of two systems on the same rows, the second less the first.
    gold
        What is right: name of a column, or a value for each row; null where unknown.
    method
        `"ppi++"`: the narrowest interval where the known rows are a random sample, or were picked with known
        probabilities. `"rogan_gladen"`: the share of a label by the judge's error rates, for known rows that were
        picked by class. `"gold"`: the known answers alone. `"naive"`: the judge's answers as they are.
    random
        Whether the rows with a known answer are a random sample of all rows. It must be said, unless `probability` is
        given or the method is `"rogan_gladen"` or `"naive"`.
    label
        Whose share is wanted. `None`: the mean of scores; of what is true or false, the share that is true.
    by
        Column whose values each get an estimate of their own, beside that of all rows.
    cluster
        What each row belongs to, name of a column or a value for each row: rows of a cluster are averaged first, and
        each cluster counts once. `None`: each row is its own.
    probability
        By which each row was picked, name of a column or a value for each row, as `pick_for_review` tells; null where
        it wasn't picked. Needed where the probabilities differ.
    tuned
        Whether the known answers were used for choosing the prompt, the model or the threshold; then it is refused.
    apart
        For `"rogan_gladen"`: whether the known rows come from elsewhere, and don't count to the share.
    level
        Coverage of the intervals, in (0, 1).

    Returns
    -------
    EstimateReport
        `.value`, `.low`, `.high`; gold alone and the judge alone beside it. What can't be told is nan, with its reason.

    Raises
    ------
    UsageError
        If the known answers can't carry a conclusion (see `llmframe.stats.guards`), or an argument can't be used.
    MissingExtraError
        Without scipy, below 100 known answers: `pip install 'llmframe[judge]'`.

    Notes
    -----
    Formulas and sources stand at `llmframe.stats.ppi`, `rogan_gladen` and `weighted_gold`. Rows without an answer of
    the judge's are left out and counted: the estimate is of the others.

    Examples
    --------
    >>> import pandas as pd
    >>> answers, people = ["good", "good", "good", "bad", "bad"], ["good", "good", "bad", "bad", "bad"]
    >>> df = pd.DataFrame({"label": answers * 200, "human": people * 24 + [None] * 880})
    >>> found = estimate(df, "label", "human", label="good", random=True)
    >>> print(found.estimate, "gold alone", found.found.gold)
    0.40 (0.33 to 0.47) gold alone 0.40 (0.32 to 0.49)
    """
    if method not in METHODS:
        raise UsageError(f"`method` is one of {list(METHODS)}, got {method!r}{did_you_mean(str(method), METHODS)}")
    wrapped = wrap(frame)
    if wrapped.single:
        raise UsageError("`estimate` takes a frame, not a Series: it needs the gold beside the answers")
    judges, golds = _pairs(judge, gold)
    told = _told(wrapped, judges, golds, label)
    answered = np.isfinite(told.judge)
    known = np.isfinite(told.gold) & answered
    _check_method(method, told, judges, cluster=cluster, probability=probability, apart=apart)
    if method != "naive":
        check_gold(
            random,
            n=int(known.sum()),
            tuned=tuned,
            weighted=probability is not None,
            by_class=method == "rogan_gladen",
            what=WHAT,
        )
    if (
        method in ("ppi++", "gold")
        and probability is None
        and unequally_picked(wrapped, np.flatnonzero(known).tolist())
    ):
        raise UsageError(
            f"the known rows are no random sample: `pick_for_review` picked them with unequal probabilities; say "
            f'`probability="{PROBABILITY}"`'
        )
    asked = probability is not None and method != "naive"
    chance, note = chances(wrapped, probability, known, answered) if asked else (None, "")
    if chance is not None and _alike(chance[known]):
        chance = None  # a random sample, for which a better formula exists
    question = Question(
        method="weighted" if chance is not None and method == "ppi++" else method,
        of=told.of,
        judge=judges,
        gold=tuple(each if isinstance(each, str) else "gold" for each in golds),
        bounds=_bounds(told, judges),
        apart=apart,
        level=level,
        notes=(note,) if note else (),
    )
    clusters = None if cluster is None else _clusters(wrapped, cluster)
    data = Numbers(judge=told.judge, gold=told.gold, chance=chance, clusters=clusters)
    everything = estimated(data, np.arange(len(wrapped)), question)
    if by is None:
        return everything
    places: dict[Hashable, list[int]] = {}
    for at, value in enumerate(comparable(said_or_column([wrapped], by, argument="by"))):
        places.setdefault(value, []).append(at)
    groups = {value: estimated_group(data, np.array(rows, dtype=np.int64), question) for value, rows in places.items()}
    return replace(everything, groups=groups)


def _alike(chances: Floats) -> bool:
    """Whether these are one probability; what is none is left to the weighted mean, which refuses it."""
    return bool(chances.min() > 0 and chances.max() <= 1 and np.ptp(chances) <= EQUAL * chances.max())


def _pairs(judge: object, gold: object) -> tuple[tuple[str, ...], tuple[object, ...]]:
    """One judge and its gold, or two of each."""
    if isinstance(judge, str):
        return (judge,), (gold,)
    judges = cast("Sequence[object]", judge) if isinstance(judge, tuple | list) else ()
    golds = cast("Sequence[object]", gold) if isinstance(gold, tuple | list) else ()
    if len(judges) != 2 or len(golds) != 2 or not all(isinstance(each, str) for each in judges):  # noqa: PLR2004 - a difference is of two
        raise UsageError(
            f"`judge` is the name of a column, or two of them with two golds for a difference, got judge={judge!r}"
        )
    return tuple(map(str, judges)), tuple(golds)


def _told(frame: Frame, judges: Sequence[str], golds: Sequence[object], label: Hashable) -> EstimateRows:
    sides = [estimate_rows(frame, name, gold, label=label) for name, gold in zip(judges, golds, strict=True)]
    return sides[0] if len(sides) == 1 else less(sides[1], sides[0], (judges[0], judges[1]))


def _bounds(told: EstimateRows, judges: Sequence[str]) -> tuple[float, float] | None:
    if not told.share:
        return None
    return (0.0, 1.0) if len(judges) == 1 else (-1.0, 1.0)


def _clusters(frame: Frame, cluster: object) -> list[Hashable]:
    found = comparable(said_or_column([frame], cluster, argument="cluster"))
    if None in found:
        raise UsageError(
            f"`cluster` is null in row {found.index(None)} (counted from 0): every row belongs to a cluster; give rows "
            "on their own a name of their own"
        )
    return found


def _check_method(  # noqa: PLR0913 - what was said
    method: str,
    told: EstimateRows,
    judges: Sequence[str],
    *,
    cluster: object,
    probability: object,
    apart: bool,
) -> None:
    if method != "rogan_gladen":
        if apart:
            raise UsageError(
                '`apart=True` is for `method="rogan_gladen"`; the other methods take known rows of the frame'
            )
        return
    whole = np.isin(told.judge[np.isfinite(told.judge)], (0.0, 1.0)).all()
    if len(judges) > 1 or not told.share or not whole:
        raise UsageError(
            '`method="rogan_gladen"` corrects the share of a label by how often the judge mistakes it: pass one column '
            'of labels and `label=...`; for scores, probabilities and differences take `method="ppi++"`'
        )
    said = "cluster" if cluster is not None else "probability" if probability is not None else ""
    if said:
        raise UsageError(f'`method="rogan_gladen"` makes no use of `{said}`; leave it out, or take `method="ppi++"`')
