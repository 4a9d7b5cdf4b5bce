"""The handle of a batch job by its id: from another process, without the rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NoReturn, TypeVar

from llmframe.api.batch_access import Access, attend
from llmframe.batch import by_id
from llmframe.batch.desk import Desk
from llmframe.clients.endpoints import price_name
from llmframe.core.outcome import Usage
from llmframe.core.prices import Price
from llmframe.engine.progress import Progress
from llmframe.errors import UsageError
from llmframe.options import resolve_options
from llmframe.report.wording import dollars, html_table, text_table, tokens_text
from llmframe.stores.base import Store
from llmframe.stores.jobs import OPEN, JobRecord, Ledger, LineState, Shard

R = TypeVar("R")

AT_ONCE: Final = 1000
"""Requests whose answers are read from the store at a time."""


class StoredJob:
    """A batch job in the ledger. Get one from `llmframe.job(id)` or `llmframe.jobs()`.

    It looks after the job's batches, without the rows: what they came to is kept in the store, where the call that
    began the job finds it, whenever and wherever it is made again with the same store.

    Attributes
    ----------
    id, mode
        `"job-…"`, and `"batch"`.
    record
        What the ledger says of the call: provider, model, when it began, how many requests.
    """

    mode: Final = "batch"

    def __init__(self, record: JobRecord, *, ledger: Ledger, store: Store, access: Access) -> None:
        self.id, self.record = record.id, record
        self._ledger, self._store, self._access = ledger, store, access

    @property
    def status(self) -> str:
        """`"running"`, `"done"`, `"cancelled"`, `"failed"` or `"interrupted"`, as the ledger knows it.

        Running: the provider still has batches to do, or a process is at work on the job. Done: it has ended with them;
        failed: and nothing came of any. Interrupted: a batch was being made when its process ended, and nobody works on
        the job; `retry()`, or the call that began it, goes on. `refresh()` asks the provider.
        """
        record, shards = self._now(), self.shards()
        if any(shard.execution == "running" for shard in shards) or self._ledger.is_worked_on(self.id):
            return "running"
        if record.cancelled:
            return "cancelled"
        if any(shard.execution in OPEN and shard.execution != "ended" for shard in shards):
            return "interrupted"
        came = any(shard.execution == "ended" for shard in shards)
        return "done" if came or not shards else "failed"

    def shards(self) -> list[Shard]:
        """Its batches, with the provider's own word as `status`, its id of them, and its counts."""
        return self._ledger.shards(job=self.id)

    def progress(self) -> Progress:
        """Where the job stands, as the ledger knows it; `rows` and `done` are distinct requests.

        Of embeddings they are distinct texts, of which a provider tells no more than how many lines of them are done.
        """
        shards, states = self.shards(), self._ledger.counts(self.id)
        running = [shard for shard in shards if shard.execution == "running"]
        settled = sum(count for state, count in states.items() if state != "open")
        waiting = [shard for shard in shards if shard.collection == "none" and shard.execution in ("running", "ended")]
        texts = self._texts_a_line(shards, states)
        told = round(texts * sum((shard.done or 0) + (shard.failed or 0) for shard in waiting))
        going = round(texts * sum(shard.lines - (shard.done or 0) - (shard.failed or 0) for shard in running))
        lost = sum(count for state, count in states.items() if state not in ("open", "kept"))
        return Progress(
            rows=max(sum(states.values()), self._now().requests),
            done=min(settled + told, sum(states.values())),
            cached=0,
            failed=lost + round(texts * sum(shard.failed or 0 for shard in waiting)),
            in_flight=going,
            usd=self._usd(self.usage()),
        )

    def usage(self) -> Usage:
        """The tokens of all that was collected, as the provider counted them."""
        return self._ledger.usage(self.id)

    def refresh(self) -> list[Shard]:
        """Ask the provider where its batches stand; returns them.

        Raises
        ------
        UsageError
            If it isn't known how to reach the provider.
        LlmframeError
            If the provider doesn't say.
        """
        return self._ask(lambda desk: by_id.look(desk, self.id))

    def done(self) -> bool:
        """Whether the provider has ended with all of its batches, as the ledger knows it."""
        return self.status not in ("running", "interrupted")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the provider has ended with all batches, at most `timeout` seconds; tells whether it has.

        Raises as `refresh`.
        """
        return self._ask(lambda desk: by_id.wait_for_end(desk, self.id, timeout=timeout))

    def collect(self) -> Progress:
        """Bring what ended batches came to into the store; returns how the job stands then.

        Nothing is paid by that. Raises as `refresh`.
        """
        self._ask(lambda desk: by_id.collect_ended(desk, self.id))
        return self.progress()

    def cancel(self) -> bool:
        """Ask the provider to stop; False when there is nothing left to stop. Raises as `refresh`.

        It may take minutes. Requests that are done by then are charged; `collect()` brings them.
        """
        return self._ask(lambda desk: by_id.cancel(desk, self.id)) > 0

    def retry(self) -> int:
        """Make batches again that were broken off or refused for the provider's queue; returns how many there are.

        What failed line by line needs the rows: the call that began the job, made again, sends only that. Raises as
        `refresh`, and `UsageError` when there is nothing that can be made without them.
        """
        made = self._ask(lambda desk: by_id.retry(desk, self.id))
        lacking = sum(count for state, count in self._ledger.counts(self.id).items() if state != "kept")
        if lacking and not made and self.status != "running":
            raise UsageError(f"{self.id} can't be sent again without its rows; {_same_call()} sends what is missing")
        return made

    def answers(self) -> Any:
        """Every distinct request with its answer, so that nothing is locked in.

        Returns
        -------
        pyarrow.Table
            `fingerprint` (64 hex digits, as in `llm_meta`), `response` (the kept reply's text, null without one),
            `error` (null, or why there is none).
        """
        from llmframe.frames.answers import answers_table  # noqa: PLC0415 - loads pyarrow

        fingerprints: dict[bytes, None] = {}
        for shard in self.shards():
            fingerprints.update(dict.fromkeys(record.key for record in self._ledger.lines(shard.intent)))
        keys = list(fingerprints)
        responses: list[str | None] = []
        errors: list[str | None] = []
        for start in range(0, len(keys), AT_ONCE):
            lot = keys[start : start + AT_ONCE]
            kept, outcomes = self._store.get_many(lot), self._ledger.outcomes(self.id, lot)
            for key in lot:
                entry, outcome = kept.get(key), outcomes.get(key)
                responses.append(None if entry is None else entry.text)
                told = None if entry is not None or outcome is None or outcome.kind is None else outcome
                errors.append(None if told is None else f"{told.kind}: {told.detail}")
        return answers_table([key.hex() for key in keys], responses, errors)

    def result(self, timeout: float | None = None) -> NoReturn:
        """Raise `UsageError`: by its id a job has no rows."""
        del timeout
        raise UsageError(f"{self.id} has no rows here; {_same_call()} reads its answers and sends nothing twice")

    def frame(self) -> NoReturn:
        """Raise `UsageError`, as `result`."""
        self.result()

    def __repr__(self) -> str:
        """A small table, without key or cell."""
        return text_table(*self._told())

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        return html_table(*self._told())

    def _now(self) -> JobRecord:
        found = self._ledger.job(self.id)
        if found is None:
            raise UsageError(f"{self.id} is in the ledger no more")
        self.record = found
        return found

    def _texts_a_line(self, shards: list[Shard], states: Mapping[LineState, int]) -> float:
        """Distinct requests in a line of what isn't collected yet: more than one only of embeddings."""
        lines = sum(shard.lines for shard in shards if shard.collection == "none")
        return max(1.0, states.get("open", 0) / lines) if lines and self.record.kind == "embeddings" else 1.0

    def _usd(self, usage: Usage) -> float | None:
        """Dollars at the batch's price; `None` when it isn't known."""
        record = self.record
        provider = "anthropic" if record.provider == "anthropic" else price_name(record.identity)
        return Price(provider, record.model, resolve_options({}).prices).usd(usage, batch=True)

    def _ask(self, ask: Callable[[Desk], Awaitable[R]]) -> R:
        try:
            return attend(self.id, ask, ledger=self._ledger, batches=self._access.batches(self._now()))
        except KeyboardInterrupt as interrupt:
            told = (
                f"the batches of {self.id} go on at the provider: `llmframe.job({self.id!r})` comes back to them, its "
                "`cancel()` stops them"
            )
            interrupt.args = interrupt.args or (told,)
            raise

    def _told(self) -> tuple[str, list[tuple[str, str]]]:
        progress, shards = self.progress(), self.shards()
        began = datetime.fromtimestamp(self.record.created, UTC).isoformat(sep=" ", timespec="minutes")
        lines = [("requests", f"{progress.done:,} of {progress.rows:,} done")]
        if progress.failed:
            lines.append(("failed", f"{progress.failed:,}"))
        usage = self.usage()
        if usage.input_tokens or usage.output_tokens:
            lines.append(("tokens", tokens_text(usage)))
        if progress.usd:
            lines.append(("cost", dollars(progress.usd)))
        lines.append(("began", began))
        lines += [
            ("batch", f"{shard.batch_id or shard.execution} {shard.status or ''} ({shard.lines:,} requests)")
            for shard in shards
        ]
        return f"llmframe job {self.id} · {self.record.model} · {self.status}", lines


def _same_call() -> str:
    return 'the same `df.llm.map(..., mode="batch")` or `submit` call with the same store'
