"""The ledger port: which batches were meant, made and collected, so that none is ever paid twice or lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from llmframe.core.outcome import Usage
from llmframe.errors import ErrorKind
from llmframe.stores.base import Stored

Kind = Literal["chat", "embeddings"]
Execution = Literal["planned", "uploaded", "creating", "running", "ended", "failed", "lost", "abandoned"]
"""Where a shard stands at the provider. `planned`: its intent is written, nothing sent that counts. `uploaded`: the
file's id is known. `creating`: the paid call may have gone out. `running` and `ended` have a batch's id. `failed`: the
provider refused it, nothing was done. `lost`: the provider knows it no more. `abandoned`: never made, nothing to come
back to."""
Collection = Literal["none", "partial", "done", "gone"]
"""What became of a shard's results: `partial` while they are read, `gone` when the provider keeps them no more."""
LineState = Literal["open", "kept", "failed", "expired", "cancelled", "missing"]
"""What became of one request of a shard; `kept` means that its reply is in the store."""

OPEN: tuple[Execution, ...] = ("planned", "uploaded", "creating", "running", "ended")
"""Executions that may still come to something, as long as the results aren't collected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One call's way through the Batch API.

    Parameters
    ----------
    id
        What users say: `job-` and ten characters.
    created
        Seconds since 1970.
    provider
        `Batches.name`.
    identity, model
        The client's.
    question
        Digest of what all its requests share: an unfinished job of the same question is gone on with.
    kind
        What its requests ask for.
    requests, rows
        Distinct requests that were to be sent, and rows of the call; counts as far as they are known.
    cancelled
        Whether somebody has asked for its end.
    finished
        Whether the call has got all that it will get.
    """

    id: str
    created: float
    provider: str
    identity: str
    model: str
    question: str
    kind: Kind = "chat"
    requests: int = 0
    rows: int | None = None
    cancelled: bool = False
    finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One batch of a job, as the ledger knows it; `intent` is its name everywhere, also at the provider.

    Parameters
    ----------
    mode, max_tokens_name, tool
        In which form its lines ask, by `Dialect`'s words, and the function that they force.
    lines, bytes, tokens
        What it holds; tokens are estimated.
    status
        The provider's own word, raw.
    attempts
        How often it was made; more than once only where the provider refused it for its own queue's length.
    planned, created, polled
        Times in seconds since 1970: when it was meant, made, last asked about.
    total, done, failed
        The provider's counts.
    detail
        What the provider said about a refusal, for the user.
    """

    intent: str
    job: str
    number: int
    execution: Execution
    collection: Collection = "none"
    mode: str = "text"
    max_tokens_name: str = "max_tokens"
    tool: str | None = None
    lines: int = 0
    bytes: int = 0
    tokens: int = 0
    file_id: str | None = None
    batch_id: str | None = None
    status: str | None = None
    attempts: int = 0
    planned: float = 0.0
    created: float | None = None
    polled: float | None = None
    total: int | None = None
    done: int | None = None
    failed: int | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class LineRecord:
    """One request of a shard: which line it stands in, at which place of it, and its fingerprint.

    `digest` stands for its text alone (8 bytes), so that what is kept can tell later what has changed.
    """

    line: int
    place: int
    key: bytes
    digest: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOutcome:
    """What became of one request; `kind` and `detail` of a failure, and what it took."""

    state: LineState
    kind: ErrorKind | None = None
    detail: str | None = None
    usage: Usage = field(default_factory=Usage)
    intent: str = ""


class Ledger(Protocol):
    """Jobs, shards and lines, safe in threads and shared by processes; methods may block, and raise `StoreError`.

    What a method writes is safe from a power cut when it returns: the next step at the provider may cost money. Only
    `settle` is safe from no more than the end of the process: what a power cut takes of it is downloaded again.

    One object is one worker. Each call has its own, so that of two calls in a process only one works on a job, too;
    "this one" below means this object, "another" any other one, in this process or elsewhere.
    """

    def open_job(self, job: JobRecord) -> None:
        """Write a new job, and that this one works on it."""
        ...

    def job(self, job_id: str) -> JobRecord | None:
        """A job by its id."""
        ...

    def jobs(self) -> list[JobRecord]:
        """All jobs, the latest first."""
        ...

    def adopt_job(self, question: str) -> JobRecord | None:
        """The latest unfinished job of this question that no living one works on; it's this one's now."""
        ...

    def take_job(self, job_id: str) -> bool:
        """Make a job this one's, unless there is none or another living one works on it; returns whether it is."""
        ...

    def is_worked_on(self, job_id: str) -> bool:
        """Whether a living one works on the job, this one or another."""
        ...

    def beat(self) -> None:
        """Tell the others that this one lives, if it has work and hasn't told them within five seconds.

        To be called every fifteen seconds or so while there is work, also while a shard is waited for: whoever is
        silent for a minute is taken for dead on other machines. A process that has ended is known to be dead at once
        on its own machine, while one that is there but silent is left its work for ten minutes.
        """
        ...

    def leave(self) -> None:
        """Give up all work: others may go on with it at once. To be called at the end of a call, in a `finally`."""
        ...

    def update_job(
        self,
        job_id: str,
        *,
        requests: int | None = None,
        rows: int | None = None,
        cancelled: bool | None = None,
        finished: bool | None = None,
    ) -> None:
        """Change what is said."""
        ...

    def mark(self) -> int:
        """How far planning has got, for `plan_shard`."""
        ...

    def plan_shard(self, shard: Shard, lines: Sequence[LineRecord], *, seen: int | None = None) -> set[bytes]:
        """Write the intent of a shard with its lines, as one; this one works on it.

        Parameters
        ----------
        seen
            A `mark`. Write it only when none of the fingerprints stands in another shard that may still come to
            something, or has got an answer from one that was planned after the mark.

        Returns
        -------
        set of bytes
            Those that do: where there are any, nothing was written.
        """
        ...

    def update_shard(self, intent: str, **changes: object) -> None:
        """Change fields of a shard, by the names of `Shard`; whoever works on it.

        Raises
        ------
        UsageError
            If there is no such field.
        StoreError
            If there is no such shard: the file was replaced.
        """
        ...

    def move_shard(self, intent: str, *, of: Iterable[Execution], to: Execution, **changes: object) -> bool:
        """Change a shard's execution if it is one `of` these and no other living one works on it.

        It is this one's then. Of several that try only one gets True. No shard of a
        cancelled job becomes `creating`.
        """
        ...

    def shards(self, *, job: str | None = None, intents: Iterable[str] | None = None) -> list[Shard]:
        """The shards of a job, or those named, or all, in the order in which they were planned."""
        ...

    def batch_ids(self, *, since: float) -> list[str]:
        """The batches of all shards planned since then."""
        ...

    def is_ours(self, intent: str) -> bool:
        """Whether no other living one works on the shard."""
        ...

    def lines(self, intent: str) -> list[LineRecord]:
        """The lines of a shard, in their order."""
        ...

    def open_shards(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Of `keys` those that wait in a shard that may still come to something, with its intent."""
        ...

    def settle(
        self, intent: str, outcomes: Sequence[tuple[bytes, LineOutcome]], entries: Sequence[tuple[bytes, Stored]]
    ) -> None:
        """Keep answers in the store and what became of their lines, as one. A line that is settled stays as it is.

        Answers are kept even if nothing is known of the shard or its line. Of a failure whose words quote the model
        or a cell only the kind is kept.
        """
        ...

    def settle_rest(self, intent: str, outcome: LineOutcome) -> int:
        """Settle all open lines of a shard in the same way; returns how many."""
        ...

    def outcomes(self, job: str, keys: Sequence[bytes]) -> dict[bytes, LineOutcome]:
        """What became of requests in a job, by its latest settled line; those without one are left out."""
        ...

    def counts(self, job: str) -> dict[LineState, int]:
        """Requests of a job by what became of their latest line."""
        ...

    def usage(self, job: str) -> Usage:
        """The tokens that a job's settled lines took, as far as they are known."""
        ...

    def forget(self, job_id: str) -> None:
        """Remove a finished job with its shards and lines; answers stay.

        Raises
        ------
        UsageError
            If the job isn't finished, or the provider may still have results of it.
        """
        ...
