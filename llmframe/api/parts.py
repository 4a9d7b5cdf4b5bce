"""The parts of one run, begun in order and no faster than somebody takes them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from llmframe.api.batching import Stage
from llmframe.api.before import Before, settled_by
from llmframe.api.eager import Part
from llmframe.api.keeping import store_of_parts
from llmframe.api.prepared import Asking, Prepared
from llmframe.api.supply import Supply
from llmframe.clients.base import Client
from llmframe.core.plan import Plan, Planned
from llmframe.engine import bridge
from llmframe.engine.bridge import Post
from llmframe.engine.hop import OnLoop
from llmframe.engine.progress import Progress
from llmframe.engine.run import Run
from llmframe.stores.base import Store

LEAST_WINDOW: Final = 4
"""Parts that may be begun and not yet taken, at least: a few slow rows, each in its own part, hold up no others."""


def window(rows: int, max_concurrency: int) -> int:
    """How many parts may be begun and not yet taken: rows for `max_concurrency` requests, and one part more."""
    return max(LEAST_WINDOW, -(-max_concurrency // rows) + 1)


class HeldClient:
    """A client that all parts of a run use: started by the first of them, closed by whoever holds it."""

    def __init__(self, client: Client) -> None:
        self.held = client
        self._starting = asyncio.Lock()
        self._started = False
        self.send = client.send

    def __getattr__(self, name: str) -> Any:
        """What the client says of itself."""
        return getattr(self.held, name)

    async def start(self) -> None:
        """As the client's, once."""
        async with self._starting:
            if not self._started:
                await self.held.start()
                self._started = True

    async def close(self) -> None:
        """Nothing: the next part may need it."""


class DrawnPlan(Plan):
    """A plan that tells when its last request has been drawn: workers will soon have nothing to do."""

    drawn: Callable[[], None]

    def draw(self) -> Iterator[list[Planned]]:
        """As a plan's."""
        yield from super().draw()
        self.drawn()


@dataclass(slots=True, eq=False)
class Slice:
    """A part on its way; `number` is its place in the order."""

    number: int
    part: Part
    task: asyncio.Task[None]
    drawn: bool = False

    def failed(self) -> str | None:
        """The kind of its first failed row; `None` when all are answered."""
        found = self.part.first_failure()
        return None if found is None else found[1].kind


class Parts:
    """What is begun of one run; all of it happens on the private loop, except for `make`.

    A part is begun when the last request of the one before it has been drawn, so that what came first is finished
    first, and only while fewer than a window of them are begun and not yet taken.

    Parameters
    ----------
    asking, client
        What all parts ask, and the client that they share.
    supply
        The maps of the parts.
    rows
        Rows of a part; some may have fewer.
    ordered
        Whether parts are taken in their order; else as they finish.
    stage
        The batches that come before all parts; `None` in a live run.
    before
        What was asked before all of it.
    kind
        What each part is.
    """

    def __init__(  # noqa: PLR0913 - one argument a fact
        self,
        asking: Asking,
        client: Client,
        supply: Supply,
        *,
        rows: int,
        ordered: bool,
        stage: Stage | None = None,
        before: Before | None = None,
        kind: type[Part] = Part,
    ) -> None:
        said = asking.arguments
        self._client, self._supply = HeldClient(client), supply
        self._fingerprints = asking.question(client).fingerprints()
        if stage is not None:
            self._store: Store = stage.store
        else:
            self._store = store_of_parts(said.sending.cache, client) if before is None else before.store
        self._settled = settled_by(None if stage is None else stage.settled, before)
        self._kind = kind
        self._ordered, self._raises = ordered, said.on_error == "raise"
        self._window = window(rows, said.sending.max_concurrency)
        self._begun = self._taken = self._rows_begun = 0
        self._over = False
        self._alive: dict[int, Slice] = {}
        self._finished: deque[Slice] = deque()
        self._news = asyncio.Event()
        self._post: Post = nowhere

    def open(
        self, run: Run, *, show: Callable[[Progress], None] | None, home: asyncio.AbstractEventLoop | None
    ) -> None:
        """Take the run that the parts belong to, what shows its progress, and the loop of the client's connections."""
        self.run, self._show, self._home = run, show, home
        run.held = True
        self._loop = bridge.private_loop()

    async def take(self, post: Post) -> Part | None:
        """The next finished part, which is then the caller's alone; `None` after the last.

        Raises what ended a part's work, and, when the parts before it have been taken, what ended the supply.
        """
        self._post = post
        try:
            while True:
                self._begin()
                found = self._finished_one()
                if found is not None:
                    break
                if not self._alive and (self._over or self._supply.over):
                    error = self._supply.error()
                    if error is not None:
                        raise error
                    return None
                self._news.clear()
                await self._news.wait()
            found.task.result()
            if self._raises and found.failed():
                found = await self._first_failed(found)
        finally:
            self._post = nowhere
        del self._alive[found.number]
        self._taken += 1
        self._begin()
        return found.part

    def wake(self) -> None:
        """Have whoever waits for a part look whether there will be one; from any thread."""
        self._loop.call_soon_threadsafe(self._news.set)

    async def end(self, post: Post) -> None:
        """Cancel what is in flight where parts are left, and let go of everything."""
        del post
        self._over = True
        self.run.held = False
        tasks = [each.task for each in self._alive.values()]
        left = bool(tasks) or not self._supply.over
        if left and (self.run.stop is None or not all(task.done() for task in tasks)):
            self.run.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=bridge.GRACE_SECONDS)
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()  # looked at: what ended the parts was told already
        self._alive.clear()
        self._finished.clear()
        self.run.metrics.run_ended(self.run.report())
        client = self._client.held
        await (client if self._home is None else OnLoop(client, self._home)).close()

    def _finished_one(self) -> Slice | None:
        if not self._ordered:
            return self._finished.popleft() if self._finished else None
        found = self._alive.get(self._taken)
        return found if found is not None and found.task.done() else None

    async def _first_failed(self, found: Slice) -> Slice:
        """The first part with a failure of its own; others have rows that it cancelled."""
        self._over = True
        begun = [self._alive[number] for number in sorted(self._alive)]
        await asyncio.wait([each.task for each in begun])
        return next((each for each in begun if each.failed() not in (None, "cancelled")), found)

    def _begin(self) -> None:
        """Begin parts as long as there is use and room for one."""
        while not self._over and len(self._alive) < self._window:
            latest = self._alive.get(self._begun - 1)
            if latest is not None and not latest.drawn and not latest.task.done():
                return
            prepared = self._supply.next(self._supplied)
            if prepared is None:
                return
            self._alive[self._begun] = self._slice(self._begun, prepared)
            self._begun += 1

    def _supplied(self) -> None:
        """The supply has got something, or has ended."""
        self._begin()
        self._news.set()

    def _slice(self, number: int, prepared: Prepared) -> Slice:
        prepared = replace(prepared, client=cast("Client", self._client))
        frame = prepared.frame
        plan = DrawnPlan(prepared.prompt, self._fingerprints, length=len(frame), read=frame.cells, asked=prepared.asked)
        plan.drawn = lambda: self._drawn(number)
        part = self._kind(prepared, self.run, plan, self._store, offset=self._rows_begun, settled=self._settled)
        self._rows_begun += len(frame)
        task = self._loop.create_task(part.work(self._show, self._home)(self._tell))
        found = Slice(number, part, task)
        task.add_done_callback(lambda _: self._ended(found))
        return found

    def _tell(self, call: Callable[[], None]) -> None:
        """Hand a call over to whoever waits for a part just now."""
        self._post(call)

    def _drawn(self, number: int) -> None:
        if number in self._alive:
            self._alive[number].drawn = True
        self._loop.call_soon_threadsafe(self._begin)  # not here, in the middle of another part's drawing

    def _ended(self, found: Slice) -> None:
        if not self._ordered:
            self._finished.append(found)
        self._news.set()
        self._begin()


def nowhere(call: Callable[[], None]) -> None:
    """Drop a call: nobody waits for a part just now, so nobody is told of progress."""
    del call
