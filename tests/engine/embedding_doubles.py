"""A client that embeds by a function, and runs over it in simulated time."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from llmframe.clients.base import Dialect, RequestError
from llmframe.clients.embeddings import BASE64, FLOATS
from llmframe.core.embeddings import CANONICAL, VectorReply, Width, text_prompt
from llmframe.core.outcome import Answer, Failure, Outcome, Usage
from llmframe.core.plan import Plan
from llmframe.core.reply import Reply
from llmframe.core.request import Question
from llmframe.core.template import Message, compile_prompt
from llmframe.core.vectors import vector_of
from llmframe.engine.embedding import Embedder
from llmframe.engine.packing import Bounds
from llmframe.engine.run import Run
from llmframe.engine.sharing import Shared
from llmframe.options import SendOptions
from llmframe.stores.base import MemoryStore, Store
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import new_run

_numbers = itertools.count()


def vector(text: str) -> bytes:
    """Two numbers that tell the text."""
    return vector_of([len(text), sum(map(ord, text))])


def embedded(texts: Sequence[str]) -> VectorReply:
    """The answer of a server that counts a token a character."""
    usage = Usage(sum(map(len, texts)), 0, 0)
    return VectorReply(text=None, vectors=tuple(map(vector, texts)), usage=usage, model="m")


def refused(
    status: int = 400, *, code: str | None = None, param: str | None = "input", kind: str = "bad_request"
) -> RequestError:
    return RequestError(kind, f"{status}", status=status, code=code, param=param)  # type: ignore[arg-type]


@dataclass
class Server:
    """The client port over a function of a request's texts and how many requests there were before."""

    behave: Callable[[list[str], int], Reply | BaseException] = lambda texts, before: embedded(texts)
    latency: float = 1.0
    identity: str = field(default_factory=lambda: f"embedder-{next(_numbers)}")
    account: str = "account"
    model: str = "m"
    provider: str | None = None
    dialects: tuple[Dialect, ...] = (BASE64, FLOATS)
    streams: bool = False
    sent: list[list[str]] = field(default_factory=list[list[str]])
    dialects_used: list[Dialect] = field(default_factory=list[Dialect])
    at: list[float] = field(default_factory=list[float])

    async def start(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def send(self, messages: list[Message], dialect: Dialect) -> Reply:
        texts = [str(message["content"]) for message in messages]
        before = len(self.sent)
        self.sent.append(texts)
        self.dialects_used.append(dialect)
        self.at.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.latency)
        result = self.behave(texts, before)
        if isinstance(result, BaseException):
            raise result
        return result

    def reask(self, messages: list[Message], reply: Reply, problem: str, dialect: Dialect) -> list[Message]:
        raise NotImplementedError

    @property
    def asked(self) -> Counter[str]:
        """How often each text was sent."""
        return Counter(text for texts in self.sent for text in texts)

    @property
    def sizes(self) -> list[int]:
        """Texts of each request."""
        return [len(texts) for texts in self.sent]


@dataclass
class Part:
    """A run over some texts, ready to work in the running loop."""

    embedder: Embedder
    run: Run
    plan: Plan
    outcomes: list[Outcome | None]

    async def work(self) -> Part:
        await self.run.execute(self.plan, lambda: asyncio.create_task(self.embedder.work()))
        return self

    @property
    def found(self) -> list[bytes | str]:
        """The vector of every row, or the kind of its error."""
        values = [None if outcome is None else outcome.result for outcome in self.outcomes]
        missing = self.run.missing
        entries = self.plan.entries(values, failed=lambda failure: failure, outside=None, missing=missing)
        results: list[Answer | Failure] = [entries[number] or missing for number in self.plan.requests]
        return [result.kind if isinstance(result, Failure) else result.values[0] for result in results]  # type: ignore[misc]


def part_of(  # noqa: PLR0913 - one argument a part that is put together
    rows: Sequence[object],
    server: Server,
    *,
    inputs: int = 4,
    shared: Shared | None = None,
    store: Store | None = None,
    dimensions: int | None = None,
    wait: float = 0.0,
    fail_fast: bool = False,
    alone: int | None = 100,
    **options: Any,
) -> Part:
    said = SendOptions(**options)
    run = new_run(len(rows), budget=said.budget, prices=said.prices)
    question = Question(identity=server.identity, model="m", params={}, schema=CANONICAL, output_mode="auto")
    plan = Plan(
        text_prompt(compile_prompt("{t}", ["t"]), most_tokens=alone),
        question.fingerprints(),
        length=len(rows),
        read=lambda positions, start, stop: [list(rows[start:stop]) for _ in positions],
    )
    outcomes: list[Outcome | None] = []
    embedder = Embedder(
        run,
        plan,
        client=server,
        width=Width(dimensions),
        options=said,
        bounds=Bounds(inputs=inputs, alone=alone),
        store=MemoryStore() if store is None else store,
        shared=shared or Shared(asyncio.get_running_loop().time),
        outcomes=outcomes,
        wait=wait,
        fail_fast=fail_fast,
    )
    return Part(embedder, run, plan, outcomes)


def embed(rows: Sequence[object], server: Server, **options: Any) -> Part:
    """A whole run over `rows` in simulated time."""

    async def main() -> Part:
        return await part_of(rows, server, **options).work()

    return run_in_fake_time(main())
