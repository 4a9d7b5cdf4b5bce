"""The store before the network: what was answered already is delivered, the rest is claimed and asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from llmframe.core.outcome import Answer, Outcome, Usage
from llmframe.core.plan import Plan, Planned
from llmframe.core.reply import Reply
from llmframe.core.request import Components, text_digest
from llmframe.core.schema import Schema
from llmframe.core.scoring import evidence_of
from llmframe.engine.keeper import Keeper
from llmframe.engine.sending import Job, characters
from llmframe.engine.settled import Settled, Settlement
from llmframe.errors import StoreError
from llmframe.stores.base import Stored

QUIET_CHUNKS: Final = 8
"""Chunks of known rows between two pauses: such a row takes a tenth of the time of a new one."""

CLAIMED_AT_ONCE: Final = 64
"""Requests that are claimed together, where each is sent alone: no other process asks for them meanwhile."""


class Resolver:
    """What one part of a run reads from a store and keeps there.

    Parameters
    ----------
    keeper
        The store, as the runs of this loop share it.
    schema
        By which kept replies are read again: where one no longer fits, the request is sent.
    since
        Answers kept from then on, in seconds since 1970, are the run's own: `"shared"`, not `"cache"`.
    components
        Digests of what is asked, for a store that tells later what has changed.
    together
        Requests that are claimed at once: no more than can soon be sent.
    settled
        What batches of this run have come to; `None` in a live run.
    """

    def __init__(  # noqa: PLR0913 - one argument a part that is put together
        self,
        keeper: Keeper,
        schema: Schema,
        *,
        since: float,
        components: Components | None = None,
        together: int = CLAIMED_AT_ONCE,
        settled: Settled | None = None,
    ) -> None:
        self._settled, self._settlements = settled, dict[bytes, Settlement]()
        self._keeper, self._schema, self._since = keeper, schema, since
        self._components, self._together = components, together
        self._puts = self._others_puts = 0
        self._claimed: set[bytes] = set()
        self._elsewhere: set[bytes] = set()
        self._digests: dict[bytes, bytes] = {}

    def unanswered(
        self,
        plan: Plan,
        *,
        deliver: Callable[[int, Outcome], None],
        drawn: Callable[[list[Planned]], None] | None = None,
        missing: Callable[[str, int], None] | None = None,
        going: Callable[[], bool] = lambda: True,
    ) -> Iterator[Planned | None]:
        """Draw `plan`, deliver what is kept, yield the requests that must be sent.

        A `None` among them lets others have their turn: after every chunk of rows that has a request, and after
        `QUIET_CHUNKS` that have none.

        Parameters
        ----------
        drawn
            Told of every chunk's requests first, of a chunk without any, too.
        missing
            Told of what has changed about so many requests that have no answer.
        going
            Whether requests are still sent: else none is claimed.

        Raises
        ------
        StoreError
            If the store can't be read.
        """
        quiet = 0
        for chunk in plan.draw():
            if drawn is not None:
                drawn(chunk)
            if not chunk:
                quiet += 1
                if quiet == QUIET_CHUNKS:
                    quiet = 0
                    yield None
                continue
            quiet = 0
            self._others_puts = self._keeper.puts - self._puts
            left, stale = self._unknown(chunk, deliver)
            if missing is not None and left:
                self._tell(left, stale, missing)
            for start in range(0, len(left), self._together):
                group = left[start : start + self._together]
                if self._keeper.shared is not None and going():
                    self._claim([planned.key for planned in group])
                    group, _ = self._unknown(group, deliver)  # another process may have answered since
                yield from group
            yield None

    def look(self, plan: Plan, deliver: Callable[[int, Outcome], None]) -> None:
        """Draw `plan` and deliver what is kept; nothing is claimed or asked."""
        for _ in self.unanswered(plan, deliver=deliver, going=lambda: False):
            pass

    def job(self, planned: Planned) -> Job:
        """The job of a request that `unanswered` has just yielded."""
        job = Job(planned, planned.messages, characters(planned.messages))
        job.digest = self._digests.pop(planned.key, None)
        job.others_puts = self._others_puts
        job.elsewhere = planned.key in self._elsewhere
        self._elsewhere.discard(planned.key)
        settlement = self._settlements.pop(planned.key, None)
        if settlement is not None:
            job.usage, job.usd, job.sent, job.booked = settlement.usage, settlement.usd, settlement.attempts, True
            job.invalid = settlement.invalid
        return job

    def meanwhile(self, job: Job) -> Outcome | None:
        """The answer that another run, or the process that claimed it, has kept since the store was looked at."""
        others = self._keeper.puts - self._puts
        if not job.elsewhere and job.others_puts == others:
            return None
        job.others_puts = others
        return self._look(job)

    def elsewhere(self, job: Job) -> bool:
        """Whether another process is asking for it just now; if not, this one has claimed it."""
        key = job.planned.key
        if job.elsewhere and not self._keeper.claim([key]):
            job.elsewhere = False
            self._claimed.add(key)
            job.others_puts = -1  # it may have been answered between the look and the claim
        return job.elsewhere

    def keep(self, job: Job, answer: Answer, reply: Reply, *, usage: Usage) -> None:
        """Keep a valid reply, and what it took."""
        entry = Stored(
            answer.text,
            usage,
            reply.model,
            reply.finish_reason,
            created=time.time(),
            components=self._components,
            prompt_digest=job.digest,
            evidence=evidence_of(self._schema.scoring, answer, reply.text, reply.tokens),
        )
        self._puts += 1
        self._claimed.discard(job.planned.key)
        self._keeper.put(job.planned.key, entry)

    def give_up(self, job: Job) -> None:
        """Let other processes ask for what wasn't answered here."""
        if job.planned.key in self._claimed:
            self._claimed.discard(job.planned.key)
            self._keeper.release([job.planned.key])

    def leave(self) -> None:
        """Let others ask for all that was claimed and not answered."""
        self._keeper.release(list(self._claimed))
        self._claimed.clear()

    def _unknown(
        self, requests: list[Planned], deliver: Callable[[int, Outcome], None]
    ) -> tuple[list[Planned], list[Planned]]:
        """Deliver what is kept; the rest, and those of it that have a reply which no longer fits."""
        keys = [planned.key for planned in requests]
        entries = self._keeper.get_many(keys)
        settlements = self._settled.of(keys) if self._settled is not None else {}
        never = self._settled.left if self._settled is not None else None
        if not entries and not settlements and never is None:
            return requests, []
        left: list[Planned] = []
        stale: list[Planned] = []
        for planned in requests:
            entry = entries.get(planned.key)
            outcome = None if entry is None else self._outcome(entry, planned)
            if planned.key in settlements:
                outcome = self._settled_outcome(planned, outcome, settlements[planned.key])
            elif outcome is None and never is not None:
                outcome = Outcome(result=never, usage=Usage(0, 0, 0), usd=0.0, fingerprint=planned.key.hex())
            if outcome is None:
                left.append(planned)
                if entry is not None:
                    stale.append(planned)
            else:
                deliver(planned.index, outcome)
        return left, stale

    def _settled_outcome(self, planned: Planned, kept: Outcome | None, settlement: Settlement) -> Outcome | None:
        """What a batch has made of a request; `None` when it's to be asked live."""
        outcome = kept
        settlement = self._settlements.pop(planned.key, settlement)  # at a second look it counts as told
        if outcome is None and settlement.failure is not None:
            outcome = Outcome(result=settlement.failure, fingerprint=planned.key.hex())
        if self._settled is not None:
            self._settled.told([planned.key])
        if outcome is None:
            self._settlements[planned.key] = settlement
            return None
        source = settlement.source if settlement.attempts else "shared"
        return replace(outcome, usage=settlement.usage, usd=settlement.usd, attempts=settlement.attempts, source=source)

    def _tell(self, left: list[Planned], stale: list[Planned], missing: Callable[[str, int], None]) -> None:
        """Tell why requests have no answer that fits, where the store knows."""
        store = self._keeper.shared
        if store is None or self._components is None:
            return
        digests = {planned.key: text_digest(planned.messages) for planned in left}
        self._digests.update(digests)
        if stale:
            missing("reply", len(stale))
            for planned in stale:
                del digests[planned.key]
        for change in store.changes(list(digests.values()), self._components):
            missing(change, 1)

    def _claim(self, keys: list[bytes]) -> None:
        others = self._keeper.claim(keys)
        self._elsewhere |= others
        self._claimed.update(key for key in keys if key not in others)

    def _look(self, job: Job) -> Outcome | None:
        key = job.planned.key
        try:
            entry = self._keeper.get_many([key]).get(key)
        except StoreError:
            return None
        outcome = None if entry is None else self._outcome(entry, job.planned)
        if outcome is not None and (job.sent or job.booked):  # it has cost something before
            outcome = replace(outcome, usage=job.usage, usd=job.usd, attempts=job.sent)
        return outcome

    def _outcome(self, entry: Stored, planned: Planned) -> Outcome | None:
        """What a kept reply is today; `None` when it no longer fits."""
        result = self._schema.read(entry.text)
        if not isinstance(result, Answer):
            return None
        if self._schema.scoring is not None:
            result = self._schema.scoring.kept(result, entry.evidence)
        return Outcome(
            result=result,
            usage=Usage(0, 0, 0),
            usd=0.0,
            finish_reason=entry.finish_reason,
            model=entry.model,
            source="cache" if entry.created < self._since else "shared",
            fingerprint=planned.key.hex(),
        )
