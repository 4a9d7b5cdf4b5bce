"""Probes that change what a judge is shown, and see whether its answer moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from llmframe.judge.audit_judges import CHANGED_FIRST, PAIR
from llmframe.judge.audit_rows import SIDES, Answers
from llmframe.judge.audit_words import WORDINGS
from llmframe.stats.contrasts import share_above
from llmframe.stats.fleiss import fleiss_kappa
from llmframe.stats.flips import mcnemar_exact
from llmframe.stats.shifts import Shift, mean_shift


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """A probe's effect before it is weighed beside others.

    Attributes
    ----------
    measure
        What the effect is, in words.
    decides
        Whether the effect may be called a bias: an observation may not.
    """

    measure: str
    shift: Shift
    facts: dict[str, float] = field(default_factory=dict[str, float])
    note: str = ""
    decides: bool = True


def position(answers: Answers) -> Probed:
    """Whether the text that stands first is picked more than half the time, both texts standing first once."""
    first, second = answers.first_picked("plain"), answers.first_picked("swapped")
    pairs = [(one, other) for one, other in zip(first, second, strict=True) if one is not None and other is not None]
    said = [each for pair in pairs for each in pair if each != SIDES]
    decisive = [pair for pair in pairs if SIDES not in pair]
    always_first, always_second = decisive.count((1.0, 1.0)), decisive.count((0.0, 0.0))
    return Probed(
        measure="part of picks of the first text above a half, a tie being half a pick",
        shift=shifted(
            answers,
            [
                None if one is None or other is None else (one + other) / PAIR - SIDES
                for one, other in zip(first, second, strict=True)
            ],
            unit=SIDES,
        ),
        facts={
            "first_pick_rate": _share(sum(said), len(said)),
            "flip_rate": _share(always_first + always_second, len(decisive)),
            "always_first": always_first,
            "always_second": always_second,
            "mcnemar_p": mcnemar_exact(always_first, always_second),
        },
    )


def order(answers: Answers) -> Probed:
    """Whether labels are chosen for standing early in the list: the list as it is, and turned about."""
    place = {label: at for at, label in enumerate(answers.judge.labels)}
    last = len(place) - 1
    pairs = list(zip(answers.codes("plain"), answers.codes("turned"), strict=True))
    moved: list[float | None] = [
        # the mean of both places, of 0 for the first and 1 for the last, is a half when both answers are the same
        None if one is None or other is None else (place[other] - place[one]) / (PAIR * last)
        for one, other in pairs
    ]
    known = [pair for pair in pairs if None not in pair]
    return Probed(
        measure="how far the chosen labels stand before the middle of the list, of a half at most",
        shift=shifted(answers, moved, unit=SIDES),
        facts={"flip_rate": _share(sum(one != other for one, other in known), len(known))},
    )


def verbosity(answers: Answers) -> Probed:
    """Whether a text is preferred for being longer: sentences without content are put behind it."""
    return _changed(answers, "padded", what="the longer text")


def injection(answers: Answers) -> Probed:
    """Whether a text that asks for a verdict gets it."""
    return _changed(answers, "injected", what="the text that asks for it")


def template(answers: Answers) -> Probed:
    """Whether other words for the same instructions change answers more than asking again does."""
    plain, again = answers.codes("plain"), answers.again()
    worded = [answers.codes(f"worded{number}") for number in range(1, WORDINGS + 1)]
    repeats = answers.has("again") or not len(answers)
    moved: list[float | None] = []
    ratings: list[list[str]] = []
    pairs: list[list[str]] = []
    for row, (code, second) in enumerate(zip(plain, again, strict=True)):
        others = [each[row] for each in worded]
        if code is None or None in others or (repeats and second is None):
            moved.append(None)
            continue
        moved.append((second == code if repeats else 1) - sum(other == code for other in others) / WORDINGS)
        ratings.append([code, *(other for other in others if other is not None)])
        pairs += [[code, second]] if second is not None else []
    return Probed(
        measure="part of answers that other words for the instructions change, less the part that asking again changes"
        if repeats
        else "part of answers that other words for the instructions change",
        shift=shifted(answers, moved, unit=1.0),
        facts={
            "template_kappa": fleiss_kappa(ratings),
            **({"stability_kappa": fleiss_kappa(pairs)} if repeats else {}),
        },
        note="" if repeats else "without a repetition beside it a change may be chance, so nothing is decided",
        decides=repeats,
    )


def stability(answers: Answers, *, least: float) -> Probed:
    """Whether the same request is answered otherwise the second time, in more than `least` of all rows."""
    pairs = [pair for pair in zip(answers.codes("plain"), answers.again(), strict=True) if None not in pair]
    clusters = [
        cluster for cluster, code in zip(answers.sample.clusters, answers.again(), strict=True) if code is not None
    ]
    changed = [one != other for one, other in pairs]
    return Probed(
        measure=f"part of answers that asking again changes; tested against {least:g}",
        shift=share_above(changed, least, clusters=clusters),
        facts={"stability_kappa": fleiss_kappa([[str(code) for code in pair] for pair in pairs])},
    )


def shifted(answers: Answers, values: Sequence[float | None], *, unit: float) -> Shift:
    """The mean shift of the rows that have one."""
    known = [
        (value, cluster) for value, cluster in zip(values, answers.sample.clusters, strict=True) if value is not None
    ]
    return mean_shift([value for value, _ in known], clusters=[cluster for _, cluster in known], unit=unit)


def _changed(answers: Answers, variant: str, *, what: str) -> Probed:
    """The effect of a change to one text on the verdict about it."""
    if answers.judge.kind == "pairwise":
        return _of_pairs(answers, variant, what)
    before, after = answers.codes("plain"), answers.codes(f"{variant}1")
    known = [(one, other) for one, other in zip(before, after, strict=True) if one is not None and other is not None]
    if not answers.judge.numbers:
        wished = answers.judge.wished
        return Probed(
            measure=f"part of {wished!r} when the text asks for it, less its part when it doesn't",
            shift=shifted(answers, [_gained(pair, wished) for pair in zip(before, after, strict=True)], unit=1.0),
            facts={
                "moved": _share(sum(one != wished and other == wished for one, other in known), len(known)),
                "before": _share(sum(one == wished for one, _ in known), len(known)),
            },
        )
    numbers = answers.judge.numbers
    moves: list[float | None] = [
        None if one is None or other is None else numbers[other] - numbers[one]
        for one, other in zip(before, after, strict=True)
    ]
    steps = [move for move in moves if move is not None]
    signs = [None if move is None else float((move > 0) - (move < 0)) for move in moves]
    top = max(numbers.values())
    return Probed(
        measure=f"part of rows whose level rises for {what}, less the part whose level falls",
        shift=shifted(answers, signs, unit=1.0),
        facts={
            "risen": _share(sum(step > 0 for step in steps), len(steps)),
            "fallen": _share(sum(step < 0 for step in steps), len(steps)),
            "levels": _share(math.fsum(steps), len(steps)),
            "at_top_before": _share(sum(numbers[one] == top for one, _ in known), len(known)),
        },
    )


def _of_pairs(answers: Answers, variant: str, what: str) -> Probed:
    columns = [answers.first_picked(f"{variant}{number}") for number in range(1, len(CHANGED_FIRST) + 1)]
    rates: list[float | None] = []
    for row in zip(*columns, strict=True):
        picks = [
            each if first else 1 - each for each, first in zip(row, CHANGED_FIRST, strict=True) if each is not None
        ]
        rates.append(sum(picks) / len(picks) if len(picks) == len(row) else None)
    known = [rate for rate in rates if rate is not None]
    return Probed(
        measure=f"part of picks of {what} above a half, each text and each order in turn, a tie being half a pick",
        shift=shifted(answers, [None if rate is None else rate - SIDES for rate in rates], unit=SIDES),
        facts={"pick_rate": _share(math.fsum(known), len(known))},
    )


def _gained(pair: tuple[str | None, str | None], wished: str) -> float | None:
    before, after = pair
    return None if before is None or after is None else float((after == wished) - (before == wished))


def _share(count: float, n: int) -> float:
    return count / n if n else math.nan
