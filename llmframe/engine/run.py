"""What one run is: numbers, stop and cancel, shared by all its parts."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from llmframe.budget import Budget
from llmframe.core.outcome import Failure
from llmframe.core.plan import Plan
from llmframe.engine.breaker import Breaker
from llmframe.engine.garbage import rarely_collected
from llmframe.engine.gate import Gate
from llmframe.engine.line import Flow
from llmframe.engine.metrics import Metrics
from llmframe.engine.progress import Progress
from llmframe.engine.spending import Purse
from llmframe.options import SendOptions
from llmframe.report import RunReport, RunState

TICK_SECONDS: Final = 0.1
"""Seconds between two looks at the progress."""

CANCELLED: Final = Failure("cancelled", "the run was interrupted before this row's answer")


@dataclass(frozen=True, slots=True)
class Lane:
    """A run's way through one gate: its line there, what it has seen of outages, and its money."""

    flow: Flow
    breaker: Breaker
    purse: Purse | None


class Run:
    """One verb's run, from the call to the last of its parts (a lazy query has many).

    Parameters
    ----------
    metrics
        The numbers.
    clock
        Seconds, monotonic.
    rows
        Rows that are expected; `None` for a lazy query.
    budget
        What it may spend, perhaps with other runs; `None` without a limit.

    Attributes
    ----------
    began
        When it began, in seconds since 1970.
    held
        Whether somebody holds the run open between its parts.
    job_id
        Of the job that its batches belong to; `None` without one.
    job_cancelled
        Whether somebody else has asked for that job's end, and got it.
    batches_at_provider
        Set when every batch of the run is at the provider, waits for room there, or has failed.
    goes_on
        What goes on without the run, and how to come back to it; empty when nothing does.
    waiting
        Says in a line what is waited for at the provider; `None` in a live run.
    stopping
        Called when the run stops, on the loop: whoever waits for something needn't any more.
    """

    def __init__(
        self, metrics: Metrics, *, clock: Callable[[], float], rows: int | None, budget: Budget | None = None
    ) -> None:
        self.metrics, self.rows, self.clock = metrics, rows, clock
        self.budget = metrics.budget = budget
        metrics.expected_rows = rows
        self.started, self.began = clock(), time.time()
        self.ended: float | None = None
        self.stop: Failure | None = None
        self.interrupted = False
        self.frame: object = None
        self.held = False
        self.job_id: str | None = None
        self.job_cancelled = False
        self.batches_at_provider = threading.Event()
        self.waiting: Callable[[], str] | None = None
        self.goes_on = ""
        self.stopping: set[Callable[[], None]] = set()
        self._begun: float | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._lanes: dict[Gate, Lane] = {}
        self._parts: dict[Plan, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._done = 0
        self._listeners: list[Callable[[Progress], None]] = []
        self._lock = threading.Lock()

    def halt(self, failure: Failure) -> None:
        """Send nothing more, from the loop's thread; what is in flight may end, the rest of the rows get `failure`."""
        if self.stop is None:
            self.stop = failure
            for hurry in list(self.stopping):
                hurry()

    def cancel(self) -> None:
        """Stop sending and cancel what is in flight; safe from any thread."""
        self.interrupted = True
        self.stop = self.stop or CANCELLED
        with self._lock:
            loop, tasks = self._loop, list(self._parts.values())
        for task in tasks:
            if loop is not None:
                loop.call_soon_threadsafe(task.cancel)

    def lane(self, gate: Gate, options: SendOptions) -> Lane:
        """The run's way through `gate`, one for all its parts: polars starts several at a time."""
        if gate not in self._lanes:
            flow = Flow(
                options.max_concurrency,
                priority=options.priority,
                requests_per_minute=options.requests_per_minute,
                tokens_per_minute=options.tokens_per_minute,
                moved=self.metrics.limit_moved,
                cooled=self.metrics.cooled,
            )
            purse = None
            if self.budget is not None:
                purse = Purse(self.budget, self.metrics.price, look=gate.look, halt=self.halt)
            self._lanes[gate] = Lane(flow, Breaker(), purse)
        return self._lanes[gate]

    @property
    def missing(self) -> Failure:
        """What a row without an outcome failed of."""
        return self.stop or CANCELLED

    @property
    def active(self) -> bool:
        """Whether a part is running, or somebody holds the run open for more of them."""
        return self.held or bool(self._parts)

    async def execute(
        self, plan: Plan, work: Callable[[], asyncio.Task[None]], *, listener: Callable[[Progress], None] | None = None
    ) -> None:
        """Run a part to its end; a cancelled run ends like a finished one, its rows tell.

        `listener` is called with the run's progress, from the loop's thread, about ten times a second, and at the end;
        of several parts' listeners the last one is.
        """
        task = work()
        with self._lock:
            self._loop = asyncio.get_running_loop()
            self._parts[plan] = task
        if self.interrupted:
            task.cancel()
        if listener is not None:
            self._listeners.append(listener)
        ticker = asyncio.create_task(self._tick())
        self._set_out()
        try:
            with rarely_collected():
                await self._end_of(task)
            if not task.cancelled():
                task.result()
            elif not self.interrupted:
                raise asyncio.CancelledError
        finally:
            task.cancel()
            ticker.cancel()
            with self._lock:
                del self._parts[plan]
                self._done += plan.rows_done
            if not self._parts and self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None
            self.ended = self.clock()
            try:
                self._notify()
            finally:
                if listener is not None:
                    self._listeners.remove(listener)

    def report(self) -> RunReport:
        """The numbers as they stand."""
        end = self.ended if self.ended is not None and not self._parts else self.clock()
        return self.metrics.report(seconds=end - self.started, state=self._state(), now=end, frame=self.frame)

    async def _end_of(self, task: asyncio.Task[None]) -> None:
        """Wait for a part's end; whoever is cancelled meanwhile cancels the run, and leaves when the part has ended."""
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            self.cancel()
            await asyncio.wait({task})
            raise

    def _set_out(self) -> None:
        if self._begun is None:
            self._begun = self.clock()
            self.metrics.begun(self._begun)

    def send(self) -> None:
        """A part is ready to send: a budget of seconds runs from the first one, not from when SDKs begin to load."""
        left = None if self.budget is None else self.budget.seconds_left(self.clock())
        if self.budget is None or left is None or self._deadline is not None:
            return
        spent = Failure("budget", f"not answered within the {self.budget.seconds:g} s of the run's budget")
        if left > 0:
            self._deadline = asyncio.get_running_loop().call_later(left, self.halt, spent)
        else:
            self.halt(spent)

    def _state(self) -> RunState:
        if self._parts:
            return "running"
        if self.interrupted:
            return "interrupted"
        return "stopped" if self.stop else "done"

    def progress(self) -> Progress:
        """Where the run stands."""
        metrics, now = self.metrics, self.clock()
        return Progress(
            rows=self.rows,
            done=self._done + sum(plan.rows_done for plan in list(self._parts)),
            cached=metrics.cached_live,
            failed=metrics.failed_live,
            in_flight=metrics.in_flight,
            usd=metrics.usd if metrics.price.known else None,
            spent_usd=self.budget.spent.get("usd") if self.budget else None,
            budget_usd=self.budget.usd if self.budget else None,
            rate=metrics.requests_per_second(now),
            eta_seconds=metrics.eta_seconds(now),
            waiting=self.waiting() if self.waiting else "",
        )

    async def _tick(self) -> None:
        while True:
            self._notify()
            await asyncio.sleep(TICK_SECONDS)

    def _notify(self) -> None:
        if self._listeners:
            self._listeners[-1](self.progress())
