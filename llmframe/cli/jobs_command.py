"""`llmframe jobs`: batch jobs, looked after from a shell."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Column, Table

from llmframe.api.batch_access import Access
from llmframe.api.storedjob import StoredJob
from llmframe.cli import exits
from llmframe.cli.cache_command import store_path
from llmframe.cli.help_pages import HelpfulCommand, HelpfulGroup
from llmframe.cli.values import read_age
from llmframe.errors import UsageError, did_you_mean
from llmframe.report.wording import dollars, tokens_text
from llmframe.stores.ledger import ledger_of
from llmframe.stores.sqlite import SqliteStore

HELP: Final = """Look after batch jobs: what `--mode batch` has sent and the provider works on for hours.

They are known by the file that keeps their answers, to every process that uses it. The key comes from the environment \
(OPENAI_API_KEY, ...), and goes only where the model's name, --base-url or the environment says.

To get the rows, run the command or call that began the job again: it reads the answers and sends nothing twice.
"""

EPILOG: Final = exits.meanings(exits.OF_JOBS)

JobId = Annotated[str, typer.Argument(metavar="ID", show_default=False, help="As `llmframe jobs list` tells it: job-…")]
CachePath = Annotated[
    Path | None,
    typer.Option("--cache", metavar="PATH", help="The file; LLMFRAME_CACHE, else the one in your cache folder."),
]
BaseUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="The server that has the batches; needed for one of your own.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]

jobs_app = typer.Typer(cls=HelpfulGroup, no_args_is_help=True, help=HELP, epilog=EPILOG)


@jobs_app.command("list", cls=HelpfulCommand)
def list_jobs(*, cache: CachePath = None, as_json: AsJson = False) -> None:
    """List the jobs of a store, the latest first, as they stood when somebody last asked."""
    with exits.told(as_json=as_json):
        path = store_path(cache, option="--cache")
        found: list[dict[str, Any]] = []
        if path.exists():
            with _store(path) as store:
                found = [told(job) for job in _all(store, Access())]
        if as_json:
            typer.echo(json.dumps({"path": str(path), "jobs": found}))
        elif found:
            Console(highlight=False).print(_jobs_table(found))
        else:
            typer.echo(f"no batch jobs in {path}")


@jobs_app.command("show", cls=HelpfulCommand)
def show(
    job_id: JobId,
    *,
    offline: Annotated[bool, typer.Option("--offline", help="Don't ask the provider.")] = False,
    cache: CachePath = None,
    base_url: BaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show a job and its batches, as the provider tells them now."""
    with exits.told(as_json=as_json), _found(job_id, cache, base_url) as job:
        if not offline:
            job.refresh()
        _tell(job, as_json=as_json)


@jobs_app.command("wait", cls=HelpfulCommand, epilog=EPILOG)
def wait(
    job_id: JobId,
    *,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Longest wait, such as 90s, 45m, 12h; without end unless said.")
    ] = None,
    cache: CachePath = None,
    base_url: BaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Wait until the provider has ended with a job; Ctrl-C ends the waiting, not the batches."""
    with exits.told(as_json=as_json), _found(job_id, cache, base_url) as job:
        seconds = None if timeout is None else read_age(timeout, "--timeout", "45m")
        with _going_on(job):
            ended = job.wait(seconds)
        _tell(job, as_json=as_json)
        if not ended:
            raise typer.Exit(exits.STILL_RUNNING)


@jobs_app.command("collect", cls=HelpfulCommand, epilog=EPILOG)
def collect(job_id: JobId, *, cache: CachePath = None, base_url: BaseUrl = None, as_json: AsJson = False) -> None:
    """Bring what ended batches came to into the store; nothing is paid by that."""
    with exits.told(as_json=as_json), _found(job_id, cache, base_url) as job:
        with _going_on(job):
            job.collect()
        _tell(job, as_json=as_json)
        if job.status in ("running", "interrupted"):
            raise typer.Exit(exits.STILL_RUNNING)
        if job.progress().failed:
            raise typer.Exit(exits.SOME_FAILED)


@jobs_app.command("cancel", cls=HelpfulCommand)
def cancel(job_id: JobId, *, cache: CachePath = None, base_url: BaseUrl = None, as_json: AsJson = False) -> None:
    """Ask the provider to stop a job; what is done by then is charged, and can be collected."""
    with exits.told(as_json=as_json), _found(job_id, cache, base_url) as job:
        asked = job.cancel()
        _tell(job, as_json=as_json)
        exits.say("the provider was asked to stop; it may take minutes" if asked else "nothing is left to stop")


@jobs_app.command("retry", cls=HelpfulCommand)
def retry(job_id: JobId, *, cache: CachePath = None, base_url: BaseUrl = None, as_json: AsJson = False) -> None:
    """Make batches again that were broken off, or refused because the provider's queue was full."""
    with exits.told(as_json=as_json), _found(job_id, cache, base_url) as job:
        made = job.retry()
        _tell(job, as_json=as_json)
        exits.say(f"made {made:,} {'batch' if made == 1 else 'batches'} again" if made else "nothing is to be retried")


@jobs_app.command("answers", cls=HelpfulCommand)
def answers(
    job_id: JobId,
    *,
    cache: CachePath = None,
) -> None:
    """Write a line of JSON for every distinct request of a job: fingerprint, response, error."""
    with exits.told(), _found(job_id, cache, None) as job:
        for row in job.answers().to_pylist():
            sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")


def told(job: StoredJob) -> dict[str, Any]:
    """What is known of a job, in plain values."""
    progress, record, usage = job.progress(), job.record, job.usage()
    return {
        "id": job.id,
        "status": job.status,
        "model": record.model,
        "provider": record.provider,
        "endpoint": record.identity,
        "kind": record.kind,
        "began": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds"),
        "requests": progress.rows,
        "done": progress.done,
        "failed": progress.failed,
        "tokens": {"input": usage.input_tokens, "output": usage.output_tokens, "cached": usage.cached_tokens},
        "usd": progress.usd,
    }


def batches_told(job: StoredJob) -> list[dict[str, Any]]:
    """The same of each of its batches; `status` is the provider's own word."""
    return [
        {
            "id": shard.batch_id,
            "intent": shard.intent,
            "status": shard.status,
            "stands": shard.execution,
            "collected": shard.collection,
            "requests": shard.lines,
            "done": shard.done,
            "failed": shard.failed,
            "detail": shard.detail,
        }
        for shard in job.shards()
    ]


def _tell(job: StoredJob, *, as_json: bool) -> None:
    values, batches = told(job), batches_told(job)
    if as_json:
        typer.echo(json.dumps({**values, "batches": batches}))
        return
    lines = [
        f"job       {values['id']}",
        f"status    {values['status']}",
        f"model     {values['model']} at {values['endpoint']}",
        f"began     {values['began']}",
        f"requests  {_counts(values)}",
    ]
    usage = job.usage()
    if usage.input_tokens or usage.output_tokens:
        lines.append(f"tokens    {tokens_text(usage)}")
    if values["usd"]:
        lines.append(f"cost      {dollars(values['usd'])}")
    typer.echo("\n".join(lines))
    if batches:
        Console(highlight=False).print("", _batches_table(batches))


def _counts(values: dict[str, Any]) -> str:
    failed = f", {values['failed']:,} failed" if values["failed"] else ""
    return f"{values['done']:,} of {values['requests']:,} done{failed}"


def _jobs_table(found: list[dict[str, Any]]) -> Table:
    table = Table(
        Column("job", no_wrap=True),
        Column("status", no_wrap=True),
        Column("requests"),
        Column("began", no_wrap=True),
        Column("model", overflow="fold"),
        box=None,
        pad_edge=False,
    )
    for values in found:
        began = values["began"][:16].replace("T", " ")
        table.add_row(values["id"], values["status"], _counts(values), began, values["model"])
    return table


def _batches_table(batches: list[dict[str, Any]]) -> Table:
    numbers = [Column(name, justify="right", no_wrap=True) for name in ("requests", "done", "failed")]
    table = Table(Column("batch", overflow="fold"), "status", "collected", *numbers, box=None, pad_edge=False)
    for batch in batches:
        counts = ("" if batch[name] is None else f"{batch[name]:,}" for name in ("requests", "done", "failed"))
        word = batch["status"] or batch["stands"]
        table.add_row(batch["id"] or batch["intent"], word, _COLLECTED[batch["collected"]], *counts)
    return table


_COLLECTED: Final = {"none": "no", "partial": "in part", "done": "yes", "gone": "gone"}


@contextmanager
def _store(path: Path) -> Generator[SqliteStore]:
    with contextlib.closing(SqliteStore(path)) as store:
        yield store


def _all(store: SqliteStore, access: Access) -> list[StoredJob]:
    ledger = ledger_of(store)
    if ledger is None:
        return []
    return [StoredJob(record, ledger=ledger, store=store, access=access) for record in ledger.jobs()]


@contextmanager
def _found(job_id: str, cache: Path | None, base_url: str | None) -> Generator[StoredJob]:
    """The job of this id in the store, which isn't made where there is none."""
    path = store_path(cache, option="--cache")
    if not path.exists():
        raise UsageError(f"no batch jobs in {str(path)!r}: there is no such file; name the one they used by --cache")
    with _store(path) as store:
        jobs = {job.id: job for job in _all(store, Access(base_url=base_url))}
        if job_id not in jobs:
            there = did_you_mean(job_id, jobs) or ("; `llmframe jobs list` tells those that are" if jobs else "")
            raise UsageError(f"no job {job_id!r} in {str(path)!r}{there}")
        yield jobs[job_id]


@contextmanager
def _going_on(job: StoredJob) -> Generator[None]:
    """Say after Ctrl-C that the batches go on."""
    try:
        yield
    except KeyboardInterrupt:
        exits.say(
            f"the batches go on: `llmframe jobs wait {job.id}` waits again, `llmframe jobs cancel {job.id}` stops them"
        )
        raise
