"""Draw samples whose truth is known, and count how often the intervals and promises of `llmframe.stats` hold.

    python benchmarks/decisions.py                           # 2,000 runs each, some ten minutes of one core
    python benchmarks/decisions.py --runs 200 --only select  # fewer, or one part

Three tables in Markdown. `agreement`: how often a 95 % interval holds the population's value. `estimate`: the same for
a corrected mean, beside the judge's own answers and gold alone. `select`: how often the rows above a threshold have
more errors than was promised, and how many rows are kept. All draws follow from `--seed`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llmframe.stats.agreement import nominal_agreement
from llmframe.stats.estimate import Estimate
from llmframe.stats.numeric import numeric_agreement
from llmframe.stats.ordinal import ordinal_agreement
from llmframe.stats.ppi import ppi_difference, ppi_mean
from llmframe.stats.risk_coverage import risk_coverage
from llmframe.stats.rogan_gladen import rogan_gladen
from llmframe.stats.selective import certified_threshold
from llmframe.stats.weighted_gold import weighted_mean

Random = np.random.Generator
Joint = NDArray[np.float64]
"""Probabilities of (gold, answer), summing to 1."""

TWO = np.array([[0.40, 0.10], [0.10, 0.40]])
RARE = np.array([[0.92, 0.03], [0.01, 0.04]])
FIVE = np.array([[6, 3, 1, 0, 0], [3, 9, 5, 1, 0], [1, 5, 12, 6, 1], [0, 1, 6, 14, 6], [0, 0, 1, 6, 13]]) / 100
SHARE, SENSITIVITY, SPECIFICITY = 0.6, 0.9, 0.7
REST = 2000
TARGETS, DELTA = (0.10, 0.15), 0.1


@dataclass
class Tally:
    """How often an interval held the truth, and how wide it was."""

    truth: float
    held: int = 0
    unknown: int = 0
    widths: list[float] = field(default_factory=list)

    def take(self, found: Estimate) -> None:
        if math.isnan(found.low) or math.isnan(found.high):
            self.unknown += 1
            return
        self.held += found.low <= self.truth <= found.high
        self.widths.append(found.high - found.low)

    def line(self, *names: object) -> str:
        coverage = self.held / len(self.widths) if self.widths else math.nan
        width = sum(self.widths) / len(self.widths) if self.widths else math.nan
        return row(*names, f"{self.truth:.3f}", f"{coverage:.3f}", f"{width:.3f}", self.unknown)


def row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def head(*names: str) -> str:
    return row(*names) + "\n|" + "---|" * len(names)


def true_kappa(joint: Joint, weights: NDArray[np.float64] | None = None) -> float:
    """Cohen's kappa of a population; by squared distances with their weights."""
    apart = 1 - np.eye(len(joint)) if weights is None else weights
    by_chance = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return float(1 - (apart * joint).sum() / (apart * by_chance).sum())


def true_ac1(joint: Joint) -> float:
    """Gwet's AC1 of a population."""
    parts = (joint.sum(axis=1) + joint.sum(axis=0)) / 2
    chance = float((parts * (1 - parts)).sum()) / (len(joint) - 1)
    return (float(np.trace(joint)) - chance) / (1 - chance)


def squared(levels: int) -> NDArray[np.float64]:
    places = np.arange(levels)
    return ((places[:, None] - places) / (levels - 1)) ** 2


def pairs(random: Random, joint: Joint, n: int) -> tuple[list[int], list[int]]:
    drawn = random.choice(joint.size, size=n, p=joint.ravel())
    return (drawn // len(joint)).tolist(), (drawn % len(joint)).tolist()


def agreement(runs: int, random: Random) -> Iterator[str]:
    yield head("judge", "n", "statistic", "truth", "coverage", "width", "no interval")
    for name, joint, n in (("even classes", TWO, 100), ("one in twenty", RARE, 100), ("one in twenty", RARE, 500)):
        told = {
            "accuracy": Tally(float(np.trace(joint))),
            "kappa": Tally(true_kappa(joint)),
            "ac1": Tally(true_ac1(joint)),
        }
        for _ in range(runs):
            found = nominal_agreement(*pairs(random, joint, n), labels=[0, 1])
            for what, tally in told.items():
                tally.take(getattr(found, what))
        yield from (tally.line(name, n, what) for what, tally in told.items())
    yield from _in_clusters(runs, random)
    tally = Tally(true_kappa(FIVE, squared(5)))
    for _ in range(runs):
        tally.take(ordinal_agreement(*pairs(random, FIVE, 100), labels=list(range(5))).kappa_quadratic)
    yield tally.line("five levels", 100, "kappa_quadratic")
    yield from _numbers(runs, random)


def _in_clusters(runs: int, random: Random) -> Iterator[str]:
    """Answers to five questions about one text are right or wrong together."""
    apart, together = Tally(0.8), Tally(0.8)
    for _ in range(runs):
        share = np.repeat(random.beta(1.6, 0.4, size=40), 5)  # mean 0.8, correlation 1/3 within a text
        gold = [0] * 200
        pred = (random.random(200) >= share).astype(int).tolist()
        told: dict[str, Any] = {"labels": [0, 1], "draws": 1000}
        apart.take(nominal_agreement(gold, pred, **told).accuracy)
        together.take(nominal_agreement(gold, pred, clusters=np.repeat(range(40), 5).tolist(), **told).accuracy)
    yield apart.line("5 rows a text, taken for 200", 200, "accuracy")
    yield together.line("5 rows a text, clusters said", 200, "accuracy")


def _numbers(runs: int, random: Random) -> Iterator[str]:
    """A judge that is harsh by 0.3 and compressed: y = 0.5 x - 0.3 + noise, x standard normal."""
    slope, harsh, noise = 0.5, -0.3, 0.5
    spread = slope**2 + noise**2
    told = {
        "pearson": Tally(slope / math.sqrt(spread)),
        "ccc": Tally(2 * slope / (1 + spread + harsh**2)),
        "bias": Tally(harsh),
    }
    for _ in range(runs):
        gold = random.standard_normal(100)
        pred = slope * gold + harsh + noise * random.standard_normal(100)
        found = numeric_agreement(gold.tolist(), pred.tolist(), draws=1000)
        for what, tally in told.items():
            tally.take(getattr(found, what))
    yield from (tally.line("numbers, harsh judge", 100, what) for what, tally in told.items())


def judged(random: Random, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Truth and judge: a share of `SHARE`, found with `SENSITIVITY`, and with `SPECIFICITY` where it isn't."""
    truth = random.random(n) < SHARE
    said = np.where(truth, random.random(n) < SENSITIVITY, random.random(n) >= SPECIFICITY)
    return truth.astype(float), said.astype(float)


def estimate(runs: int, random: Random) -> Iterator[str]:
    yield head("gold rows", "method", "truth", "coverage", "width", "no interval")
    for n in (50, 100, 300):
        told = {name: Tally(SHARE) for name in ("judge alone", "gold alone", "PPI++", "Rogan-Gladen")}
        for _ in range(runs):
            gold, said = judged(random, n)
            _, rest = judged(random, REST)
            found = ppi_mean(gold, said, rest, bounds=(0, 1))
            told["judge alone"].take(found.naive)
            told["gold alone"].take(found.gold)
            told["PPI++"].take(found.estimate)
            told["Rogan-Gladen"].take(rogan_gladen(gold > 0, said > 0, rest > 0).estimate)
        yield from (tally.line(n, name) for name, tally in told.items())
    others = (
        ("scores", 150, 3.0, _scores),
        ("picked by doubt", "about 200", 0.5, _picked),
        ("two systems", 150, 0.2, _two),
    )
    for name, n, truth, draw in others:
        told = {"gold alone": Tally(truth), "corrected": Tally(truth)}
        for _ in range(runs):
            for tally, found in zip(told.values(), draw(random), strict=True):
                tally.take(found)
        yield from (tally.line(n, f"{name}, {which}") for which, tally in told.items())


def _scores(random: Random) -> tuple[Estimate, Estimate]:
    """Scores whose judge is harsh by one and correlates at 0.8."""
    gold, rest = random.standard_normal(150), random.standard_normal(REST)
    noise = 0.75
    found = ppi_mean(
        gold + 3,
        gold + 2 + noise * random.standard_normal(150),
        rest + 2 + noise * random.standard_normal(REST),
    )
    return found.gold, found.estimate


def _picked(random: Random) -> tuple[Estimate, Estimate]:
    """Some 200 rows picked by the judge's doubt; its probability claims more than it should."""
    claimed = random.beta(0.5, 0.5, size=REST)
    truth = (random.random(REST) < 0.1 + 0.8 * claimed).astype(float)
    doubt = np.maximum(claimed * (1 - claimed), 0.05)
    probability = np.minimum(1.0, 200 * doubt / doubt.sum())
    gold = np.where(random.random(REST) < probability, truth, math.nan)
    found = weighted_mean(claimed, gold, probability, bounds=(0, 1))
    return found.gold, found.estimate


def _two(random: Random) -> tuple[Estimate, Estimate]:
    """Two systems on the same items, of which the second is better by 0.2."""

    def draw(n: int) -> tuple[Any, Any]:
        hard = random.standard_normal(n)
        gold = (hard + 0.5 * random.standard_normal(n), hard + 0.2 + 0.5 * random.standard_normal(n))
        said = tuple(each + 0.5 * random.standard_normal(n) for each in gold)
        return gold, said

    gold, said = draw(150)
    _, rest = draw(REST)
    found = ppi_difference(gold, said, rest)
    return found.gold, found.estimate


def risk_above(threshold: float, *, bold: bool) -> float:
    """True share of errors at a threshold: confidences are uniform on [0.5, 1], and right by c, or by c² where bold."""
    if bold:
        return 1 - (1 + threshold + threshold**2) / 3
    return (1 - threshold) / 2


def coverage_at(risk: float, *, bold: bool) -> float:
    """The share of rows above the threshold with this true risk."""
    threshold = (-1 + math.sqrt(1 - 4 * (1 - 3 * (1 - risk)))) / 2 if bold else 1 - 2 * risk
    return 2 * (1 - threshold)


def naive_threshold(confidences: Sequence[float], right: Sequence[bool], target: float) -> float:
    """The least confidence whose gold rows meet the target as they are; nan if none does."""
    kept = [step.threshold for step in risk_coverage(confidences, right).steps if step.risk <= target]
    return kept[-1] if kept else math.nan


def select(runs: int, random: Random) -> Iterator[str]:
    yield head("judge", "gold rows", "target", "threshold", "promise broken", "none", "kept", "could be kept")
    for bold in (False, True):
        for n in (200, 1000):
            for target in TARGETS:
                told: dict[str, list[float]] = {"naive": [], "certified": []}
                for _ in range(runs):
                    confidences = random.uniform(0.5, 1.0, size=n)
                    right = (random.random(n) < (confidences**2 if bold else confidences)).tolist()
                    sure = confidences.tolist()
                    told["naive"].append(naive_threshold(sure, right, target))
                    certificate = certified_threshold(sure, right, target_error=target, delta=DELTA)
                    told["certified"].append(certificate.threshold)
                for name, thresholds in told.items():
                    found = [each for each in thresholds if not math.isnan(each)]
                    broken = sum(risk_above(each, bold=bold) > target for each in found) / runs
                    kept = sum(2 * (1 - each) for each in found) / runs
                    best = coverage_at(target, bold=bold)
                    judge = "bold" if bold else "calibrated"
                    shares = (f"{broken:.3f}", f"{1 - len(found) / runs:.3f}", f"{kept:.2f}", f"{best:.2f}")
                    yield row(judge, n, target, name, *shares)


PARTS: dict[str, Callable[[int, Random], Iterator[str]]] = {
    "agreement": agreement,
    "estimate": estimate,
    "select": select,
}


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="samples drawn for each line; 2000")
    parser.add_argument("--only", choices=list(PARTS), help="one table; all three")
    parser.add_argument("--seed", type=int, default=0, help="decides the draws; 0")
    said = parser.parse_args()
    for name, part in PARTS.items():
        if said.only in (None, name):
            print(f"\n{name}, {said.runs:,} runs, seed {said.seed}\n")
            for line in part(said.runs, np.random.default_rng(said.seed)):
                print(line, flush=True)


if __name__ == "__main__":
    main()
