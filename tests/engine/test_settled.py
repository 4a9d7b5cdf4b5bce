"""What was done for a request before its part began, told on its first row."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from llmframe.core.outcome import Failure, Usage
from llmframe.core.plan import Plan
from llmframe.core.request import Question
from llmframe.core.schema import schema_of
from llmframe.core.template import compile_prompt
from llmframe.engine.keeper import Keeper
from llmframe.engine.resolve import Resolver
from llmframe.engine.settled import Settlement
from llmframe.stores.base import MemoryStore, Stored
from llmframe.testing import run_in_fake_time


class Known:
    """Tells the same of every request."""

    left = None

    def __init__(self, settlement: Settlement) -> None:
        self.settlement, self.heard = settlement, list[bytes]()

    def of(self, keys: list[bytes]) -> dict[bytes, Settlement]:
        return dict.fromkeys(keys, self.settlement)

    def told(self, keys: list[bytes]) -> None:
        self.heard += keys


def plan() -> Plan:
    question = Question(identity="i", model="m", params={}, schema="", output_mode="auto")
    return Plan(compile_prompt("{t}", ["t"]), question.fingerprints(), length=1, read=lambda *_: [["row"]])


def delivered(settled: Known, *, answer: str | None) -> list[Any]:
    """What a resolver makes of one request, whose answer is kept or isn't; a request that is to be asked as a job."""

    async def main() -> list[Any]:
        store = MemoryStore()
        if answer is not None:
            ((planned,),) = list(plan().draw())
            store.put_many([(planned.key, Stored(answer, created=5.0))])
        resolver = Resolver(Keeper(store, clock=lambda: 0.0), schema_of(None), since=9.0, settled=settled)
        outcomes: list[Any] = []
        left = resolver.unanswered(plan(), deliver=lambda _, outcome: outcomes.append(outcome))
        jobs = [resolver.job(planned) for planned in left if planned is not None]
        return outcomes + jobs

    return run_in_fake_time(main())


@pytest.mark.parametrize("source", ["batch", "live"])
def test_an_answer_tells_what_it_took_and_how_it_came(source: Literal["batch", "live"]):
    settled = Known(Settlement(usage=Usage(7, 1, 0), usd=0.5, attempts=2, source=source))
    (outcome,) = delivered(settled, answer="text")
    assert (outcome.usage, outcome.usd, outcome.attempts, outcome.source) == (Usage(7, 1, 0), 0.5, 2, source)
    assert len(settled.heard) == 1


def test_what_was_told_already_is_shared():
    (outcome,) = delivered(Known(Settlement(attempts=0)), answer="text")
    assert (outcome.usage, outcome.source) == (Usage(0, 0, 0), "shared")


def test_a_failure_stands_without_being_asked():
    failure = Failure("batch_expired", "late")
    (outcome,) = delivered(Known(Settlement(failure=failure)), answer=None)
    assert outcome.result == failure


def test_without_either_it_is_asked_with_what_it_took_before():
    (job,) = delivered(Known(Settlement(usage=Usage(7, 1, 0), usd=0.5, attempts=2)), answer=None)
    assert (job.usage, job.usd, job.sent, job.booked) == (Usage(7, 1, 0), 0.5, 2, True)
