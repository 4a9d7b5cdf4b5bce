"""A simulated Anthropic on a loopback port: messages live, and in batches."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

from llmframe.errors import UsageError
from llmframe.testing import steps
from llmframe.testing.anthropic_batches import Batch
from llmframe.testing.anthropic_desk import AnthropicDesk, Fault, Mangle, Operation, Traits
from llmframe.testing.desk import Answer
from llmframe.testing.http import Connection
from llmframe.testing.script import Matcher
from llmframe.testing.server import LoopServer, LoopThread, Server


class AnthropicProvider:
    """A simulated Anthropic over real HTTP, for tests without a network or a key.

    It answers `/v1/messages` and Message Batches (`create`, `retrieve`, `list`, `results`, `cancel`, `delete`), by an
    instance of the tool's schema, or of a schema quoted in the messages, derived from a hash of the messages: the same
    question gets the same answer live and in a batch. It runs in a daemon thread and starts when `url` is first read,
    or in the running loop inside `serving`.

    Parameters
    ----------
    answer
        `answer(prompt, params)` in place of the usual answer: a str (the reply's text), a step, `None` (the usual
        answer) or any other JSON value (a tool's input, or text). `Status` is an HTTP error live, `errored` in a batch.
    batch_seconds
        Time from a batch's creation to its end; `math.inf` keeps it running until `finish`.
    done_before_cancel
        How many requests of a cancelled batch, the first ones, had been done; the others come back `canceled`.
    mangle
        The lines of a result file in, those that go out: `lambda lines: lines[::-1]`.
    clock
        Seconds since 1970, by which batches are made and end.

    Attributes
    ----------
    api_key
        The key that is accepted; others get a 401.

    Examples
    --------
    >>> from llmframe.testing import AnthropicProvider, Status
    >>> with AnthropicProvider(batch_seconds=float("inf")) as provider:
    ...     provider.fail("create", Status(529))
    ...     provider.calls["create"]
    0
    """

    def __init__(
        self,
        *,
        answer: Answer | None = None,
        batch_seconds: float = 0.0,
        done_before_cancel: int = 0,
        mangle: Mangle | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.api_key = "sk-ant-test-4f1c"
        traits = Traits(
            api_key=self.api_key,
            answer=answer,
            batch_seconds=batch_seconds,
            done_before_cancel=done_before_cancel,
            mangle=mangle,
        )
        self._desk = AnthropicDesk(traits, clock)
        self._starting = threading.Lock()
        self._server: Server | None = None

    @property
    def url(self) -> str:
        """`http://127.0.0.1:<port>`, for `ANTHROPIC_BASE_URL` or the SDK's `base_url`; reading it starts the double."""
        with self._starting:
            if self._server is None:
                self._opened(LoopThread(lambda: Connection(self._desk)))
            return self._desk.base_url

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[Self]:
        """Serve in the running loop while the block lasts.

        Raises
        ------
        UsageError
            If it serves already.
        """
        server = await LoopServer.open(lambda: Connection(self._desk))
        with self._starting:
            if self._server is not None:
                server.stop(lambda: None)
                raise UsageError(f"{self!r} serves already; enter `serving()` before its address is read")
            self._opened(server)
        try:
            yield self
        finally:
            self.close()
            await asyncio.sleep(0)  # connections that were dropped report their end

    def close(self) -> None:
        """Stop serving and drop every connection; a second call does nothing."""
        with self._starting:
            server, self._server = self._server, None
            if server is not None:
                server.stop(self._desk.drop)

    def __enter__(self) -> Self:
        """Start serving."""
        _ = self.url
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop serving."""
        self.close()

    def __repr__(self) -> str:
        """The address and the counts; no key, no prompt."""
        where = self._desk.base_url if self._server is not None else "not started"
        return f"<AnthropicProvider {where}: {self.calls.total()} requests, {len(self.batches)} batches>"

    @property
    def batch_seconds(self) -> float:
        """Time from a batch's creation to its end; may be set at any time."""
        return self._desk.traits.batch_seconds

    @batch_seconds.setter
    def batch_seconds(self, seconds: float) -> None:
        self._desk.traits.batch_seconds = seconds

    @property
    def calls(self) -> Counter[Operation]:
        """Requests that arrived, by what they asked for; refused ones too."""
        return self._desk.calls

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """Bodies of the live requests for a message."""
        return self._desk.bodies

    @property
    def batches(self) -> list[Batch]:
        """Every batch that was made and not deleted, the oldest first."""
        return list(self._desk.shelf.batches.values())

    def when(self, prompt: Matcher, *to_come: steps.Step, times: int | None = None) -> None:
        """Steps, in turn, for the requests whose last user message matches; live and in batches."""
        self._desk.script.add_rule(prompt, to_come, times=times, per_prompt=False)

    def expires(self, prompt: Matcher) -> None:
        """Let the requests of batches whose last user message matches run out of time."""
        self._desk.traits.expiring.append(prompt)

    def fail(self, operation: Operation, *to_come: steps.Step, after: bool = False) -> None:
        """Faults for the next requests of one kind: `Status`, `Reset`, `Cut`, `Hang`, `BadBody` or `Html`.

        Parameters
        ----------
        after
            Whether the work is done all the same, so that only its answer is lost.
        """
        self._desk.faults.setdefault(operation, []).extend(Fault(step, after=after) for step in to_come)

    def mangle(self, how: Mangle | None) -> None:
        """Send the lines of result files as `how` makes them of what they are."""
        self._desk.traits.mangle = how

    def finish(self, batch_id: str | None = None) -> None:
        """End a batch, or every batch, those to come too."""
        if batch_id is None:
            self._desk.traits.batch_seconds = -math.inf
        for batch in self.batches:
            if batch.status != "ended" and batch_id in {None, batch.id}:
                self._in_loop(lambda batch=batch: self._desk.finish(batch))

    def archive(self, batch_id: str) -> None:
        """Let the 29 days pass after which a batch's results are gone."""
        self._in_loop(lambda: self._desk.shelf.archive(self._desk.shelf.batches[batch_id]))

    def _opened(self, server: Server) -> None:
        self._server = server
        self._desk.base_url = f"http://127.0.0.1:{server.port}"

    def _in_loop(self, work: Callable[[], None]) -> None:
        """Do `work` in the serving loop, or here when nothing serves."""
        if self._server is None:
            work()
        else:
            self._server.call(work)
