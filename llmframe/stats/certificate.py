"""What a tested threshold promises, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from llmframe.stats.risk_coverage import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One test: whether the answers of a confidence and above are wrong seldom enough.

    Attributes
    ----------
    step
        The gold rows that are kept.
    bound
        Upper end of the one-sided interval of their risk (Clopper–Pearson).
    passed
        Whether it is at most the target.
    """

    step: Step
    bound: float
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """About how much gold would certify a coverage.

    Attributes
    ----------
    coverage
        Share of answers kept.
    risk
        Share of them that is wrong, as far as gold tells today.
    rows
        Gold rows with which the test passes with probability 0.8 if that is the true share; `None` where it is at or
        above the target, so that no gold helps, or where it would take more than 100,000.
    """

    coverage: float
    risk: float
    rows: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What can be promised of answers at a threshold and above.

    Attributes
    ----------
    threshold
        Answers with this confidence or a greater one are kept; nan where nothing could be promised.
    coverage
        Share of the gold rows that is kept; 0 without a threshold.
    kept, errors
        Gold rows that are kept, and the wrong ones among them.
    bound
        Upper bound of the risk at the threshold; nan without one.
    target_error
        What the risk is at most.
    delta
        Probability, over the draw of the gold rows, that it is more than that all the same.
    n
        Gold rows.
    tests
        All tests in their order; only the last one can have failed.
    needed
        Gold rows that larger coverages would take.
    reason
        Why there is no threshold, otherwise empty.
    """

    threshold: float
    coverage: float
    kept: int
    errors: int
    bound: float
    target_error: float
    delta: float
    n: int
    tests: tuple[Trial, ...] = ()
    needed: tuple[Needed, ...] = ()
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether there is a threshold."""
        return not math.isnan(self.threshold)

    @property
    def sentence(self) -> str:
        """What is promised, in words."""
        sure, most = percent(1 - self.delta), percent(self.target_error)
        if not self.holds:
            return f"No threshold is certified for an error of at most {most} with {sure} confidence: {self.reason}."
        return (
            f"Of answers with a confidence of {self.threshold:.4g} or more, at most {most} are wrong, with {sure} "
            f"confidence: {self.errors:,} of the {self.kept:,} gold rows there are wrong, upper bound "
            f"{percent(self.bound)}."
        )

    @property
    def advice(self) -> str:
        """The gold rows that the next larger coverage would take, in words; empty where none would help."""
        reachable = next((each for each in self.needed if each.rows is not None), None)
        if reachable is not None:
            return (
                f"about {reachable.rows:,} gold rows would certify {percent(reachable.coverage)} of the rows, if "
                f"{percent(reachable.risk)} of those are wrong as now"
            )
        if self.needed:
            first = self.needed[0]
            return (
                f"more gold rows wouldn't certify {percent(first.coverage)} of the rows: {percent(first.risk)} of "
                f"those are wrong; take a better model or prompt, or a larger `target_error`"
            )
        return ""

    def to_dict(self) -> dict[str, object]:
        """Plain values for logs and JSON; what is unknown is `None`."""
        return {
            "threshold": self.threshold if self.holds else None,
            "coverage": self.coverage,
            "kept": self.kept,
            "errors": self.errors,
            "bound": self.bound if self.holds else None,
            "target_error": self.target_error,
            "delta": self.delta,
            "n": self.n,
            "tests": [
                {
                    "threshold": test.step.threshold,
                    "kept": test.step.kept,
                    "errors": test.step.errors,
                    "bound": test.bound,
                    "passed": test.passed,
                }
                for test in self.tests
            ],
            "needed": [{"coverage": each.coverage, "risk": each.risk, "rows": each.rows} for each in self.needed],
            "reason": self.reason,
            "sentence": self.sentence,
            "advice": self.advice,
        }


def percent(share: float) -> str:
    """`"5 %"`, `"4.6 %"`."""
    return f"{share:.1%}".replace(".0%", "%").replace("%", " %")
