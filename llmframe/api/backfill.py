"""One run from files to a file: read ahead, answered in order, written as it goes."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from llmframe.api.batching import batching
from llmframe.api.before import Before
from llmframe.api.eager import Part
from llmframe.api.joblock import locked
from llmframe.api.parts import Parts
from llmframe.api.prepared import Asking, Prepared
from llmframe.api.publishing import Ledger
from llmframe.api.questions import question_digest
from llmframe.api.runs import new_run, warn_of_failures
from llmframe.api.supply import Reading
from llmframe.clients.base import Client
from llmframe.core.outcome import Failure
from llmframe.core.plan import Planned
from llmframe.engine import bridge
from llmframe.engine.bridge import Post
from llmframe.engine.progress import Progress, listener
from llmframe.engine.run import Run
from llmframe.errors import TROUBLE_BY_ERRNO, Place, RowError, StoreError, callers_place
from llmframe.frames import wrap
from llmframe.frames.base import Frame
from llmframe.report import RunReport

if TYPE_CHECKING:
    from llmframe.frames.files import Source

PART_BYTES: Final = 16 * 2**20
"""Most bytes of a part as it's read: a few of them, with their prompts and answers, stay far below 400 MB."""

GOES_ON: Final = "parts that were finished are kept; the same call again goes on where this one stopped"

FAILED: Final = Failure("cancelled", "the run ended before its last row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A map from files to a file, checked to the last argument.

    Parameters
    ----------
    prepared
        The map over a table without rows: all parts have its prompt, layout and client.
    source, reopened, total
        The input; what tells its identity anew; how many rows it has, `None` where that's known when it's read.
    ledger, target, schema, lock
        What is written: the parts, the output's name, its schema, and the lock file (`None` where it can't have one).
    rows
        Most rows of a part.
    exists
        What becomes of an output that is there.
    part
        What each part is.
    """

    prepared: Prepared
    source: Source
    reopened: Callable[[], str]
    total: int | None
    ledger: Ledger
    target: str
    schema: Any
    lock: Path | None
    rows: int
    exists: str
    part: type[Part] = Part

    @property
    def asking(self) -> Asking:
        """What is asked."""
        return self.prepared.asking

    @property
    def client(self) -> Client:
        """What asks."""
        return self.prepared.client


class Backfill:
    """The run of a passage, from the caller's side; it may have asked something `before`."""

    def __init__(self, passage: Passage, *, verb: str, before: Before | None = None) -> None:
        self._passage, self._verb, self._before = passage, verb, before
        self._place: Place = callers_place()
        self._read_rows = 0
        self._unfinished = False
        self._starts: list[int] = []  # of the parts on their way

    def run(self) -> RunReport:
        """All of it, for synchronous code."""
        with self._locked():
            self._open(home=None)
            try:
                try:
                    if self._stage is not None:
                        bridge.run(self._fill, interrupt=self._interrupt, verb=self._verb)
                    while (part := self._take()) is not None:
                        self._keep(part)
                        del part
                except BaseException:  # whatever it is goes on up: only the parts on their way are told
                    self._run.stop = self._run.stop or FAILED
                    raise
                finally:
                    self._supply.stop()
                    bridge.run(self._parts.end, interrupt=_nothing, verb=self._verb)
                    self._tell_last()
                self._finish()
            except KeyboardInterrupt as interrupt:
                self._run.cancel()  # it may have come when nothing was sent any more
                goes_on = self._run.goes_on
                interrupt.args = interrupt.args or (f"{goes_on}; {GOES_ON}" if goes_on else GOES_ON,)
                raise
        return self._told()

    async def arun(self) -> RunReport:
        """All of it, for async code; files are written in threads."""
        said, client = self._passage.asking.arguments, self._passage.client
        at_home = said.loop == "current" or getattr(client, "foreign_loop", False)
        with self._locked():
            self._open(home=asyncio.get_running_loop() if at_home else None)
            try:
                if self._stage is not None:
                    await bridge.arun(self._fill, interrupt=self._interrupt)
                while (part := await bridge.arun(self._parts.take, interrupt=self._interrupt)) is not None:
                    await asyncio.to_thread(self._keep, part)
                    del part
            except BaseException:  # goes on up, as in `run`
                self._run.stop = self._run.stop or FAILED
                raise
            finally:
                self._supply.stop()
                try:
                    await bridge.arun(self._parts.end, interrupt=_nothing)
                finally:
                    self._tell_last()
            await asyncio.to_thread(self._finish)
        return self._told()

    def _take(self) -> Part | None:
        return bridge.run(self._parts.take, interrupt=self._interrupt, verb=self._verb)

    def _interrupt(self) -> None:
        self._run.cancel()
        self._supply.stop()
        self._parts.wake()

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        lock = self._passage.lock
        with contextlib.ExitStack() as held:
            if lock is not None:
                with self._writing():
                    held.enter_context(locked(lock, target=self._passage.target))
            yield

    def _open(self, *, home: asyncio.AbstractEventLoop | None) -> None:
        passage = self._passage
        ledger, before = passage.ledger, self._before
        run = self._run = begin_run(passage.prepared) if before is None else before.run
        with self._writing():
            ledger.open()
        run.metrics.notes += ledger.notes
        for part in ledger.recognised:
            run.metrics.rows += part.rows
            run.metrics.answered += part.answered
            run.metrics.cached += part.answered
            run.metrics.not_asked += part.not_asked
            run.metrics.failed.update(part.failed)
        if passage.total is not None:
            run.rows = run.metrics.expected_rows = max(0, passage.total - ledger.rows_finished())
        self._gaps = ledger.gaps
        supply = self._supply = Reading(self._frames(), self._prepare, going=lambda: run.stop is None)
        by_batches = batching(passage.asking, passage.client)
        self._stage = None if by_batches is None else by_batches.filling(run, self._requests, rows=run.rows, parts=True)
        self._parts = Parts(
            passage.asking,
            passage.client,
            supply,
            rows=passage.rows,
            ordered=True,
            stage=self._stage,
            before=before,
            kind=passage.part,
        )
        self._show, self._close_bar = listener(passage.asking.arguments.progress)
        self._parts.open(run, show=self._show, home=home)

    def _frames(self) -> Iterator[Frame]:
        """The rows that no finished part has, in the reader's thread."""
        for at, frame in self._unwritten():
            self._starts.append(at)
            self._read_rows = at + len(frame)
            yield frame
        self._read_rows = max([self._read_rows, *(gap.start for gap in self._gaps)])

    def _unwritten(self) -> Iterator[tuple[int, Frame]]:
        """The same with the number of each one's first row."""
        passage = self._passage
        for gap in self._gaps:
            at = gap.start
            tables = passage.source.tables(passage.rows, PART_BYTES, start=at)
            for table in tables if gap.stop is None else first_rows(tables, gap.stop - at):
                yield at, wrap(table)
                at += table.num_rows

    async def _fill(self, post: Post) -> None:
        """All batches of all parts, before the first part."""
        stage, whole, show = self._stage, self._passage.prepared, self._show
        assert stage is not None  # noqa: S101 - called only then
        tell: Callable[[Progress], None] | None = None
        if show is not None:
            tell = lambda progress: post(lambda: show(progress))  # noqa: E731 - a `def` loses that it isn't None
        await self._run.execute(whole.plan(), lambda: asyncio.create_task(stage.run()), listener=tell)

    async def _requests(self) -> AsyncIterator[list[Planned]]:
        """Every distinct request of every part."""
        run = self._run
        supply = Reading((frame for _, frame in self._unwritten()), self._prepare, going=lambda: run.stop is None)
        news = asyncio.Event()
        try:
            while True:
                news.clear()
                prepared = supply.next(news.set)
                if prepared is not None:
                    for chunk in prepared.plan().draw():
                        yield chunk
                elif supply.over:
                    break
                else:
                    await news.wait()
        finally:
            supply.stop()
        error = supply.error()
        if error is not None:
            raise error

    def _prepare(self, frame: Frame) -> Prepared:
        whole = self._passage.prepared
        where = whole.asking.arguments.where
        asked = None if where is None else frame.mask(where)
        return Prepared(whole.asking, frame, whole.prompt, whole.client, asked)

    def _keep(self, part: Part) -> None:
        """Write a part whose rows all have an end of their own."""
        run, ask = self._run, part.prepared.asking
        start = self._starts.pop(0)
        failed = failures(part)
        table: Any = part.prepared.frame.attach(part.columns(), replace=ask.arguments.overwrite)
        if ask.arguments.on_error == "raise" and failed:
            self._raise_first(part, table, start)
        if run.stop is not None and failed.keys() & {run.stop.kind, "budget", "cancelled"}:
            self._unfinished = True
        if self._unfinished:  # parts after it aren't written either: what is there are the first rows
            return
        not_asked = part.plan.not_asked
        answered = part.plan.length - not_asked - sum(failed.values())
        with self._writing():
            self._passage.ledger.add(table, start=start, answered=answered, not_asked=not_asked, failed=failed)

    def _raise_first(self, part: Part, table: object, start: int) -> None:
        found = part.first_failure()
        if found is not None:
            row, failure = found
            raise RowError(
                f"row {start + row} failed: {failure.kind} (`{part.prepared.asking.layout.error_place}` in this "
                f"exception's `.frame` says why); {self._passage.target!r} isn't written, {GOES_ON}",
                kind=failure.kind,
                frame=table,
            )

    def _finish(self) -> None:
        """Publish, when every row has its end."""
        passage, run = self._passage, self._run
        if self._unfinished or not self._supply.ended:
            run.metrics.notes.append(f"{passage.target!r} isn't written yet: {GOES_ON}")
            return
        if not passage.ledger.has_all(self._read_rows) or passage.reopened() != passage.source.identity:
            raise StoreError(
                f"the input has changed while it was read, so {passage.target!r} isn't written; answers are kept: "
                "the same call again asks only about rows that are new",
                reason="damaged",
            )
        with self._writing():
            passage.ledger.publish(passage.schema, mode=passage.exists)
        run.metrics.output = passage.target

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"{self._passage.target!r} can't be written: {error.strerror or error}. Answers are kept; "
                "the same call again goes on where this one stopped",
                reason=TROUBLE_BY_ERRNO.get(error.errno, "io"),
            ) from error

    def _tell_last(self) -> None:
        """Where the run stands when nothing goes on any more: nobody waited for a part as that came about."""
        progress = self._run.progress()
        if self._show is not None:
            self._show(progress)
        self._close_bar(progress)

    def _told(self) -> RunReport:
        warn_of_failures(self._run, place=self._place)
        return self._run.report()


def begin_run(prepared: Prepared) -> Run:
    """A run over files, beginning now: how many rows it has is seen later."""
    client, sending = prepared.client, prepared.asking.arguments.sending
    return new_run(
        model=client.model,
        provider=client.provider,
        rows=None,
        budget=sending.budget,
        prices=sending.prices,
        tier=sending.params.get("service_tier"),
        question=question_digest(prepared.asking, client, series=False),
    )


def first_rows(tables: Iterable[Any], rows: int) -> Iterator[Any]:
    """One table of the first `rows` rows; fewer where no more come."""
    batches: list[Any] = []
    kind: Any = None
    for table in tables:
        kind = cast("Any", type(table))
        batches += table.slice(0, rows).to_batches()
        rows -= min(rows, table.num_rows)
        if not rows:
            break
    if batches:
        yield kind.from_batches(batches)


def failures(part: Part) -> Counter[str]:
    """A finished part's failed rows by kind."""
    plan, missing = part.plan, part.run.missing
    failed: Counter[str] = Counter()
    told = [*part.outcomes, *[None] * (len(plan.shares) - len(part.outcomes))]
    for outcome, rows in zip(told, plan.shares, strict=False):
        result = missing if outcome is None else outcome.result
        if isinstance(result, Failure):
            failed[result.kind] += rows
    for failure, rows in plan.failed_rows.items():
        failed[failure.kind] += rows
    undrawn = plan.length - plan.not_asked - sum(plan.shares) - sum(plan.failed_rows.values())
    if undrawn:
        failed[missing.kind] += undrawn
    return failed


def _nothing() -> None:
    return None
