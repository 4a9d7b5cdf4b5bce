"""What a run tells: numbers in, text and HTML out. No key, no cell."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Literal

RunState = Literal["running", "done", "stopped", "interrupted"]

STATES: Final[Mapping[RunState, str]] = {
    "running": "running",
    "done": "done",
    "stopped": "stopped early",
    "interrupted": "interrupted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """Counts, tokens, dollars and latency of one run; `repr` is a small table, notebooks show it as HTML.

    Attributes
    ----------
    rows, answered, not_asked
        Rows seen so far, rows with an answer, rows outside `where`.
    failed
        Failed rows by error kind.
    cached, shared
        Answered rows that cost nothing: kept from an earlier run, or the same question as another row.
    requests, retries, reasks
        Requests sent, those sent again after a transient fault, those sent again after an invalid reply.
    input_tokens, output_tokens, cached_tokens
        As the provider counts them, over all attempts.
    unknown_usage
        Requests whose tokens nobody told (a timed-out attempt, a server without `usage`): costs may be higher.
    usd
        Dollars; `None` when the model has no known price.
    seconds, p50, p95, p99
        Wall time of the run and quantiles of one request's latency, in seconds (`None` without a request).
    output_mode
        How answers were asked for in the end.
    notes
        Whatever the run changed on its own, in words.
    state
        `"running"`, `"done"`, `"stopped"` (a fault that meets every row, or `on_error="raise"`), `"interrupted"`.
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
    requests: int = 0
    retries: int = 0
    reasks: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    unknown_usage: int = 0
    usd: float | None = None
    seconds: float = 0.0
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    output_mode: str | None = None
    notes: tuple[str, ...] = ()
    state: RunState = "done"
    frame: object = field(default=None, repr=False, compare=False)

    @property
    def failures(self) -> int:
        """Failed rows of all kinds."""
        return sum(self.failed.values())

    @property
    def rows_per_second(self) -> float:
        """Answered rows over the wall time."""
        return self.answered / self.seconds if self.seconds > 0 else 0.0

    def to_dict(self) -> dict[str, object]:
        """Plain values of everything but the frame, for logs and JSON."""
        names = [name for name in self.__dataclass_fields__ if name != "frame"]
        values: dict[str, object] = {name: getattr(self, name) for name in names}
        return {**values, "failed": dict(self.failed), "notes": list(self.notes)}

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        """A small table."""
        lines = [f"llmframe run · {self.model or 'no model'} · {STATES[self.state]}"]
        lines += [f"  {name:<10}{text}" for name, text in self._lines()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same table for notebooks."""
        return _table(f"llmframe run · {self.model or 'no model'} · {STATES[self.state]}", self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        saved = [f"{count:,} {word}" for count, word in ((self.cached, "cached"), (self.shared, "shared")) if count]
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.failed.items(), key=_by_count))
        again = [f"{n:,} {word}" for n, word in ((self.retries, "retries"), (self.reasks, "re-asks")) if n]
        tokens = f"{self.input_tokens:,} in, {self.output_tokens:,} out"
        if self.cached_tokens:
            tokens += f" ({self.cached_tokens:,} of the input read from the provider's cache)"
        if self.unknown_usage:
            tokens += f"; unknown for {self.unknown_usage:,} requests"
        lines = [
            ("rows", f"{self.rows:,}" + (f" ({self.not_asked:,} not asked)" if self.not_asked else "")),
            ("answered", f"{self.answered:,}" + (f" ({', '.join(saved)})" if saved else "")),
            ("failed", f"{self.failures:,}" + (f" ({kinds})" if kinds else "")),
            ("requests", f"{self.requests:,}" + (f" ({', '.join(again)})" if again else "")),
            ("tokens", tokens),
            ("cost", dollars(self.usd)),
            ("time", f"{self.seconds:.1f} s, {self.rows_per_second:,.1f} answered rows/s"),
        ]
        if self.p50 is not None and self.p95 is not None and self.p99 is not None:
            lines.append(("latency", f"p50 {self.p50:.2f} s, p95 {self.p95:.2f} s, p99 {self.p99:.2f} s"))
        if self.output_mode:
            lines.append(("asked by", self.output_mode))
        lines += [("note", note) for note in self.notes]
        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """What a `map` would do, found without a request.

    Attributes
    ----------
    rows, null_rows, failed_rows, not_asked
        Rows of the frame, rows skipped for a null, rows that can't be rendered, rows outside `where`.
    requests, cached
        Distinct requests that would be sent, and distinct ones that are answered already.
    input_tokens, output_tokens
        Estimates: characters divided by `characters_per_token`; the output from examples or the schema's size.
    usd
        Estimated dollars for `requests`; `None` when the model has no known price.
    prompts
        The first rendered prompts, as chat messages.
    schema
        What is asked for, as the JSON schema that would be sent.
    problems
        Of the rows that can't be rendered, the first entry of the error column for each kind.
    """

    model: str
    rows: int
    null_rows: int
    failed_rows: int
    not_asked: int
    requests: int
    cached: int
    input_tokens: int
    output_tokens: int
    characters_per_token: float
    usd: float | None
    prompts: tuple[list[dict[str, object]], ...] = field(repr=False)
    schema: Mapping[str, object] = field(repr=False)
    problems: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """A small table; the prompts are in `.prompts`."""
        lines = [f"llmframe plan · {self.model} · nothing sent"]
        lines += [f"  {name:<10}{text}" for name, text in self._lines()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same table for notebooks."""
        return _table(f"llmframe plan · {self.model} · nothing sent", self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        skipped = [
            f"{count:,} {word}"
            for count, word in (
                (self.not_asked, "not asked"),
                (self.null_rows, "with a null"),
                (self.failed_rows, "that can't be rendered"),
            )
            if count
        ]
        return [
            ("rows", f"{self.rows:,}" + (f" ({', '.join(skipped)})" if skipped else "")),
            *(("problem", problem) for problem in self.problems),
            ("requests", f"{self.requests:,} to send, {self.cached:,} answered already"),
            ("tokens", f"about {self.input_tokens:,} in, {self.output_tokens:,} out"),
            ("cost", "about " + dollars(self.usd) if self.usd else dollars(self.usd)),
        ]


def dollars(usd: float | None) -> str:
    """`"$0.0123"`, or `"unknown"`."""
    if usd is None:
        return "unknown (no price for this model)"
    short = Decimal(f"{usd:.4g}")
    return f"${usd:,.2f}" if short >= 1 or usd == 0 else f"${short:f}"


def failure_counts(failed: Mapping[str, int], rows: int) -> str:
    """`"3 of 10 rows failed: 2 timeout, 1 invalid"`."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(failed.items(), key=_by_count))
    return f"{sum(failed.values()):,} of {rows:,} rows failed: {kinds}"


def _table(title: str, lines: list[tuple[str, str]]) -> str:
    rows = "".join(
        f"<tr><th style='text-align:left;padding-right:1em'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, text in lines
    )
    return f"<table><caption style='text-align:left;white-space:nowrap'>{html.escape(title)}</caption>{rows}</table>"


def _by_count(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]
