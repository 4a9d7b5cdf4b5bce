"""A run cancelled after every single step of its loop: nothing is left behind, what came back is kept."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from llmframe.clients.base import Dialect, Message, RequestError
from llmframe.core.outcome import Answer
from llmframe.core.reply import Reply
from llmframe.engine.gate import Gate
from llmframe.engine.sharing import Shared
from llmframe.stores.base import MemoryStore
from tests.engine.doubles import (
    MODES,
    USAGE,
    Client,
    CountingLoop,
    Part,
    Sent,
    names,
    new_run,
    others,
    part_of,
    refused,
    say,
    settle,
)

Make = Callable[[Shared, MemoryStore], list[Part]]
How = Literal["the run", "the caller"]

NEVER = 10_000
"""More steps than any of these runs takes."""

KNOWN = 40
"""Requests of 0.5 s that a run has seen before, so that it knows which are late."""


class SteppedLoop(CountingLoop):
    """Simulated time in which something happens before the `at`-th step of the loop."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.at = NEVER
        self.happens: Callable[[], None] = lambda: None

    def _run_once(self) -> None:
        self.steps += 1
        if self.steps == self.at:
            self.happens()
        super()._run_once()  # type: ignore[misc] - not in the typed surface of asyncio


@dataclass
class Books(Client):
    """A client that keeps the replies that it gave back, by prompt."""

    replies: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def send(self, messages: list[Message], dialect: Dialect) -> Reply:
        reply = await super().send(messages, dialect)
        self.replies.append((str(messages[0]["content"]), reply.text))
        return reply


@dataclass
class Scene:
    """Parts that share a gate and a store; the first one's run is cancelled."""

    loop: SteppedLoop
    shared: Shared
    store: MemoryStore
    parts: list[Part]
    errors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def gate(self) -> Gate:
        client = self.parts[0].client
        return self.shared.gate((client.identity, client.account, client.model))

    @property
    def replies(self) -> list[tuple[str, str]]:
        """All replies that came, to whichever part."""
        client = self.parts[0].client
        assert isinstance(client, Books)
        return client.replies


def troubled(sent: Sent, before: int) -> Reply | BaseException:
    """Every kind of detour, by the row."""
    number = int(sent.prompt[4:])
    if not before and number == 1:
        return RequestError("rate_limit", "429", status=429, retry_after=1.0)
    if not before and number == 2:
        return say("not a label")
    if not before and number == 3:
        return RequestError("server", "500", status=500)
    return say("pos")


def picky(sent: Sent, before: int) -> Reply | BaseException:
    """Takes nothing but JSON, and fails a row in the middle of finding that out."""
    if sent.dialect.mode != "json":
        return refused()
    return RequestError("server", "500", status=500) if sent.prompt == "row-1" and before < 3 else say("pos")


def slow_once() -> Callable[[Sent], float]:
    """The first request of two rows takes very long, every other one half a second."""
    seen: set[str] = set()

    def latency(sent: Sent) -> float:
        first = sent.prompt not in seen
        seen.add(sent.prompt)
        return {"row-1": 4.0, "row-4": 0.9}.get(sent.prompt, 0.5) if first else 0.4

    return latency


def plain(shared: Shared, store: MemoryStore) -> list[Part]:
    return [part_of(names(5), Books(troubled, latency=0.5), shared=shared, store=store, max_concurrency=3)]


def paced(shared: Shared, store: MemoryStore) -> list[Part]:
    client = Books(troubled, latency=0.5, lingers=0.25)
    return [
        part_of(
            names(5), client, shared=shared, store=store, max_concurrency=3, requests_per_minute=60,
            tokens_per_minute=6000, timeout=0.75,
        )
    ]  # fmt: skip


def negotiated(shared: Shared, store: MemoryStore) -> list[Part]:
    client = Books(picky, latency=0.5, dialects=MODES)
    return [part_of(names(4), client, shared=shared, store=store, max_concurrency=3)]


def hedged(shared: Shared, store: MemoryStore, *, lingers: float = 0.0) -> list[Part]:
    client = Books(troubled, latency=slow_once(), lingers=lingers)
    run = new_run(5)
    for _ in range(KNOWN):
        run.metrics.started(0.0, waited=0.0)
        run.metrics.ended(0.5, seconds=0.5)
    return [part_of(names(5), client, shared=shared, store=store, run=run, max_concurrency=4, hedge=True)]


def hedged_lingering(shared: Shared, store: MemoryStore) -> list[Part]:
    return hedged(shared, store, lingers=0.3)


def joined(shared: Shared, store: MemoryStore) -> list[Part]:
    """Two runs over the same rows; the one that is cancelled begins, the other joins what is in flight."""
    first = Books(troubled, latency=0.5, identity="same")
    second = Books(troubled, latency=0.5, identity="same", replies=first.replies, sent=first.sent)
    return [part_of(names(4), client, shared=shared, store=store, max_concurrency=2) for client in (first, second)]


def joining(shared: Shared, store: MemoryStore) -> list[Part]:
    """As `joined`, but the one that is cancelled comes second."""
    return joined(shared, store)[::-1]


SCENES = [plain, paced, negotiated, hedged, hedged_lingering, joined, joining]


async def cancelled(make: Make, loop: SteppedLoop, *, at: int, how: How) -> tuple[Scene, int]:
    """A scene whose first run is cancelled before the `at`-th step, when it's over; and the steps that it took."""
    shared, store = Shared(loop.time), MemoryStore()
    scene = Scene(loop, shared, store, make(shared, store))
    loop.set_exception_handler(lambda _, context: scene.errors.append(context))
    first = scene.parts[0]
    order = scene.parts[::-1] if make is joining else scene.parts
    callers = {id(part): asyncio.create_task(part.work()) for part in order}
    loop.at = loop.steps + at
    loop.happens = first.run.cancel if how == "the run" else callers[id(first)].cancel
    await asyncio.wait(callers.values())
    steps = loop.steps
    for caller in callers.values():
        if not caller.cancelled():
            caller.result()
    for part in scene.parts:
        await part.runner.landed()
    await settle()
    return scene, steps


def nothing_is_left(scene: Scene) -> None:
    gate = scene.gate
    assert others() == set()
    assert scene.loop.open_timers == 0
    assert scene.shared._flights == {}
    assert (gate.in_flight, bool(gate._line), gate._alarm, gate._turns, gate._flows) == (0, False, None, None, {})
    for part in scene.parts:
        assert (part.client.in_flight, part.metrics.in_flight) == (0, 0)
        for lane in part.run._lanes.values():
            assert (lane.flow.in_flight, len(lane.flow.waiting)) == (0, 0)


def what_came_is_kept(scene: Scene) -> None:
    first, told = scene.parts[0], set[str]()
    for part in scene.parts:
        for row, result in zip(names(part.plan.length), part.results, strict=True):
            if isinstance(result, Answer):
                told.add(row)
            else:  # an invalid reply or a fault that came before there was time for another attempt is told as it is
                assert part is first
                assert result.kind in ("cancelled", "invalid", "server")
    valid = {prompt for prompt, text in scene.replies if text == "pos"}
    assert told == valid
    assert len(scene.store) == len(valid)
    paid = sum(part.metrics.usage.input_tokens or 0 for part in scene.parts)
    assert paid == (USAGE.input_tokens or 0) * len(scene.replies)


async def the_rest_is_asked_at_once(scene: Scene) -> None:
    client = scene.parts[0].client
    rows, before = names(scene.parts[0].plan.length), scene.loop.time()
    missing = set(rows) - {prompt for prompt, text in scene.replies if text == "pos"}
    fresh = Client(identity=client.identity, latency=0.5)
    again = await part_of(rows, fresh, shared=scene.shared, store=scene.store, max_concurrency=3).work()
    elapsed = scene.loop.time() - before
    await settle()
    assert again.kinds == [""] * len(rows)
    assert fresh.prompts == Counter(missing)
    if not any(part.metrics.rate_limited for part in scene.parts):  # which teaches a rate, and leaves a ramp
        assert elapsed <= 0.5 * -(-len(missing) // 3) + 1e-6


def play(make: Make, *, at: int, how: How) -> int:
    """One run of a scene, with everything that holds for it; returns its steps."""
    loop = SteppedLoop()

    async def main() -> int:
        scene, steps = await cancelled(make, loop, at=at, how=how)
        nothing_is_left(scene)
        what_came_is_kept(scene)
        if at == NEVER:
            assert all(part.kinds == [""] * part.plan.length for part in scene.parts)
        await the_rest_is_asked_at_once(scene)
        nothing_is_left(scene)
        gc.collect(0)  # a task whose exception nobody looked at says so when it goes
        assert scene.errors == []
        return steps

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main())


@pytest.mark.parametrize(
    ("make", "how"),
    [*((make, "the run") for make in SCENES), (paced, "the caller"), (hedged_lingering, "the caller")],
)
def test_cancelled_at_any_step_a_run_leaves_nothing_and_keeps_what_came(make: Make, how: How):
    for at in range(play(make, at=NEVER, how=how)):
        try:
            play(make, at=at, how=how)
        except BaseException as error:
            error.add_note(f"cancelled before step {at}")
            raise
