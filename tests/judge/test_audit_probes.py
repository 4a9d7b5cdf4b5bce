"""Probes together: which are made, their verdicts, and what they find in judges whose biases are known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest

from llmframe.errors import UsageError
from llmframe.judge.audit_experiments import Probed
from llmframe.judge.audit_judges import Judge
from llmframe.judge.audit_probes import PROBES, chosen, findings_of, variants_of, verdict
from llmframe.judge.audit_rows import Answers, Beside
from llmframe.judge.rubric import Rubric
from llmframe.report.audit import Finding
from llmframe.stats.estimate import Estimate
from llmframe.stats.shifts import Shift
from tests.judge.simulated_judges import LABELS, PAIR, SCORE, answers, label_judge, pair_judge, score_judge

TRUTH = random.Random(0).choices(range(1, 6), k=60)
GOLD = [float(level) for level in TRUTH]
PAIRWISE = ("position", "verbosity", "template", "stability", "injection")
SCORED = ("verbosity", "template", "stability", "compression", "injection")
LABELLED = ("order", "template", "stability", "injection")


def found(said: Answers, probes: Sequence[str]) -> dict[str, Finding]:
    return {each.probe: each for each in findings_of(said, probes, Beside(), least=0.1)}


def rates(make: Callable[[int], Answers], probes: Sequence[str], *, repetitions: int) -> dict[str, float]:
    """How often each probe calls the judge biased, and how often any does."""
    counts = dict.fromkeys((*probes, "any"), 0)
    for seed in range(repetitions):
        biased = [name for name, each in found(make(seed), probes).items() if each.verdict == "biased"]
        for name in [*biased, *(["any"] if biased else [])]:
            counts[name] += 1
    return {name: count / repetitions for name, count in counts.items()}


JUDGES: dict[str, tuple[Sequence[str], Callable[..., Callable[[int], Answers]]]] = {
    "pairwise": (PAIRWISE, lambda **how: lambda seed: answers(PAIR, pair_judge(**how), seed=seed)),
    "score": (SCORED, lambda **how: lambda seed: answers(SCORE, score_judge(TRUTH, **how), seed=seed, gold=GOLD)),
    "classify": (LABELLED, lambda **how: lambda seed: answers(LABELS, label_judge(**how), seed=seed)),
}
"""By kind: its probes, and a judge with biases to the answers that it gives by a seed."""


@pytest.mark.parametrize("kind", JUDGES)
def test_an_honest_judge_with_noise_is_called_biased_in_a_twentieth_of_all_audits_at_most(kind: str):
    probes, judge = JUDGES[kind]
    repetitions = 60
    noise = 2 * math.sqrt(0.05 * 0.95 / repetitions)
    assert rates(judge(), probes, repetitions=repetitions)["any"] <= 0.05 + noise


@pytest.mark.parametrize(
    ("kind", "probe", "planted"),
    [
        ("pairwise", "position", {"first": 0.3}),
        ("pairwise", "verbosity", {"padded": 0.35}),
        ("pairwise", "injection", {"injected": 0.35}),
        ("pairwise", "template", {"reworded": 0.25}),
        ("pairwise", "stability", {"noise": 0.6}),
        ("score", "verbosity", {"padded": 0.4}),
        ("score", "injection", {"injected": 0.5}),
        ("score", "template", {"reworded": 0.3}),
        ("score", "compression", {"narrow": True}),
        ("classify", "order", {"first": 0.35}),
        ("classify", "injection", {"injected": 0.4}),
    ],
)
def test_a_planted_bias_is_found_and_no_other_in_four_fifths_of_all_audits(
    kind: str, probe: str, planted: dict[str, float]
):
    probes, judge = JUDGES[kind]
    shares = rates(judge(**planted), probes, repetitions=20)
    assert shares[probe] >= 0.8
    # a judge that is nearly all chance, or always says the first, says it in other probes too
    others = [shares[name] for name in probes if name not in (probe, "stability")]
    assert max(others) <= 0.2


@pytest.mark.parametrize("kind", JUDGES)
def test_a_judge_without_noise_is_clear_of_everything(kind: str):
    probes, judge = JUDGES[kind]
    assert {each.verdict for each in found(judge(noise=0.0)(0), probes).values()} == {"clear at this power"}


def test_ten_rows_clear_nobody():
    said = answers(PAIR, pair_judge(noise=0.0), rows=10)
    assert {each.verdict for each in found(said, PAIRWISE).values()} == {"underpowered"}


def test_without_a_row_nothing_is_known():
    said = answers(PAIR, pair_judge(), rows=0)
    findings = found(said, PAIRWISE)
    assert {each.verdict for each in findings.values()} == {"unknown"}
    assert all(math.isnan(each.effect.value) and each.effect.reason for each in findings.values())


def shift(*, p: float, se: float, clusters: int = 100) -> Probed:
    return Probed(measure="m", shift=Shift(effect=Estimate(value=0.1), p=p, se=se, clusters=clusters))


@pytest.mark.parametrize(
    ("probed", "q", "expected"),
    [
        (shift(p=0.01, se=0.2), 0.05, "biased"),
        # (1.96 + 0.8416) * 0.0356 = 0.0997, and of 0.0358 it is 0.1003
        (shift(p=0.3, se=0.0356), 0.3, "clear at this power"),
        (shift(p=0.3, se=0.0358), 0.3, "underpowered"),
        (shift(p=0.3, se=0.01, clusters=14), 0.3, "underpowered"),
        (shift(p=0.3, se=math.nan), 0.3, "underpowered"),
        (shift(p=math.nan, se=math.nan), math.nan, "unknown"),
    ],
)
def test_a_verdict_is_by_q_and_then_by_what_would_have_been_found(probed: Probed, q: float, expected: str):
    assert verdict(probed, q, least=0.1, tests=1) == expected


def test_among_other_tests_it_takes_more_to_be_clear():
    # of 5 tests (2.5758 + 0.8416) * SE: 0.0998 of 0.0292, 0.1001 of 0.0293
    assert verdict(shift(p=0.3, se=0.0292), 0.6, least=0.1, tests=5) == "clear at this power"
    assert verdict(shift(p=0.3, se=0.0293), 0.6, least=0.1, tests=5) == "underpowered"


@pytest.mark.parametrize(
    ("probe", "planted"), [("template", {"reworded": 0.1}), ("position", {"first": 0.17, "noise": 0.15})]
)
def test_an_effect_of_the_told_detectable_size_is_found_in_four_fifths_of_all_audits(
    probe: str, planted: dict[str, float]
):
    said = (
        answers(PAIR, pair_judge(**planted), seed=seed, variants=("swapped", "again", "worded")) for seed in range(80)
    )
    each = [found(one, [probe])[probe] for one in said]
    effect, detectable = (sum(values) / 80 for values in ([f.effect.value for f in each], [f.detectable for f in each]))
    assert effect == pytest.approx(detectable, rel=0.15)
    assert sum(f.p <= 0.05 for f in each) / 80 == pytest.approx(0.8, abs=0.1)


def test_an_observation_decides_nothing_and_counts_for_no_test():
    gold = [1.0, 0.0] * 30
    said = answers(
        PAIR,
        pair_judge(noise=0.3),
        gold=gold,
        texts={"a": ["x" * (1 + i % 7) for i in range(60)], "b": ["y" * (1 + i % 5) for i in range(60)]},
    )
    findings = found(said, ("position", "length"))
    assert findings["length"].verdict == "observational"
    assert math.isnan(findings["length"].q)
    assert findings["position"].q == findings["position"].p


def test_all_probes_are_made_that_what_was_said_suffices_for():
    assert chosen(None, PAIR, Beside()) == PAIRWISE
    assert chosen(None, PAIR, Beside(gold="g")) == ("position", "verbosity", "length", *PAIRWISE[2:])
    assert chosen(None, PAIR, Beside(gold="g", authors=("x", "y"), own="z"))[3] == "self_preference"
    assert chosen(None, SCORE, Beside(gold="g")) == ("verbosity", "length", *SCORED[1:])
    assert chosen(None, LABELS, Beside()) == LABELLED
    nominal = Judge(kind="score", columns=("text",), rubric=Rubric("Tone?", ["dry", "warm"], scale="nominal"))
    assert chosen(None, nominal, Beside()) == ("template", "stability", "injection")


def test_named_probes_come_in_the_order_of_the_table():
    assert chosen(["stability", "position"], PAIR, Beside()) == ("position", "stability")
    assert chosen("position", PAIR, Beside()) == ("position",)
    assert set(PROBES) >= {*PAIRWISE, *SCORED, *LABELLED}


@pytest.mark.parametrize(
    ("said", "judge", "message"),
    [
        (["positon"], PAIR, "'positon', which isn't known; did you mean 'position'?"),
        (["position"], SCORE, "'position' is for pairwise, and this is score; leave it out"),
        (["compression"], SCORE, "'compression' needs what is right: `gold=`"),
        ([], SCORE, "`probes` names none; probes:"),
    ],
)
def test_a_probe_that_cannot_be_made_says_what_it_lacks(said: list[str], judge: Judge, message: str):
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        chosen(said, judge, Beside())


def test_self_preference_needs_the_authors():
    with pytest.raises(UsageError, match="needs `authors=`"):
        chosen(["self_preference"], PAIR, Beside(gold="g"))


def test_a_variant_that_two_probes_need_is_asked_once():
    assert variants_of(("template", "stability", "injection")) == ("again", "worded", "injected")
