"""Results into outcomes: whatever stream of lines comes, each request gets one, and the first answer counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmframe.batch import collecting
from llmframe.batch.collecting import GONE_AFTER, GONE_SECONDS, SHORT_TRIES, TRIES, Reader, collect, give_up
from llmframe.batch.desk import Desk
from llmframe.batch.packing import custom_id
from llmframe.clients.base import RequestError
from llmframe.clients.batch import BatchState, LineResult
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply
from llmframe.stores.base import Stored
from llmframe.stores.jobs import LineOutcome, LineRecord
from tests.batch.doubles import DOWN, INTENT, JOB, REFUSED, RESET, UNKNOWN, Bench, at_desk, key, now, plan, state

USAGE = Usage(3, 2, 0)


def line(number: int, text: str | None = None, *, at: int | None = None) -> LineResult:
    """The answer to a request that stands in the line of its number, or elsewhere."""
    answer = Reply(text=text or str(number), usage=USAGE)
    return LineResult(custom_id(INTENT, number if at is None else at, [key(number)]), answer)


def failure(number: int, error: RequestError) -> LineResult:
    return LineResult(custom_id(INTENT, number, [key(number)]), error)


class Told:
    """Reads answers by keeping them, and remembers what was settled."""

    def __init__(self) -> None:
        self.settled: list[tuple[bytes, LineOutcome]] = []
        self.kept: list[tuple[bytes, str]] = []
        self.reader = Reader(read=self.read, settled=self.settled.extend)

    def read(self, records: list[LineRecord], answer: Any) -> Sequence[tuple[LineOutcome, Stored | None]]:
        self.kept += [(record.key, answer.text) for record in records]
        outcome = LineOutcome(state="kept", usage=answer.usage)
        return [(outcome, Stored(answer.text, answer.usage, created=1.0)) for _ in records]


def collected(
    lines: list[LineResult],
    *,
    requests: int = 3,
    ended: BatchState | None = None,
    faults: dict[str, list[Any]] | None = None,
    states: list[BatchState] | None = None,
) -> tuple[Told, dict[bytes, LineOutcome], Any]:
    """What was told, what the ledger says of each request, and shard, findings and seconds."""
    bench, told = Bench(), Told()
    bench.lines = lines
    bench.states.extend(states or [])
    for call, errors in (faults or {}).items():
        bench.fault(call, *errors)
    last = ended or state("completed", "ended", output="file-out")

    async def work(desk: Desk, _: Bench) -> Any:
        shard = await desk.move(plan(desk, range(requests)), "ended", batch_id="batch-1")
        found = await collect(desk, shard, last, told.reader)
        outcomes = desk.ledger.outcomes(JOB.id, [key(number) for number in range(requests)])
        return told, outcomes, (await desk.again(shard), found, now(), bench)

    return at_desk(work, bench)


def states(outcomes: dict[bytes, LineOutcome], requests: int = 3) -> list[str]:
    return [outcomes[key(number)].state for number in range(requests)]


N = 6


@st.composite
def streams(draw: st.DrawFn) -> list[LineResult]:
    """Answers shuffled, doubled with other words, dropped, under other ids, among lines of nobody."""
    good = st.builds(line, st.integers(0, N - 1), st.sampled_from(["a", "b", "c"]))
    wrong = st.sampled_from(
        [
            line(2, "x", at=3),  # the id of another line
            line(N, "x"),  # a line that there isn't
            LineResult(custom_id("00000000000000bb", 1, [key(1)]), Reply(text="x")),  # another batch's
            LineResult("unknown-1", Reply(text="x")),
            LineResult("", Reply(text="x")),
            LineResult(f"{INTENT}--", Reply(text="x")),
            LineResult(f"{INTENT}-²-0000000000000000", Reply(text="x")),
        ]
    )
    failed = st.builds(failure, st.integers(0, N - 1), st.sampled_from([REFUSED, DOWN]))
    return draw(st.lists(st.one_of(good, good, wrong, failed), max_size=3 * N))


@settings(max_examples=40)
@given(streams())
def test_each_request_gets_one_outcome_and_its_first_line_counts(stream: list[LineResult]):
    told, outcomes, (shard, found, _, _) = collected(stream, requests=N)
    first: dict[int, LineResult] = {}
    for result in stream:
        for number in range(N):
            if result.custom_id == custom_id(INTENT, number, [key(number)]):
                first.setdefault(number, result)
    assert sorted(each for each, _ in told.settled) == [key(number) for number in range(N)]
    for number in range(N):
        answer = first[number].answer if number in first else None
        outcome = outcomes[key(number)]
        expected = "missing" if answer is None else "kept" if isinstance(answer, Reply) else "failed"
        assert outcome.state == expected
        if isinstance(answer, Reply):
            assert told.kept.count((key(number), answer.text)) == 1
    assert len(told.kept) == sum(isinstance(result.answer, Reply) for result in first.values())
    assert found.strange == len(stream) - len(first)
    assert found.states.total() == N
    assert shard.collection == "done"


def test_tokens_are_counted_once_whatever_comes_twice():
    _, _, (_, found, _, _) = collected([line(0), line(1), line(0), line(2), line(1)])
    assert found.usage == USAGE + USAGE + USAGE


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (REFUSED, ("failed", "bad_request")),
        (DOWN, ("failed", "server")),
        (RequestError("batch_expired", "late"), ("expired", "batch_expired")),
        (RequestError("cancelled", "stopped"), ("cancelled", "cancelled")),
    ],
    ids=str,
)
def test_a_line_that_failed_says_of_what_and_costs_nothing(error: RequestError, expected: tuple[str, str]):
    _, outcomes, _ = collected([failure(0, error), line(1), line(2)])
    outcome = outcomes[key(0)]
    assert (outcome.state, outcome.kind) == expected
    assert outcome.usage == Usage(0, 0, 0)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("completed", ("missing", "batch_missing")),
        ("expired", ("expired", "batch_expired")),
        ("cancelled", ("cancelled", "cancelled")),
        ("canceled", ("cancelled", "cancelled")),
    ],
)
def test_lines_that_no_file_names_are_told_by_the_batchs_end(status: str, expected: tuple[str, str]):
    _, outcomes, _ = collected([line(1)], ended=state(status, "ended"))
    assert [(outcomes[key(number)].state, outcomes[key(number)].kind) for number in (0, 2)] == [expected] * 2
    assert outcomes[key(0)].usage == Usage(0, 0, 0)
    assert outcomes[key(1)].state == "kept"


@pytest.mark.parametrize("call", ["results", "piece"])
@pytest.mark.parametrize("faults", [[RESET], [DOWN] * (TRIES - 1)], ids=["once", "often"])
def test_downloads_that_break_off_begin_again_and_count_nothing_twice(call: str, faults: list[Any]):
    told, outcomes, (_, found, _, bench) = collected([line(0), line(1), line(2)], faults={call: faults})
    assert states(outcomes) == ["kept"] * 3
    assert (len(told.settled), found.strange, found.usage) == (3, 0, USAGE + USAGE + USAGE)
    assert bench.calls["results"] == len(faults) + 1


def test_results_that_never_come_leave_the_shard_to_be_collected_later():
    bench, told = Bench(), Told()
    bench.lines = [line(0), line(1), line(2)]
    bench.fault("piece", *[RESET] * TRIES)

    async def work(desk: Desk, _: Bench) -> None:
        shard = await desk.move(plan(desk), "ended", batch_id="batch-1")
        with pytest.raises(RequestError, match="reset"):
            await collect(desk, shard, state("completed", "ended"), told.reader)
        assert (await desk.again(shard)).collection == "partial"
        await collect(desk, shard, state("completed", "ended"), told.reader)
        assert states(desk.ledger.outcomes(JOB.id, [key(number) for number in range(3)])) == ["kept"] * 3
        assert (await desk.again(shard)).collection == "done"

    at_desk(work, bench)


def test_results_that_are_gone_are_believed_to_be_only_after_a_while():
    _, outcomes, (shard, _, seconds, _) = collected([line(0)], faults={"results": [UNKNOWN] * 500})
    assert states(outcomes) == ["missing"] * 3
    assert shard.collection == "gone"
    assert seconds >= GONE_SECONDS
    assert outcomes[key(0)].usage == Usage()  # it was paid, and nobody knows how much


def test_results_of_long_ago_are_gone_at_once():
    ended = state("completed", "ended", created=-collecting.KEPT_SECONDS)
    _, _, (shard, _, seconds, bench) = collected([line(0)], ended=ended, faults={"results": [UNKNOWN] * 500})
    assert (shard.collection, bench.calls["results"]) == ("gone", GONE_AFTER)
    assert seconds < 5


def test_results_that_turn_up_were_not_gone():
    _, outcomes, _ = collected([line(0), line(1), line(2)], faults={"results": [UNKNOWN] * GONE_AFTER})
    assert states(outcomes) == ["kept"] * 3


def test_fewer_lines_than_the_provider_counted_are_fetched_again():
    ended = state("completed", "ended", done=2, failed=1)
    _, outcomes, (_, _, _, bench) = collected([line(0), line(1)], ended=ended, states=[ended] * 9)
    assert states(outcomes) == ["kept", "kept", "missing"]
    assert bench.calls["results"] == SHORT_TRIES


def test_a_file_that_is_named_late_is_read():
    class Late(Bench):
        async def results(self, state: BatchState, folder: Any) -> Any:
            if state.output is None:
                self.calls["nothing"] += 1
                return
            async for each in super().results(state, folder):
                yield each

    bench, told = Late(), Told()
    bench.lines = [line(number) for number in range(3)]

    async def work(desk: Desk, _: Bench) -> None:
        shard = await desk.move(plan(desk), "ended", batch_id="batch-1")
        await collect(desk, shard, state("completed", "ended", done=3, failed=0), told.reader)
        assert len(told.kept) == 3
        assert bench.calls["nothing"] == 1

    at_desk(work, bench)


def test_a_line_of_several_requests_answers_them_all_or_none():
    bench, told = Bench(), Told()
    keys = [key(7), key(8)]
    bench.lines = [LineResult(custom_id(INTENT, 0, keys), Reply(text="x", usage=USAGE))]
    bench.lines += [LineResult(custom_id(INTENT, 0, keys[:1]), Reply(text="y"))]

    async def work(desk: Desk, _: Bench) -> None:
        shard = plan(desk, lines=[LineRecord(0, place, each) for place, each in enumerate(keys)])
        found = await collect(desk, shard, state("completed", "ended"), told.reader)
        assert told.kept == [(each, "x") for each in keys]
        assert found.strange == 1

    at_desk(work, bench)


def test_what_comes_to_nothing_is_so_for_every_request_that_is_open():
    told = Told()
    lost = LineOutcome(state="missing", kind="batch_missing", detail="lost")

    async def work(desk: Desk, _: Bench) -> None:
        shard = plan(desk)
        desk.ledger.settle(INTENT, [(key(1), LineOutcome(state="kept", usage=USAGE))], [])
        await give_up(desk, shard, lost, told.reader)
        outcomes = desk.ledger.outcomes(JOB.id, [key(number) for number in range(3)])
        assert states(outcomes) == ["missing", "kept", "missing"]
        assert (await desk.again(shard)).collection == "done"

    at_desk(work)
