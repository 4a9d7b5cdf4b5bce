"""A client that answers by a function, and runs over it in simulated time."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Any, Literal, Protocol, TypeVar

from llmframe.budget import BudgetOption, budget_of
from llmframe.clients.base import Dialect, RequestError
from llmframe.core.outcome import Answer, Failure, Outcome, Usage
from llmframe.core.plan import Plan
from llmframe.core.prices import Price
from llmframe.core.reply import Reply
from llmframe.core.request import Question
from llmframe.core.schema import schema_of
from llmframe.core.template import Message, compile_prompt
from llmframe.engine.metrics import Metrics
from llmframe.engine.run import Run
from llmframe.engine.runner import Runner
from llmframe.engine.sharing import Shared
from llmframe.options import Prices, SendOptions
from llmframe.stores.base import MemoryStore, Store
from llmframe.testing import run_in_fake_time
from llmframe.testing.clock import FakeTimeLoop

T = TypeVar("T")

LABEL = schema_of(Literal["pos", "neg"])
"""One value; `say("pos")` is a valid reply."""

USAGE = Usage(10, 2, 0)
"""What every reply of `say` costs, unless it says otherwise."""

MODES = (Dialect("json_schema"), Dialect("tools"), Dialect("json"))

_numbers = itertools.count()


def say(text: str, *, usage: Usage = USAGE, finish_reason: str = "stop") -> Reply:
    return Reply(text=text, usage=usage, finish_reason=finish_reason, model="m")


def refused(param: str | None = "response_format", code: str | None = None, status: int = 400) -> RequestError:
    return RequestError("bad_request", f"{status}: not supported", status=status, code=code, param=param)


@dataclass(frozen=True, slots=True)
class Sent:
    """One request as the client saw it."""

    at: float
    prompt: str
    dialect: Dialect
    messages: list[Message]


Behaviour = Callable[[Sent, int], Reply | BaseException]
"""Of a request, and how many there were for its prompt before; what is returned is answered or raised."""


@dataclass
class Client:
    """The client port over a function; it counts overlap.

    `latency` is seconds, or a function of the request; a cancelled request takes `lingers` seconds to end.
    """

    behave: Behaviour = lambda sent, before: say("pos")
    latency: float | Callable[[Sent], float] = 1.0
    lingers: float = 0.0
    dialects: tuple[Dialect, ...] = MODES[:1]
    identity: str = field(default_factory=lambda: f"double-{next(_numbers)}")
    account: str = "account"
    model: str = "m"
    provider: str | None = None
    streams: bool = False
    sent: list[Sent] = field(default_factory=list[Sent])
    in_flight: int = 0
    max_in_flight: int = 0
    cancelled: int = 0

    async def start(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def send(self, messages: list[Message], dialect: Dialect) -> Reply:
        before = Counter(sent.prompt for sent in self.sent)
        prompt = str(messages[0]["content"])
        sent = Sent(asyncio.get_running_loop().time(), prompt, dialect, messages)
        self.sent.append(sent)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.latency(sent) if callable(self.latency) else self.latency)
        except asyncio.CancelledError:
            self.cancelled += 1
            await asyncio.sleep(self.lingers)
            raise
        finally:
            self.in_flight -= 1
        result = self.behave(sent, before[prompt])
        if isinstance(result, BaseException):
            raise result
        return result

    def reask(self, messages: list[Message], reply: Reply, problem: str, dialect: Dialect) -> list[Message]:
        return [*messages, {"role": "assistant", "content": reply.text}, {"role": "user", "content": problem}]

    @property
    def prompts(self) -> Counter[str]:
        return Counter(sent.prompt for sent in self.sent)


class Limit(Protocol):
    """A server's limit of requests."""

    def wait(self, now: float) -> float:
        """0.0 and the request is charged, or the seconds until one would be taken."""
        ...


class BucketLimit:
    """`rate` requests a second, a second's worth saved up."""

    def __init__(self, rate: float) -> None:
        self.rate = self._level = rate
        self._at = 0.0

    def wait(self, now: float) -> float:
        self._level = min(max(1.0, self.rate), self._level + (now - self._at) * self.rate)
        self._at = now
        if self._level < 1 - 1e-6:
            return (1 - self._level) / self.rate
        self._level -= 1
        return 0.0


class WindowLimit:
    """`rate` requests in every second that begins with a whole one."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._window, self._taken = -1, 0

    def wait(self, now: float) -> float:
        if floor(now) != self._window:
            self._window, self._taken = floor(now), 0
        if self._taken >= self.rate:
            return floor(now) + 1 - now
        self._taken += 1
        return 0.0


@dataclass
class LimitedClient(Client):
    """A client of a server that says 429 after `network` seconds to what its limit doesn't allow, and nothing else."""

    limit: Limit = field(default_factory=lambda: BucketLimit(10))
    tells_when: bool = False
    network: float = 0.02
    taken: list[float] = field(default_factory=list[float])
    refused: int = 0

    async def send(self, messages: list[Message], dialect: Dialect) -> Reply:
        await asyncio.sleep(self.network / 2)
        now = asyncio.get_running_loop().time()
        wait = self.limit.wait(now)
        if wait > 0:
            self.refused += 1
            await asyncio.sleep(self.network / 2)
            raise RequestError("rate_limit", "429", status=429, retry_after=wait if self.tells_when else None)
        self.taken.append(now)
        return await super().send(messages, dialect)


class CountingLoop(FakeTimeLoop):
    """Simulated time that counts the timers that are set."""

    def __init__(self) -> None:
        self.timers: list[asyncio.TimerHandle] = []
        super().__init__()

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: Any = None) -> Any:
        timer = super().call_at(when, callback, *args, context=context)
        self.timers.append(timer)
        return timer

    @property
    def open_timers(self) -> int:
        """Timers that are still to fire."""
        return sum(not timer.cancelled() and timer.when() > self.time() for timer in self.timers)


def run_counting(main: Callable[[CountingLoop], Coroutine[Any, Any, T]]) -> T:
    """Run `main` in simulated time, with its loop."""
    loop = CountingLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main(loop))


def others() -> set[asyncio.Task[Any]]:
    """The tasks of this loop that haven't ended, without the one that asks."""
    return asyncio.all_tasks() - {t for t in [asyncio.current_task()] if t is not None}


async def settle() -> None:
    """Let everything that can run at this instant run."""
    for _ in range(20):
        await asyncio.sleep(0)


@dataclass
class Part:
    """A run over some rows, ready to work in the running loop."""

    runner: Runner
    run: Run
    plan: Plan
    outcomes: list[Outcome | None]
    client: Client

    async def work(self) -> Part:
        """Work to the end, as a verb does: a cancelled run ends like a finished one."""
        await self.run.execute(self.plan, lambda: asyncio.create_task(self.runner.work()))
        return self

    @property
    def results(self) -> list[Answer | Failure]:
        """One result a row."""
        values = [None if outcome is None else outcome.result for outcome in self.outcomes]
        missing = self.run.missing
        found = self.plan.entries(values, failed=lambda failure: failure, outside=None, missing=missing)
        return [found[number] or missing for number in self.plan.requests]

    @property
    def kinds(self) -> list[str]:
        """The error kind of every row, `""` for an answer."""
        return [result.kind if isinstance(result, Failure) else "" for result in self.results]

    @property
    def metrics(self) -> Metrics:
        return self.run.metrics


def plan_of(rows: Sequence[object], *, identity: str, asked: Sequence[bool] | None = None) -> Plan:
    """Rows of one column `t`, which are their own prompts."""
    question = Question(identity=identity, model="m", params={}, schema="", output_mode="auto")
    return Plan(
        compile_prompt("{t}", ["t"]),
        question.fingerprints(),
        length=len(rows),
        read=lambda positions, start, stop: [list(rows[start:stop]) for _ in positions],
        asked=asked,
    )


def new_run(rows: int | None = None, *, budget: BudgetOption | None = None, prices: Prices | None = None) -> Run:
    metrics = Metrics(model="m", price=Price(None, "m", prices))
    return Run(metrics, clock=asyncio.get_running_loop().time, rows=rows, budget=budget_of(budget))


def part_of(  # noqa: PLR0913 - one argument a part that is put together
    rows: Sequence[object],
    client: Client,
    *,
    shared: Shared | None = None,
    store: Store | None = None,
    run: Run | None = None,
    fail_fast: bool = False,
    **options: Any,
) -> Part:
    """A part over `rows`, to be made in the loop that works it."""
    said = SendOptions(**options)
    run = run or new_run(len(rows), budget=said.budget, prices=said.prices)
    plan = plan_of(rows, identity=client.identity)
    outcomes: list[Outcome | None] = []
    runner = Runner(
        run,
        plan,
        client=client,
        schema=LABEL,
        options=said,
        store=MemoryStore() if store is None else store,
        shared=shared or Shared(asyncio.get_running_loop().time),
        outcomes=outcomes,
        fail_fast=fail_fast,
    )
    return Part(runner, run, plan, outcomes, client)


def answered(rows: Sequence[object], client: Client, **options: Any) -> Part:
    """A whole run over `rows` in simulated time."""

    async def main() -> Part:
        return await part_of(rows, client, **options).work()

    return run_in_fake_time(main())


def names(count: int) -> list[str]:
    """The texts `row-0`, `row-1`, …, `count` of them."""
    return [f"row-{number}" for number in range(count)]
