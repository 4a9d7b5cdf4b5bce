"""What a call's batches have come to: what was settled, what may be asked again, what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from llmframe.batch.collecting import NOTHING, Read, Reader, outcome_of_error
from llmframe.batch.drafts import Draft, Lines
from llmframe.batch.enqueued import TOKEN_LIMIT_CODES
from llmframe.budget import Hold
from llmframe.clients.base import Dialect, RequestError
from llmframe.clients.batch import BatchState, Vectors
from llmframe.clients.refusals import MODEL_NOT_FOUND, next_dialects, speaks_of_logprobs
from llmframe.core.outcome import Failure, Usage
from llmframe.core.reply import Reply
from llmframe.engine.dialects import NO_LOGPROBS
from llmframe.engine.run import Run
from llmframe.engine.settled import Settlement
from llmframe.errors import ErrorKind
from llmframe.stores.base import Stored
from llmframe.stores.jobs import Ledger, LineOutcome, LineRecord, Shard

PASSING: Final = frozenset({"timeout", "connection", "rate_limit", "server"})
"""Kinds of failed lines that another batch may answer."""

PAID: Final = ("creating", "running", "ended")
"""Where a shard stands whose batch may have been made."""

LEFT: Final = Failure("batch_missing", "no batch of this call has answered it; the same call asks for it again")
UNSENT: Final = Failure("cancelled", "the job was cancelled before this request was sent")

_QUOTA_CODES: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


@dataclass(slots=True)
class _Reserved:
    """Money set aside for a line, until all its fingerprints are settled; what it took is `None` when nobody told."""

    hold: Hold
    left: int
    usd: float | None = 0.0
    tokens: int | None = 0
    charged: bool = False


class Account:
    """The state of one call's requests, as far as batches decide it.

    Parameters
    ----------
    lines
        What the call's requests are in batches.
    live
        Whether what a batch left open is asked live: then it isn't this account's failure.
    parts
        Whether the call has several parts: what a request took is told in the first of them alone.

    Attributes
    ----------
    answered
        The forms in which lines were answered.
    cancelled
        Somebody has asked for the job's end: nothing more is sent.
    free_round
        The last round left something open through no fault of its own, and doesn't count.
    open
        What was settled in the last round left something open that another batch may answer.
    refusal
        Why the budget lets nothing more be sent.
    invalid
        Replies that the next ask shows to the model.
    """

    def __init__(
        self,
        run: Run,
        ledger: Ledger,
        lines: Lines,
        *,
        live: bool,
        parts: bool = False,
    ) -> None:
        self.cancelled = self.free_round = self.open = False
        self.refusal: Failure | None = None
        self.invalid = lines.invalid
        self._run, self._ledger, self._drafts = run, ledger, lines.drafts
        self._reask, self._live, self._dialects = lines.reask, live, lines.dialects
        self._own = ""
        self.answered: set[Dialect] = set()
        self._refused: set[Dialect] = set()
        self._jobs: set[str] = set()
        self._mine: set[str] = set()
        self._now: set[str] = set()
        self._reserved: dict[bytes, _Reserved] = {}
        self._failures: dict[bytes, Failure] = {}
        self._earlier: dict[bytes, Settlement] = {}
        self._asked: dict[bytes, int] = {}
        self._told: set[bytes] | None = set() if parts else None

    def begin_round(self) -> None:
        """What is settled from now on isn't asked again in the same round."""
        self._now.clear()
        self.free_round = self.open = False

    def reserve(self, draft: Draft) -> str | None:
        """Set money aside for a line; `None` when that's done.

        Else why there is none, or an empty text when there may be some again as soon as what was sent is settled.
        """
        budget = self._run.budget
        if budget is None:
            return None
        tokens = draft.tokens + draft.output
        usd = self._run.metrics.price.usd(Usage(draft.tokens, draft.output, 0), batch=True) or 0.0
        if not budget.fits(usd, tokens):
            return budget.refusal(usd, tokens) or ""
        reserved = _Reserved(budget.reserve(usd, tokens), len(draft.keys))
        self._reserved.update(dict.fromkeys(draft.keys, reserved))
        return None

    def released(self, keys: Iterable[bytes]) -> None:
        """These weren't sent after all."""
        for key in keys:
            self._pay(key, NOTHING, 0.0, charged=False)

    def close(self) -> None:
        """What is set aside for batches that go on without this call counts as spent: nobody tells it any more."""
        if self._run.budget is None or not self._reserved:
            return
        for shard in self._ledger.shards(job=self._own) if self._own else ():
            if shard.execution in PAID and shard.collection not in ("done", "gone"):
                for record in self._ledger.lines(shard.intent):
                    reserved = self._reserved.pop(record.key, None)
                    if reserved is not None:
                        self._run.budget.settle(reserved.hold)
        self.released(list(self._reserved))

    def reader(self, shard: Shard, read: Read) -> Reader:
        """How the results of a shard are read and told here."""
        self._jobs.add(shard.job)
        self._mine.add(shard.intent)
        self._now.add(shard.intent)
        sent_in = Dialect.of_form(shard.mode, shard.max_tokens_name)

        def taken(records: list[LineRecord], answer: Reply | Vectors) -> Sequence[tuple[LineOutcome, Stored | None]]:
            self.answered.add(sent_in)
            return read(records, answer)

        def failed(records: list[LineRecord], error: RequestError) -> LineOutcome:
            refused = self._drafts.refused([record.key for record in records], error)
            if not refused and not self._other_form(sent_in, error):
                return outcome_of_error(error)
            self.free_round = True
            return LineOutcome(state="missing", kind="bad_request", detail=error.detail, usage=NOTHING)

        return Reader(read=taken, failed=failed, settled=self._settled)

    def refused_batch(self, state: BatchState) -> LineOutcome:
        """What a batch that failed as a whole means for its lines; what would fail every batch stops the run."""
        problem = state.problems[0] if state.problems else None
        code = (problem.code if problem else None) or state.status
        kind: ErrorKind = "bad_request"
        if code in _QUOTA_CODES:
            kind = "quota"
        elif code in MODEL_NOT_FOUND:
            kind = "not_found"
        elif code in TOKEN_LIMIT_CODES:
            kind = "rate_limit"
        told = f"the provider refused the batch ({code}){f': {problem.message}' if problem else ''}"
        if kind != "bad_request":
            self._run.halt(Failure(kind, told))
        return LineOutcome(state="failed", kind=kind, detail=told, usage=NOTHING)

    def goes_on(self, job: str) -> None:
        """It's this job that the call goes on with."""
        self._own = job
        self._jobs.add(job)

    def ended(self, keys: Sequence[bytes]) -> set[bytes]:
        """Of requests without an answer those that no further batch is made for."""
        ended: set[bytes] = set()
        for job in self._jobs:
            for key, told in self._ledger.outcomes(job, keys).items():
                # what somebody cancelled in another job may well be asked for in this one
                counts = job == self._own or (told.intent in self._mine and told.state != "cancelled")
                if told.intent in self._now or (counts and not self._again(key, told)):
                    ended.add(key)
        return ended

    @property
    def left(self) -> Failure | None:
        """What a request comes to that no batch tells of; see `engine.settled`."""
        if self._live or self._run.stop is not None:
            return None
        return UNSENT if self.cancelled else LEFT

    def of(self, keys: list[bytes]) -> dict[bytes, Settlement]:
        """What this run's batches did for requests; see `engine.settled`."""
        found: dict[bytes, Settlement] = {}
        for job in self._jobs:
            for key, told in self._ledger.outcomes(job, keys).items():
                if told.intent in self._mine:
                    found[key] = self._settlement(key, told)
                elif job == self._own and told.state != "kept" and not self._again(key, told):
                    failure = Failure(told.kind or "batch_missing", told.detail or "in a batch of an earlier call")
                    found.setdefault(key, Settlement(attempts=0, failure=failure))
        return found

    def told(self, keys: list[bytes]) -> None:
        """What these took has been told on a row."""
        if self._told is not None:
            self._told.update(key[:8] for key in keys)

    def _settlement(self, key: bytes, told: LineOutcome) -> Settlement:
        earlier = self._earlier.get(key)
        usage, usd, attempts = told.usage, self._run.metrics.price.usd(told.usage, batch=True), 1
        if earlier is not None and told.state != "kept":
            usage, usd, attempts = earlier.usage, earlier.usd, earlier.attempts
        elif earlier is not None:
            usage, attempts = usage + earlier.usage, attempts + earlier.attempts
            usd = None if usd is None or earlier.usd is None else usd + earlier.usd
        if self._told is not None and key[:8] in self._told:
            usage, usd, attempts = Usage(0, 0, 0), 0.0, 0
        failure = None
        if told.state != "kept" and (self.cancelled or not (self._live and self._again(key, told))):
            failure = self._failures.get(key) or Failure(told.kind or "batch_missing", told.detail or told.state)
        return Settlement(usage=usage, usd=usd, attempts=attempts, failure=failure, invalid=self.invalid.get(key))

    def _other_form(self, used: Dialect, error: RequestError) -> bool:
        """Whether a line that was refused in one form may be taken in another; from now on lines are made in that.

        A form in which any line was answered is taken: the refusal is that line's own.
        """
        if used in self.answered:
            return False
        self._refused.add(used)
        following = [each for each in next_dialects(used, error, self._dialects) if each not in self._refused]
        if not following:
            return False
        if following[0].ends_run:
            if speaks_of_logprobs(error):
                self._run.halt(NO_LOGPROBS)
            return False
        if self._drafts.dialect == used:
            self._drafts.dialect = following[0]
            self._run.metrics.notes.append(_told(following[0], used, error))
        return True

    def _again(self, key: bytes, told: LineOutcome) -> bool:
        """Whether another ask may help."""
        if told.state == "failed":
            if told.kind == "invalid":
                return self._asked.get(key, 0) <= self._reask
            return told.kind in PASSING
        return told.state != "cancelled"

    def _settled(self, outcomes: list[tuple[bytes, LineOutcome]]) -> None:
        metrics = self._run.metrics
        for key, told in outcomes:
            charged = told.state == "kept" or told.usage != NOTHING
            usd = metrics.book(told.usage, batch=True) if charged else 0.0
            self._pay(key, told.usage, usd, charged=charged)
            if told.state == "kept":
                self._failures.pop(key, None)
                continue
            if told.kind is not None:
                self._failures[key] = Failure(told.kind, told.detail or "")
            if told.kind == "invalid":
                self._asked[key] = self._asked.get(key, 0) + 1
            self.open |= self._again(key, told)
            before = self._earlier.get(key, Settlement(attempts=0))
            self._earlier[key] = Settlement(
                usage=before.usage + told.usage,
                usd=None if before.usd is None or usd is None else before.usd + usd,
                attempts=before.attempts + 1,
            )

    def _pay(self, key: bytes, usage: Usage, usd: float | None, *, charged: bool) -> None:
        reserved = self._reserved.pop(key, None)
        if reserved is None or self._run.budget is None:
            return
        reserved.left -= 1
        reserved.usd = None if usd is None or reserved.usd is None else reserved.usd + usd
        told = usage.input_tokens, usage.output_tokens
        known = told[0] is not None and told[1] is not None and reserved.tokens is not None
        reserved.tokens = (reserved.tokens or 0) + (told[0] or 0) + (told[1] or 0) if known else None
        reserved.charged |= charged
        if reserved.left:
            return
        if reserved.charged:
            self._run.budget.settle(reserved.hold, usd=reserved.usd, tokens=reserved.tokens)
        else:
            self._run.budget.release(reserved.hold)


def _told(form: Dialect, used: Dialect, error: RequestError) -> str:
    """What is asked for in another form, in words."""
    if form.mode != used.mode:
        told = f"asked by {form.mode} instead of {used.mode}"
    elif form.top_logprobs != used.top_logprobs:
        told = f"sent top_logprobs={form.top_logprobs}" if form.logprobs else "sent no logprobs (answers tell none)"
    else:
        told = f"sent {form.max_tokens_name} instead of {used.max_tokens_name}"
    return f"{told}, because the server refused ({error.status or error.kind})"
