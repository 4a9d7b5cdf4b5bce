"""From which confidence on a tier's answers stand, learnt from rows with gold."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from llmframe.errors import LlmframeWarning, UsageError, callers_place, did_you_mean
from llmframe.frames import Frame, wrap
from llmframe.frames.derived import RowFunction
from llmframe.judge.columns import AnswerColumns, comparable, numbers, read
from llmframe.judge.gold_guards import unequally_picked
from llmframe.judge.tiers import Cascade
from llmframe.stats.certificate import Certificate, percent
from llmframe.stats.guards import check_gold
from llmframe.stats.selective import certified_threshold, fewest_gold

STAYS: Final = frozenset({"null", "render", "encoding", "auth", "quota", "not_found", "budget", "cancelled"})
"""Errors that another model wouldn't have helped, or after which nothing more is to be sent."""

UNASKED: Final = frozenset({"null", "render", "encoding"})
"""Errors before any model is asked."""

SEED: Final = 0
"""Decides which gold rows are whose, where several tiers have to be certified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A tier's threshold; inf: all its rows go on."""

    threshold: float
    certificate: Certificate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """Known answers by row, `None` where unknown; `parts` says which tier's threshold each row decides."""

    truth: tuple[Hashable, ...]
    parts: tuple[int, ...]

    @classmethod
    def of(cls, frame: Frame, name: str, *, tiers: int) -> Gold:
        """The column's cells, its known ones dealt to so many tiers by chance."""
        truth = tuple(comparable(read(frame, name)))
        known = [at for at, value in enumerate(truth) if value is not None]
        random.Random(SEED).shuffle(known)  # noqa: S311 - no secret
        parts = [0] * len(truth)
        for place, at in enumerate(known):
            parts[at] = place % tiers
        return cls(truth=truth, parts=tuple(parts))


def checked_gold(  # noqa: PLR0913 - the facts about known answers
    frame: object,
    names: Sequence[str],
    gold: object,
    cascade: Cascade,
    *,
    labels: Sequence[Hashable],
    tiers: int,
    where: object = None,
) -> None:
    """Raise `UsageError` where gold can't give thresholds, before anything is sent.

    Parameters
    ----------
    names
        The frame's columns; none of a list without rows.
    labels
        What answers may be; empty where that is open.
    tiers
        How many thresholds there are to find.
    where
        Which rows are asked, as `map` takes it: gold of others decides nothing. Without a row to ask nothing is needed.
    """
    needed = cascade.threshold is None
    if gold is None and needed:
        raise UsageError(
            "a cascade's threshold is found on rows whose right answer is known: name their column, `gold=...`, null "
            "where unknown, or say a threshold by hand: `llmframe.Cascade(models, threshold=0.9)`"
        )
    if gold is None or not names:
        return
    if not isinstance(gold, str) or gold not in names:
        near = did_you_mean(gold, names) if isinstance(gold, str) else ""
        raise UsageError(f"`gold` is the name of a column with known answers, got {gold!r}{near}; columns: {names}")
    wrapped = wrap(frame)
    truth = comparable(read(wrapped, gold))
    known = [value for value in truth if value is not None]
    strange = sum(value not in labels for value in known) if labels else 0
    if strange:
        raise UsageError(
            f"{strange:,} of {len(known):,} known answers in {gold!r} are none of {', '.join(map(repr, labels))}; "
            "spell them alike, or make them null"
        )
    if not needed:
        return
    asked = wrapped.mask(where) if where is not None else [True] * len(wrapped)
    if not any(asked):
        return
    least = fewest_gold(cascade.target_error, cascade.delta / tiers)
    what = f"a threshold for an error of at most {percent(cascade.target_error)}"
    check_gold(cascade.random, n=len(known) // tiers, least=least, tuned=cascade.tuned, probability=False, what=what)
    if unequally_picked(wrapped, [at for at, value in enumerate(truth) if value is not None]):
        raise UsageError(
            f"{what} takes known answers of a random sample, and `pick_for_review` picked these with unequal "
            'probabilities; pick with `how="random"`, and label those'
        )
    left = sum(value is not None and asks for value, asks in zip(truth, asked, strict=True))
    if left // tiers < least:
        raise UsageError(
            f"{what} takes {least * tiers:,} or more known answers of rows that are asked, and `where` leaves {left:,} "
            f"of the {len(known):,} in {gold!r}; let it ask rows with gold, too, or say a threshold that was found "
            "before: `llmframe.Cascade(models, threshold=llmframe.last_cascade().tiers[0].threshold)`"
        )


def decided(  # noqa: PLR0913 - the facts of a decision
    frame: Frame, columns: AnswerColumns, gold: Gold, cascade: Cascade, *, tier: int, tiers: int
) -> Decision:
    """The certified threshold of a tier's answers.

    Parameters
    ----------
    columns
        The tier's answers: their column, the confidence beside them, their errors.
    tier, tiers
        Which of how many tiers that need a threshold. Each has gold and a part of `delta` of its own, so that together
        their promises hold with 1 − `delta`.
    """
    values, errors = comparable(read(frame, columns.value)), read(frame, columns.error)
    sure = numbers(read(frame, columns.shown))
    found: list[tuple[float, bool]] = []
    for at, truth in enumerate(gold.truth):
        confidence = sure[at]
        if truth is not None and confidence is not None and errors[at] is None and gold.parts[at] == tier:
            found.append((confidence, values[at] == truth))
    certificate = certified_threshold(
        [confidence for confidence, _ in found],
        [right for _, right in found],
        target_error=cascade.target_error,
        delta=cascade.delta / tiers,
    )
    return Decision(threshold=certificate.threshold if certificate.holds else math.inf, certificate=certificate)


def warn_of_none(name: str, following: str, certificate: Certificate) -> None:
    """Say that nothing is certified, before all rows are asked again."""
    advice = f"; {certificate.advice}" if certificate.advice else ""
    text = f"all rows of {name!r} go on to {following!r}. {certificate.sentence.rstrip('.')}{advice}"
    filename, line = callers_place()
    warnings.warn_explicit(text, LlmframeWarning, filename, line)


def passing(threshold: float) -> RowFunction:
    """Whether rows go on, by answer, confidence, its source and error; one that wasn't asked doesn't."""

    def make(cells: list[list[object]]) -> list[list[object]]:
        return [[goes_on(*row, threshold=threshold) for row in zip(*cells, strict=True)]]

    return make


def goes_on(value: object, confidence: object, source: object, error: object, *, threshold: float) -> bool:
    """Whether a row is asked of the next tier."""
    if error is not None:
        return str(error).partition(":")[0] not in STAYS
    if value is None and source is None:
        return False
    [sure] = numbers([confidence])
    return sure is None or not sure >= threshold
