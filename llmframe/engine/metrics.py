"""Counters of one run, kept while it goes and read as a report at any time."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

from llmframe.core.outcome import Answer, Failure, Outcome, Usage
from llmframe.core.plan import NOT_ASKED, Plan
from llmframe.core.prices import Price
from llmframe.report import RunReport, RunState


class Metrics:
    """What a run has seen: requests as they end, rows as its parts end."""

    def __init__(self, *, model: str, price: Price) -> None:
        self.model, self.price = model, price
        self.output_mode: str | None = None
        self.notes: list[str] = []
        self.requests = self.retries = self.reasks = self.unknown_usage = 0
        self.usage = Usage(0, 0, 0)
        self.usd = 0.0
        self.latencies = array("d")
        self.cached_live = self.failed_live = 0
        self.rows = self.answered = self.not_asked = self.cached = self.shared = 0
        self.failed: Counter[str] = Counter()

    def book(self, usage: Usage) -> float | None:
        """Count one reply's tokens; returns its dollars, `None` when unknown."""
        if usage.input_tokens is None or usage.output_tokens is None:
            self.unknown_usage += 1
        self.usage += usage
        usd = self.price.usd(usage)
        self.usd += usd or 0.0
        return usd

    def count_rows(self, plan: Plan, outcomes: Sequence[Outcome | None], *, missing: Failure) -> None:
        """Count a finished part's rows by what became of them."""
        self.rows += plan.length
        firsts = set(plan.first_rows)
        for row, index in enumerate(plan.requests):
            if index == NOT_ASKED:
                self.not_asked += 1
                continue
            outcome = outcomes[index] if 0 <= index < len(outcomes) else None
            if outcome is not None and isinstance(outcome.result, Answer):
                self.answered += 1
                if outcome.source == "cache":
                    self.cached += 1
                elif outcome.source == "shared" or row not in firsts:
                    self.shared += 1
                continue
            failure = plan.failures.get(row, missing) if outcome is None else outcome.result
            if isinstance(failure, Failure):
                self.failed[failure.kind] += 1

    def report(self, *, seconds: float, state: RunState, frame: object = None) -> RunReport:
        """The numbers as they stand."""
        p50, p95, p99 = quantiles(self.latencies, (0.5, 0.95, 0.99))
        return RunReport(
            model=self.model,
            rows=self.rows,
            answered=self.answered,
            not_asked=self.not_asked,
            failed=dict(self.failed),
            cached=self.cached,
            shared=self.shared,
            requests=self.requests,
            retries=self.retries,
            reasks=self.reasks,
            input_tokens=self.usage.input_tokens or 0,
            output_tokens=self.usage.output_tokens or 0,
            cached_tokens=self.usage.cached_tokens or 0,
            unknown_usage=self.unknown_usage,
            usd=self.usd if self.price.known else None,
            seconds=seconds,
            p50=p50,
            p95=p95,
            p99=p99,
            output_mode=self.output_mode,
            notes=tuple(dict.fromkeys(self.notes)),  # each part of a run may have found the same
            state=state,
            frame=frame,
        )


def quantiles(values: Sequence[float], levels: Sequence[float]) -> list[float | None]:
    """Nearest-rank quantiles: the smallest value that at least `level` of all values don't exceed."""
    if not values:
        return [None] * len(levels)
    ordered = sorted(values)
    return [ordered[max(0, -int(-level * len(ordered) // 1) - 1)] for level in levels]
