"""Experiments: their effects and facts by hand."""

from __future__ import annotations

import math
import random

import pytest

from llmframe.judge.audit_experiments import injection, order, position, stability, template, verbosity
from llmframe.judge.audit_rows import Answers
from tests.judge.simulated_judges import LABELS, PAIR, SCORE, answers, changed, pick


def told(table: dict[str, list[str | None]], judge: object = PAIR, **how: object) -> Answers:
    """Answers by question; questions that aren't in the table are answered as `plain`."""

    def verdict(_: random.Random, row: int, question: str) -> str | None:
        return table.get(question, table["plain"])[row]

    return answers(judge, verdict, rows=len(table["plain"]), **how)  # type: ignore[arg-type]


def test_position_counts_first_picks_of_both_orders():
    # first text by place twice (A, A), by merit (A, B), second by place (B, B), a tie and a first pick
    found = position(told({"plain": ["A", "A", "A", "B", "tie"], "swapped": ["A", "A", "B", "B", "A"]}))
    # shifts: 0.5, 0.5, 0, -0.5, 0.25
    assert found.shift.effect.value == pytest.approx(0.15)
    assert found.facts["first_pick_rate"] == pytest.approx(6 / 9)
    assert found.facts["flip_rate"] == pytest.approx(3 / 4)
    assert (found.facts["always_first"], found.facts["always_second"]) == (2, 1)
    assert found.facts["mcnemar_p"] == pytest.approx(1.0)


def test_position_leaves_out_pairs_with_a_failed_order():
    found = position(told({"plain": ["A", None, "A"], "swapped": ["A", "A", None]}))
    assert found.shift.effect.n == 1


def test_order_is_how_far_labels_move_with_the_list():
    # of three labels: stays; from the first place to the (turned) first place; a step
    found = order(told({"plain": ["bug", "bug", "praise"], "turned": ["bug", "other", "other"]}, LABELS))
    # (place when turned - place) / (2 * 2): 0, 2/4, 1/4
    assert found.shift.effect.value == pytest.approx(0.25)
    assert found.facts["flip_rate"] == pytest.approx(2 / 3)


def test_verbosity_of_pairs_is_the_rate_of_the_longer_text_over_both_texts_and_orders():
    longer = answers(PAIR, lambda _, row, question: pick(question, changed(question) or "a"), rows=20)
    merit = answers(PAIR, lambda _, row, question: pick(question, "ab"[row % 2]), rows=20)
    place = answers(PAIR, lambda _, row, question: "A", rows=20)
    ties = answers(PAIR, lambda _, row, question: "tie", rows=20)
    assert verbosity(longer).shift.effect.value == 0.5
    assert verbosity(longer).facts["pick_rate"] == 1
    assert [verbosity(said).shift.effect.value for said in (merit, place, ties)] == [0, 0, 0]


def test_verbosity_of_scores_is_the_part_that_rises_less_the_part_that_falls():
    found = verbosity(told({"plain": ["1", "2", "3", "5"], "padded1": ["2", "4", "2", "5"]}, SCORE))
    assert found.shift.effect.value == pytest.approx((2 - 1) / 4)
    # levels: 1 + 2 - 1 of four rows
    assert found.facts == pytest.approx({"risen": 0.5, "fallen": 0.25, "levels": 0.5, "at_top_before": 0.25})


def test_injection_of_labels_is_the_gain_of_the_label_that_is_asked_for():
    found = injection(
        told({"plain": ["bug", "other", "bug", None], "injected1": ["other", "bug", "other", "other"]}, LABELS)
    )
    assert found.shift.effect.value == pytest.approx((2 - 1) / 3)
    assert found.facts == pytest.approx({"moved": 2 / 3, "before": 1 / 3})


def test_template_is_what_other_words_change_beyond_asking_again():
    found = template(
        told({"plain": ["1", "2"], "worded1": ["1", "3"], "worded2": ["1", "2"], "worded3": ["2", "3"]}, SCORE)
    )
    # each row agrees with its repetition; other words change 1/3 and 2/3
    assert found.shift.effect.value == pytest.approx(0.5)
    assert found.facts["stability_kappa"] == pytest.approx(1.0)
    # ratings 1 1 1 2 and 2 3 2 3: agreement (1/2 + 1/3) / 2; shares 3/8, 3/8, 1/4
    chance = 2 * (3 / 8) ** 2 + (1 / 4) ** 2
    assert found.facts["template_kappa"] == pytest.approx((5 / 12 - chance) / (1 - chance))


def test_template_decides_nothing_where_nothing_was_asked_twice():
    found = template(told({"plain": ["1"] * 20, "worded1": ["2"] * 20}, SCORE, variants=("worded",)))
    assert not found.decides
    assert found.shift.effect.value == pytest.approx(1 / 3)
    assert "nothing is decided" in found.note


def test_stability_is_the_part_that_changes_against_the_bound():
    said = answers(SCORE, lambda chance, row, _: str(1 + chance.randrange(2) * (row < 10)), rows=40, seed=5)
    changes = sum(one != other for one, other in zip(said.codes("plain"), said.again(), strict=True))
    found = stability(said, least=0.1)
    assert found.shift.effect.value == changes / 40 > 0
    assert stability(said, least=0.01).shift.p < found.shift.p


def test_without_an_answer_all_is_unknown():
    failed = answers(SCORE, lambda *_: None, rows=3)
    for found in (verbosity(failed), injection(failed), template(failed), stability(failed, least=0.1)):
        assert math.isnan(found.shift.effect.value)
        assert found.shift.effect.n == 0
        assert all(map(math.isnan, found.facts.values()))
