"""The simulations behind the figures of the guide: true values by arithmetic, and short runs."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def simulation(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import decisions

    yield decisions
    sys.modules.pop("decisions", None)


def cells(lines) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines if not line.startswith("|---")][1:]


def test_the_populations_have_the_agreement_that_arithmetic_gives(simulation: ModuleType):
    assert [joint.sum() for joint in (simulation.TWO, simulation.RARE, simulation.FIVE)] == pytest.approx([1, 1, 1])
    # Even: 0.8 agree, 0.5 by chance: (0.8 - 0.5) / 0.5. AC1 has the same chance at even classes.
    assert simulation.true_kappa(simulation.TWO) == pytest.approx(0.6)
    assert simulation.true_ac1(simulation.TWO) == pytest.approx(0.6)
    # Rare: gold 0.05, answers 0.07; by chance 0.95 * 0.93 + 0.05 * 0.07 = 0.887; (0.96 - 0.887) / 0.113.
    assert simulation.true_kappa(simulation.RARE) == pytest.approx(0.073 / 0.113)
    # AC1: mean part 0.06, chance 2 * 0.06 * 0.94 = 0.1128; (0.96 - 0.1128) / 0.8872.
    assert simulation.true_ac1(simulation.RARE) == pytest.approx(0.8472 / 0.8872)
    # Squared distances of two levels are all disagreements alike.
    assert simulation.true_kappa(simulation.TWO, simulation.squared(2)) == pytest.approx(0.6)


@pytest.mark.parametrize("bold", [False, True], ids=["calibrated", "bold"])
def test_the_true_risk_above_a_threshold_is_the_one_that_many_rows_have(simulation: ModuleType, bold):
    sure = np.random.default_rng(0).uniform(0.5, 1, 400_000)
    chance = sure**2 if bold else sure
    for threshold in (0.5, 0.8):
        assert (1 - chance[sure >= threshold]).mean() == pytest.approx(
            simulation.risk_above(threshold, bold=bold), abs=2e-3
        )
    for risk in (0.10, 0.15):
        share = simulation.coverage_at(risk, bold=bold)
        assert simulation.risk_above(1 - share / 2, bold=bold) == pytest.approx(risk)


def test_the_naive_threshold_is_the_least_that_meets_the_target_on_the_rows_at_hand(simulation: ModuleType):
    # Kept from the surest on: risks 0, 1/2, 1/3, 1/4, 2/5.
    sure, right = [0.9, 0.8, 0.7, 0.6, 0.5], [True, False, True, True, False]
    assert simulation.naive_threshold(sure, right, 0.25) == 0.6
    assert np.isnan(simulation.naive_threshold(sure, [False] * 5, 0.25))


def test_a_judge_alone_misses_the_share_that_its_correction_holds(simulation: ModuleType):
    rows = cells(simulation.estimate(40, np.random.default_rng(0)))
    found = {(n, name): (float(coverage), float(width)) for n, name, _, coverage, width, _ in rows}
    for n in ("50", "100", "300"):
        assert found[n, "judge alone"][0] == 0
        assert found[n, "PPI++"][0] >= 0.8
        assert found[n, "PPI++"][1] < found[n, "gold alone"][1]


def test_the_naive_threshold_breaks_its_promise_often_and_the_certified_one_seldom(simulation: ModuleType):
    rows = cells(simulation.select(12, np.random.default_rng(0)))
    broken = {name: sum(float(row[4]) for row in rows if row[3] == name) / 8 for name in ("naive", "certified")}
    assert len(rows) == 16
    assert broken["naive"] >= 0.4
    assert broken["certified"] <= 0.1


def test_every_interval_of_agreement_is_told_with_its_truth(simulation: ModuleType):
    rows = cells(simulation.agreement(3, np.random.default_rng(0)))
    assert [row[2] for row in rows[:3]] == ["accuracy", "kappa", "ac1"]
    assert len(rows) == 15
    assert all(0 <= float(row[4]) <= 1 for row in rows)
