"""Counters of one run, kept while it goes and read as a report at any time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from llmframe.budget import Budget
from llmframe.core.histogram import Histogram
from llmframe.core.outcome import Failure, Outcome, Source, Usage
from llmframe.core.outlook import Left, Outlook
from llmframe.core.plan import Plan
from llmframe.core.prices import Price
from llmframe.core.scores import told_source
from llmframe.core.series import LimitMove
from llmframe.engine.telemetry import observer
from llmframe.engine.timeline import LimitHistory, Timeline
from llmframe.report import RunReport, RunState


class Metrics:
    """What a run has seen: requests as they go out and end, rows as its parts end.

    Times are the run's clock's, in seconds. What is called for every request takes about 2 µs in all and keeps
    nothing of it: durations go into bins, the rest into buckets of time.

    Attributes
    ----------
    budget
        What the run may spend, perhaps with others; `None` without a limit.
    expected_rows
        Rows of the whole run; `None` in a lazy query. Without it nothing is projected.
    in_flight, in_flight_peak
        Requests being answered now, and the most there ever were.
    changes
        Distinct requests by why they were asked, where the store can tell; `"kept"` are those that weren't.
    confidences
        Answered rows by the source of their confidence, or the reason why they have none.
    question
        Digest of the prompt and the model.
    batches
        Batches at the provider that the run made, or took over from an earlier call.
    batch_requests, batch_rows
        Distinct requests that these answered, and their rows, sharing ones included.
    usd_batch, saved_usd
        Dollars of `usd` that batches took, and what their answers would have cost more live.
    store_trouble
        Why answers couldn't be kept on disk.
    output
        Where a run over files has written its rows.
    """

    def __init__(self, *, model: str, price: Price) -> None:
        self.model, self.price = model, price
        self.output_mode: str | None = None
        self.notes: list[str] = []
        self.output: str | None = None
        self.requests = self.retries = self.reasks = self.unknown_usage = 0
        self.usage = Usage(0, 0, 0)
        self.usd = self.usd_batch = self.saved_usd = 0.0
        self.batches = self.batch_requests = self.batch_rows = 0
        self._live_tokens = Usage(0, 0, 0)
        self.latencies, self.waits = Histogram(), Histogram()
        self.cached_live = self.batched_live = self.failed_live = 0
        self.rows = self.answered = self.not_asked = self.cached = self.shared = 0
        self.failed: Counter[str] = Counter()
        self.changes: Counter[str] = Counter()
        self.confidences: Counter[str] = Counter()
        self.question: str | None = None
        self.store_trouble: str | None = None
        self.retries_by_kind: Counter[str] = Counter()
        self.rate_limited = self.hedges = self.hedges_won = 0
        self.cooldown_seconds = self.pause_seconds = 0.0
        self._cooled_until = self._paused_until = 0.0
        self.in_flight = self.in_flight_peak = 0
        self.budget: Budget | None = None
        self.expected_rows: int | None = None
        self.outlook = Outlook()
        self._timeline: Timeline | None = None
        self._limits = LimitHistory()
        self._telemetry = observer(model=model, provider=price.provider)

    def begun(self, now: float) -> None:
        """The run begins; without this it does with the first request."""
        if self._timeline is None:
            self._timeline = Timeline(now)

    def started(self, now: float, *, waited: float) -> None:
        """A request goes out after `waited` seconds in the queue: from when it could have gone to its turn."""
        self.requests += 1
        self.in_flight = level = self.in_flight + 1
        if level > self.in_flight_peak:  # noqa: PLR1730 - for every request: `max` takes three times as long
            self.in_flight_peak = level
        self.waits.add(waited)
        timeline = self._timeline or self._line(now)
        bucket = timeline.at(now)
        timeline.level = level
        timeline.sent[bucket] += 1
        if level > timeline.in_flight[bucket]:  # noqa: PLR1730 - as above
            timeline.in_flight[bucket] = level
        if self._telemetry is not None:
            self._telemetry.request()

    def ended(self, now: float, *, seconds: float, kind: str | None = None, tokens: int | None = None) -> None:
        """A request has ended after `seconds` on its way.

        Parameters
        ----------
        kind
            The error's kind; `None` for an answer, `"cancelled"` for one that nobody waits for any more.
        tokens
            Input and output together, where they are known.
        """
        self.in_flight = level = self.in_flight - 1
        self.latencies.add(seconds)
        timeline = self._timeline or self._line(now)
        bucket = timeline.at(now)
        timeline.level = level
        if kind is None:
            timeline.answered[bucket] += 1
            if tokens:
                timeline.tokens[bucket] += tokens
        elif kind == "rate_limit":
            self.rate_limited += 1
            timeline.rate_limited[bucket] += 1
        elif kind != "cancelled":
            timeline.faults[bucket] += 1
        if self._telemetry is not None:
            self._telemetry.ended(seconds=seconds, kind=kind, tokens=tokens)

    def retried(self, kind: str) -> None:
        """Another attempt goes out after a fault of this kind (`started` counts it as a request, too)."""
        self.retries += 1
        self.retries_by_kind[kind] += 1
        if self._telemetry is not None:
            self._telemetry.retried(kind)

    def limit_moved(self, now: float, limit: int, reason: str) -> None:
        """The limit of requests in flight is `limit` from now on: `"start"`, `"slow start"`, `"gradient"`, `"429"`."""
        timeline = self._timeline or self._line(now)
        timeline.bound = timeline.limit[timeline.at(now)] = limit
        self._limits.add(LimitMove(max(0.0, now - timeline.origin), limit, reason))

    def cooled(self, seconds: float, until: float) -> None:
        """A cooldown began after a 429, or one was made longer, by so many `seconds`; it is over at `until`."""
        self.cooldown_seconds += seconds
        self._cooled_until = until

    def paused(self, seconds: float, until: float) -> None:
        """The breaker pauses for `seconds`, which are over at `until`."""
        self.pause_seconds += seconds
        self._paused_until = until

    def hedged(self) -> None:
        """A second copy of a slow request goes out (`started` counts it as a request, too)."""
        self.hedges += 1

    def hedge_won(self) -> None:
        """The copy answered first."""
        self.hedges_won += 1

    def planned(self, requests: int, characters: int, *, rows: int) -> None:
        """So many rows more were drawn, with so many distinct requests of so many characters in all."""
        self.outlook.planned(requests, characters, rows=rows)

    def missing(self, change: str, requests: int) -> None:
        """So many distinct requests have no answer because of this change."""
        self.changes[change] += requests

    def delivered(self, source: Source) -> None:
        """A distinct request has an answer without being asked: a kept one, or a batch's."""
        if source == "batch":
            self.batched_live += 1
        elif source != "live":
            self.cached_live += 1
        self.changes["kept"] += source == "cache"

    def settled(self, characters: int) -> None:
        """A distinct request of so many characters that was asked for has its outcome."""
        self.outlook.settled(characters)

    def book(self, usage: Usage, *, batch: bool = False) -> float | None:
        """Count one reply's tokens; returns its dollars, `None` when unknown.

        Parameters
        ----------
        batch
            A batch's: at its price.
        """
        if usage.input_tokens is None or usage.output_tokens is None:
            self.unknown_usage += 1
        self.usage += usage
        if self._telemetry is not None:
            self._telemetry.booked(usage)
        usd = self.price.usd(usage, batch=batch)
        self.usd += usd or 0.0
        if not batch:
            self._live_tokens += usage
        elif usd is not None:
            self.usd_batch += usd
            self.saved_usd += (self.price.usd(usage) or 0.0) - usd
        return usd

    def count_rows(self, plan: Plan, outcomes: Sequence[Outcome | None], *, missing: Failure) -> None:
        """Count a finished part's rows by what became of them."""
        self.rows += plan.length
        self.not_asked += plan.not_asked
        told = [*outcomes, *[None] * (len(plan.shares) - len(outcomes))]
        for outcome, rows in zip(told, plan.shares, strict=False):
            result = missing if outcome is None else outcome.result
            if isinstance(result, Failure):
                self.failed[result.kind] += rows
                continue
            self.answered += rows
            if result.scores:
                self.confidences[told_source(result.scores)] += rows
            source = "live" if outcome is None else outcome.source
            if source == "cache":
                self.cached += rows
                continue
            self.shared += rows if source == "shared" else rows - 1
            if source == "batch":
                self.batch_requests += 1
                self.batch_rows += rows
        for failure, rows in plan.failed_rows.items():
            self.failed[failure.kind] += rows
        undrawn = plan.length - plan.not_asked - sum(plan.shares) - sum(plan.failed_rows.values())
        if undrawn:
            self.failed[missing.kind] += undrawn

    def run_ended(self, report: RunReport) -> None:
        """Nothing of the run goes on any more: whoever listens is told what `report` counts."""
        if self._telemetry is not None:
            self._telemetry.run_ended(report)

    def report(self, *, seconds: float, state: RunState, now: float | None = None, frame: object = None) -> RunReport:
        """The numbers as they stand at `now`; without it, `seconds` after the run began."""
        p50, p95, p99 = self.latencies.quantiles((0.5, 0.95, 0.99))
        wait_p50, wait_p95, wait_p99 = self.waits.quantiles((0.5, 0.95, 0.99))
        timeline = self._timeline or Timeline(0.0)
        now = timeline.origin + seconds if now is None else now
        running = state == "running"
        return RunReport(
            model=self.model,
            rows=self.rows,
            answered=self.answered,
            not_asked=self.not_asked,
            failed=dict(self.failed),
            cached=self.cached,
            shared=self.shared,
            changes={change: count for change, count in self.changes.items() if count},
            confidences=dict(self.confidences),
            question=self.question,
            requests=self.requests,
            retries=self.retries,
            reasks=self.reasks,
            retries_by_kind=dict(self.retries_by_kind),
            rate_limited=self.rate_limited,
            cooldown_seconds=self.cooldown_seconds - max(0.0, self._cooled_until - now),
            pause_seconds=self.pause_seconds - max(0.0, self._paused_until - now),
            hedges=self.hedges,
            hedges_won=self.hedges_won,
            input_tokens=self.usage.input_tokens or 0,
            output_tokens=self.usage.output_tokens or 0,
            cached_tokens=self.usage.cached_tokens or 0,
            unknown_usage=self.unknown_usage,
            usd=self.usd if self.price.known else None,
            batches=self.batches,
            batch_requests=self.batch_requests,
            batch_rows=self.batch_rows,
            usd_batch=self.usd_batch if self.price.known else None,
            saved_usd=self.saved_usd if self.price.known else None,
            budget=self.budget.limits if self.budget else {},
            budget_spent=self.budget.spent if self.budget else {},
            seconds=seconds,
            p50=p50,
            p95=p95,
            p99=p99,
            wait_p50=wait_p50,
            wait_p95=wait_p95,
            wait_p99=wait_p99,
            in_flight=self.in_flight,
            in_flight_peak=self.in_flight_peak,
            limit=timeline.bound or None,
            limits=self._limits.moves(),
            eta_seconds=self.eta_seconds(now) if running else None,
            projected_usd=self.projected_usd() if running else None,
            output_mode=self.output_mode,
            notes=tuple(dict.fromkeys(self.notes)),  # each part of a run may have found the same
            state=state,
            output=self.output,
            timeline=timeline.series(now),
            frame=frame,
        )

    def requests_per_second(self, now: float) -> float:
        """Answered requests a second, of the last 30 s."""
        return self._timeline.recent(now).answered_per_second if self._timeline else 0.0

    def eta_seconds(self, now: float) -> float | None:
        """Seconds that the rest of the run takes at the tokens a second of the last 30 s; `None` when unknown.

        Where the server tells no tokens, requests are counted in their place.
        """
        left = self._left()
        if left is None or self._timeline is None:
            return None
        recent = self._timeline.recent(now)
        if left.tokens and recent.tokens_per_second:
            return left.tokens / recent.tokens_per_second
        return left.requests / recent.answered_per_second if recent.answered_per_second else None

    def projected_usd(self) -> float | None:
        """Dollars in the end, when what is left costs as much a token as what was done live; `None` when unknown."""
        left = self._left()
        if left is None or not self.price.known:
            return None
        tokens = (self._live_tokens.input_tokens or 0) + (self._live_tokens.output_tokens or 0)
        to_come = left.tokens / tokens if tokens else left.requests / left.done
        return self.usd + (self.usd - self.usd_batch) * to_come

    def _left(self) -> Left | None:
        return self.outlook.left(
            rows=self.expected_rows,
            kept=self.cached_live + self.batched_live,
            input_tokens=self._live_tokens.input_tokens or 0,
            output_tokens=self._live_tokens.output_tokens or 0,
        )

    def _line(self, now: float) -> Timeline:
        self._timeline = timeline = Timeline(now)
        return timeline
