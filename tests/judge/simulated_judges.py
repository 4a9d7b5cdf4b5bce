"""Judges with planted biases: what they answer in each variant of an audit, without a provider."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from llmframe.judge.audit_judges import Judge
from llmframe.judge.audit_rows import Answers, Sample
from llmframe.judge.rubric import Rubric

PAIR = Judge(kind="pairwise", columns=("a", "b"), criterion="Which is better?")
SCORE = Judge(kind="score", columns=("text",), rubric=Rubric("Is it clear?", range(1, 6)))
LABELS = Judge(kind="classify", columns=("text",), labels=("bug", "praise", "other"))

Verdict = Callable[[random.Random, int, str], str | None]
"""`(chance, row, question)` to what is said, as a model says it."""


def answers(  # noqa: PLR0913 - the facts of a simulated judge
    judge: Judge,
    verdict: Verdict,
    *,
    rows: int = 60,
    seed: int = 0,
    variants: Sequence[str] = ("swapped", "again", "worded", "turned", "padded", "injected"),
    gold: Sequence[float | None] | None = None,
    authors: Sequence[tuple[str | None, ...]] | None = None,
    clusters: Sequence[int] | None = None,
    texts: Mapping[str, Sequence[str]] | None = None,
) -> Answers:
    """What a judge answered that says `verdict`, each request by a chance of its own."""
    chance = random.Random(seed)
    kept = [each for each in variants if each not in ("swapped", "turned")]
    kept += ["swapped"] if judge.kind == "pairwise" and "swapped" in variants else []
    kept += ["turned"] if judge.kind == "classify" and "turned" in variants else []
    questions = judge.questions(kept)
    records = [
        judge.cells({name: texts[name][row] if texts else f"{name} {row}" for name in judge.columns})
        for row in range(rows)
    ]
    table: list[dict[str, object]] = []
    for row in range(rows):
        cells = dict(records[row])
        for name, ask in questions.items():
            said = verdict(chance, row, name)
            if name == "again":
                continue
            cells[f"{ask.prefix}{judge.answer}"] = said
            if name == "plain" and "again" in questions:
                second = verdict(chance, row, "plain")
                cells["audit_again_distribution"] = spread(judge, said, second)
                cells[f"audit_again_{judge.answer}"] = said if said == second else None
        table.append(cells)
    sample = Sample(
        records=records,
        clusters=list(range(rows)) if clusters is None else list(clusters),
        gold=[None] * rows if gold is None else list(gold),
        authors=[()] * rows if authors is None else list(authors),
    )
    return Answers(judge, sample, table)


def spread(judge: Judge, first: str | None, second: str | None) -> dict[str, float] | None:
    """The shares of two votes, of which one that failed counts for none."""
    said = [each for each in (first, second) if each is not None]
    return {code: said.count(code) / len(said) for code in judge.codes} if said else None


def pick(question: str, side: str) -> str:
    """The letter of the side `"a"` or `"b"` in a question: in some the second text stands first."""
    first = {"swapped": "b", "padded2": "b", "padded4": "b", "injected2": "b", "injected4": "b"}.get(question, "a")
    return "A" if side == first else "B"


def changed(question: str) -> str:
    """The side whose text is changed in a question about a pair; empty in others."""
    return {"1": "a", "2": "a", "3": "b", "4": "b"}[question[-1]] if question[:-1] in ("padded", "injected") else ""


def pair_judge(
    *, noise: float = 0.04, first: float = 0.0, padded: float = 0.0, injected: float = 0.0, reworded: float = 0.0
) -> Verdict:
    """A judge of pairs whose better side is `a` in even rows, by chances of each bias."""

    def verdict(chance: random.Random, row: int, question: str) -> str:
        side = "ab"[row % 2]
        if chance.random() < noise:
            side = chance.choice("ab")
        draws = {name: chance.random() for name in ("first", "padded", "injected", "reworded")}
        if question.startswith("worded") and draws["reworded"] < reworded:
            side = "ba"[row % 2]
        for name, rate in (("padded", padded), ("injected", injected)):
            if question.startswith(name) and draws[name] < rate:
                side = changed(question)
        return "A" if draws["first"] < first else pick(question, side)

    return verdict


def score_judge(  # noqa: PLR0913 - a chance for each bias
    truth: Sequence[int],
    *,
    noise: float = 0.08,
    padded: float = 0.0,
    injected: float = 0.0,
    reworded: float = 0.0,
    narrow: bool = False,
) -> Verdict:
    """A judge of five levels that says the truth, or by `noise` any row's, which leaves the spread as it is."""

    def verdict(chance: random.Random, row: int, question: str) -> str:
        level = chance.choice(truth) if chance.random() < noise else truth[row]
        draw = chance.random()
        if question == "padded1" and draw < padded:
            level = min(5, level + 1)
        if question == "injected1" and draw < injected:
            level = 5
        if question.startswith("worded") and draw < reworded:
            level = 6 - level
        return str(min(4, max(2, level)) if narrow else level)

    return verdict


def label_judge(*, noise: float = 0.04, first: float = 0.0, injected: float = 0.0) -> Verdict:
    """A judge of three labels, by chances of each bias."""
    labels = LABELS.labels

    def verdict(chance: random.Random, row: int, question: str) -> str:
        if chance.random() < noise:
            return chance.choice(labels)
        draw = chance.random()
        if draw < first:
            return labels[-1] if question == "turned" else labels[0]
        if question == "injected1" and draw < injected:
            return labels[-1]
        return labels[row % len(labels)]

    return verdict
