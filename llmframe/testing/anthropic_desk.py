"""How a simulated Anthropic takes requests in."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import parse_qsl

from llmframe.testing import steps
from llmframe.testing.answers import Response
from llmframe.testing.anthropic_batches import Batch, Shelf
from llmframe.testing.anthropic_messages import Trouble, answered, incomplete, prompt_of, refused, trouble
from llmframe.testing.delivery import Delivery
from llmframe.testing.desk import Answer
from llmframe.testing.http import Connection, Exchange
from llmframe.testing.script import Matcher, Script

Operation = Literal["message", "create", "retrieve", "list", "results", "cancel", "delete"]
"""What a request asks of the service."""
Mangle = Callable[[list[bytes]], list[bytes]]
"""The lines of a result file in, those that go out: in another order, some twice, strangers among them."""

BATCHES = "/v1/messages/batches"
_SAID = (steps.Text, steps.Object, steps.ToolCalls, steps.Truncated, steps.Refusal, steps.Filtered, steps.Empty)


@dataclass(frozen=True, slots=True)
class Fault:
    """A step in place of an answer; with `after` the work is done and only its answer lost."""

    step: steps.Step
    after: bool = False


@dataclass(slots=True)
class Traits:
    """How the service behaves; everything may be changed at any time."""

    api_key: str
    answer: Answer | None = None
    batch_seconds: float = 0.0
    done_before_cancel: int = 0
    mangle: Mangle | None = None
    expiring: list[Matcher] = field(default_factory=list[Matcher])


class AnthropicDesk:
    """The `Service` behind a provider; everything but what a test tells it runs in the serving loop."""

    def __init__(self, traits: Traits, clock: Callable[[], float]) -> None:
        self.traits = traits
        self.script = Script()
        self.shelf = Shelf(clock)
        self.faults: dict[Operation, list[Fault]] = {}
        self.calls: Counter[Operation] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.connections: set[Connection] = set()
        self.base_url = ""
        self._clock = clock
        self._numbers = itertools.count(1)
        self._delivery = Delivery(piece_latency=0.0, answered=lambda _exchange, _answer: None)

    def opened(self, connection: Connection) -> None:
        """A client connected."""
        self.connections.add(connection)

    def closed(self, connection: Connection, pending: Exchange | None) -> None:
        """A connection ended."""
        self.connections.discard(connection)
        if pending is not None:
            pending.done = True

    def drop(self) -> None:
        """Close every connection."""
        for connection in tuple(self.connections):
            connection.drop()

    def handle(self, exchange: Exchange) -> None:
        """A request arrived."""
        number = next(self._numbers)
        operation, batch_id = _route(exchange.head.method, exchange.head.path)
        if operation is None:
            answer = _failed(trouble(404, f"no route for {exchange.head.method} {exchange.head.path}"), number)
        else:
            self.calls[operation] += 1
            waiting = self.faults.get(operation, [])
            fault = waiting.pop(0) if waiting else None
            if fault is not None and not fault.after:
                answer = _stepped(fault.step, number, _told({}))
            else:
                answer = self._done(operation, batch_id, exchange, number)
                if fault is not None:
                    answer = _stepped(fault.step, number, answer)
        headers = {**answer.headers, "request-id": _request_id(number)}
        self._delivery.deliver(exchange, replace(answer, headers=headers))

    def finish(self, batch: Batch) -> None:
        """End a batch now: what a cancel left over is canceled, what was told to expire expired."""
        done = self.traits.done_before_cancel if batch.cancelled is not None else len(batch.requests)
        results = {
            custom_id: self._result(params) if at < done else {"type": "canceled"}
            for at, (custom_id, params) in enumerate(batch.requests.items())
        }
        self.shelf.end(batch, results)

    def _done(self, operation: Operation, batch_id: str, exchange: Exchange, number: int) -> Response:
        headers = exchange.head.headers
        given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if given != self.traits.api_key:
            return _failed(trouble(401, f"invalid x-api-key: {given}"), number)
        if "anthropic-version" not in headers:
            return _failed(trouble(400, "anthropic-version: header is required"), number)
        self._advance()
        try:
            outcome = self._answer(operation, batch_id, exchange, number)
        except Exception as exc:  # noqa: BLE001 - a fault in the test's own function must reach it as an answer, or its client waits for ever
            outcome = trouble(400, f"the simulated provider can't answer: {exc!r}")
        match outcome:
            case Response():
                return outcome
            case Trouble():
                return _failed(outcome, number)
            case Batch():
                return _told(outcome.object(self.base_url))
            case _:
                return _told(outcome)

    def _answer(
        self, operation: Operation, batch_id: str, exchange: Exchange, number: int
    ) -> Response | Trouble | Batch | dict[str, Any]:
        match operation:
            case "message":
                return self._message(exchange.body, number)
            case "create":
                return self.shelf.create(exchange.body)
            case "retrieve":
                return self.shelf.get(batch_id)
            case "list":
                return self.shelf.page(dict(parse_qsl(exchange.head.query)), self.base_url)
            case "cancel":
                return self.shelf.cancel(batch_id)
            case "delete":
                return self.shelf.delete(batch_id)
            case "results":
                lines = self.shelf.results(batch_id)
                if isinstance(lines, Trouble):
                    return lines
                mangled = self.traits.mangle(lines) if self.traits.mangle else lines
                return Response(body=b"".join(mangled), content_type="application/x-jsonl")

    def _message(self, body: bytes, number: int) -> Response | Trouble | dict[str, Any]:
        try:
            params = json.loads(body)
        except ValueError:
            return trouble(400, "The request body is not valid JSON")
        wrong = incomplete(params)
        if wrong is not None:
            return wrong
        self.bodies.append(params)
        step = self._step(params)
        if step is not None and not isinstance(step, _SAID):
            return _stepped(step, number, _told({}))
        return refused(params) or answered(params, step, number=number, tier="standard")

    def _result(self, params: dict[str, Any]) -> dict[str, Any]:
        prompt, number = prompt_of(params), next(self._numbers)
        if any(each in prompt if isinstance(each, str) else each(prompt) for each in self.traits.expiring):
            return {"type": "expired"}
        wrong = refused(params)
        step = self._step(params) if wrong is None else None
        if step is not None and not isinstance(step, _SAID):
            code = step.code if isinstance(step, steps.Status) else 500
            wrong = _trouble_of(step) if isinstance(step, steps.Status) else trouble(code)
        if wrong is not None:
            return {"type": "errored", "error": wrong.body(None)}
        return {"type": "succeeded", "message": answered(params, step, number=number, tier="batch")}

    def _step(self, params: dict[str, Any]) -> steps.Step | None:
        """What the script, else the test's own function says to a request."""
        prompt = prompt_of(params)
        step = self.script.take(prompt)
        if step is not None or self.traits.answer is None:
            return step
        said = self.traits.answer(prompt, params)
        if said is None or isinstance(said, steps.Step):
            return said
        return steps.Text(said) if isinstance(said, str) else steps.Object(said)

    def _advance(self) -> None:
        """End the batches whose time has come; one that is being canceled has waited enough."""
        for batch in self.shelf.batches.values():
            due = batch.created + self.traits.batch_seconds <= self._clock()
            if batch.status == "canceling" or (batch.status == "in_progress" and due):
                self.finish(batch)


def _route(method: str, path: str) -> tuple[Operation | None, str]:
    """What is asked for, and of which batch."""
    if (method, path) == ("POST", "/v1/messages"):
        return "message", ""
    if path == BATCHES:
        return {"POST": ("create", ""), "GET": ("list", "")}.get(method, (None, ""))  # type: ignore[return-value]
    batch_id, _, rest = path.removeprefix(f"{BATCHES}/").partition("/")
    known: dict[tuple[str, str], Operation] = {
        ("GET", ""): "retrieve",
        ("DELETE", ""): "delete",
        ("GET", "results"): "results",
        ("POST", "cancel"): "cancel",
    }
    return (known.get((method, rest)) if path.startswith(f"{BATCHES}/") else None), batch_id


def _told(body: dict[str, Any]) -> Response:
    return Response(body=json.dumps(body, ensure_ascii=False).encode())


def _failed(wrong: Trouble, number: int) -> Response:
    return Response(status=wrong.status, body=json.dumps(wrong.body(_request_id(number))).encode())


def _request_id(number: int) -> str:
    return f"req_{number:024d}"


def _trouble_of(step: steps.Status) -> Trouble:
    return trouble(step.code, step.message, type_=step.error_code)


def _stepped(step: steps.Step, number: int, whole: Response) -> Response:
    """The answer under a fault; `whole` is what would have been said."""
    match step:
        case steps.Status():
            failed = _failed(_trouble_of(step), number)
            wait = {} if step.retry_after is None else {"retry-after": str(step.retry_after)}
            return replace(failed, headers={**wait, **step.headers})
        case steps.Reset():
            return replace(whole, ending="reset")
        case steps.Cut():
            return replace(whole, ending="cut")
        case steps.Hang():
            return replace(whole, ending="hang")
        case steps.BadBody():
            return replace(whole, body=whole.body[: len(whole.body) // 2] + b"\xff")
        case steps.Html():
            return Response(status=step.code, body=b"<html><body>Sign in</body></html>", content_type="text/html")
        case _:
            return _failed(trouble(500, f"{type(step).__name__} isn't known here"), number)
