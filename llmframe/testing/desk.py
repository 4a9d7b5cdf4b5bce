"""How a simulated provider takes requests in and gives answers out."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any

from llmframe.testing import steps
from llmframe.testing.answers import Call, Response, error, read_call, respond
from llmframe.testing.gate import Gate
from llmframe.testing.http import Connection, Exchange, response
from llmframe.testing.policy import Policy
from llmframe.testing.script import Script
from llmframe.testing.shapes import as_object
from llmframe.testing.tally import Tally, prompt_of
from llmframe.testing.throttle import Throttle

Answer = Callable[[str, dict[str, Any]], object]
"""`answer(prompt, request)`: the last user message and the request body in; a str, JSON value, step or `None` out."""

MODELS = ("test-model", "gpt-4o-mini")
"""What `GET /v1/models` lists."""
DRIP_LENGTH = 1_000_000
"""Content length that a dripping answer announces, in bytes."""


class Desk:
    """The `Service` behind a provider; everything but `script` and `gate.hold` runs in the serving thread."""

    def __init__(
        self, tally: Tally, policy: Policy, *, latency: float | Callable[[str], float], answer: Answer | None
    ) -> None:
        self.script = Script()
        self.gate = Gate()
        self.connections: set[Connection] = set()
        self._tally = tally
        self._policy = policy
        self._latency = latency
        self._answer = answer
        self._throttle = Throttle(requests_per_minute=None, tokens_per_minute=None)
        self._numbers = itertools.count(1)

    def opened(self, connection: Connection) -> None:
        """A client connected."""
        self.connections.add(connection)

    def closed(self, connection: Connection, pending: Exchange | None) -> None:
        """A connection ended."""
        self.connections.discard(connection)
        if pending is not None:
            pending.done = True
            self._tally.left(by_client=not connection.dropped)

    def handle(self, exchange: Exchange) -> None:
        """A request arrived."""
        method, path = exchange.head.method, exchange.head.path
        if method == "POST" and path.endswith("/chat/completions"):
            self._model_call(exchange)
        elif method == "GET" and path.endswith("/models"):
            models = [{"id": name, "object": "model", "created": 0, "owned_by": "testing"} for name in MODELS]
            exchange.send(response(200, json.dumps({"object": "list", "data": models}).encode()))
        elif method == "GET" and "/models/" in path:
            model = {"id": path.rpartition("/models/")[2], "object": "model", "created": 0, "owned_by": "testing"}
            exchange.send(response(200, json.dumps(model).encode()))
        else:
            exchange.send(_bytes(error(404, f"no route for {method} {path}")))

    def _model_call(self, exchange: Exchange) -> None:
        try:
            request: Any = json.loads(exchange.body)
        except ValueError:
            request = None
        number = next(self._numbers)
        body = as_object(request)
        self._tally.arrived(body, exchange.head.headers)
        try:
            answer = self._decide(number, body, exchange.head.headers)
            delay = answer.delay + (self._latency(prompt_of(body)) if callable(self._latency) else self._latency)
        except Exception as exc:  # noqa: BLE001 - a fault in the test's own function must reach it as an answer, or its client waits for ever
            answer, delay = error(400, f"the simulated provider can't answer: {exc!r}", code="testing"), 0.0
        if delay > 0:
            asyncio.get_running_loop().call_later(delay, self.gate.passes, lambda: self._deliver(exchange, answer))
        else:
            self.gate.passes(lambda: self._deliver(exchange, answer))

    def _decide(self, number: int, request: dict[str, Any], headers: dict[str, str]) -> Response:
        refused = self._policy.unauthorized(headers)
        if refused is not None:
            return refused
        call = read_call(request, number=number, ignores=self._policy.ignores)
        verdict = self._throttle.admit(tokens=call.charge, now=asyncio.get_running_loop().time())
        if verdict.wait > 0:
            message = f"Rate limit reached. Please try again in {verdict.wait:.3f}s."
            return error(429, message, code="rate_limit_exceeded", headers=verdict.headers)
        answer = self._policy.refusal(request) or respond(call, self._step(call))
        answer.headers.update(verdict.headers)
        return answer

    def _step(self, call: Call) -> steps.Step | None:
        step = self.script.take(call.prompt)
        if step is not None or self._answer is None:
            return step
        given = self._answer(call.prompt, call.request)
        if given is None or isinstance(given, steps.Step):
            return given
        return steps.Text(given) if isinstance(given, str) else steps.Object(given)

    def _deliver(self, exchange: Exchange, answer: Response) -> bool:
        """Answer unless the client is gone; whether it was still there."""
        if exchange.done:
            return False
        if answer.ending == "drip":
            exchange.send_part(response(200, b" " * DRIP_LENGTH)[:-DRIP_LENGTH])
            self._drip(exchange, answer.interval)
        elif answer.ending != "hang":
            # Counted before it is sent: whoever has the answer finds it in the counters.
            self._tally.answered(answer)
            whole = _bytes(answer)
            if answer.ending == "whole":
                exchange.send(whole)
            elif answer.ending == "cut":
                exchange.cut(whole[: len(whole) - len(answer.body) // 2])
            else:
                exchange.reset()
        return True

    def _drip(self, exchange: Exchange, interval: float) -> None:
        if not exchange.done:
            exchange.send_part(b" ")
            asyncio.get_running_loop().call_later(interval, self._drip, exchange, interval)

    def drop(self) -> None:
        """End every connection; what was in flight wasn't left by its client."""
        for connection in tuple(self.connections):
            connection.drop()

    def renew(self, throttle: Throttle) -> None:
        """Zero the counters and keep to these limits from now on."""
        self._tally.zero()
        self._throttle = throttle


def _bytes(answer: Response) -> bytes:
    return response(answer.status, answer.body, content_type=answer.content_type, headers=answer.headers)
