"""From a job in a ledger to the provider that has its batches."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from llmframe.batch.desk import Desk, within_thread
from llmframe.batch.filling import BEAT_SECONDS
from llmframe.clients import open_client
from llmframe.clients.base import Client, RequestError
from llmframe.clients.batch import Batches
from llmframe.clients.embeddings import open_embeddings
from llmframe.clients.endpoints import ENDPOINTS, identity_of, is_loopback
from llmframe.clients.opening_batch import open_batches
from llmframe.core.schema import schema_of
from llmframe.engine.background import finish_on_loop
from llmframe.engine.patience import every
from llmframe.errors import LlmframeError, StoreError, UsageError
from llmframe.options import resolve_options
from llmframe.stores.jobs import JobRecord, Ledger

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How the provider of a job is reached; what isn't said comes from `use()` and the environment."""

    api_key: str | None = None
    base_url: str | None = None
    client: object | None = None

    def batches(self, job: JobRecord) -> Batches:
        """The batches of a job's provider; nothing is sent yet.

        A key only goes where it was said to go, to the provider that its model names, or to this machine: what stands
        in the ledger decides nothing, it's only compared.

        Raises
        ------
        UsageError
            If nothing that was said leads to where the job's batches are.
        """
        said = {"api_key": self.api_key, "base_url": self.base_url, "client": self.client}
        sending = resolve_options({name: value for name, value in said.items() if value is not None})
        met: list[str] = []
        for model, base_url in self._ways(job, sending.base_url):
            options: dict[str, Any] = {
                "model": model,
                "base_url": base_url,
                "api_key": None if sending.client is not None else sending.api_key,
                "client": sending.client,
                "params": {"max_tokens": 1} if job.provider == "anthropic" else {},  # wanted, though nothing is asked
            }
            client = _opened(job, options)
            if client.identity == job.identity:
                return open_batches(client)
            met.append(client.identity)
        told = f", which isn't {' or '.join(map(repr, dict.fromkeys(met)))}" if met else ""
        raise UsageError(
            f"the batches of {job.id} are at {job.identity!r}{told}; say how to get there, as the call that began it "
            "did: `base_url=` with `api_key=`, or `client=`"
        )

    def _ways(self, job: JobRecord, base_url: str | None) -> Iterator[tuple[str, str | None]]:
        """Model and address of every client that may lead there."""
        if self.client is not None or base_url is not None or resolve_options({}).client is not None:
            yield job.model, base_url
            return
        for prefix, endpoint in ENDPOINTS.items():
            if endpoint.base_url is not None and identity_of(endpoint.base_url) == job.identity:
                yield f"{prefix}/{job.model}", None
        if ".openai.azure.com" in job.identity:
            yield f"azure_openai/{job.model}", None
        if job.provider == "anthropic":
            yield f"anthropic/{job.model}", None
        if os.environ.get("OPENAI_BASE_URL"):
            yield job.model, None
        elif job.identity.startswith("http") and is_loopback(job.identity):
            yield job.model, job.identity


def attend(job_id: str, ask: Callable[[Desk], Awaitable[R]], *, ledger: Ledger, batches: Batches) -> R:
    """What `ask` returns on the private loop, with the provider's side started; this thread waits for it.

    Raises
    ------
    LlmframeError
        If the provider refuses, or can't be reached.
    """

    async def beat() -> None:
        with contextlib.suppress(StoreError):  # the next one may do
            await within_thread(ledger.beat)

    async def asked() -> R:
        beating = asyncio.create_task(every(BEAT_SECONDS, beat))
        try:
            await batches.start()
            return await ask(Desk(ledger=ledger, batches=batches))
        finally:
            beating.cancel()
            await batches.close()

    try:
        return finish_on_loop(asked)
    except RequestError as error:
        hint = "; only keys of the project that made a batch know it" if error.kind == "not_found" else ""
        raise LlmframeError(f"the provider of {job_id} said no: {error.kind}: {error.detail}{hint}") from None
    finally:
        ledger.leave()


def _opened(job: JobRecord, options: dict[str, Any]) -> Client:
    if job.kind == "embeddings":
        return open_embeddings(**options, dimensions=None)
    return open_client(**options, schema=schema_of(None), output_mode="auto")
