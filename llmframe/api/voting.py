"""Several samples of every request, until their votes are settled: one answer of them all."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol, cast

from llmframe.core.outcome import Answer, Failure, Outcome, Source, Usage
from llmframe.core.plan import Plan
from llmframe.core.request import canonical_json
from llmframe.core.scoring import Scoring
from llmframe.core.votes import first_wave, settled
from llmframe.engine.run import Run
from llmframe.engine.runner import FIRST_FAILED


class Asker(Protocol):
    """What asks one sample of a part's requests."""

    async def work(self) -> None:
        """Deliver an outcome for every request of the sample's plan."""
        ...

    def look(self) -> None:
        """Deliver what is kept, in place of `work`."""
        ...

    async def landed(self) -> None:
        """Wait until no attempt uses the sample's client."""
        ...

    async def kept(self) -> None:
        """Wait until all that came back is safe in the store."""
        ...


def at_once(scoring: Scoring, samples: int) -> int:
    """How many samples of a request are asked at first, of at most so many."""
    return first_wave(samples) if scoring.source == "votes" else 1


def further(scoring: Scoring, results: Sequence[Answer | Failure], *, samples: int) -> int:
    """How many further samples might settle a request that has these; 0 when it's settled, or can't be."""
    left = samples - len(results)
    if scoring.source == "auto":
        first = results[0]
        if isinstance(first, Failure) or all(score.source != "no_logprobs" for score in first.scores):
            return 0
    answers = [result for result in results if isinstance(result, Answer)]
    if not answers:
        return left and 1
    counts = [Counter(canonical_json(answer.values[each.place]) for answer in answers) for each in scoring.scored]
    return max((_wanted(list(each.values()), left) for each in counts), default=left and 1)


def to_ask(scoring: Scoring | None, kept: Sequence[Answer | None]) -> tuple[int, int]:
    """How many samples of a request will be asked, at least and at most, when these are kept; one a sample."""
    missing = kept.count(None)
    if scoring is None or len(kept) == 1:
        return missing, missing
    asked = at_once(scoring, len(kept))
    while not (unknown := kept[:asked].count(None)):
        more = further(scoring, [answer for answer in kept[:asked] if answer is not None], samples=len(kept))
        if not more:
            return 0, 0
        asked += more
    return unknown, missing


class Poll:
    """Answers one part of a run by votes: `work` of a `Worker`.

    Samples are asked in waves: first as many as could settle it, then for every request that isn't settled as many as
    could settle that one. A request is delivered as soon as its own votes settle it, whatever others wait for; one with
    tokens' probabilities, where they are wanted first, has no need of votes.

    Parameters
    ----------
    run, plan, outcomes
        As a runner's. `outcomes` get one outcome a request when its votes are settled.
    scoring
        What votes are counted of.
    samples
        Most samples of a request.
    plan_of
        `(sample, asked rows)` to the plan of that sample's requests; `None` asks for all of the part.
    asker
        `(sample, plan, outcomes)` to what asks it; called on the loop.
    close
        Closes what `asker` opened.
    fail_fast
        Stop at the first failed row.
    """

    def __init__(  # noqa: PLR0913 - one argument a part that is put together
        self,
        run: Run,
        plan: Plan,
        outcomes: list[Outcome | None],
        *,
        scoring: Scoring,
        samples: int,
        plan_of: Callable[[int, list[bool] | None], Plan],
        asker: Callable[[int, Plan, list[Outcome | None]], Awaitable[Asker]],
        close: Callable[[], Awaitable[None]],
        fail_fast: bool = False,
    ) -> None:
        self._run, self._plan, self._outcomes = run, plan, outcomes
        self._scoring, self._samples, self._fail_fast = scoring, samples, fail_fast
        self._plan_of, self._open, self._close = plan_of, asker, close
        self._first = at_once(scoring, samples)
        self._asked: dict[int, int] = {}
        self._votes: dict[int, dict[int, Outcome]] = {}
        self._wanting: dict[int, int] = {}
        self._askers: list[Asker] = []

    async def work(self) -> None:
        """Deliver an outcome for every request of the plan, as far as the run isn't stopped."""
        wave: dict[int, list[bool] | None] = dict.fromkeys(range(self._first))
        try:
            while wave:
                await self._ask_all(wave)
                wave = {} if self._run.stop is not None else self._next()
        finally:
            self._give_up()

    def look(self) -> None:
        """Deliver what is kept of the first sample, where that is enough."""
        asker = self._askers[0] if self._askers else None
        if asker is not None:
            asker.look()

    async def landed(self) -> None:
        """Wait until no attempt of this part uses a client, and close those of further samples."""
        for asker in self._askers:
            await asker.landed()
        await self._close()

    async def kept(self) -> None:
        """Wait until all that came back is safe in the store."""
        for asker in self._askers:
            await asker.kept()

    async def _ask_all(self, wave: dict[int, list[bool] | None]) -> None:
        """Ask a wave's samples side by side; a request is settled as soon as all of its own are in."""
        ballots = [
            Ballot(sample, self._plan_of(sample, rows) if sample else self._plan, self._came)
            for sample, rows in wave.items()
        ]
        try:
            async with asyncio.TaskGroup() as tasks:
                for ballot in ballots:
                    tasks.create_task(self._ask(ballot))
        except BaseExceptionGroup as group:  # drawing the rows failed, or a client couldn't start
            raise group.exceptions[0] from None
        finally:
            for ballot in ballots:
                ballot.rest()

    async def _ask(self, ballot: Ballot) -> None:
        asker = await self._open(ballot.sample, cast("Plan", ballot), ballot.outcomes)
        self._askers.append(asker)
        await asker.work()

    def _came(self, sample: int, row: int, vote: Outcome) -> bool:
        """A vote is in: lay it to the request of its row. False where that one isn't drawn yet."""
        index = self._plan.requests[row]
        if index < 0:
            return False
        votes = self._votes.setdefault(index, {})
        votes[sample] = vote
        if len(votes) == self._asked.get(index, self._first):
            self._settle(index)
        return True

    def _settle(self, index: int) -> None:
        """All samples that a request was asked for are in: deliver it, or note how many more it wants."""
        votes = self._in_order(index)
        said = [vote.result for vote in votes if self._is_cast(vote)]
        more = further(self._scoring, said, samples=self._samples) if said else 1
        if more:
            self._wanting[index] = more
            return
        self._forget(index)
        self._deliver(index, self._outcome(votes))

    def _in_order(self, index: int) -> list[Outcome]:
        """A request's votes by their samples: which came first must decide nothing."""
        votes = self._votes[index]
        return [votes[sample] for sample in sorted(votes)]

    def _forget(self, index: int) -> None:
        del self._votes[index]
        self._asked.pop(index, None)

    def _is_cast(self, vote: Outcome) -> bool:
        """Whether a vote counts: a sample that the run's stop left unanswered isn't an invalid one."""
        result = vote.result
        return self._run.stop is None or isinstance(result, Answer) or result.kind in _SAID

    def _next(self) -> dict[int, list[bool] | None]:
        """The rows that each sample of the next wave is asked about."""
        wave: dict[int, list[bool] | None] = {}
        for index, more in self._wanting.items():
            asked = len(self._votes[index])
            self._asked[index] = asked + more
            for sample in range(asked, asked + more):
                rows = wave.setdefault(sample, [False] * self._plan.length)
                assert rows is not None  # noqa: S101 - made the line before
                rows[self._plan.first_rows[index]] = True
        self._wanting = {}
        return wave

    def _give_up(self) -> None:
        """Requests whose votes a stop left open: what they cost is told, and the next run goes on with them."""
        for index in list(self._votes):
            votes = self._in_order(index)
            failed = [vote.result for vote in votes if isinstance(vote.result, Failure)]
            own = next((failure for failure in failed if failure.kind != "cancelled"), self._run.missing)
            self._forget(index)
            self._deliver(index, self._sum(votes, own if len(failed) == len(votes) else self._run.missing))

    def _outcome(self, votes: list[Outcome]) -> Outcome:
        said = [vote.result for vote in votes if self._is_cast(vote)]
        answers = [result for result in said if isinstance(result, Answer)]
        if not answers or (len(said) == 1 and self._scoring.source == "auto"):
            return self._sum(votes, said[0])
        return self._sum(votes, self._scoring.of_votes(answers, asked=len(said)))

    def _sum(self, votes: list[Outcome], result: Answer | Failure) -> Outcome:
        """One outcome that has taken what all of them took."""
        asked = [vote for vote in votes if vote.attempts] or votes  # what is kept costs 0, and tells no price
        known = [vote.usd for vote in asked if vote.usd is not None]
        usage = Usage()
        for vote in votes:
            usage += vote.usage
        return replace(
            votes[0],
            result=result,
            usage=usage,
            usd=sum(known) if known else None,
            attempts=sum(vote.attempts for vote in votes),
            seconds=max(vote.seconds for vote in votes),
            source=_source(vote.source for vote in votes),
        )

    def _deliver(self, index: int, outcome: Outcome) -> None:
        if index >= len(self._outcomes):
            self._outcomes.extend([None] * (index + 1 - len(self._outcomes)))
        self._outcomes[index] = outcome
        self._plan.finish(index)
        if self._fail_fast and isinstance(outcome.result, Failure):
            self._run.halt(FIRST_FAILED)


class Ballot:
    """A sample's plan: no row is done with one vote, which is handed on as it comes and not held here any longer."""

    def __init__(self, sample: int, plan: Plan, came: Callable[[int, int, Outcome], bool]) -> None:
        self.sample, self._plan, self._came = sample, plan, came
        self.outcomes: list[Outcome | None] = []

    def __getattr__(self, name: str) -> Any:
        """What the plan says."""
        return getattr(self._plan, name)

    def finish(self, index: int) -> None:
        """The vote of this sample's request `index` is in."""
        vote = self.outcomes[index]
        if vote is None or vote is _HANDED_ON:
            return
        if self._came(self.sample, self._plan.first_rows[index], vote):
            self.outcomes[index] = _HANDED_ON

    def rest(self) -> None:
        """Hand on what came before its row was drawn for the first sample, and what an interrupt left."""
        for index in range(len(self.outcomes)):
            self.finish(index)


def _wanted(counts: list[int], left: int) -> int:
    """The fewest samples more that could settle a field with these votes; 0 when it's settled."""
    first, *others = sorted(counts, reverse=True)
    return next(more for more in range(left + 1) if settled((first + more, *others), left=left - more))


def _source(sources: Iterable[Source]) -> Source:
    """Where the samples of a request came from: live if any was asked now, kept if all were."""
    found = set(sources)
    return next(each for each in _SOURCES if each in found)


_HANDED_ON: Final = Outcome(result=Failure("internal", "handed on"))

_SAID: Final = frozenset({"content_filter", "refusal", "truncated", "empty", "invalid", "tool_call"})
"""Failures that a reply came to."""

_SOURCES: tuple[Source, ...] = ("live", "batch", "shared", "cache", "pending")
