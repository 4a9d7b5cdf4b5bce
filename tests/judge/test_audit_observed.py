"""Observations beside gold: compression, length, and a judge's own author."""

from __future__ import annotations

import math
import random

import pytest

from llmframe.judge.audit_experiments import Probed
from llmframe.judge.audit_observed import compression, length, self_preference
from tests.judge.simulated_judges import PAIR, SCORE, Verdict, answers, pick

TRUTH = random.Random(1).choices(range(1, 6), k=80)
GOLD = [float(level) for level in TRUTH]


def test_compression_is_told_by_both_spreads_and_both_modes():
    found = compression(answers(SCORE, lambda _, row, __: "24"[row % 2], rows=4, gold=[1.0, 5.0, 1.0, 1.0]))
    # sd(2, 4, 2, 4) = 1; sd(1, 5, 1, 1) = sqrt(3)
    assert found.shift.effect.value == pytest.approx(1 / math.sqrt(3) - 1)
    assert found.facts == pytest.approx(
        {"sd_judge": 1.0, "sd_gold": math.sqrt(3), "modal_share": 0.5, "modal_share_gold": 0.75}
    )


def test_compression_looks_at_rows_with_both():
    found = compression(answers(SCORE, lambda _, row, __: None if row == 0 else "3", rows=3, gold=[1.0, None, 2.0]))
    assert found.shift.effect.n == 1
    assert math.isnan(found.shift.effect.value)


def test_length_of_scores_is_seen_where_the_gold_is_the_same():
    texts = {"text": ["x" * (10 + 40 * (row % 7)) for row in range(80)]}

    def wordy(_: random.Random, row: int, __: str) -> str:
        return str(min(5, TRUTH[row] + (row % 7 > 3)))

    assert length(answers(SCORE, wordy, rows=80, gold=GOLD, texts=texts)).shift.effect.low > 0
    found = length(answers(SCORE, lambda _, row, __: str(TRUTH[row]), rows=80, gold=GOLD, texts=texts))
    assert "without fail" in found.shift.effect.reason
    assert not found.decides


def test_length_of_pairs_is_seen_where_the_gold_is_the_same():
    chance = random.Random(2)
    sizes = [(chance.randint(1, 50), chance.randint(1, 50)) for _ in range(120)]
    gold = [float(chance.randint(0, 1)) for _ in sizes]
    texts = {"a": ["x" * a for a, _ in sizes], "b": ["x" * b for _, b in sizes]}

    def said(row: int) -> str:
        better = "a" if gold[row] else "b"
        longer = "a" if sizes[row][0] > sizes[row][1] else "b"
        return longer if row % 3 == 0 else ("ab"[row % 2] if row % 5 == 0 else better)

    found = length(answers(PAIR, lambda _, row, q: pick(q, said(row)), rows=120, gold=gold, texts=texts))
    assert found.shift.effect.low > 0


def authored(own_rate: float, seed: int) -> Probed:
    """A judge of pairs by two authors that picks a wrong text in a fifth of all pairs, its own with `own_rate` more."""
    chance = random.Random(seed)
    gold = [float(chance.randint(0, 1)) for _ in range(200)]
    authors = [tuple(chance.sample(["me", "you"], 2)) for _ in range(200)]

    def verdict(_: random.Random, row: int, question: str) -> str:
        right, wrong = ("a", "b") if gold[row] else ("b", "a")
        own = authors[row]["ab".index(wrong)] == "me"
        draw = random.Random(seed * 1000 + row).random()
        return pick(question, wrong if draw < 0.2 + own_rate * own else right)

    return self_preference(answers(PAIR, verdict, rows=200, gold=gold, authors=authors), own="me")


def test_self_preference_is_found_where_it_was_planted_and_not_elsewhere():
    assert sum(authored(0.35, seed).shift.p <= 0.05 for seed in range(10)) >= 8
    assert sum(authored(0.0, seed).shift.p <= 0.05 for seed in range(20)) <= 3


def test_self_preference_compares_wrong_picks_of_own_and_of_other_texts():
    authors = [("me", "you"), ("me", "you"), ("you", "me"), ("you", "him"), ("me", "me"), (None, "me")]
    gold = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]  # the second text is better throughout
    always_a: Verdict = lambda _, row, question: pick(question, "b" if row == 1 else "a")  # noqa: E731 - a judge
    found = self_preference(answers(PAIR, always_a, rows=6, gold=gold, authors=authors), own="me")
    # own texts wrong in rows 0 and 1, of which one was picked; others' in rows 2 and 3, both picked
    assert found.facts == {"own": 0.5, "others": 1.0, "own_rows": 2, "other_rows": 2}
    assert found.shift.effect.value == -0.5


def test_self_preference_of_scores_is_a_part_of_the_scale():
    authors = [("me",), ("you",)] * 40

    def mild(_: random.Random, row: int, __: str) -> str:
        return str(min(5, TRUTH[row] + (row % 2 == 0)))

    found = self_preference(answers(SCORE, mild, rows=80, gold=GOLD, authors=authors), own="me")
    raised = sum(TRUTH[row] < 5 for row in range(0, 80, 2))
    assert found.shift.effect.value == pytest.approx(raised / 40 / 4)
    assert found.shift.p < 0.05


def test_without_a_text_of_its_own_nothing_is_known():
    found = self_preference(answers(SCORE, lambda *_: "3", rows=4, gold=[3.0] * 4, authors=[("you",)] * 4), own="me")
    assert math.isnan(found.shift.effect.value)
    assert "0 items in the first group" in found.shift.effect.reason
