"""A calibration of a run's confidences, learnt from rows whose right answer is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from llmframe.core.calibration import METHODS, Calibration, Figures, Method
from llmframe.errors import UsageError, did_you_mean
from llmframe.frames import wrap
from llmframe.judge.gold_rows import GoldRows, check_enough, gold_rows, label_name
from llmframe.judge.spending import question_in, report_in
from llmframe.stats.calibration import (
    fit_distribution_temperature,
    fit_isotonic,
    fit_platt,
    fit_temperature,
    grouped_folds,
)
from llmframe.stats.reliability import brier, calibration_error, log_loss

SAFE: Final = 10
"""Fewer right or wrong rows than this are noted."""

ISOTONIC_ROWS: Final = 200
"""Below this an isotonic curve fits noise, and it is noted."""

PRIOR_ERROR: Final = 1e-6
"""How far the sum of a prior may be from 1."""


def calibrate(  # noqa: PLR0913 - the facts of a calibration
    frame: object,
    gold: object,
    *,
    field: str | None = None,
    method: Method = "temperature",
    folds: int = 5,
    prior: Mapping[str, float] | None = None,
    seed: int = 0,
    run: object = None,
) -> Calibration:
    """Learn how often answers of a confidence are right.

    Parameters
    ----------
    frame
        What `map` gave, with `confidence=...` and best with `distribution=True` and `meta=True`. It is never changed.
    gold
        What is right: name of a column, or a value for each row; null where unknown. The rows should be a random
        sample of those that will be answered.
    field
        The column with the answers; `None`: where one alone can be meant.
    method
        `"temperature"`: one number, on all labels' probabilities where the frame has them, else on the logit of the
        confidence. `"platt"`: a line on that logit. `"isotonic"`: any rising curve, for some hundreds of rows.
    folds
        Parts by which `before` and `after` are told: each row's is calibrated by what the others taught. Rows with the
        same prompt share a part.
    prior
        The share that each label will have, with sum 1, where it differs from the gold rows': probabilities are
        weighed by it. Needs the distribution.
    seed
        Decides the parts.
    run
        The `RunReport` of the run, `llmframe.last_run()` right after it, so that the calibration knows its prompt and
        model where the frame doesn't tell: all but pandas, and columns that were made of several runs' answers.

    Returns
    -------
    Calibration
        For `map(..., calibration=...)`, learnt from all rows, with its figures.

    Raises
    ------
    UsageError
        With fewer than 30 usable rows or less prompts than folds, if all of them are right or all wrong, without
        confidences, or if an argument can't be used.
    MissingExtraError
        Without scipy or scikit-learn: `pip install 'llmframe[judge]'`.
    """
    _check_arguments(method, folds)
    wrapped = wrap(frame)
    if wrapped.single:
        raise UsageError("`calibrate` takes the frame that `map` gave, not a Series: it needs the confidence beside it")
    columns, rows = gold_rows(wrapped, gold, field=field)
    check_enough(rows, folds=folds)
    weights = _weights(prior, rows) if prior is not None else ()
    notes = list(rows.notes)
    calibration = _learnt(rows, method)
    if calibration.method == "platt" and calibration.parameters[0] == 0:
        notes.append("confidences don't rise with what is right: all answers get the same one")
    if method == "isotonic" and len(rows.right) < ISOTONIC_ROWS:
        notes.append(f"an isotonic curve from fewer than {ISOTONIC_ROWS} rows follows chance; a temperature is safer")
    wrong = rows.right.count(False)
    for count, word in ((wrong, "wrong"), (len(rows.right) - wrong, "right")):
        if count < SAFE:
            notes.append(f"only {count} rows are {word}: the calibration is coarse")
    parts = grouped_folds(rows.groups, folds=folds, seed=seed)
    question = question_in(report_in(frame), columns.value) if run is None else getattr(run, "question", None)
    if question is None:
        notes.append("bound to no prompt and model, so it can't tell others: `run=llmframe.last_run()` after the map")
    return replace(
        calibration,
        weights=weights,
        labels=rows.labels if weights or method == "temperature" else (),
        field=columns.shown and columns.shown.removeprefix(columns.prefix),
        question=question,
        n=len(rows.right),
        accuracy=rows.right.count(True) / len(rows.right),
        folds=folds,
        seed=seed,
        before=_figures(rows.confidences, rows.right),
        after=_figures(_out_of_fold(rows, method, parts), rows.right),
        notes=tuple(notes),
    )


def _learnt(rows: GoldRows, method: Method) -> Calibration:
    if method == "platt":
        return Calibration(method=method, parameters=fit_platt(rows.confidences, rows.right))
    if method == "isotonic":
        knots, heights = fit_isotonic(rows.confidences, rows.right)
        return Calibration(method=method, parameters=heights, knots=knots)
    if rows.labels:
        temperature = fit_distribution_temperature(rows.distributions, rows.gold)
        return Calibration(method=method, parameters=(temperature,), labels=rows.labels)
    return Calibration(method=method, parameters=(fit_temperature(rows.confidences, rows.right),))


def _out_of_fold(rows: GoldRows, method: Method, parts: Sequence[int]) -> list[float]:
    """Every row's confidence by a calibration that was learnt from the other parts."""
    found = [0.0] * len(rows.right)
    for part in sorted(set(parts)):
        learnt = _learnt(rows.part([at for at, other in enumerate(parts) if other != part]), method)
        for at, other in enumerate(parts):
            if other == part:
                distribution, chosen = (rows.distributions[at], rows.chosen[at]) if rows.labels else ((), None)
                found[at] = cast("float", learnt.apply(rows.confidences[at], distribution, chosen))
    return found


def _figures(confidences: Sequence[float], right: Sequence[bool]) -> Figures:
    return Figures(
        log_loss=log_loss(confidences, right),
        brier=brier(confidences, right),
        ece=calibration_error(confidences, right),
    )


def _check_arguments(method: str, folds: int) -> None:
    if method not in METHODS:
        raise UsageError(
            f"`method` is one of {', '.join(map(repr, METHODS))}, got {method!r}{did_you_mean(str(method), METHODS)}"
        )
    if not isinstance(folds, int) or folds < 2:  # noqa: PLR2004 # pyright: ignore[reportUnnecessaryIsInstance] - said by users
        raise UsageError(f"`folds` is a whole number from 2 on, got {folds!r}")


def _weights(prior: Mapping[str, float], rows: GoldRows) -> tuple[float, ...]:
    """Each label's prior over its share in the gold rows."""
    if not rows.labels:
        raise UsageError(
            "`prior` weighs the labels' probabilities, and this frame has none; map with `distribution=True`, without "
            "`calibration=`"
        )
    said = {label_name(label): share for label, share in prior.items()}
    absent = [label for label in rows.labels if label not in said]
    others = [label for label in said if label not in rows.labels]
    if absent or others:
        wrong = f"lacks {absent}" if absent else f"has {others}, which no answer can be"
        raise UsageError(f"`prior` {wrong}; give a share for each of {list(rows.labels)}")
    shares = [said[label] for label in rows.labels]
    if any(not 0 <= share <= 1 for share in shares) or abs(math.fsum(shares) - 1) > PRIOR_ERROR:
        raise UsageError(f"`prior` has shares in [0, 1] with sum 1, got {shares} with sum {math.fsum(shares):g}")
    counts = [rows.gold.count(place) for place in range(len(rows.labels))]
    unseen = [label for label, count in zip(rows.labels, counts, strict=True) if not count]
    if unseen:
        raise UsageError(f"no gold row is {unseen[0]!r}, so its prior can't be set against a share; label such rows")
    return tuple(share * len(rows.gold) / count for share, count in zip(shares, counts, strict=True))
