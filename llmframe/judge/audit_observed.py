"""Probes that change nothing: a judge's own answers beside what is right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from llmframe.judge.audit_experiments import Probed
from llmframe.judge.audit_rows import SIDES, Answers, judged_pairs
from llmframe.stats.contrasts import group_difference, narrowing
from llmframe.stats.slopes import linear_slope, logistic_slope


def compression(answers: Answers) -> Probed:
    """Whether a judge's levels are spread less than the known ones."""
    rows = [
        (number, gold, cluster)
        for number, gold, cluster in zip(
            answers.numbers("plain"), answers.sample.gold, answers.sample.clusters, strict=True
        )
        if number is not None and gold is not None
    ]
    judged, gold = [row[0] for row in rows], [row[1] for row in rows]
    return Probed(
        measure="sd(judge) / sd(gold) - 1",
        shift=narrowing(judged, gold, clusters=[row[2] for row in rows]),
        facts={
            "sd_judge": _sd(judged),
            "sd_gold": _sd(gold),
            "modal_share": _modal(judged),
            "modal_share_gold": _modal(gold),
        },
    )


def length(answers: Answers) -> Probed:
    """How verdicts go with length where the known answer is the same: observed, so nothing is decided."""
    lengths = [[max(1, len(str(record[name]))) for name in answers.judge.columns] for record in answers.sample.records]
    gold = answers.sample.gold
    if answers.judge.kind == "pairwise":
        preferred = judged_pairs(answers.first_picked("plain"), answers.first_picked("swapped"))
        rows = [at for at, each in enumerate(preferred) if each is not None and each != SIDES and gold[at] is not None]
        return Probed(
            measure="growth of the log-odds of the first text's win with log(its length / the other's), at equal gold",
            shift=logistic_slope(
                [(preferred[at] or 0) > SIDES for at in rows],
                [math.log(lengths[at][0] / lengths[at][1]) for at in rows],
                [[gold[at] or 0.0 for at in rows]],
                clusters=_at(answers.sample.clusters, rows),
            ),
            decides=False,
        )
    numbers = answers.numbers("plain")
    rows = [at for at, number in enumerate(numbers) if number is not None and gold[at] is not None]
    return Probed(
        measure="growth of the level with log(length), at equal gold",
        shift=linear_slope(
            [numbers[at] or 0.0 for at in rows],
            [math.log(lengths[at][0]) for at in rows],
            [[gold[at] or 0.0 for at in rows]],
            clusters=_at(answers.sample.clusters, rows),
        ),
        decides=False,
    )


def self_preference(answers: Answers, *, own: str) -> Probed:
    """Whether a judge is milder with its own author's texts than with others', by what is right."""
    note = "other authors' texts are the control: they should be about as hard to judge"
    if answers.judge.kind != "pairwise":
        numbers = answers.judge.numbers.values()
        span = max(numbers) - min(numbers)
        values: list[tuple[float, bool, Hashable]] = [
            ((number - gold) / span, author == own, cluster)
            for number, gold, (author,), cluster in zip(
                answers.numbers("plain"),
                answers.sample.gold,
                answers.sample.authors,
                answers.sample.clusters,
                strict=True,
            )
            if number is not None and gold is not None and author is not None
        ]
        return _contrast(
            values, "levels above gold for its own texts, less those for others, of the whole scale", note, 1 / span
        )
    values = []
    preferred = judged_pairs(answers.first_picked("plain"), answers.first_picked("swapped"))
    for share, gold, authors, cluster in zip(
        preferred, answers.sample.gold, answers.sample.authors, answers.sample.clusters, strict=True
    ):
        if share is None or gold is None or gold == SIDES or None in authors or authors == (own, own):
            continue
        wrong = 1 if gold else 0
        values.append((1 - share if wrong else share, authors[wrong] == own, cluster))
    return _contrast(
        values, "picks of its own text where that is wrong, less picks of others' where theirs is", note, None
    )


def _contrast(values: Sequence[tuple[float, bool, Hashable]], measure: str, note: str, step: float | None) -> Probed:
    own = [value for value, is_own, _ in values if is_own]
    others = [value for value, is_own, _ in values if not is_own]
    return Probed(
        measure=measure,
        shift=group_difference(
            [value for value, _, _ in values],
            [is_own for _, is_own, _ in values],
            clusters=[cluster for _, _, cluster in values],
            ends=(0.0, 1.0) if step is None else (-step, step),
        ),
        facts={
            "own": math.fsum(own) / len(own) if own else math.nan,
            "others": math.fsum(others) / len(others) if others else math.nan,
            "own_rows": len(own),
            "other_rows": len(others),
        },
        note=note,
    )


def _at(values: Sequence[Hashable], rows: Sequence[int]) -> list[Hashable]:
    return [values[at] for at in rows]


def _sd(values: Sequence[float]) -> float:
    if not values:
        return math.nan
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


def _modal(values: Sequence[float]) -> float:
    return Counter(values).most_common(1)[0][1] / len(values) if values else math.nan
