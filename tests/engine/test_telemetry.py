"""What OpenTelemetry hears of a run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import metrics as metrics_api
from opentelemetry import trace as trace_api
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import llmframe
from llmframe.core.outcome import Usage
from llmframe.core.prices import Price
from llmframe.engine.metrics import Metrics
from llmframe.engine.telemetry import observer


class Spans:
    """A tracer provider that the application has set, and what it got."""

    def __init__(self, provider: TracerProvider) -> None:
        self._memory = InMemorySpanExporter()
        self.provider = provider
        provider.add_span_processor(SimpleSpanProcessor(self._memory))

    def __call__(self, name: str | None = None) -> list[Any]:
        return [span for span in self._memory.get_finished_spans() if name in (None, span.name)]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    found = Spans(TracerProvider())
    monkeypatch.setattr(trace_api, "get_tracer_provider", lambda: found.provider)  # the API's own can be set only once
    return found


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    monkeypatch.setattr(metrics_api, "get_meter_provider", lambda: provider)

    def read(name: str) -> list[Any]:
        data = reader.get_metrics_data()
        scopes = [scope for resource in (data.resource_metrics if data else ()) for scope in resource.scope_metrics]
        return [
            point for scope in scopes for each in scope.metrics if each.name == name for point in each.data.data_points
        ]

    yield read
    provider.shutdown()


def run() -> Metrics:
    """Two requests: one meets a 500 after 2 s, its retry is answered after 1 s."""
    found = Metrics(model="gpt-4o-mini", price=Price("openai", "gpt-4o-mini"))
    found.started(10.0, waited=0.0)
    found.ended(12.0, seconds=2.0, kind="server")
    found.retried("server")
    found.started(12.0, waited=0.0)
    found.ended(13.0, seconds=1.0, tokens=1100)
    found.book(Usage(1000, 100, 0))
    return found


def test_nobody_is_told_where_nobody_listens():
    assert observer(model="m", provider=None) is None


def test_a_run_is_a_span_with_its_counts(spans: Spans):
    metrics = run()
    metrics.rows, metrics.answered = 5, 4
    metrics.failed["server"] = 1
    metrics.run_ended(metrics.report(seconds=3.0, state="done"))
    (span,) = spans("llmframe.map")
    told = dict(span.attributes)
    assert (told["llmframe.rows"], told["llmframe.answered"], told["llmframe.failures"]) == (5, 4, 1)
    assert (told["llmframe.requests"], told["llmframe.state"]) == (2, "done")
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (1000, 100)
    assert told["llmframe.usd"] == pytest.approx(0.00021)  # 1000·0.15 + 100·0.60 millionths
    assert (told["gen_ai.request.model"], told["gen_ai.provider.name"]) == ("gpt-4o-mini", "openai")


def test_a_request_is_a_span_inside_the_runs(spans: Spans):
    metrics = run()
    metrics.run_ended(metrics.report(seconds=3.0, state="done"))
    (whole,) = spans("llmframe.map")
    failed, answered = spans("chat gpt-4o-mini")
    assert failed.parent.span_id == answered.parent.span_id == whole.context.span_id
    assert (failed.end_time - failed.start_time, answered.end_time - answered.start_time) == (2 * 10**9, 10**9)
    assert failed.attributes["error.type"] == "server"
    assert failed.status.status_code is trace_api.StatusCode.ERROR
    assert "error.type" not in answered.attributes
    assert answered.attributes["llmframe.tokens"] == 1100
    assert failed.kind is answered.kind is trace_api.SpanKind.CLIENT


def test_the_callers_span_is_the_runs_parent(spans: Spans):
    with spans.provider.get_tracer("app").start_as_current_span("caller") as caller:
        metrics = Metrics(model="m", price=Price(None, "m"))
    metrics.started(0.0, waited=0.0)  # as on a thread that the caller's context doesn't reach
    metrics.run_ended(metrics.report(seconds=1.0, state="done"))
    (whole,) = spans("llmframe.map")
    assert whole.parent.span_id == caller.get_span_context().span_id


def test_whoever_waits_is_the_parent_rather_than_whoever_wrote_the_query(spans: Spans):
    metrics = Metrics(model="m", price=Price(None, "m"))
    with spans.provider.get_tracer("app").start_as_current_span("collect") as collects:
        metrics.started(0.0, waited=0.0)
    metrics.run_ended(metrics.report(seconds=1.0, state="done"))
    (whole,) = spans("llmframe.map")
    assert whole.parent.span_id == collects.get_span_context().span_id


def test_a_run_without_requests_is_a_span_too(spans: Spans):
    metrics = Metrics(model="m", price=Price(None, "m"))
    metrics.run_ended(metrics.report(seconds=1.0, state="stopped"))
    (whole,) = spans()
    assert whole.status.status_code is trace_api.StatusCode.ERROR
    assert "llmframe.usd" not in whole.attributes


def test_requests_of_a_run_that_is_not_sampled_have_no_spans(monkeypatch: pytest.MonkeyPatch):
    found = Spans(TracerProvider(sampler=ALWAYS_OFF))
    monkeypatch.setattr(trace_api, "get_tracer_provider", lambda: found.provider)
    metrics = run()
    metrics.run_ended(metrics.report(seconds=1.0, state="done"))
    assert found() == []


def test_a_run_that_goes_on_after_its_end_begins_another_span(spans: Spans):
    metrics = run()
    metrics.run_ended(metrics.report(seconds=1.0, state="done"))
    metrics.started(20.0, waited=0.0)
    metrics.run_ended(metrics.report(seconds=2.0, state="done"))
    first, second = spans("llmframe.map")
    assert second.start_time >= first.end_time


def test_an_end_is_told_once(spans: Spans):
    metrics = run()
    for _ in range(2):
        metrics.run_ended(metrics.report(seconds=1.0, state="done"))
    assert len(spans("llmframe.map")) == 1


def test_a_map_is_one_span_with_its_rows_inside_the_callers(spans: Spans):
    with llmframe.testing.Provider() as provider, spans.provider.get_tracer("app").start_as_current_span("app") as app:
        rows = [{"text": "row-1 secret"}, {"text": "row-1 secret"}, {"text": "row-2"}]
        llmframe.map(rows, "Classify {text}", schema=["a", "b"], client=provider, cache=False)
    (whole,) = spans("llmframe.map")
    assert whole.parent.span_id == app.get_span_context().span_id
    told = whole.attributes
    assert [told[f"llmframe.{name}"] for name in ("rows", "answered", "shared", "requests")] == [3, 3, 1, 2]
    assert len(spans("chat simulated")) == 2
    assert not any("secret" in span.to_json() for span in spans())


def test_durations_tokens_and_limits_are_measured_by_the_conventions(points: Any):
    metrics = run()
    metrics.started(20.0, waited=0.0)
    metrics.ended(21.0, seconds=0.3, kind="rate_limit")
    metrics.started(22.0, waited=0.0)
    durations = {point.attributes.get("error.type"): point for point in points("gen_ai.client.operation.duration")}
    assert {kind: (point.count, point.sum) for kind, point in durations.items()} == {
        None: (1, 1.0),
        "server": (1, 2.0),
        "rate_limit": (1, 0.3),
    }
    assert durations[None].explicit_bounds[:2] == (0.01, 0.02)
    assert durations[None].attributes["gen_ai.operation.name"] == "chat"
    tokens = {point.attributes["gen_ai.token.type"]: point.sum for point in points("gen_ai.client.token.usage")}
    assert tokens == {"input": 1000, "output": 100}
    assert [point.value for point in points("llmframe.requests.in_flight")] == [1]
    assert [point.value for point in points("llmframe.requests.rate_limited")] == [1]
    assert [point.attributes["error.type"] for point in points("llmframe.requests.retries")] == ["server"]


def test_unknown_tokens_are_not_measured_as_none(points: Any):
    Metrics(model="m", price=Price(None, "m")).book(Usage(None, None, None))
    assert points("gen_ai.client.token.usage") == []


def test_providers_go_by_the_names_that_opentelemetry_has_for_them(points: Any):
    metrics = Metrics(model="m", price=Price("azure_openai", "m"))
    metrics.started(0.0, waited=0.0)
    (point,) = points("llmframe.requests.in_flight")
    assert point.attributes["gen_ai.provider.name"] == "azure.ai.openai"


def test_the_api_is_never_imported_for_it():
    code = """
import sys
from llmframe.core.prices import Price
from llmframe.engine.metrics import Metrics
metrics = Metrics(model="m", price=Price(None, "m"))
metrics.started(0.0, waited=0.0)
metrics.run_ended(metrics.report(seconds=1.0, state="done"))
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
