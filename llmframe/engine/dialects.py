"""Settling with a server how answers are asked for: decided by its own answer, once a run, and said."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Hashable
from typing import Final

from llmframe.clients.base import Client, Dialect, RequestError
from llmframe.clients.batch import Batches
from llmframe.clients.refusals import next_dialects
from llmframe.core.outcome import Failure
from llmframe.core.reply import Reply

FIRST: Final = 8
"""Requests that go out before an answer has shown that the server takes their form: as many as a gate begins with."""

NO_LOGPROBS: Final = Failure(
    "bad_request",
    'the endpoint refuses `logprobs`; use `confidence="votes", samples=5`, or `confidence="auto"`',
)
"""The end of a run that can't do without."""

_remembered: dict[Hashable, Dialect] = {}


def known_dialect(client: Client | Batches) -> Dialect:
    """In which form to ask first: the one that this endpoint has taken for this model in this process, if any."""
    return _remembered.get(_memory(client), client.dialects[0])


def remember(client: Client | Batches, dialect: Dialect) -> None:
    """The endpoint has taken this form."""
    _remembered[_memory(client)] = dialect


def _memory(client: Client | Batches) -> Hashable:
    return client.identity, client.model, client.dialects


class Negotiation:
    """The dialect of one run's requests.

    A refusal that may concern the form of the request waits for the requests in flight: an answer to one of them
    makes it the row's own fault. When none comes, it is tried in the other dialects with that same row; the first
    that the server takes holds for the run, and for later runs of the process against the same endpoint and model.

    Parameters
    ----------
    note
        Told what was settled, in words.
    halt
        Told when an answer came in a dialect that ends the run: the answer is kept, nothing more is to be sent.
    """

    def __init__(
        self, client: Client, *, note: Callable[[str], None], halt: Callable[[Failure], None] = lambda _: None
    ) -> None:
        self._client, self._note, self._halt = client, note, halt
        self.dialect = known_dialect(client)
        self._settled = False
        self._trusted = _memory(client) in _remembered
        self._lock = asyncio.Lock()
        self._open = self._first = 0
        self._known = asyncio.Event()
        self._moved = asyncio.Event()

    @property
    def open_to_all(self) -> bool:
        """Whether requests may go without `among_first`."""
        return self._settled or self._trusted

    @contextlib.asynccontextmanager
    async def among_first(self) -> AsyncGenerator[None]:
        """Be one of the `FIRST` requests as long as no answer has come: hundreds more could only be refused alike."""
        while not self.open_to_all and self._first >= FIRST:
            self._moved.clear()
            await self._moved.wait()
        self._first += 1
        try:
            yield
        finally:
            self._first -= 1
            self._moved.set()

    @contextlib.contextmanager
    def asking(self) -> Generator[None]:
        """While a request is under way whose answer would settle the dialect."""
        self._open += 1
        self._known.clear()
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._known.set()

    def settle(self, used: Dialect) -> None:
        """An answer came to a request in `used`: from now on refusals are the rows' own."""
        if used == self.dialect and not self._settled:
            remember(self._client, used)
            self._settle()

    async def refused(
        self, error: RequestError, used: Dialect, ask: Callable[[Dialect], Awaitable[Reply]]
    ) -> Reply | None:
        """Another way to ask, tried by `ask`; `None` when the refusal is the row's own.

        Raises `RequestError` when a try fails for a reason of its own (a timeout, a rate limit).
        """
        if not next_dialects(used, error, self._client.dialects):
            return None
        while not self._settled and self._open:
            await self._known.wait()
        async with self._lock:
            if used == self.dialect:
                return await self._probe(error, used, ask)
        if self.dialect.ends_run:
            raise RequestError("cancelled", NO_LOGPROBS.detail)
        return await ask(self.dialect)  # settled meanwhile; all that were refused go on at once

    async def _probe(
        self, error: RequestError, used: Dialect, ask: Callable[[Dialect], Awaitable[Reply]]
    ) -> Reply | None:
        if self._settled:
            return None
        tried = [used]
        candidates = list(next_dialects(used, error, self._client.dialects))
        while candidates:
            dialect = candidates.pop(0)
            if dialect in tried:
                continue
            tried.append(dialect)
            try:
                reply = await ask(dialect)
            except RequestError as refusal:
                more = next_dialects(dialect, refusal, self._client.dialects)
                if not more and refusal.kind not in ("bad_request", "not_found"):
                    raise
                candidates.extend(more)
                continue
            self._adopt(dialect, used, error)
            return reply
        self._settle()  # one row refused in every form is enough: the next ones needn't pay for such tries
        self._note(f"tried {_named(tried[1:], used)} after a refusal ({_word(error)}): refused alike")
        return None

    def _settle(self) -> None:
        self._settled = True
        self._known.set()
        self._moved.set()

    def _adopt(self, dialect: Dialect, used: Dialect, error: RequestError) -> None:
        self.dialect = dialect
        if not dialect.ends_run:  # another server may stand there when it's tried again
            remember(self._client, dialect)
        self._settle()
        words: list[str] = []
        if dialect.mode != used.mode:
            words.append(f"asked by {dialect.mode} instead of {used.mode}")
        if dialect.max_tokens_name != used.max_tokens_name:
            words.append(f"sent {dialect.max_tokens_name} instead of {used.max_tokens_name}")
        if dialect.asks_usage != used.asks_usage:
            words.append("sent no stream_options (usage is unknown)")
        if dialect.top_logprobs != used.top_logprobs:
            words.append(_scores(dialect))
        if dialect.ends_run:
            self._halt(NO_LOGPROBS)
        self._note(f"{' and '.join(words)}, because the server refused ({_word(error)})")


def _named(tried: list[Dialect], used: Dialect) -> str:
    """What was another in each of the dialects, `"tools and json"`."""
    words = [_difference(dialect, used) for dialect in tried]
    return " and ".join(dict.fromkeys(words))


def _difference(dialect: Dialect, used: Dialect) -> str:
    if dialect.mode != used.mode:
        return dialect.mode
    if dialect.max_tokens_name != used.max_tokens_name:
        return dialect.max_tokens_name
    if dialect.top_logprobs != used.top_logprobs:
        return _scores(dialect).removeprefix("sent ")
    return "no stream_options"


def _scores(dialect: Dialect) -> str:
    return f"sent top_logprobs={dialect.top_logprobs}" if dialect.logprobs else "sent no logprobs (answers tell none)"


def _word(error: RequestError) -> str:
    return str(error.status or error.kind)
