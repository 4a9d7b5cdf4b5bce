"""A provider's batches in memory, and a desk over a ledger in memory, for tests in simulated time."""

from __future__ import annotations

import asyncio
import itertools
from ast import literal_eval
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, Literal, TypeVar

from llmframe.batch.account import Account
from llmframe.batch.chat import ChatDrafts, ChatReading
from llmframe.batch.desk import Desk
from llmframe.batch.drafts import Invalid, Lines
from llmframe.batch.filling import Filling, Order
from llmframe.budget import BudgetOption
from llmframe.clients.base import Dialect, RequestError
from llmframe.clients.batch import BatchLimits, BatchState, LineResult
from llmframe.core.outcome import Answer
from llmframe.core.plan import Planned
from llmframe.core.reply import Reply
from llmframe.stores.base import MemoryStore, Store
from llmframe.stores.jobs import JobRecord, Ledger, LineRecord, Shard
from llmframe.stores.ledger import ledger_of
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import LABEL, new_run, say

T = TypeVar("T")

_numbers = itertools.count()

JOB = JobRecord(id="job-0000000000", created=0.0, provider="double", identity="https://x", model="m", question="q")
INTENT = "00000000000000aa"
DOWN = RequestError("server", "down", status=500)
RESET = RequestError("connection", "reset")
BUSY = RequestError("rate_limit", "slow down", status=429, retry_after=1.0)
REFUSED = RequestError("bad_request", "no", status=400, code="invalid_value")
UNKNOWN = RequestError("not_found", "no such thing", status=404)
KEYLESS = RequestError("auth", "no", status=401)


class LostError(Exception):
    """The work is done, and its answer is this error."""

    def __init__(self, error: RequestError = RESET) -> None:
        self.error = error


def key(number: int) -> bytes:
    """A fingerprint."""
    return number.to_bytes(32, "big")


def state(status: str = "in_progress", phase: Any = "running", **changes: Any) -> BatchState:
    """What a provider says of a batch."""
    return BatchState(**{"id": "batch-1", "status": status, "phase": phase, **changes})


def planned(*numbers: int) -> list[Planned]:
    """Requests whose prompt is their number."""
    return [Planned(n, key(n), [{"role": "user", "content": str(n)}]) for n in numbers]


class Bench:
    """Implements `Batches`: a batch ends at the first look unless `states` says otherwise.

    Attributes
    ----------
    faults
        By call, what comes of the next ones: an error, `LostError`, or `None` for nothing of that sort.
    states
        What is said of batches at the next looks.
    lines
        Results of every batch.
    answer
        In place of `lines`: what becomes of a request, by its number, the form it was asked in, and how often it had
        been asked before; `None` leaves it out of the results.
    made
        Intents, in the order in which batches were made.
    asked, forms
        Requests of each batch, by their numbers, and in which forms they were asked.
    shown
        Messages of every request.
    """

    name, account, model, provider = "double", "a", "m", None
    dialects = (Dialect("json_schema"), Dialect("tools"), Dialect("json"))
    limits = BatchLimits(lines=1000, bytes=10**6)
    uploads = True

    def __init__(self) -> None:
        self.identity = f"https://x/{next(_numbers)}"
        self.faults: dict[str, deque[Any]] = {}
        self.states: deque[BatchState] = deque()
        self.lines: list[LineResult] = []
        self.answer: Callable[[int, str, int], Reply | RequestError | None] | None = None
        self.made: list[str] = []
        self.asked: list[list[int]] = []
        self.shown: list[str] = []
        self.forms: list[set[str]] = []
        self._files: dict[str, list[list[str]]] = {}
        self._times: Counter[int] = Counter()
        self.hidden = 0
        self.calls: Counter[str] = Counter()

    def fault(self, call: str, *errors: Any) -> None:
        """What comes of the next calls."""
        self.faults.setdefault(call, deque()).extend(errors)

    async def _call(self, name: str, work: Any = None) -> None:
        self.calls[name] += 1
        await asyncio.sleep(0)
        faults = self.faults.get(name)
        fault = faults.popleft() if faults else None
        if isinstance(fault, LostError):
            if work is not None:
                work()
            raise fault.error
        if fault is not None:
            raise fault
        if work is not None:
            work()

    async def start(self) -> None:
        await self._call("start")

    async def close(self) -> None:
        await self._call("close")

    def line(self, custom_id: str, messages: Any, dialect: Dialect) -> bytes:
        return f"{custom_id} {dialect.mode} {[each['content'] for each in messages]}\n".encode()

    def embedding_line(self, custom_id: str, texts: list[str]) -> bytes:
        raise NotImplementedError

    def reask(self, messages: Any, reply: Reply, problem: str, dialect: Dialect) -> Any:
        del dialect
        return [*messages, {"role": "assistant", "content": reply.text}, {"role": "user", "content": problem}]

    async def upload(self, lines: Path, *, intent: str) -> str:
        self._files[f"file-{intent}"] = _read(lines)
        await self._call("upload")
        return f"file-{intent}"

    async def create(self, source: str | Path, *, intent: str) -> BatchState:
        def make() -> None:
            self.made.append(intent)
            lines = self._files.get(str(source), [])
            self.asked.append([_number(line) for line in lines])
            self.shown += [line[2] for line in lines]
            self.forms.append({line[1] for line in lines})

        await self._call("create", make)
        return state("validating", id=f"batch-{len(self.made)}")

    async def find(self, intent: str, *, since: float, known: Iterable[str]) -> BatchState | None:
        del since
        await self._call("find")
        if self.hidden:
            self.hidden -= 1
            return None
        found = [f"batch-{at + 1}" for at, each in enumerate(self.made) if each == intent]
        return next((state(id=each) for each in found if each not in set(known)), None)

    async def state(self, batch_id: str) -> BatchState:
        await self._call("state")
        if self.states:
            return self.states.popleft()
        return state("completed", "ended", id=batch_id, output="file-out")

    async def results(self, state: BatchState, folder: Path) -> AsyncIterator[list[LineResult]]:
        del folder
        await self._call("results")
        lines = self.lines if self.answer is None else self._answered(state)
        for at in range(0, len(lines), 2):
            yield lines[at : at + 2]
            await self._call("piece")

    def _answered(self, told: BatchState) -> list[LineResult]:
        results: list[LineResult] = []
        for line in self._files[f"file-{self.made[int(told.id.partition('-')[2]) - 1]}"]:
            assert self.answer is not None
            answer = self.answer(_number(line), line[1], self._times[_number(line)])
            self._times[_number(line)] += 1
            if answer is not None:
                results.append(LineResult(line[0], answer))
        return results

    async def cancel(self, batch_id: str) -> BatchState:
        await self._call("cancel")
        return state("cancelling", id=batch_id)


def _read(path: Path) -> list[list[str]]:
    """The lines of a file: id, form, messages."""
    return [line.split(" ", 2) for line in (path.read_text() if path.exists() else "").splitlines()]


def _number(line: list[str]) -> int:
    """The prompt of a line is its number; a re-ask says more behind it."""
    return int(literal_eval(line[2])[0])


def ledger(job: JobRecord = JOB) -> Ledger:
    """A ledger in memory with an open job."""
    found = ledger_of(MemoryStore())
    assert found is not None
    found.open_job(job)
    return found


def plan(
    desk: Desk, numbers: Iterable[int] = range(3), *, lines: list[LineRecord] | None = None, **changes: Any
) -> Shard:
    """A planned shard with a line for each of these requests."""
    lines = lines or [LineRecord(line, 0, key(number)) for line, number in enumerate(numbers)]
    values = {"intent": INTENT, "job": JOB.id, "number": 0, "execution": "planned", "lines": len(lines), **changes}
    shard = Shard(**values)
    desk.ledger.plan_shard(shard, lines)
    return shard


def at_desk(work: Any, bench: Bench | None = None) -> Any:
    """What `await work(desk, bench)` returns, in simulated time."""

    async def main() -> Any:
        loop = asyncio.get_running_loop()
        double = bench or Bench()
        return await work(Desk(ledger=ledger(), batches=double, clock=loop.time), double)

    return run_in_fake_time(main())


def now() -> float:
    """Simulated seconds."""
    return asyncio.get_running_loop().time()


def running(main: Coroutine[Any, Any, T]) -> T:
    """`run_in_fake_time`, by a shorter name."""
    return run_in_fake_time(main)


class Call:
    """One call by batches over requests that are numbers, whose answers are `"pos"` or `"neg"`.

    Attributes
    ----------
    run, account, filling
        Its parts.
    """

    def __init__(  # noqa: PLR0913 - what varies
        self,
        numbers: Iterable[int],
        bench: Bench,
        *,
        store: Store | None = None,
        books: Ledger | None = None,
        fallback: Literal["batch", "live"] | None = "batch",
        reask: int = 1,
        budget: BudgetOption | None = None,
        fresh: bool = False,
        question: str = "q",
        chunk: int = 2,
    ) -> None:
        self.numbers, self.bench, self.store = list(numbers), bench, MemoryStore() if store is None else store
        found = books or ledger_of(self.store)
        assert found is not None
        self.ledger = found
        loop = asyncio.get_running_loop()
        self.desk = Desk(ledger=found, batches=bench, clock=loop.time)
        self.run = new_run(len(self.numbers), budget=budget, prices={"m": {"input": 1e6, "output": 1e6}})
        self.run.began = loop.time()
        invalid: Invalid = {}
        lines = Lines(
            kind="chat",
            drafts=ChatDrafts(bench, LABEL, max_tokens=None, invalid=invalid),
            read=ChatReading(LABEL, components=None, clock=loop.time, invalid=invalid).read,
            dialects=bench.dialects,
            reask=reask,
            invalid=invalid,
        )
        self.account = Account(self.run, found, lines, live=fallback == "live")
        order = Order(
            question=question,
            rows=len(self.numbers),
            requests=lambda: self._requests(chunk),
            unanswered=self._unanswered,
            fresh=fresh,
            again=2 if fallback == "batch" else 0,
        )
        self.filling = Filling(self.run, self.desk, order, lines=lines, account=self.account)

    async def _requests(self, chunk: int) -> AsyncIterator[list[Planned]]:
        for at in range(0, len(self.numbers), chunk):
            yield planned(*dict.fromkeys(self.numbers[at : at + chunk]))

    def _unanswered(self, requests: list[Planned], since: float) -> list[Planned]:
        entries = self.store.get_many([each.key for each in requests])
        return [
            each
            for each in requests
            if (entry := entries.get(each.key)) is None
            or entry.created < since
            or not isinstance(LABEL.read(entry.text), Answer)
        ]

    async def end(self) -> Call:
        """Run it to its end."""
        await self.filling.run()
        return self

    @property
    def answered(self) -> list[int]:
        """Numbers with a valid answer in the store."""
        return [number for number in self.numbers if not self._unanswered(planned(number), 0.0)]

    def failure(self, number: int) -> str | None:
        """The kind by which the call says that a request has failed."""
        settlement = self.account.of([key(number)]).get(key(number))
        return None if settlement is None or settlement.failure is None else settlement.failure.kind

    @property
    def jobs(self) -> list[JobRecord]:
        """All jobs."""
        return self.ledger.jobs()


def called(numbers: Iterable[int], bench: Bench, **options: Any) -> Call:
    """A call that has come to its end."""

    async def main() -> Call:
        return await Call(numbers, bench, **options).end()

    return run_in_fake_time(main())


def label(number: int, mode: str = "", times: int = 0) -> Reply:
    """A valid answer to every request."""
    del number, mode, times
    return say('{"response":"pos"}')
