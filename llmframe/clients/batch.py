"""The batch port: a provider that takes many requests at once, for half the price, and answers within hours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from llmframe.clients.base import Dialect, RequestError
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply
from llmframe.core.template import Message

Phase = Literal["running", "ended", "failed"]
"""Where a batch stands: a word that isn't known means that it still runs."""

SAFE_SHARE: Final = 0.95
"""Part of a provider's limit of bytes that is used: what it counts may be a little more than what we send."""


NO_BATCH_API: Final = "no_batch_api"
"""Code of the error when an endpoint has no Batch API; a 404 without it may be of a file that isn't visible yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """What one batch may hold at most.

    Parameters
    ----------
    lines
        Requests.
    bytes
        Of the whole file as it's sent.
    inputs
        Texts to embed in all lines together; `None` where that isn't limited.
    """

    lines: int
    bytes: int
    inputs: int | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """What a provider says about a batch that it refused: its code, its words, the line they are about."""

    code: str | None
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchState:
    """What the provider says of one batch.

    Parameters
    ----------
    status
        The provider's own word.
    phase
        `"ended"` when all that will ever come is there (completed, expired, cancelled); `"failed"` when no request was
        done, and `problems` says why.
    total, done, failed
        Counts of requests; `None` where it doesn't tell.
    output, errors
        Where results lie (file ids or an address), each of them perhaps nowhere.
    created, expires
        Seconds since 1970.
    """

    id: str
    status: str
    phase: Phase
    total: int | None = None
    done: int | None = None
    failed: int | None = None
    output: str | None = None
    errors: str | None = None
    problems: tuple[Problem, ...] = ()
    created: float | None = None
    expires: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The answer to a line that embeds texts: one vector a text, each its little-endian 32-bit floats.

    `in_order` tells that no vector came with its place: they are those of the texts only if there are as many.
    """

    values: tuple[bytes, ...]
    usage: Usage = Usage()
    model: str | None = None
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class LineResult:
    """One line of the results: what the request came to.

    An error has the kind that the same answer has live; `batch_expired` and `cancelled` are those of lines that the
    provider gave up.
    """

    custom_id: str
    answer: Reply | Vectors | RequestError


class UndecidedError(Exception):
    """Nobody can tell yet whether a batch was made; ask again later."""


class Batches(Protocol):
    """A provider's batch service, for one model and one kind of request. Each call is one attempt without a retry.

    All of them raise `RequestError`, with the kinds of live requests.

    Attributes
    ----------
    name
        `"openai"` or `"anthropic"`, as the ledger keeps it.
    identity, account, model, provider
        As the live client's of the same options.
    dialects
        The forms a line can ask in, the preferred one first.
    limits
        What one batch may hold.
    uploads
        Whether lines are uploaded first; else they go with `create`.
    """

    name: str
    identity: str
    account: str
    model: str
    provider: str | None
    dialects: tuple[Dialect, ...]
    limits: BatchLimits
    uploads: bool

    async def start(self) -> None:
        """Open what belongs to the running loop."""
        ...

    async def close(self) -> None:
        """Close what `start` opened; a second call does nothing."""
        ...

    def line(self, custom_id: str, messages: list[Message], dialect: Dialect) -> bytes:
        """The line of one chat request: JSON in UTF-8, with its line end."""
        ...

    def embedding_line(self, custom_id: str, texts: list[str], dialect: Dialect | None = None) -> bytes:
        """The line of one request that embeds texts, in the first dialect unless said.

        Raises `UsageError` where the provider has none.
        """
        ...

    def reask(self, messages: list[Message], reply: Reply, problem: str, dialect: Dialect) -> list[Message]:
        """The messages that show the model its invalid reply and what was wrong with it."""
        ...

    async def upload(self, lines: Path, *, intent: str) -> str:
        """Upload the file of a batch's lines, under a name that tells the intent; returns the file's id."""
        ...

    async def create(self, source: str | Path, *, intent: str) -> BatchState:
        """Make the batch of an uploaded file, or of the lines themselves. This is what is paid."""
        ...

    async def find(self, intent: str, *, since: float, known: Iterable[str]) -> BatchState | None:
        """The batch that was made with this intent and not refused as a whole, `None` when there is none.

        Parameters
        ----------
        since
            When it was meant to be made, in seconds since 1970.
        known
            Batches that belong to other intents.

        Raises
        ------
        UndecidedError
            If the provider can't tell yet.
        """
        ...

    async def state(self, batch_id: str) -> BatchState:
        """Where a batch stands."""
        ...

    def results(self, state: BatchState, folder: Path) -> AsyncIterator[list[LineResult]]:
        """Everything that an ended batch came to, some lines at a time.

        Files are streamed into `folder` first, which is the caller's to remove. Lines come in any order; the caller
        copes with lines that come twice or that nobody sent.

        Raises
        ------
        RequestError
            `not_found` when the results are there no more.
        """
        ...

    async def cancel(self, batch_id: str) -> BatchState:
        """Ask the provider to stop a batch; what it has done until then stays, and is charged."""
        ...
