"""Answers to packs of texts, laid onto the rows of one part of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llmframe.core.embeddings import NO_VECTOR, VectorReply, Width, kept_text, shared_out
from llmframe.core.outcome import Answer, Failure, Outcome, Usage
from llmframe.core.plan import Plan
from llmframe.engine.embedding_packs import Pack
from llmframe.engine.keeper import Keeper
from llmframe.engine.resolve import Resolver
from llmframe.engine.run import Run
from llmframe.engine.runner import FIRST_FAILED
from llmframe.engine.sending import Job
from llmframe.engine.sharing import Flight

NOTHING = Usage(0, 0, 0)


class Results:
    """What one part of a run has been answered.

    Parameters
    ----------
    outcomes
        Filled by the texts' numbers.
    model
        The client's, where an answer names none.
    fail_fast
        Stop sending at the first failed row.
    """

    def __init__(  # noqa: PLR0913 - one argument a part that is put together
        self,
        run: Run,
        plan: Plan,
        outcomes: list[Outcome | None],
        *,
        resolver: Resolver,
        keeper: Keeper,
        width: Width,
        model: str,
        clock: Callable[[], float],
        fail_fast: bool,
    ) -> None:
        self._run, self._plan, self._outcomes = run, plan, outcomes
        self._resolver, self._keeper, self._width = resolver, keeper, width
        self._model, self._clock, self._fail_fast = model, clock, fail_fast
        self._any = False

    def came(self, pack: Pack, reply: VectorReply) -> None:
        """The answer to `pack`: each call gets its own vectors, and pays for them by their characters."""
        parties = [(self, pack.texts), *pack.guests]
        shares = shared_out(reply.usage.input_tokens, [t.characters for _, texts in parties for t in texts])
        start = 0
        for results, texts in parties:
            stop = start + len(texts)
            results.paid(pack, texts, reply, reply.vectors[start:stop], shares[start:stop])
            start = stop

    def paid(
        self, pack: Pack, texts: list[Job], reply: VectorReply, vectors: Sequence[bytes], shares: list[int | None]
    ) -> None:
        """Take the vectors of a request, of this call's or with its texts among others', and their share of tokens."""
        known = [share for share in shares if share is not None]
        usage = Usage(sum(known), 0, 0) if len(known) == len(shares) else Usage()
        usd = self._run.metrics.book(usage)
        tokens = usage.input_tokens or 0
        failures = 0
        for text, vector, share in zip(texts, vectors, shares, strict=True):
            took = Usage() if share is None else Usage(share, 0, 0)
            cost = None if usd is None or share is None else usd * share / (tokens or 1)
            failures += not self._answered(text, vector, reply, took, usd=cost, pack=pack)
        self._any = self._any or failures < len(texts)
        if failures and not self._any and self._width.asked is not None:
            self._run.halt(Failure("invalid", f"the model doesn't give vectors of {self._width.asked:,} numbers"))

    def shared(self, texts: list[Job], flight: Flight, reply: VectorReply) -> list[Job]:
        """Take the answer to another call's request, which is theirs to pay; returns the texts that it has none for."""
        places = {key: place for place, key in enumerate(flight.keys)}
        left: list[Job] = []
        for text in texts:
            place = places.get(text.planned.key)
            vector = NO_VECTOR if place is None else reply.vectors[place]
            if self._width.problem(vector) is None:
                self._answered(text, vector, reply, NOTHING, usd=0.0, pack=None)
            else:
                left.append(text)
        return left

    def _answered(  # noqa: PLR0913 - one argument a fact
        self, text: Job, vector: bytes, reply: VectorReply, usage: Usage, *, usd: float | None, pack: Pack | None
    ) -> bool:
        problem = self._width.problem(vector)
        if problem is None:
            self._resolver.keep(text, Answer(kept_text(vector), ()), reply, usage=_with_earlier(text, usage))
        begun = None if pack is None else pack.first_sent
        outcome = Outcome(
            result=Answer("", (vector,)) if problem is None else Failure("invalid", problem),
            usage=_with_earlier(text, usage),
            usd=usd if not text.booked else None if usd is None or text.usd is None else usd + text.usd,
            attempts=text.sent + (0 if pack is None else pack.sent),
            seconds=0.0 if begun is None else self._clock() - begun,
            model=reply.model or self._model,
            source="shared" if pack is None else "live",
            fingerprint=text.planned.key.hex(),
        )
        self.settle(text, outcome)
        return problem is None

    def fail(self, pack: Pack, failure: Failure) -> None:
        """What of a pack has no outcome gets this one."""
        for text in self.open(pack):
            begun = pack.first_sent
            outcome = Outcome(
                result=failure,
                usage=_with_earlier(text, Usage() if pack.sent else NOTHING),
                usd=None if pack.sent else text.usd if text.booked else 0.0,
                attempts=text.sent + pack.sent,
                seconds=0.0 if begun is None else self._clock() - begun,
                model=self._model,
                fingerprint=text.planned.key.hex(),
            )
            self.settle(text, outcome)

    def open(self, pack: Pack) -> list[Job]:
        """Texts of a pack that have no outcome yet."""
        outcomes = self._outcomes
        return [t for t in pack.texts if t.planned.index >= len(outcomes) or outcomes[t.planned.index] is None]

    def settle(self, text: Job, outcome: Outcome) -> None:
        """The end of a text that was to be asked; its rows count as done when its vector is safe."""
        index = text.planned.index
        self._run.metrics.settled(text.characters)
        self._lay(index, outcome)
        self._keeper.after(text.planned.key, lambda: self._plan.finish(index))
        if isinstance(outcome.result, Failure):
            self._run.metrics.failed_live += 1
            self._resolver.give_up(text)
            if self._fail_fast:
                self._run.halt(FIRST_FAILED)

    def deliver(self, index: int, outcome: Outcome) -> None:
        """A vector that was kept already, or what a batch has come to."""
        self._lay(index, outcome)
        self._plan.finish(index)
        if isinstance(outcome.result, Failure):
            self._run.metrics.failed_live += 1
            if self._fail_fast:
                self._run.halt(FIRST_FAILED)
            return
        self._run.metrics.delivered(outcome.source)

    def _lay(self, index: int, outcome: Outcome) -> None:
        if index >= len(self._outcomes):
            self._outcomes.extend([None] * (index + 1 - len(self._outcomes)))
        self._outcomes[index] = outcome


def _with_earlier(text: Job, usage: Usage) -> Usage:
    """What a text took, in batches of this run, too."""
    return usage + text.usage if text.booked else usage
