"""The Batch API of a simulated provider, as a test tells and asks it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection
from typing import Final, get_args

from llmframe.errors import UsageError
from llmframe.testing.batch_book import Book
from llmframe.testing.batch_faults import BatchCall, Results, call_fault
from llmframe.testing.batch_lines import Problem
from llmframe.testing.batch_state import End, Fate
from llmframe.testing.steps import Step

WAIT_SECONDS: Final = 60.0
"""How long `wait_calls` waits by default."""


class BatchService:
    """A provider's Batch API: how batches go on, what goes wrong with them, and what has been paid.

    A batch is `validating` when it's made. Each time it's asked after (`GET /v1/batches/{id}`; a list doesn't count)
    it goes on, and after `polls` times it has ended: with `polls=3` it's `in_progress`, `finalizing`, `completed`.
    Its lines are answered as the same live requests would be, by the same steps and the same `answer` function, but
    without limits and latency. What its lines get that isn't a 200 stands in the error file.

    Attributes
    ----------
    polls
        How often a batch is asked after until it has ended, at least 1.
    seconds
        How long a batch takes at least, in seconds of the serving loop; until then none of its lines is done.
    words
        States that a new batch names first, one each time it's asked after, before it goes on: `("queued", "new")`.
    cancel_share
        The share of its lines that a batch has done at least when it's cancelled; these are paid.
    enqueued_tokens
        The most tokens (4 characters each) of all batches that run; one above that fails with
        `token_limit_exceeded`. `None` sets no limit.
    late_files
        How often a new file is unknown to those who make a batch of it: a 404.
    late_listing
        In how many lists a new batch is missing.
    max_lines, max_bytes, max_inputs
        What one batch may hold: requests, bytes of the file, texts to embed.
    clock
        Tells the time that files and batches carry, in seconds since 1970.
    log
        Called in the serving loop: with a call's name and the id of its file or batch (`"-"` without one) when its
        work has been done, and with `<name>-replied` and the same id when the whole answer has gone out.

    Examples
    --------
    >>> from llmframe.testing import Provider, Reset
    >>> with Provider() as provider:
    ...     provider.batches.polls = 3
    ...     provider.batches.fault("create", Reset(), lost=True)
    ...     provider.batches.created
    0
    """

    def __init__(self, book: Book, *, in_loop: Callable[[Callable[[], None]], None]) -> None:
        self._book = book
        self._in_loop = in_loop
        self.polls = 1
        self.seconds = 0.0
        self.words: Collection[str] = ()
        self.cancel_share = 0.5
        self.enqueued_tokens: int | None = None
        self.late_files = self.late_listing = 0
        self.max_lines = self.max_inputs = 50_000
        self.max_bytes = 200 * 2**20
        self.clock: Callable[[], float] = time.time
        self.log: Callable[[str, str], None] | None = None

    def hold(self, done: float = 0.0) -> None:
        """Let no batch end from now on, until `finish`.

        Parameters
        ----------
        done
            The share of its lines that each of them has done once it's asked after, and that are paid.
        """
        self._book.held = done

    def finish(self, end: End = "completed", *, done: float = 1.0) -> None:
        """End every batch that runs, now, and `hold` with them; what is refused or cancelled ends so.

        Parameters
        ----------
        end, done
            As `ends` has them.
        """
        _check_end(end, done)

        self._in_loop(lambda: self._book.finish(end, 1.0 if end == "completed" else done))

    def ends(self, end: End, *, done: float = 0.5, times: int | None = 1) -> None:
        """How the next batches to be made end: `"expired"` or `"cancelled"` (by somebody else) half-way.

        Parameters
        ----------
        done
            The share of their lines that are done until then, in the order of the file; these are paid.
        times
            How many batches; `None`: all of them.
        """
        _check_end(end, done)
        self._book.fates.add(Fate(end=end, share=1.0 if end == "completed" else done), times)

    def refuses(self, code: str, message: str = "The batch was refused.", *, times: int | None = 1) -> None:
        """Let the next batches fail once they are made, with this error."""
        self._book.refusals.add(Problem(code=code, message=message), times)

    def returns(self, results: Results, *, times: int | None = None) -> None:
        """How the result files of the next batches to be made are written; without `times`, of all."""
        self._book.results.add(results, times)

    def fault(self, call: BatchCall, step: Step, *, times: int | None = 1, lost: bool = False) -> None:
        """A step for the next calls of a kind.

        Parameters
        ----------
        step
            `Status`, `Html`, `Hang`, `Reset`, `Drip`, `Cut`, `Stall`, `BadBody`, or `Delay` of one of them.
        times
            How many calls get it; `None`: all of them.
        lost
            Whether the work is done all the same: the batch is made, but nobody hears of it. `Cut`, `Stall` and
            `BadBody` break an answer, hence do it anyway.
        """
        self._book.add_fault(call, call_fault(call, step, lost=lost), times)

    def lose_files(self) -> None:
        """Forget every file, as the service does after 30 days."""
        self._in_loop(self._book.files.clear)

    @property
    def created(self) -> int:
        """Batches that were made, refused ones included."""
        return self._book.created

    @property
    def uploads(self) -> int:
        """Files that were uploaded."""
        return self._book.uploads

    @property
    def lines(self) -> int:
        """Lines that were answered with a 200, hence paid."""
        return self._book.paid_ids.total()

    @property
    def paid(self) -> Counter[str]:
        """How often each `custom_id` was paid."""
        return Counter(self._book.paid_ids)

    @property
    def paid_prompts(self) -> Counter[str]:
        """How often each prompt was paid in a batch, by `digest` of its last user message or of each text to embed."""
        return Counter(self._book.paid_prompts)

    @property
    def calls(self) -> Counter[str]:
        """How many calls of each kind came, those with a fault included."""
        return Counter(self._book.calls)

    @property
    def running(self) -> int:
        """Batches that haven't ended."""
        return sum(batch.running for batch in list(self._book.batches.values()))

    @property
    def statuses(self) -> dict[str, str]:
        """The state of each batch by its id, the oldest first."""
        return {batch.id: batch.status for batch in list(self._book.batches.values())}

    def wait_calls(self, call: BatchCall, n: int = 1, *, timeout: float = WAIT_SECONDS) -> None:
        """Block until `n` calls of a kind have come; `TimeoutError` after `timeout` seconds."""
        if not self._book.wait_for(lambda: self._book.calls[call] >= n, timeout):
            raise TimeoutError(f"waited {timeout:g} s for {n} calls of {call!r}; now {self._book.calls[call]}")


def _check_end(end: str, done: float) -> None:
    if end not in get_args(End):
        msg = f"a batch can't end as {end!r}; it ends as one of {', '.join(map(repr, get_args(End)))}"
        raise UsageError(msg)
    if not 0 <= done <= 1:
        msg = f"done={done!r}: it is a share of the lines, in [0, 1]"
        raise UsageError(msg)
