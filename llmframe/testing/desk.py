"""How a simulated provider takes requests in."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from llmframe.testing import steps
from llmframe.testing.answers import Response, error, respond
from llmframe.testing.batch_desk import BatchDesk, LineAnswer
from llmframe.testing.calls import Call, read_call
from llmframe.testing.closed import Opinion
from llmframe.testing.delivery import Delivery
from llmframe.testing.embeddings import EmbeddingCall, embed, read_embedding
from llmframe.testing.faults import Faults
from llmframe.testing.file_desk import Route, Served
from llmframe.testing.gate import Gate
from llmframe.testing.http import Connection, Exchange, response
from llmframe.testing.latency import Latency, latency_of
from llmframe.testing.limits import Limits
from llmframe.testing.policy import Policy
from llmframe.testing.script import Script
from llmframe.testing.shapes import as_object
from llmframe.testing.tally import Tally, prompt_of
from llmframe.testing.telling import Logprobs

Answer = Callable[[str, dict[str, Any]], object]
"""`answer(prompt, request)`: the last user message and the request body in; a str, JSON value, step or `None` out."""

MODELS = ("test-model", "gpt-4o-mini")
"""What `GET /v1/models` lists."""


class Desk:
    """The `Service` behind a provider; everything but `script` and `gate.hold` runs in the serving loop."""

    def __init__(  # noqa: PLR0913 - the parts of a provider
        self,
        tally: Tally,
        policy: Policy,
        limits: Limits,
        *,
        latency: Latency,
        piece_latency: float,
        faults: Faults,
        answer: Answer | None,
        dimensions: int,
        batches: Callable[[LineAnswer], BatchDesk],
        opinion: Opinion,
        logprobs: Logprobs,
    ) -> None:
        self.script = Script()
        self.gate = Gate()
        self.connections: set[Connection] = set()
        self._tally = tally
        self._policy = policy
        self._limits = limits
        self._latency = latency_of(latency)
        self._faults = faults
        self._answer = answer
        self._dimensions = dimensions
        self._opinion, self._logprobs = opinion, logprobs
        self._samples: Counter[int] = Counter()
        self.batches = batches(self.line)
        self._outage: steps.Step | None = None
        self._delivery = Delivery(piece_latency=piece_latency, answered=self._answered)
        self._numbers = itertools.count(1)

    def opened(self, connection: Connection) -> None:
        """A client connected."""
        self.connections.add(connection)

    def closed(self, connection: Connection, pending: Exchange | None) -> None:
        """A connection ended."""
        self.connections.discard(connection)
        if pending is not None:
            pending.done = True
            if pending.model_call:
                self._limits.leave(pending)
                self._tally.left(by_client=not connection.dropped)

    def handle(self, exchange: Exchange) -> None:
        """A request arrived."""
        method, path = exchange.head.method, exchange.head.path
        if method == "POST" and path.endswith(("/chat/completions", "/embeddings")):
            self._model_call(exchange)
        elif (route := self.batches.route(exchange.head)) is not None:
            self._batch_call(exchange, route)
        elif self._outage is not None:
            exchange.reset()
        elif method == "GET" and path.endswith("/models"):
            models = [{"id": name, "object": "model", "created": 0, "owned_by": "testing"} for name in MODELS]
            exchange.send(response(200, json.dumps({"object": "list", "data": models}).encode()))
        elif method == "GET" and "/models/" in path:
            model = {"id": path.rpartition("/models/")[2], "object": "model", "created": 0, "owned_by": "testing"}
            exchange.send(response(200, json.dumps(model).encode()))
        else:
            exchange.send(response(404, error(404, f"no route for {method} {path}").body))

    def line(self, endpoint: str, body: dict[str, Any]) -> Response:
        """What the line of a batch gets: as the same request would live, without key, limits and latency."""
        try:
            call = self._read(endpoint, body, next(self._numbers))
            if isinstance(call, Response):
                return call
            if body.get("stream"):
                return error(400, "Streaming is not supported in a batch.", param="stream")
            return self._policy.refusal(body) or _respond(call, self._step(call))
        except Exception as exc:  # noqa: BLE001 - as for a live request: a fault in the test's own function
            return error(400, f"the simulated provider can't answer: {exc!r}", code="testing")

    def _batch_call(self, exchange: Exchange, route: Route) -> None:
        loop = asyncio.get_running_loop()
        try:
            served = self._serve(exchange, route, now=loop.time())
        except Exception as exc:  # noqa: BLE001 - as for a model call: a fault in the test's own function
            served = Served(error(400, f"the simulated provider can't answer: {exc!r}", code="testing"))

        def answered(*_: object) -> None:  # just before the answer is written; it has been in the loop's next round
            loop.call_soon(self.batches.replied, route, served)

        delivery = Delivery(piece_latency=0.0, answered=answered)
        if served.answer.delay > 0:
            loop.call_later(served.answer.delay, self.gate.passes, lambda: delivery.deliver(exchange, served.answer))
        else:
            self.gate.passes(lambda: delivery.deliver(exchange, served.answer))

    def _serve(self, exchange: Exchange, route: Route, *, now: float) -> Served:
        if self._outage is not None:
            return self.batches.refuse(route, self._outage)
        refused = self._policy.unauthorized(exchange.head.headers)
        return Served(refused, route.id) if refused is not None else self.batches.serve(route, exchange, now=now)

    def _model_call(self, exchange: Exchange) -> None:
        exchange.model_call = True
        try:
            request: Any = json.loads(exchange.body)
        except ValueError:
            request = None
        loop = asyncio.get_running_loop()
        body = as_object(request)
        self._tally.arrived(body, exchange.head.headers, at=loop.time())
        try:
            answer = self._decide(exchange, body)
            delay = answer.delay + self._takes(body)
        except Exception as exc:  # noqa: BLE001 - a fault in the test's own function must reach it as an answer, or its client waits for ever
            answer, delay = error(400, f"the simulated provider can't answer: {exc!r}", code="testing"), 0.0
        if delay > 0:
            loop.call_later(delay, self.gate.passes, lambda: self._delivery.deliver(exchange, answer))
        else:
            self.gate.passes(lambda: self._delivery.deliver(exchange, answer))

    def _takes(self, body: dict[str, Any]) -> float:
        if self._outage is not None:
            return 0.0
        return self._latency(prompt_of(body), self._tally.in_flight) if callable(self._latency) else self._latency

    def _decide(self, exchange: Exchange, request: dict[str, Any]) -> Response:
        number = next(self._numbers)
        refused = None if self._outage is not None else self._policy.unauthorized(exchange.head.headers)
        if refused is not None:
            return refused
        call = self._read(exchange.head.path, request, number)
        if isinstance(call, Response):
            return call
        if self._outage is not None:
            return _respond(call, self._counted(self._outage))
        charge = call.charge
        limited, headers = self._limits.admit(exchange, tokens=charge, now=self._tally.arrivals[-1])
        if limited is not None:
            self._tally.limited()
            return limited
        self._tally.charged(charge)
        answer = self._policy.refusal(request) or _respond(call, self._step(call))
        if headers:
            answer.headers.update(headers)
        return answer

    def _read(self, path: str, request: dict[str, Any], number: int) -> Call | EmbeddingCall | Response:
        if path.endswith("/embeddings"):
            return read_embedding(request, dimensions=self._dimensions)
        call = read_call(request, number=number, ignores=self._policy.ignores)
        return replace(call, opinion=self._opinion, logprobs=self._logprobs, sample=self._sample(call))

    def _sample(self, call: Call) -> str:
        """Which sample of its messages a request is: by its seed, else by how often they came."""
        if not self._opinion.varies:
            return ""
        seed = call.request.get("seed")
        if seed is not None:
            return f"seed {seed}"
        self._samples[call.seed] += 1
        return str(self._samples[call.seed])

    def _step(self, call: Call | EmbeddingCall) -> steps.Step | None:
        step = self.script.take(call.prompt) or self._faults.draw(call.seed)
        if step is not None:
            return self._counted(step)
        given = None if self._answer is None else self._answer(call.prompt, call.request)
        if given is None:
            return None
        if isinstance(given, steps.Step):
            return self._counted(given)
        # an answer, no fault: counted as one, every value would be kept, and compared with all others
        return steps.Text(given) if isinstance(given, str) else steps.Object(given)

    def _counted(self, step: steps.Step) -> steps.Step:
        self._tally.faults[step] += 1
        return step

    def _answered(self, exchange: Exchange, answer: Response) -> None:
        self._limits.leave(exchange)
        self._tally.answered(answer)

    def fail(self, step: steps.Step) -> None:
        """Reset what is under way, for a dead server every connection, and give every request this step from now on."""
        self._outage = step
        for connection in tuple(self.connections):
            # One that waits for its next request gets `step` there: reset now, its client might not know it yet.
            if connection.busy or isinstance(step, steps.Reset):
                connection.dropped = True
                connection.reset()

    def recover(self) -> None:
        """End what `fail` began."""
        self._outage = None

    def drop(self) -> None:
        """End every connection; what was in flight wasn't left by its client."""
        for connection in tuple(self.connections):
            connection.drop()

    def fill(self) -> None:
        """Limits are full again: another loop serves, whose clock is its own."""
        self._limits.fill()

    def renew(self) -> None:
        """Zero the counters, fill the limits, and let faults come as at the start."""
        self._tally.zero()
        self._limits.fill()
        self._faults.forget()
        self._samples.clear()


def _respond(call: Call | EmbeddingCall, step: steps.Step | None) -> Response:
    return respond(call, step) if isinstance(call, Call) else embed(call, step)
