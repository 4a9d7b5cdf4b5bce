"""What OpenTelemetry hears of a run: counts, tokens, durations. No prompt, no cell, no key, no header."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

from llmframe.core.outcome import Usage
from llmframe.report import RunReport

PROVIDERS: Final[Mapping[str, str]] = {
    "azure_openai": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertexai": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""Our words for providers where OpenTelemetry's `gen_ai.provider.name` has others."""

# bucket boundaries, names and units: OpenTelemetry's semantic conventions for generative AI (status: development)
SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TOKENS: Final = tuple(float(4**power) for power in range(14))

COUNTS: Final = ("rows", "answered", "failures", "not_asked", "cached", "shared", "requests", "retries", "reasks",
                 "rate_limited", "hedges")  # fmt: skip
"""Numbers of the report that the run's span has, as `llmframe.<name>`."""

NANOSECONDS: Final = 1_000_000_000

Attributes = dict[str, str]


def observer(*, model: str | None, provider: str | None, name: str = "llmframe.map") -> Telemetry | None:
    """Who tells OpenTelemetry of one run; `None` where nobody listens.

    Somebody listens when the application has set a tracer provider or a meter provider, for which it has imported
    the API: it isn't imported here.

    Parameters
    ----------
    model, provider
        As in `provider/model`; the provider's name is translated to OpenTelemetry's.
    name
        The name of the run's span; its parent is the caller's current span.
    """
    trace, metrics = sys.modules.get("opentelemetry.trace"), sys.modules.get("opentelemetry.metrics")
    tracers = _set_by_somebody(trace.get_tracer_provider()) if trace is not None else None
    meters = _set_by_somebody(metrics.get_meter_provider()) if metrics is not None else None
    if tracers is None and meters is None:
        return None
    about = ("llmframe", version("llmframe"))
    spans = None if tracers is None else _Spans(trace, tracers.get_tracer(*about), name=name)
    instruments = None if meters is None else _Instruments(meters.get_meter(*about))
    return Telemetry(spans, instruments, model=model, provider=provider)


class Telemetry:
    """Hooks that `Metrics` calls; a request takes some 40 µs more where an SDK listens to spans and metrics."""

    def __init__(
        self, spans: _Spans | None, instruments: _Instruments | None, *, model: str | None, provider: str | None
    ) -> None:
        self._spans, self._instruments = spans, instruments
        self._about: Attributes = {"gen_ai.operation.name": "chat"}
        if provider is not None:
            self._about["gen_ai.provider.name"] = PROVIDERS.get(provider, provider)
        if model is not None:
            self._about["gen_ai.request.model"] = model
        self._title = f"chat {model}" if model else "chat"

    def request(self) -> None:
        """A request goes out."""
        if self._spans is not None:
            self._spans.begin(self._about)
        if self._instruments is not None:
            self._instruments.in_flight.add(1, self._about)

    def ended(self, *, seconds: float, kind: str | None, tokens: int | None) -> None:
        """A request has ended after `seconds`; see `Metrics.ended`."""
        about = self._about if kind is None else {**self._about, "error.type": kind}
        if self._instruments is not None:
            self._instruments.in_flight.add(-1, self._about)
            self._instruments.duration.record(seconds, about)
            if kind == "rate_limit":
                self._instruments.rate_limited.add(1, self._about)
        if self._spans is not None:
            self._spans.request(self._title, about, seconds=seconds, tokens=tokens)

    def retried(self, kind: str) -> None:
        """Another attempt was decided after a fault of this kind."""
        if self._instruments is not None:
            self._instruments.retries.add(1, {**self._about, "error.type": kind})

    def booked(self, usage: Usage) -> None:
        """The tokens of a reply."""
        if self._instruments is not None:
            for kind, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                if count is not None:
                    self._instruments.tokens.record(count, {**self._about, "gen_ai.token.type": kind})

    def run_ended(self, report: RunReport) -> None:
        """The run has ended, or pauses: its span does, too; requests that come later begin another one."""
        if self._spans is not None and not self._spans.told:
            self._spans.begin(self._about)
            self._spans.end(report)


class _Spans:
    """The run's span and those of its requests."""

    def __init__(self, trace: Any, tracer: Any, *, name: str) -> None:
        self._trace, self._tracer, self._name = trace, tracer, name
        self._callers = trace.get_current_span()
        self._began = time.time_ns()
        self._run: Any = None
        self._inside: Any = None
        self.told = False
        """Whether nothing has happened since its end was told."""

    def begin(self, about: Attributes) -> None:
        """Begin the run's span, unless it's there: under the span of whoever waits for it, or began it."""
        if self._run is not None:
            return
        self.told = False
        here = self._trace.get_current_span()
        parent = here if here.get_span_context().is_valid else self._callers
        self._run = self._tracer.start_span(
            self._name,
            context=self._trace.set_span_in_context(parent),
            attributes=about,
            start_time=self._began,
        )
        self._inside = self._trace.set_span_in_context(self._run)

    def request(self, title: str, about: Attributes, *, seconds: float, tokens: int | None) -> None:
        """A request's span, told when it's over; none where the run's own isn't recorded."""
        if self._run is None or not self._run.is_recording():
            return
        now = time.time_ns()
        span = self._tracer.start_span(
            title,
            context=self._inside,
            kind=self._trace.SpanKind.CLIENT,
            attributes=about,
            start_time=now - int(seconds * NANOSECONDS),
        )
        if tokens is not None:
            span.set_attribute("llmframe.tokens", tokens)
        if "error.type" in about:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(now)

    def end(self, report: RunReport) -> None:
        """End the run's span with what the report counts."""
        span, self._run = self._run, None
        span.set_attributes({f"llmframe.{name}": getattr(report, name) for name in COUNTS})
        span.set_attributes(
            {
                "llmframe.state": report.state,
                "llmframe.cooldown_seconds": report.cooldown_seconds,
                "gen_ai.usage.input_tokens": report.input_tokens,
                "gen_ai.usage.output_tokens": report.output_tokens,
            }
        )
        if report.usd is not None:
            span.set_attribute("llmframe.usd", report.usd)
        if report.state == "stopped":
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()
        self.told = True
        self._began = time.time_ns()


class _Instruments:
    """Histograms of the semantic conventions, counters of our own."""

    def __init__(self, meter: Any) -> None:
        self.duration = _histogram(meter, "gen_ai.client.operation.duration", "s", SECONDS)
        self.tokens = _histogram(meter, "gen_ai.client.token.usage", "{token}", TOKENS)
        self.in_flight = meter.create_up_down_counter("llmframe.requests.in_flight", unit="{request}")
        self.rate_limited = meter.create_counter("llmframe.requests.rate_limited", unit="{request}")
        self.retries = meter.create_counter("llmframe.requests.retries", unit="{request}")


def _histogram(meter: Any, name: str, unit: str, boundaries: tuple[float, ...]) -> Any:
    advice = {"explicit_bucket_boundaries_advisory": boundaries}
    known = inspect.signature(meter.create_histogram).parameters
    return meter.create_histogram(name, unit=unit, **{key: value for key, value in advice.items() if key in known})


def _set_by_somebody(provider: Any) -> Any | None:
    """`provider`, unless it's one of the API's own that do nothing."""
    return None if type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics")) else provider
