"""What batches have come to, as the runner takes it over: failures are told, the rest is asked, costs are added."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llmframe.core.outcome import Failure, Usage
from llmframe.engine.runner import Runner
from llmframe.engine.settled import Settlement
from llmframe.engine.sharing import Shared
from llmframe.options import SendOptions
from llmframe.stores.base import MemoryStore, Stored
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import LABEL, USAGE, Client, Part, new_run, plan_of, say

FILTERED = Failure("content_filter", "blocked")
LEFT = Failure("batch_missing", "nobody answered")


class Batches:
    """Settlements by row, with what was told of them."""

    def __init__(self, plan: Any, settlements: dict[int, Settlement], left: Failure | None = None) -> None:
        keys = [planned.key for chunk in plan.draw() for planned in chunk]
        self.left = left
        self.keys = keys
        self._known = {keys[row]: settlement for row, settlement in settlements.items()}
        self.stood: list[bytes] = []

    def of(self, keys: list[bytes]) -> dict[bytes, Settlement]:
        return {key: self._known[key] for key in keys if key in self._known}

    def told(self, keys: list[bytes]) -> None:
        self.stood += keys


def part(
    settlements: dict[int, Settlement], *, left: Failure | None = None, kept: tuple[int, ...] = (), reask: int = 1
) -> tuple[Part, Batches]:
    """A part over three rows after batches; `kept` are those that the store has."""

    async def main() -> tuple[Part, Batches]:
        rows = ["a", "b", "c"]
        client = Client()
        batches = Batches(plan_of(rows, identity=client.identity), settlements, left)
        store = MemoryStore()
        store.put_many([(batches.keys[row], Stored('{"response":"neg"}', USAGE, created=0.0)) for row in kept])
        run, plan = new_run(3), plan_of(rows, identity=client.identity)
        outcomes: list[Any] = []
        runner = Runner(
            run,
            plan,
            client=client,
            schema=LABEL,
            options=SendOptions(reask=reask),
            store=store,
            shared=Shared(asyncio.get_running_loop().time),
            outcomes=outcomes,
            settled=batches,
        )
        return await Part(runner, run, plan, outcomes, client).work(), batches

    return run_in_fake_time(main())


def test_nothing_is_known_of_a_request_unless_it_is_said():
    settlement = Settlement()
    assert (settlement.usage, settlement.usd, settlement.attempts) == (Usage(0, 0, 0), 0.0, 1)
    assert (settlement.failure, settlement.invalid, settlement.source) == (None, None, "batch")


def test_an_answer_of_a_batch_is_told_as_such_with_what_it_took():
    done, batches = part({0: Settlement(usage=Usage(7, 3, 0), usd=0.5, attempts=2)}, kept=(0, 1, 2))
    first, second, _ = done.outcomes
    assert first is not None
    assert second is not None
    assert (first.source, first.usage, first.usd, first.attempts) == ("batch", Usage(7, 3, 0), 0.5, 2)
    assert (second.source, second.attempts) == ("cache", 0)
    assert batches.stood == [batches.keys[0]]
    assert done.client.sent == []


def test_one_whose_costs_stand_on_another_row_shares_it():
    done, _ = part({0: Settlement(attempts=0)}, kept=(0, 1, 2))
    assert done.outcomes[0] is not None
    assert (done.outcomes[0].source, done.outcomes[0].usage) == ("shared", Usage(0, 0, 0))


def test_a_failure_of_a_batch_is_the_rows_and_nothing_is_asked():
    done, _ = part({0: Settlement(usage=Usage(7, 3, 0), usd=0.5, failure=FILTERED)}, kept=(1, 2))
    assert done.kinds == ["content_filter", "", ""]
    assert done.outcomes[0] is not None
    assert done.outcomes[0].usage == Usage(7, 3, 0)
    assert done.client.sent == []


def test_an_answer_that_came_otherwise_is_worth_more_than_a_batchs_failure():
    done, _ = part({0: Settlement(failure=FILTERED)}, kept=(0, 1, 2))
    assert done.kinds == ["", "", ""]


def test_what_a_batch_left_open_is_asked_live_and_both_are_paid():
    done, _ = part({0: Settlement(usage=Usage(7, 3, 0), usd=0.5)}, kept=(1, 2))
    outcome = done.outcomes[0]
    assert outcome is not None
    assert done.kinds == ["", "", ""]
    assert (outcome.source, outcome.usage, outcome.attempts) == ("live", USAGE + Usage(7, 3, 0), 2)
    assert len(done.client.sent) == 1


@pytest.mark.parametrize(("reask", "messages"), [(1, 3), (0, 1)])
def test_an_invalid_reply_of_a_batch_is_shown_live(reask: int, messages: int):
    done, _ = part({0: Settlement(invalid=(say("odd"), "not a label"))}, kept=(1, 2), reask=reask)
    (sent,) = done.client.sent
    assert len(sent.messages) == messages
    assert done.kinds == ["", "", ""]


def test_requests_that_no_batch_tells_of_are_asked_live_or_have_failed():
    asked, _ = part({}, kept=(1,))
    assert (len(asked.client.sent), asked.kinds) == (2, ["", "", ""])
    failed, _ = part({}, kept=(1,), left=LEFT)
    assert (failed.client.sent, failed.kinds) == ([], ["batch_missing", "", "batch_missing"])
    assert failed.outcomes[0] is not None
    assert (failed.outcomes[0].usage, failed.outcomes[0].usd) == (Usage(0, 0, 0), 0.0)
