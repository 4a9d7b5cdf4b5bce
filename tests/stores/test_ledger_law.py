"""The ledger against a plain model of it, with workers that die at any moment."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from llmframe.core.outcome import Usage
from llmframe.stores.base import MemoryStore, Store, Stored
from llmframe.stores.jobs import OPEN, JobRecord, LineOutcome, LineRecord, LineState, Shard
from llmframe.stores.ledger import SqlLedger, ledger_of
from llmframe.stores.sqlite import SqliteStore

NOBODY = 2**31 - 2
"""A process number that the system doesn't give."""

KEYS = [hashlib.sha256(b"%d" % number).digest() for number in range(8)]
QUESTIONS = ["p", "q"]
ANSWER = Stored("x", Usage(1, 2, 3))

some_keys = st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True)
executions = st.sampled_from(["planned", "uploaded", "creating", "running", "ended", "failed", "lost", "abandoned"])
outcomes = st.builds(
    LineOutcome,
    state=st.sampled_from(["kept", "failed", "expired", "cancelled", "missing"]),
    kind=st.sampled_from([None, "server"]),
    detail=st.sampled_from([None, "what"]),
    usage=st.builds(Usage, st.none() | st.integers(0, 9), st.integers(0, 9)),
)
workers = st.integers(0, 2)
numbers = st.integers(0, 30)


class LedgerMachine(RuleBasedStateMachine):
    """Three workers over one ledger; the model keeps lists and dictionaries of Python's."""

    store: Store

    def __init__(self) -> None:
        super().__init__()
        self.ledgers: list[SqlLedger] = []
        self.jobs: list[dict[str, Any]] = []
        self.shards: list[dict[str, Any]] = []
        self.answers: set[bytes] = set()

    @initialize()
    def begin(self) -> None:
        self.store = self.make()
        self.ledgers = [self.worker() for _ in range(3)]
        self.alive: list[object] = [object() for _ in range(3)]

    def make(self) -> Store:
        return MemoryStore()

    def worker(self) -> SqlLedger:
        ledger = ledger_of(self.store)
        assert isinstance(ledger, SqlLedger)
        return ledger

    def free(self, token: object, who: int) -> bool:
        return token is self.alive[who] or token not in self.alive

    @rule(who=workers, question=st.sampled_from(QUESTIONS), created=st.integers(0, 5))
    def open_job(self, who: int, question: str, created: int) -> None:
        record = JobRecord(
            id=f"job-{len(self.jobs)}",
            created=float(created),
            provider="openai",
            identity="",
            model="m",
            question=question,
        )
        self.ledgers[who].open_job(record)
        self.jobs.append({"record": record, "worker": self.alive[who]})

    @precondition(lambda self: self.jobs)
    @rule(who=workers, number=numbers, keys=some_keys)
    def plan(self, who: int, number: int, keys: list[bytes]) -> None:
        job = self.jobs[number % len(self.jobs)]["record"].id
        shard = Shard(intent=f"i{len(self.shards)}", job=job, number=len(self.shards), execution="planned")
        self.ledgers[who].plan_shard(shard, [LineRecord(i, 0, key) for i, key in enumerate(keys)])
        lines: dict[bytes, LineOutcome | None] = dict.fromkeys(keys)
        self.shards.append({"record": shard, "worker": self.alive[who], "lines": lines})

    @precondition(lambda self: self.shards)
    @rule(
        who=workers, number=numbers, of=st.sets(executions, max_size=4), to=executions, batch=st.none() | st.just("b")
    )
    def move(self, who: int, number: int, of: set[Any], to: Any, batch: str | None) -> None:
        shard = self.shards[number % len(self.shards)]
        may = shard["record"].execution in of and self.free(shard["worker"], who)
        assert self.ledgers[who].move_shard(shard["record"].intent, of=of, to=to, batch_id=batch) == may
        if may:
            shard["record"] = replace(shard["record"], execution=to, batch_id=batch)
            shard["worker"] = self.alive[who]

    @precondition(lambda self: self.shards)
    @rule(who=workers, number=numbers, collection=st.sampled_from(["none", "partial", "done", "gone"]))
    def update(self, who: int, number: int, collection: Any) -> None:
        shard = self.shards[number % len(self.shards)]
        self.ledgers[who].update_shard(shard["record"].intent, collection=collection)
        shard["record"] = replace(shard["record"], collection=collection)

    @precondition(lambda self: self.shards)
    @rule(who=workers, number=numbers, keys=some_keys, outcome=outcomes)
    def settle(self, who: int, number: int, keys: list[bytes], outcome: LineOutcome) -> None:
        shard = self.shards[number % len(self.shards)]
        intent = shard["record"].intent
        self.ledgers[who].settle(intent, [(key, outcome) for key in keys], [(keys[0], ANSWER)])
        self.answers.add(keys[0])
        for key in keys:
            if key in shard["lines"] and shard["lines"][key] is None:
                shard["lines"][key] = replace(outcome, intent=intent)

    @precondition(lambda self: self.shards)
    @rule(who=workers, number=numbers, outcome=outcomes)
    def settle_rest(self, who: int, number: int, outcome: LineOutcome) -> None:
        shard = self.shards[number % len(self.shards)]
        intent = shard["record"].intent
        left = [key for key, known in shard["lines"].items() if known is None]
        assert self.ledgers[who].settle_rest(intent, outcome) == len(left)
        shard["lines"].update(dict.fromkeys(left, replace(outcome, intent=intent)))

    @rule(who=workers, question=st.sampled_from(QUESTIONS))
    def adopt(self, who: int, question: str) -> None:
        free = [
            job
            for job in self.jobs[::-1]
            if job["record"].question == question and not job["record"].finished and job["worker"] not in self.alive
        ]
        wanted = max(free, key=lambda job: job["record"].created, default=None)
        assert self.ledgers[who].adopt_job(question) == (wanted and wanted["record"])
        if wanted:
            wanted["worker"] = self.alive[who]

    @precondition(lambda self: self.jobs)
    @rule(who=workers, number=numbers)
    def take(self, who: int, number: int) -> None:
        job = self.jobs[number % len(self.jobs)]
        may = self.free(job["worker"], who)
        assert self.ledgers[who].take_job(job["record"].id) == may
        if may:
            job["worker"] = self.alive[who]

    @precondition(lambda self: self.jobs)
    @rule(who=workers, number=numbers, finished=st.booleans())
    def finish(self, who: int, number: int, *, finished: bool) -> None:
        job = self.jobs[number % len(self.jobs)]
        self.ledgers[who].update_job(job["record"].id, finished=finished)
        job["record"] = replace(job["record"], finished=finished)

    @rule(who=workers)
    def leave(self, who: int) -> None:
        self.ledgers[who].leave()
        self.alive[who] = object()

    @rule(who=workers)
    def kill(self, who: int) -> None:
        """Its process is gone, and what it has written about itself stays."""
        ledger = self.ledgers[who]
        number = ledger._worker._id
        ledger._books.record(
            lambda connection: connection.execute("UPDATE workers SET pid = ? WHERE id = ?", (NOBODY, number))
        )
        ledger._leave.detach()
        self.ledgers[who] = self.worker()
        self.alive[who] = object()

    @invariant()
    def all_tell_the_same(self) -> None:
        if not self.ledgers:
            return
        for who, ledger in enumerate(self.ledgers):
            for shard in self.shards:
                assert ledger.is_ours(shard["record"].intent) == self.free(shard["worker"], who)
        ledger = self.ledgers[0]
        latest_first = sorted(self.jobs, key=lambda job: job["record"].created)[::-1]
        assert ledger.jobs() == [job["record"] for job in latest_first]
        assert ledger.shards() == [shard["record"] for shard in self.shards]
        assert ledger.open_shards(KEYS) == self.waiting()
        for job in self.jobs:
            name = job["record"].id
            assert ledger.is_worked_on(name) == (job["worker"] in self.alive)
            assert ledger.outcomes(name, KEYS) == self.settled(name)
            assert ledger.counts(name) == self.counted(name)
        assert set(self.store.get_many(KEYS)) == self.answers

    def waiting(self) -> dict[bytes, str]:
        return {
            key: shard["record"].intent
            for shard in reversed(self.shards)
            if shard["record"].execution in OPEN and shard["record"].collection in {"none", "partial"}
            for key, outcome in shard["lines"].items()
            if outcome is None
        }

    def settled(self, job: str) -> dict[bytes, LineOutcome]:
        return {
            key: outcome
            for shard in self.shards
            if shard["record"].job == job
            for key, outcome in shard["lines"].items()
            if outcome is not None
        }

    def counted(self, job: str) -> dict[LineState, int]:
        latest: dict[bytes, LineState] = {
            key: outcome.state if outcome else "open"
            for shard in self.shards
            if shard["record"].job == job
            for key, outcome in shard["lines"].items()
        }
        states = list(latest.values())
        return {state: states.count(state) for state in set(states)}


class FileMachine(LedgerMachine):
    """The same in a file."""

    def make(self) -> Store:
        self.folder = tempfile.TemporaryDirectory()
        return SqliteStore(Path(self.folder.name) / "a.sqlite")

    def teardown(self) -> None:
        if isinstance(getattr(self, "store", None), SqliteStore):
            self.ledgers.clear()
            self.store.close()
            self.folder.cleanup()


TestInMemory = LedgerMachine.TestCase
TestInMemory.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestInAFile = FileMachine.TestCase
TestInAFile.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)


def shard(intent: str, number: int) -> Shard:
    return Shard(intent=intent, job="job-0", number=number, execution="planned", planned=float(number))


def line(number: int, key: int) -> LineRecord:
    return LineRecord(number, 0, KEYS[key])


KEPT = LineOutcome(state="kept", usage=Usage(1, 2, 3))
STEPS: list[Callable[[SqlLedger], object]] = [
    lambda ledger: ledger.open_job(
        JobRecord(id="job-0", created=1.0, provider="openai", identity="", model="m", question="q")
    ),
    lambda ledger: ledger.plan_shard(shard("i", 0), [line(i, i) for i in range(4)]),
    lambda ledger: ledger.update_shard("i", file_id="file-1", execution="uploaded"),
    lambda ledger: ledger.move_shard("i", of=["uploaded"], to="creating", attempts=1),
    lambda ledger: ledger.move_shard("i", of=["creating"], to="running", batch_id="batch_1"),
    lambda ledger: ledger.plan_shard(shard("j", 1), [line(0, 5), line(1, 6)]),
    lambda ledger: ledger.settle("i", [(KEYS[0], KEPT)], [(KEYS[0], ANSWER)]),
    lambda ledger: ledger.settle("i", [(KEYS[1], KEPT)], [(KEYS[1], ANSWER)]),
    lambda ledger: ledger.settle_rest("i", LineOutcome(state="missing", kind="batch_missing")),
    lambda ledger: ledger.update_shard("i", collection="done"),
    lambda ledger: ledger.update_job("job-0", requests=6, cancelled=True),
]


def told(store: Store) -> tuple[object, ...]:
    """Everything that a ledger and its store tell."""
    ledger = ledger_of(store)
    assert ledger is not None
    shards = ledger.shards()
    lines = [ledger.lines(each.intent) for each in shards]
    settled = (ledger.outcomes("job-0", KEYS), ledger.counts("job-0"), ledger.open_shards(KEYS))
    return ledger.jobs(), shards, lines, settled, ledger.batch_ids(since=0.0), store.get_many(KEYS)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # from 3.12 on: of any fork beside a thread
@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "fork"), reason="no forks")
@pytest.mark.parametrize("count", range(len(STEPS) + 1))
def test_what_had_returned_is_there_after_a_kill_and_free_for_the_next(tmp_path: Path, count: int):
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            ledger = SqliteStore(tmp_path / "a.sqlite").open_ledger()
            for step in STEPS[:count]:
                step(ledger)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    plain = MemoryStore()
    ledger = ledger_of(plain)
    assert isinstance(ledger, SqlLedger)
    for step in STEPS[:count]:
        step(ledger)
    store = SqliteStore(tmp_path / "a.sqlite")
    assert told(store) == told(plain)
    assert (store.open_ledger().adopt_job("q") is None) == (count == 0)
    store.close()
