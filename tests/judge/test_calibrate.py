"""Calibrating a run: what was put into simulated rows comes out, out of fold, and is refused where it can't."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace

import pandas as pd
import pytest

from llmframe.errors import UsageError
from llmframe.judge.calibrate import calibrate
from llmframe.report import RunReport
from llmframe.stats.curves import tempered

LABELS = ("neg", "pos")


def simulated(n: int = 400, *, temperature: float = 2.0, seed: int = 5, distribution: bool = True) -> pd.DataFrame:
    """Answers whose stated probabilities are too sure by `temperature`."""
    source = random.Random(seed)
    rows = []
    for number in range(n):
        truth = source.uniform(0.05, 0.95)
        shares = tempered((1 - truth, truth), 1 / temperature)
        chosen = max((0, 1), key=shares.__getitem__)
        rows.append(
            {
                "text": f"text {number}",
                "gold": LABELS[source.random() < truth],
                "label": LABELS[chosen],
                "confidence": shares[chosen],
                **({"distribution": dict(zip(LABELS, shares, strict=True))} if distribution else {}),
                "error": None,
            }
        )
    return pd.DataFrame(rows)


FRAME = simulated()


@pytest.mark.parametrize("distribution", [True, False])
def test_a_known_temperature_is_found_again_and_better_out_of_fold(distribution):
    made = calibrate(simulated(2000, distribution=distribution), "gold")
    # 2,000 rows: the standard error of T is some 5 %
    assert made.parameters[0] == pytest.approx(2.0, rel=0.15)
    assert made.labels == (LABELS if distribution else ())
    assert made.after.log_loss < made.before.log_loss
    assert made.after.brier < made.before.brier
    assert made.after.ece < made.before.ece
    assert (made.n, made.folds, made.field) == (2000, 5, "confidence")


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
def test_every_method_gives_probabilities_and_comes_back_from_json(method):
    made = calibrate(FRAME, "gold", method=method)
    applied = [
        made.apply(c, tuple(d.values()), LABELS.index(v))
        for c, d, v in FRAME[["confidence", "distribution", "label"]].itertuples(index=False)
    ]
    assert all(0.0 <= each <= 1.0 for each in applied)
    assert type(made).from_json(made.to_json()) == made
    assert "text 1" not in made.to_json()


def test_the_figures_are_those_of_the_accuracy_and_the_seed_repeats_them():
    made = calibrate(FRAME, "gold")
    assert made.accuracy == (FRAME["label"] == FRAME["gold"]).mean()
    assert made == calibrate(FRAME, "gold")
    assert made.after != calibrate(FRAME, "gold", seed=1).after
    assert made.parameters == calibrate(FRAME, "gold", seed=1).parameters


def test_rows_of_one_prompt_are_never_both_taught_and_tested():
    # each prompt comes twice with one outcome, which nothing foretells: only a leak makes a curve know it
    source = random.Random(3)
    confidences = [round(source.random(), 6) for _ in range(300)]
    outcomes = [source.random() < 0.5 for _ in range(300)]
    frame = pd.DataFrame(
        {
            "text": [f"text {number}" for number in range(300)] * 2,
            "label": ["a"] * 600,
            "confidence": confidences * 2,
            "error": None,
        }
    )
    gold = ["a" if hit else "b" for hit in outcomes] * 2
    apart = calibrate(frame.assign(text=[f"text {number}" for number in range(600)]), gold, method="isotonic")
    assert calibrate(frame, gold, method="isotonic").after.brier > apart.after.brier


def test_a_prior_weighs_by_the_gold_rows_shares():
    prior = {"neg": 0.8, "pos": 0.2}
    made = calibrate(FRAME, "gold", prior=prior)
    shares = FRAME["gold"].value_counts(normalize=True)
    assert made.weights == pytest.approx((0.8 / shares["neg"], 0.2 / shares["pos"]))
    assert made.after == calibrate(FRAME, "gold").after
    assert calibrate(FRAME, "gold", prior=prior, method="platt").labels == LABELS


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"neg": 1.0}, r"lacks \['pos'\]"),
        ({"neg": 0.5, "pos": 0.5, "other": 0.0}, r"has \['other'\]"),
        ({"neg": 0.5, "pos": 0.6}, "sum 1.1"),
        ({"neg": -0.5, "pos": 1.5}, r"in \[0, 1\]"),
    ],
)
def test_a_prior_that_is_none_is_refused(prior, message):
    with pytest.raises(UsageError, match=message):
        calibrate(FRAME, "gold", prior=prior)


def test_a_prior_needs_a_distribution_and_gold_of_each_label():
    with pytest.raises(UsageError, match="distribution=True"):
        calibrate(simulated(distribution=False), "gold", prior={"neg": 0.5, "pos": 0.5})
    three = FRAME.assign(distribution=[{**shares, "other": 0.0} for shares in FRAME["distribution"]])
    with pytest.raises(UsageError, match="no gold row is 'other'"):
        calibrate(three, "gold", prior={"neg": 0.5, "pos": 0.4, "other": 0.1})


def test_the_question_is_the_runs_or_the_frames():
    told = FRAME.copy()
    told.attrs["llm"] = json.dumps({"question": "ab12"})
    assert calibrate(told, "gold").question == "ab12"
    assert calibrate(FRAME, "gold").question is None
    assert calibrate(told, "gold", run=RunReport(model="m", question="cd34")).question == "cd34"


def test_few_rows_are_refused_and_few_errors_noted():
    with pytest.raises(UsageError, match="at least 30"):
        calibrate(FRAME.iloc[:20], "gold")
    gold = [*FRAME["label"][:35], "neg" if FRAME["label"][35] == "pos" else "pos", *[None] * 364]
    made = calibrate(FRAME, gold, field="label")
    assert "only 1 rows are wrong" in made.notes[0]


def test_backward_confidences_make_one_for_all_and_say_so():
    frame = FRAME.assign(confidence=1 - FRAME["confidence"]).drop(columns="distribution")
    made = calibrate(frame, "gold", method="platt")
    assert made.parameters[0] == 0.0
    assert "don't rise" in made.notes[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "temprature"}, "did you mean 'temperature'"),
        ({"folds": 1}, "`folds`"),
        ({"field": "lable"}, "did you mean 'label'"),
    ],
)
def test_other_arguments_are_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        calibrate(FRAME, "gold", **arguments)


def test_a_series_is_refused():
    with pytest.raises(UsageError, match="not a Series"):
        calibrate(FRAME["label"], FRAME["gold"])


def test_a_calibration_of_no_question_says_how_it_gets_one():
    assert "run=llmframe.last_run()" in calibrate(FRAME, "gold").notes[-1]
    bound = calibrate(FRAME, "gold", run=SimpleNamespace(question="3de3"))
    assert bound.question == "3de3"
    assert not any("bound to no prompt" in note for note in bound.notes)
