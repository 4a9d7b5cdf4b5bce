"""Jobs: a map that goes on in the background, and its handle."""

from __future__ import annotations

import secrets
import threading
import weakref
from collections.abc import Generator, Mapping
from functools import partial
from typing import Any, Final, Generic, Literal, TypeVar, Unpack, cast

from llmframe.api.arguments import Arguments, MapOptions, Mode, arguments, lazy_kind
from llmframe.api.errands import Errand, errand_of
from llmframe.api.stream_verbs import write_out
from llmframe.budget import money
from llmframe.engine.background import Background
from llmframe.engine.bridge import GRACE_SECONDS
from llmframe.engine.progress import Progress, listener
from llmframe.errors import RowError, UsageError
from llmframe.report import RunReport
from llmframe.report.wording import duration, html_table, text_table
from llmframe.stores.jobs import Shard

F = TypeVar("F")
Status = Literal["running", "done", "cancelled", "failed", "interrupted"]

_known: Final[weakref.WeakValueDictionary[str, Job[Any]]] = weakref.WeakValueDictionary()
_going: Final[dict[str, Job[Any]]] = {}
"""Jobs of this process by a name of their own; those that go on are held."""


class Job(Generic[F]):
    """A map that goes on in the background. Get one from `df.llm.submit(...)`.

    Its words are those of `concurrent.futures.Future`: `done()`, `result(timeout)`, `exception()`, `cancel()`; it can
    be awaited too. A handle that is dropped ends nothing. When the process ends, a live job is cancelled, and what came
    back is kept: the same call again asks only for what is missing. A batch job goes on at the provider.

    Attributes
    ----------
    mode
        `"live"` or `"batch"`.
    """

    def __init__(self, errand: Errand, said: Arguments, *, show: bool = True) -> None:
        self._name = f"live-{secrets.token_hex(5)}"
        self.mode: Mode = said.mode
        self._errand, self._raises = errand, said.on_error == "raise"
        self._lock, self._settled = threading.Lock(), False
        self._value: object = None
        self._error: BaseException | None = None
        option = False if said.progress is None or not show else said.progress  # the handle tells
        bar, close = listener(option)
        _known[self._name] = _going[self._name] = self
        self._background = Background(
            errand.work(bar),
            cancel=errand.run.cancel,
            last=lambda: close(errand.run.progress()),
            finished=partial(_going.pop, self._name, None),
        )

    @property
    def id(self) -> str:
        """`"live-…"`, or `"job-…"` of a batch job, by which any process that shares the store finds it.

        A batch job that only waits for another job's batches, or needed none, has no `"job-…"` of its own yet.
        """
        return self._errand.run.job_id or self._name

    @property
    def status(self) -> Status:
        """`"running"`, `"done"`, `"cancelled"`, `"failed"` (`result()` raises) or `"interrupted"`.

        Interrupted is a job that nobody works on any more: this process was forked from the one that does.
        """
        if not self._background.done():
            return "interrupted" if self._background.lost else "running"
        run = self._errand.run
        if self._background.error() is not None:
            return "failed"
        if run.interrupted or run.job_cancelled:
            return "cancelled"
        return "failed" if self._raises and run.metrics.failed else "done"

    def progress(self) -> Progress:
        """Where the job stands: rows, done, cached, failed, in flight, dollars."""
        return self._errand.run.progress()

    def report(self) -> RunReport:
        """What the job did so far, as `llmframe.last_run()` tells it."""
        return self._errand.run.report()

    def frame(self) -> F:
        """The frame by now; nothing is waited for.

        Finished rows are filled. The others are null with `error` null, and `llm_meta` has `"pending"` as their source:
        that column is there whether `meta` was said or not, unless the frame has one of its name. A Series gives a
        frame, as it does with `meta=True`.
        """
        return cast("F", self._errand.so_far(self._background.call, waiting=self.status == "running"))

    def cancel(self) -> bool:
        """Stop sending, and cancel what is in flight; unfinished rows get the error `cancelled`.

        A batch job's provider is asked to stop, too, which is waited for: what it has done by then is charged, and the
        same call, or `llmframe.job(id).collect()`, brings it.

        Returns
        -------
        bool
            False when the job has ended already.

        Raises
        ------
        LlmframeError
            When the provider can't be asked; the same call asks again, and so does `llmframe jobs cancel`.
        """
        background = self._background
        if background.done():
            if not self._goes_on:
                return False
            self._errand.stop_batches()  # the provider couldn't be asked the last time
            return True
        self._errand.run.cancel()
        if self.mode == "batch" and self.wait(GRACE_SECONDS):  # a batch that is just being made is written down first
            self._errand.stop_batches()
        return True

    @property
    def _goes_on(self) -> bool:
        """Whether the provider is still at work on a job that was cancelled."""
        if self.mode != "batch" or not self._errand.run.interrupted:
            return False
        return any(shard.execution == "running" for shard in self.shards())

    def shards(self) -> list[Shard]:
        """The batches of a batch job, with the provider's own word as `status`, its id of them, and its counts."""
        return self._errand.shards()

    def done(self) -> bool:
        """Whether it has ended, however."""
        return self._background.done()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most `timeout` seconds; tells whether it has come.

        Raises
        ------
        UsageError
            In llmframe's own event loop, which would wait for itself.
        KeyboardInterrupt
            When interrupted; the job goes on.
        """
        background = self._background
        if background.lost:
            raise UsageError(f"{self.id} runs in the process that this one was forked from; ask for it there")
        if background.inside() and not background.done():
            raise UsageError(f"{self.id} was waited for inside llmframe's own event loop; there, `await` it")
        try:
            return background.wait(timeout)
        except KeyboardInterrupt as interrupt:
            interrupt.args = interrupt.args or (
                f"{self.id} goes on: `.result()` waits for it again, `.cancel()` ends it",
            )
            raise

    def result(self, timeout: float | None = None) -> F:
        """What `map` would have returned, the warning about failed rows included; waits for it.

        Parameters
        ----------
        timeout
            Seconds; without end unless said.

        Raises
        ------
        TimeoutError
            When it isn't there by then; the job goes on.
        RowError
            Under `on_error="raise"`.
        KeyboardInterrupt
            When interrupted; the job goes on.
        """
        if not self.wait(timeout):
            raise TimeoutError(f"{self.id} isn't done after {timeout:g} s; it goes on")
        return self._result()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What `result` would raise, or `None`; waits as it does."""
        if not self.wait(timeout):
            raise TimeoutError(f"{self.id} isn't done after {timeout:g} s; it goes on")
        self._settle()
        return self._error

    def sent(self) -> None:
        """Wait until the batches of a batch job are at the provider, wait for room there, or came to nothing."""
        try:
            self._background.wait_for(self._errand.run.batches_at_provider)
        except KeyboardInterrupt as interrupt:
            interrupt.args = interrupt.args or (f"{self.id} goes on: `llmframe.jobs()` has its handle",)
            raise

    def __await__(self) -> Generator[Any, None, F]:
        """The result; whoever is cancelled meanwhile leaves the job going on."""
        return self._awaited().__await__()

    def __repr__(self) -> str:
        """A small table, without key or cell."""
        return text_table(*self._told())

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        return html_table(*self._told())

    async def _awaited(self) -> F:
        await self._background.ended()
        return self._result()

    def _result(self) -> F:
        self._settle()
        if self._error is not None:
            raise self._error
        return cast("F", self._value)

    def _settle(self) -> None:
        """Make the result, once: it may warn."""
        with self._lock:
            if self._settled:
                return
            self._error = self._background.error()
            if self._error is None:
                try:
                    self._value = self._errand.finish()
                except RowError as error:
                    self._error = error
            self._settled = True

    def _told(self) -> tuple[str, list[tuple[str, str]]]:
        status, report = self.status, self.report()
        title = f"llmframe job {self.id} · {report.model or 'no model'} · {status}"
        return title, job_lines(self.progress(), seconds=report.seconds, ended=status != "running")


def submit(frame: F, prompt_template: object, schema: object = None, **options: Unpack[MapOptions]) -> Job[F]:
    """`map` in the background: `job = df.llm.submit(...)`, then `job.result()` waits for the frame.

    A live job's handle comes at once, one by batches as soon as they are at the provider or wait for room there.

    Several jobs may go on at a time, from any thread or running loop. What is done to `frame` afterwards doesn't reach
    them.

    Parameters
    ----------
    frame
        As `map`'s, but no lazy query.
    prompt_template, schema
        As `map`'s.
    **options
        All others of `map`; no `loop`. `progress` is off unless said; a callable is called in a thread of its own.

    Returns
    -------
    Job
        `status`, `progress()`, `frame()` so far, `cancel()`, `done()`, `result()`, `exception()`; `await job` works.
        With `mode="batch"` its `id` leads back to it from any process that shares the store: `llmframe.job(id)`.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.
    """
    said = arguments(prompt_template, schema, cast("Mapping[str, object]", options), verb="submit")
    if lazy_kind(frame):
        raise UsageError("`submit` needs rows that are there: `.collect()` the lazy query first")
    if said.loop == "current":
        raise UsageError("`loop='current'` is for callers that wait: use `await df.llm.amap(...)`, or leave it out")
    job: Job[F] = Job(errand_of(frame, said), said)
    if said.mode == "batch":
        job.sent()
    return job


def jobs_here() -> list[Job[Any]]:
    """The jobs of this process that go on or whose handle somebody has, the latest first."""
    return list(_known.values())[::-1]


def job_here(name: str) -> Job[Any] | None:
    """The job of this process by its id, or by that which it had before its first batch."""
    return _known.get(name) or next((job for job in jobs_here() if job.id == name), None)


def job_lines(progress: Progress, *, seconds: float, ended: bool) -> list[tuple[str, str]]:
    """Name and text of every line of a job's table.

    Parameters
    ----------
    seconds
        Since the job began, or that it took.
    ended
        Whether nothing more will come.
    """
    of = "" if progress.rows is None else f" of {progress.rows:,}"
    lines = [("rows", f"{progress.done:,}{of} done" + (f" ({progress.cached:,} cached)" if progress.cached else ""))]
    if progress.failed:
        lines.append(("failed", f"{progress.failed:,}"))
    if progress.in_flight:
        lines.append(("in flight", f"{progress.in_flight:,}"))
    if progress.usd is not None:
        lines.append(("cost", money(progress.usd)))
    left = "" if ended or progress.eta_seconds is None else f"; about {duration(progress.eta_seconds)} left"
    lines.append(("time", duration(seconds) + left))
    if progress.waiting and not ended:
        lines.append(("batch", progress.waiting))
    return lines


write_out(submit)
