"""The jobs that are known: those of this process, and those in a store's ledger."""

from __future__ import annotations

from typing import Any, Final

from llmframe.api.batch_access import Access
from llmframe.api.jobs import Job, job_here, jobs_here
from llmframe.api.keeping import stores_here
from llmframe.api.storedjob import StoredJob
from llmframe.errors import UsageError, did_you_mean
from llmframe.options import CacheOption, resolve_options
from llmframe.report.wording import html_rows, text_rows
from llmframe.stores.base import Store
from llmframe.stores.jobs import Ledger
from llmframe.stores.ledger import ledger_of

NAMES: Final = ("job", "model", "status", "done", "of", "failed")


class JobList(list["Job[Any] | StoredJob"]):
    """Handles of jobs, the latest first of each kind; shown as a table."""

    def __repr__(self) -> str:
        """One line a job."""
        return text_rows(NAMES, self._rows()) if self else "no jobs"

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        return html_rows(NAMES, self._rows()) if self else "no jobs"

    def _rows(self) -> list[tuple[str, ...]]:
        return [job_row(job) for job in self]


def job_row(job: Job[Any] | StoredJob) -> tuple[str, ...]:
    """What a table of jobs says of one, by `NAMES`."""
    progress = job.progress()
    model = job.record.model if isinstance(job, StoredJob) else job.report().model or ""
    rows = "" if progress.rows is None else f"{progress.rows:,}"
    return job.id, model, job.status, f"{progress.done:,}", rows, f"{progress.failed:,}"


def jobs(*, cache: CacheOption | None = None) -> JobList:
    """The jobs that are known here: those that go on in this process, and the batch jobs of a store.

    Nothing is sent: batches are told as they stood when somebody last asked the provider; `refresh()` of a handle asks.

    Parameters
    ----------
    cache
        The store, as `map` takes it; unless said, the one that `map` would use.

    Returns
    -------
    JobList
        Handles, the latest first: those of this process, then those of the ledger.
    """
    here = jobs_here()
    known = {job.id for job in here}
    found = JobList(here)
    for store, ledger in _ledgers(cache):
        for record in ledger.jobs():
            if record.id not in known:
                known.add(record.id)
                found.append(StoredJob(record, ledger=ledger, store=store, access=Access()))
    return found


def job(
    id: str,  # noqa: A002 - what it is
    *,
    cache: CacheOption | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
    client: object | None = None,
) -> Job[Any] | StoredJob:
    """The handle of a job by its id, also of a batch job that another process began.

    Parameters
    ----------
    id
        `"job-…"`, or `"live-…"` in the process where it goes on.
    cache
        The store that its call used; unless said, the one that `map` would use.
    api_key, base_url, client
        How the provider is reached, as in `map`; unless said by `use()` or the environment, as the model's name tells.

    Returns
    -------
    Job or StoredJob
        The one that `submit` returned, where it's of this process; else one that knows no rows, with `status`,
        `progress()`, `refresh()`, `wait()`, `collect()`, `cancel()`, `retry()` and `answers()`.

    Raises
    ------
    UsageError
        If there is no such job; it names the nearest.
    """
    if not isinstance(id, str):  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
        raise UsageError(f"`id` must be a job's id, such as 'job-1a2b3c4d5e', got {id!r}; `llmframe.jobs()` lists them")
    here = job_here(id)
    if here is not None:
        return here
    known = [each.id for each in jobs_here()]
    access = Access(api_key=api_key, base_url=base_url, client=client)
    ledgers = _ledgers(cache)
    for store, ledger in ledgers:
        record = ledger.job(id)
        if record is not None:
            return StoredJob(record, ledger=ledger, store=store, access=access)
        known += [each.id for each in ledger.jobs()]
    raise UsageError(f"no job {id!r} is known here{did_you_mean(id, known)}{_hint(id, known, store=bool(ledgers))}")


def _hint(name: str, known: list[str], *, store: bool) -> str:
    if name.startswith("live-"):
        return "; a live job is known in the process where it goes on, the same call reads what is kept of it"
    if not store:
        return "; there is no such store: `cache=` names the file that its call used"
    if known:
        return "; `llmframe.jobs()` lists those of this store, `cache=` names another"
    return "; there is none in this store: name the one that its call used by `cache=`"


def _ledgers(cache: CacheOption | None) -> list[tuple[Store, Ledger]]:
    said = resolve_options({}).cache if cache is None else resolve_options({"cache": cache}).cache
    pairs = [(store, ledger_of(store)) for store in stores_here(said)]
    return [(store, ledger) for store, ledger in pairs if ledger is not None]
