"""A provider's batches in memory, and a desk over a ledger in memory, for tests in simulated time."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar

from llmframe.batch.desk import Desk
from llmframe.clients.base import Dialect, RequestError
from llmframe.clients.batch import BatchLimits, BatchState, LineResult
from llmframe.core.outcome import Usage
from llmframe.core.plan import Planned
from llmframe.core.reply import Reply
from llmframe.stores.base import MemoryStore
from llmframe.stores.jobs import JobRecord, Ledger, LineRecord, Shard
from llmframe.stores.ledger import ledger_of
from llmframe.testing import run_in_fake_time

T = TypeVar("T")

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
    made
        Intents, in the order in which batches were made.
    """

    name, identity, account, model, provider = "double", "https://x", "a", "m", None
    dialects = (Dialect("json_schema"), Dialect("tools"), Dialect("json"))
    limits = BatchLimits(lines=1000, bytes=10**6)
    uploads = True

    def __init__(self) -> None:
        self.faults: dict[str, deque[Any]] = {}
        self.states: deque[BatchState] = deque()
        self.lines: list[LineResult] = []
        self.made: list[str] = []
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
        del lines
        await self._call("upload")
        return f"file-{intent}"

    async def create(self, source: str | Path, *, intent: str) -> BatchState:
        del source
        await self._call("create", lambda: self.made.append(intent))
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
        del state, folder
        await self._call("results")
        for at in range(0, len(self.lines), 2):
            yield self.lines[at : at + 2]
            await self._call("piece")

    async def cancel(self, batch_id: str) -> BatchState:
        await self._call("cancel")
        return state("cancelling", id=batch_id)


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


NONE = Usage(0, 0, 0)
