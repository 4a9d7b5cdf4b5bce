"""What a batch came to: its results read line by line, into the store and the ledger."""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from llmframe.batch.desk import Desk, within_thread
from llmframe.batch.disk import new_folder
from llmframe.batch.packing import line_digest, parse_custom_id
from llmframe.clients.base import RequestError
from llmframe.clients.batch import BatchState, LineResult, Vectors
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply
from llmframe.engine.patience import pauses, rest
from llmframe.stores.base import Stored
from llmframe.stores.jobs import Collection, LineOutcome, LineRecord, LineState, Shard

TRIES: Final = 8
"""Downloads of the same results, each from the beginning."""

SHORT_TRIES: Final = 4
"""Downloads that hold fewer lines than the provider has counted, until these lines are believed to be missing."""

GONE_AFTER: Final = 3
"""Times that the provider says not to have the results, one after the other, until it may be believed,"""

GONE_SECONDS: Final = 120.0
"""and for how long, unless the batch is as old as results may be."""

KEPT_SECONDS: Final = 29 * 86_400.0
"""How long results are kept at least, from when the batch was made."""

NOTHING: Final = Usage(0, 0, 0)
"""What a line takes that wasn't answered: providers charge for answers."""

MISSING: Final = LineOutcome(
    state="missing", kind="batch_missing", detail="the batch ended without a word on it", usage=NOTHING
)
GONE: Final = LineOutcome(
    state="missing", kind="batch_missing", detail="the batch's results are there no more: providers keep them 30 days"
)

Read = Callable[[list[LineRecord], Reply | Vectors], Sequence[tuple[LineOutcome, Stored | None]]]
"""What an answer is to each fingerprint of its line: an outcome, and what is kept of it."""

Failed = Callable[[list[LineRecord], RequestError], LineOutcome]
Settled = Callable[[list[tuple[bytes, LineOutcome]]], None]


def outcome_of_error(error: RequestError) -> LineOutcome:
    """What an error in the results says of a line."""
    state: LineState = "failed"
    if error.kind == "batch_expired":
        state = "expired"
    elif error.kind == "cancelled":
        state = "cancelled"
    return LineOutcome(state=state, kind=error.kind, detail=error.detail, usage=NOTHING)


def _failed(records: list[LineRecord], error: RequestError) -> LineOutcome:
    del records
    return outcome_of_error(error)


def _nobody(outcomes: list[tuple[bytes, LineOutcome]]) -> None:
    del outcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """What results mean to whoever collects them.

    Parameters
    ----------
    read
        Reads an answer.
    failed
        Reads the error of a line.
    settled
        Told of outcomes, before they are written: of each fingerprint once.
    """

    read: Read
    failed: Failed = _failed
    settled: Settled = _nobody


@dataclass(slots=True)
class Collected:
    """What one collecting found; `usage` is of the lines that it settled itself.

    Parameters
    ----------
    strange
        Lines of the results that nobody had sent, or that had come before.
    """

    states: Counter[LineState] = field(default_factory=Counter["LineState"])
    usage: Usage = field(default_factory=lambda: Usage(0, 0, 0))
    strange: int = 0


async def collect(desk: Desk, shard: Shard, state: BatchState, reader: Reader) -> Collected:
    """Read everything that an ended batch came to; may be done again at any time, for what is settled stays so.

    Parameters
    ----------
    state
        As the provider told it at the end.

    Raises
    ------
    RequestError
        If the results can't be had just now.
    """
    shard = await desk.note(shard, collection="partial")
    lines = await _lines(desk, shard)
    sorter = _Sorter(shard, lines, reader)
    folder = await within_thread(new_folder)
    waits = pauses()
    left = _left(state)
    collection: Collection = "done"
    tried = gone = short = 0
    since = 0.0
    try:
        while True:
            sorter.begin()
            try:
                async for results in desk.batches.results(state, folder):
                    outcomes, entries = sorter.sort(results)
                    reader.settled(outcomes)
                    await within_thread(lambda o=outcomes, e=entries: desk.ledger.settle(shard.intent, o, e))
            except RequestError as error:
                if error.kind == "not_found":
                    since = since if gone else desk.clock()
                    gone += 1
                else:
                    gone, tried = 0, tried + 1
                if gone >= GONE_AFTER and desk.clock() >= min(since + GONE_SECONDS, _kept_until(state)):
                    left, collection = GONE, "gone"
                    break
                if tried == TRIES:
                    raise
            else:
                short += 1
                if sorter.lines >= (state.done or 0) + (state.failed or 0) or short == SHORT_TRIES:
                    break
            await rest(next(waits))
            if short:
                with contextlib.suppress(RequestError):  # a file that is named a little late
                    state = await desk.batches.state(state.id)
    finally:
        await within_thread(lambda: shutil.rmtree(folder, ignore_errors=True))
    await _settle_rest(desk, sorter, left)
    await desk.note(shard, collection=collection)
    return sorter.found


async def give_up(desk: Desk, shard: Shard, outcome: LineOutcome, reader: Reader) -> Collected:
    """Settle all lines of a shard that comes to nothing in the same way."""
    sorter = _Sorter(shard, await _lines(desk, shard), reader)
    await _settle_rest(desk, sorter, outcome)
    await desk.note(shard, collection="done")
    return sorter.found


class _Sorter:
    """Tells which fingerprints a line of the results is about, and takes the first answer to each."""

    def __init__(self, shard: Shard, lines: dict[int, list[LineRecord]], reader: Reader) -> None:
        self.shard, self.reader, self._lines = shard, reader, lines
        self._done: set[bytes] = set()
        self._seen: set[int] = set()
        self.found = Collected()

    @property
    def lines(self) -> int:
        """Lines of the shard that these results were about."""
        return len(self._seen)

    def begin(self) -> None:
        """The results come from the beginning."""
        self._seen.clear()
        self.found.strange = 0

    def sort(self, results: list[LineResult]) -> tuple[list[tuple[bytes, LineOutcome]], list[tuple[bytes, Stored]]]:
        """Outcomes and what is kept, by fingerprint."""
        outcomes: list[tuple[bytes, LineOutcome]] = []
        entries: list[tuple[bytes, Stored]] = []
        for result in results:
            records = self._line_of(result.custom_id)
            if records is None or records[0].line in self._seen:
                self.found.strange += 1
                continue
            self._seen.add(records[0].line)
            if records[0].key in self._done:
                continue
            for record, (outcome, entry) in zip(records, self._told(records, result.answer), strict=True):
                self._count(record.key, outcome)
                outcomes.append((record.key, outcome))
                if entry is not None:
                    entries.append((record.key, entry))
        return outcomes, entries

    def rest(self, outcome: LineOutcome) -> list[tuple[bytes, LineOutcome]]:
        """The same outcome for all that no line was about."""
        keys = [record.key for records in self._lines.values() for record in records if record.key not in self._done]
        for key in keys:
            self._count(key, outcome)
        return [(key, outcome) for key in keys]

    def _told(
        self, records: list[LineRecord], answer: Reply | Vectors | RequestError
    ) -> Sequence[tuple[LineOutcome, Stored | None]]:
        if isinstance(answer, RequestError):
            return [(self.reader.failed(records, answer), None)] * len(records)
        return self.reader.read(records, answer)

    def _count(self, key: bytes, outcome: LineOutcome) -> None:
        self._done.add(key)
        self.found.states[outcome.state] += 1
        self.found.usage += outcome.usage

    def _line_of(self, custom_id: str) -> list[LineRecord] | None:
        """The fingerprints of a line; `None` when nobody sent it, or its digest is another's."""
        parsed = parse_custom_id(custom_id)
        if parsed is None or parsed[0] != self.shard.intent:
            return None
        records = self._lines.get(parsed[1])
        if records is None or line_digest([record.key for record in records]) != parsed[2]:
            return None
        return records


async def _lines(desk: Desk, shard: Shard) -> dict[int, list[LineRecord]]:
    lines: dict[int, list[LineRecord]] = {}
    for record in await within_thread(lambda: desk.ledger.lines(shard.intent)):
        lines.setdefault(record.line, []).append(record)
    return lines


async def _settle_rest(desk: Desk, sorter: _Sorter, outcome: LineOutcome) -> None:
    left = sorter.rest(outcome)
    if left:
        sorter.reader.settled(left)
        await within_thread(lambda: desk.ledger.settle_rest(sorter.shard.intent, outcome))


def _kept_until(state: BatchState) -> float:
    return float("inf") if state.created is None else state.created + KEPT_SECONDS


def _left(state: BatchState) -> LineOutcome:
    """What became of lines that the results don't name."""
    if state.status == "expired":
        detail = "the batch expired before it was done"
        return LineOutcome(state="expired", kind="batch_expired", detail=detail, usage=NOTHING)
    if state.status.startswith("cancel"):
        detail = "the batch was cancelled before it was done"
        return LineOutcome(state="cancelled", kind="cancelled", detail=detail, usage=NOTHING)
    return MISSING
