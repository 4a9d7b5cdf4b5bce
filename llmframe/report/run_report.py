"""What a run did, or has done so far, as a small table. No key, no cell."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from llmframe.budget import limit_line, limit_text
from llmframe.core.series import SLOW_START, LimitMove, Series
from llmframe.report.wording import batch_count, change_counts, counts, dollars, duration, html_table, text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RunState = Literal["running", "done", "stopped", "interrupted"]

STATES: Final[Mapping[RunState, str]] = {
    "running": "running",
    "done": "done",
    "stopped": "stopped early",
    "interrupted": "interrupted",
}

TELLING_WAIT: Final = 0.05
"""Seconds of queue wait (p95), of a cooldown or of pauses from which the table tells them."""

TOLD_MOVES: Final = 4
"""Moves of the limit that the table tells one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """Counts, tokens, dollars and times of one run; `repr` is a small table, notebooks show it as HTML.

    Attributes
    ----------
    rows, answered, not_asked
        Rows seen so far, rows with an answer, rows outside `where`.
    failed
        Failed rows by error kind.
    cached, shared
        Answered rows that cost nothing: kept from an earlier run, or the same question as another row.
    changes
        Distinct requests by why the store had no answer (`"text"`, `"schema"`, `"model"`, `"params"`: new; `"reply"`:
        it no longer fits), and `"kept"`: those that it had. Of a store in memory the latter alone.
    confidences
        Answered rows by where their confidence comes from, or why they have none (the `confidence_source` column; of
        several scored fields the first that has none decides). Empty when none was asked for.
    question
        Digest of the prompt and the model, to which a calibration belongs; `None` where the prompt is a function.
    requests, retries, reasks
        Requests sent, those sent again after a transient fault, those sent again after an invalid reply.
    retries_by_kind
        Retries that were decided, by the kind of the fault before them; a stopped run doesn't send them all.
    rate_limited
        Requests that the server answered with a 429.
    cooldown_seconds, pause_seconds
        Seconds in which nothing was sent after a 429, and because every request failed.
    hedges, hedges_won
        Second copies sent of slow requests, and those that answered first.
    input_tokens, output_tokens, cached_tokens
        As the provider counts them, over all attempts.
    unknown_usage
        Requests whose tokens nobody told (a timed-out attempt, a server without `usage`): costs may be higher.
    usd
        Dollars; `None` when the model has no known price.
    batches
        Batches at the provider that the run made, or took over from an earlier call.
    batch_requests, batch_rows
        Distinct requests that these answered, and their rows, sharing ones included.
    usd_batch, saved_usd
        Dollars of `usd` that batches took, and what their answers would have cost more live; `None` as `usd`.
    budget, budget_spent
        Limits of the run's budget by name (`usd`, `tokens`, `calls`, `seconds`), and what was spent of them, with the
        estimates of requests whose usage nobody told; of a shared budget by all its runs.
    seconds
        Wall time of the run.
    p50, p95, p99
        Quantiles of one request's service time, from sending to the last byte, in seconds within 1 %
        (`None` without a request).
    wait_p50, wait_p95, wait_p99
        The same of the time in the queue before it: for a place in flight and for the limits.
    in_flight, in_flight_peak
        Requests being answered now, and the most at one time.
    limit, limits
        The limit of requests in flight now, `None` when none was told, and how it moved: at most 200 moves, those of
        slow start as one.
    eta_seconds, projected_usd
        While the run goes on: seconds that are left, by the tokens that are, and dollars in the end; `None` when
        unknown.
    output_mode
        How answers were asked for in the end.
    notes
        Whatever the run changed on its own, in words.
    state
        `"running"`, `"done"`, `"stopped"` (a fault that meets every row, or `on_error="raise"`), `"interrupted"`.
    timeline
        The run over time, in at most 600 buckets; `plot()` draws it.
    output
        Of a run over files: where its rows are; `None` as long as that isn't written.
    frame
        After an interrupt or a stop: the frame as far as it got.
    """

    model: str | None
    rows: int = 0
    answered: int = 0
    not_asked: int = 0
    failed: Mapping[str, int] = field(default_factory=dict[str, int])
    cached: int = 0
    shared: int = 0
    changes: Mapping[str, int] = field(default_factory=dict[str, int])
    confidences: Mapping[str, int] = field(default_factory=dict[str, int])
    question: str | None = None
    requests: int = 0
    retries: int = 0
    reasks: int = 0
    retries_by_kind: Mapping[str, int] = field(default_factory=dict[str, int])
    rate_limited: int = 0
    cooldown_seconds: float = 0.0
    pause_seconds: float = 0.0
    hedges: int = 0
    hedges_won: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    unknown_usage: int = 0
    usd: float | None = None
    batches: int = 0
    batch_requests: int = 0
    batch_rows: int = 0
    usd_batch: float | None = None
    saved_usd: float | None = None
    budget: Mapping[str, float] = field(default_factory=dict[str, float])
    budget_spent: Mapping[str, float] = field(default_factory=dict[str, float])
    seconds: float = 0.0
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    wait_p50: float | None = None
    wait_p95: float | None = None
    wait_p99: float | None = None
    in_flight: int = 0
    in_flight_peak: int = 0
    limit: int | None = None
    limits: tuple[LimitMove, ...] = ()
    eta_seconds: float | None = None
    projected_usd: float | None = None
    output_mode: str | None = None
    notes: tuple[str, ...] = ()
    state: RunState = "done"
    timeline: Series = field(default_factory=Series, repr=False)
    output: str | None = None
    frame: object = field(default=None, repr=False, compare=False)

    @property
    def failures(self) -> int:
        """Failed rows of all kinds."""
        return sum(self.failed.values())

    @property
    def usd_per_row(self) -> float | None:
        """Dollars over answered rows, cached and shared ones included; `None` when either is unknown or 0."""
        return self.usd / self.answered if self.usd is not None and self.answered else None

    @property
    def rows_per_second(self) -> float:
        """Answered rows over the wall time."""
        return self._per_second(self.answered)

    @property
    def requests_per_second(self) -> float:
        """Requests sent over the wall time."""
        return self._per_second(self.requests)

    @property
    def tokens_per_second(self) -> float:
        """Tokens, in and out, over the wall time."""
        return self._per_second(self.input_tokens + self.output_tokens)

    def to_dict(self, *, timeline: bool = False) -> dict[str, object]:
        """Plain values of everything but the frame, for logs and JSON.

        Parameters
        ----------
        timeline
            With the buckets of `timeline`: seven lists of up to 600 numbers.
        """
        names = [name for name in self.__dataclass_fields__ if name not in ("frame", "timeline")]
        values: dict[str, object] = {name: getattr(self, name) for name in names}
        values |= {
            "failed": dict(self.failed),
            "changes": dict(self.changes),
            "confidences": dict(self.confidences),
            "retries_by_kind": dict(self.retries_by_kind),
            "limits": [dataclasses.asdict(move) for move in self.limits],
            "budget": dict(self.budget),
            "budget_spent": dict(self.budget_spent),
            "notes": list(self.notes),
            "usd_per_row": self.usd_per_row,
            "rows_per_second": self.rows_per_second,
            "requests_per_second": self.requests_per_second,
            "tokens_per_second": self.tokens_per_second,
        }
        if timeline:
            values["timeline"] = self.timeline.to_dict()
        return values

    def to_json(self, *, timeline: bool = False) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(timeline=timeline))

    def plot(self) -> Figure:
        """The run over its time: throughput, requests in flight with their limit, faults.

        Returns
        -------
        matplotlib.figure.Figure
            Not shown, and unknown to pyplot: a notebook displays it, `.savefig("run.png")` keeps it.

        Raises
        ------
        MissingExtraError
            Without matplotlib: `pip install 'llmframe[plots]'`.
        """
        # imported here: matplotlib is an extra, and takes 0.5 s
        from llmframe.report.run_picture import draw  # noqa: PLC0415

        return draw(self.timeline, limits=self.limits, title=self._title)

    def __repr__(self) -> str:
        """A small table."""
        return text_table(self._title, self._lines())

    def _repr_html_(self) -> str:
        """The same table for notebooks."""
        return html_table(self._title, self._lines())

    @property
    def _title(self) -> str:
        return f"llmframe run · {self.model or 'no model'} · {STATES[self.state]}"

    def _per_second(self, count: int) -> float:
        return count / self.seconds if self.seconds > 0 else 0.0

    def _lines(self) -> list[tuple[str, str]]:
        return [
            *self._rows(),
            *self._requests(),
            *self._money(),
            *self._times(),
            *([("asked by", self.output_mode)] if self.output_mode else []),
            *([("output", self.output)] if self.output else []),
            *(("note", note) for note in self.notes),
        ]

    def _rows(self) -> list[tuple[str, str]]:
        saved = [f"{count:,} {word}" for count, word in ((self.cached, "cached"), (self.shared, "shared")) if count]
        return [
            ("rows", f"{self.rows:,}" + (f" ({self.not_asked:,} not asked)" if self.not_asked else "")),
            ("answered", f"{self.answered:,}" + (f" ({', '.join(saved)})" if saved else "")),
            ("failed", f"{self.failures:,}" + (f" ({counts(self.failed)})" if self.failures else "")),
            *([("certainty", counts(self.confidences))] if self.confidences else []),
        ]

    def _requests(self) -> list[tuple[str, str]]:
        again = [f"{n:,} {word}" for n, word in ((self.retries, "retries"), (self.reasks, "re-asks")) if n]
        lines = [("requests", f"{self.requests:,}" + (f" ({', '.join(again)})" if again else ""))]
        if changed := change_counts(self.changes):
            lines.append(("distinct", changed))
        if any(self.retries_by_kind.values()):
            lines.append(("retried", f"after {counts(self.retries_by_kind)}"))
        if self.batches or self.batch_rows:
            lines.append(("batch", self._batches()))
        if self.hedges:
            lines.append(("hedges", f"{self.hedges:,} sent, {self.hedges_won:,} won"))
        limits = [
            *([f"{self.rate_limited:,} 429s"] if self.rate_limited else []),
            *([f"{duration(self.cooldown_seconds)} of cooldown"] if self.cooldown_seconds >= TELLING_WAIT else []),
            *(
                [f"{duration(self.pause_seconds)} paused after faults alone"]
                if self.pause_seconds >= TELLING_WAIT
                else []
            ),
        ]
        if limits:
            lines.append(("limits", ", ".join(limits)))
        if self.in_flight_peak > 1:
            now = f", {self.in_flight:,} now" if self.state == "running" else ""
            moves = limit_moves(self.limits)
            lines.append(("in flight", f"up to {self.in_flight_peak:,}{now}" + (f" ({moves})" if moves else "")))
        return lines

    def _batches(self) -> str:
        text = f"{self.batch_rows:,} {'row' if self.batch_rows == 1 else 'rows'} from {batch_count(self.batches)}"
        if not self.usd_batch:
            return text
        return f"{text} ({dollars(self.usd_batch)}; live {dollars(self.usd_batch + (self.saved_usd or 0.0))})"

    def _money(self) -> list[tuple[str, str]]:
        tokens = f"{self.input_tokens:,} in, {self.output_tokens:,} out"
        if self.cached_tokens:
            tokens += f" ({self.cached_tokens:,} of the input read from the provider's cache)"
        if self.unknown_usage:
            tokens += f"; unknown for {self.unknown_usage:,} requests"
        cost = dollars(self.usd)
        if self.usd and self.usd_batch and self.usd_batch < self.usd:
            cost += f" ({dollars(self.usd_batch)} in batches)"
        if self.usd and self.usd_per_row is not None and self.answered > 1:
            cost += f", {dollars(self.usd_per_row)} an answered row"
        if self.projected_usd is not None:
            cost += f", about {dollars(self.projected_usd)} in the end"
        spent = [limit_line(name, amount, self.budget[name]) for name, amount in self.budget_spent.items()]
        if "seconds" in self.budget:
            spent.append(f"{limit_text('seconds', self.budget['seconds'])} to send in")
        return [("tokens", tokens), ("cost", cost), *([("budget", ", ".join(spent))] if spent else [])]

    def _times(self) -> list[tuple[str, str]]:
        time = f"{duration(self.seconds)}, {self.rows_per_second:,.1f} answered rows/s"
        if self.tokens_per_second >= 1:
            time += f", {self.tokens_per_second:,.0f} tokens/s"
        if self.eta_seconds is not None:
            time += f"; about {duration(self.eta_seconds)} left"
        lines = [("time", time)]
        if self.p50 is not None and self.p95 is not None and self.p99 is not None:
            lines.append(("latency", f"p50 {self.p50:.2f} s, p95 {self.p95:.2f} s, p99 {self.p99:.2f} s"))
        if self.wait_p50 is not None and self.wait_p95 is not None and self.wait_p95 >= TELLING_WAIT:
            lines.append(("queued", f"p50 {self.wait_p50:.2f} s, p95 {self.wait_p95:.2f} s, p99 {self.wait_p99:.2f} s"))
        return lines


def limit_moves(moves: tuple[LimitMove, ...]) -> str:
    """`"limit 8 -> 64: slow start; -> 51: 429"`, summed up when there are many; empty when it never moved."""
    if len(moves) < 2:  # noqa: PLR2004 - the start is no move
        return ""
    start, *rest = moves
    if len(rest) <= TOLD_MOVES:
        return f"limit {start.limit}" + ";".join(f" -> {move.limit}: {move.reason}" for move in rest)
    text = f"limit {start.limit}"
    if rest[0].reason == SLOW_START:
        text += f" -> {rest[0].limit}: {SLOW_START}"
        rest = rest[1:]
    lowest, highest = min(move.limit for move in rest), max(move.limit for move in rest)
    reasons: dict[str, int] = {}
    for move in rest:
        reasons[move.reason] = reasons.get(move.reason, 0) + 1
    by = ", ".join(f"{count} by {reason}" for reason, count in sorted(reasons.items(), key=lambda item: -item[1]))
    return f"{text}; {len(rest)} moves between {lowest} and {highest} ({by}); now {rest[-1].limit}"
