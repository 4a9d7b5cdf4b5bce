"""Anthropic's Message Batches, by way of the live client of the same options."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

from llmframe.clients.anthropic_calls import AnthropicCalls
from llmframe.clients.anthropic_results import custom_id_of, read_results
from llmframe.clients.base import Dialect, Message, RequestError
from llmframe.clients.batch import BatchLimits, BatchState, LineResult, UndecidedError
from llmframe.clients.instructor import InstructorClient
from llmframe.core.reply import Reply
from llmframe.errors import UsageError

LIMITS: Final = BatchLimits(lines=100_000, bytes=256_000_000)

SLACK_S: Final = 3600.0
"""How far the service's clock may be behind ours."""
PAGE: Final = 100
"""Batches of a page of the list."""

_NOT_FOUND = 404
_DONE_STATUS: Final = frozenset({400, 409, 422})
_SAMPLE: Final[list[Message]] = [{"role": "user", "content": "?"}]
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class AnthropicBatches:
    """Message Batches for one model and one schema; a `Batches`.

    Parameters
    ----------
    client
        The live client, as `open_client` makes it: whatever a line asks is what it would have sent. `start` and `close`
        are passed on to it.
    silence
        Longest wait for the next byte of an answer, in seconds.

    Attributes
    ----------
    foreign_loop
        As the client's.

    Raises
    ------
    UsageError
        If the client isn't one of Anthropic's own service.

    Notes
    -----
    The service takes neither a name nor a key of ours for a batch, so a batch whose id got lost is found by the custom
    ids in its results: they begin with `"<intent>-"`. While it runs nobody can tell.
    """

    name = "anthropic"
    uploads = False
    limits = LIMITS

    def __init__(self, client: InstructorClient, *, silence: float = 60.0) -> None:
        if client.identity != self.name:
            raise UsageError(f"{client.identity!r} has no Message Batches; they are Anthropic's")
        self.identity = client.identity
        self.account = client.account
        self.model = client.model
        self.provider = client.provider
        self.dialects = client.dialects
        self.foreign_loop = client.foreign_loop
        self._client = client
        self._calls = AnthropicCalls(client, silence=silence)
        self._shapes: dict[Dialect, tuple[dict[str, Any], list[Any]]] = {}

    async def start(self) -> None:
        """Build the SDK's client in the running loop.

        Raises
        ------
        UsageError
            If the user's client is one of a cloud that has no Message Batches.
        """
        await self._client.start()
        sdk = self._client.sdk
        if not any(kind.__name__ == "AsyncAnthropic" for kind in type(sdk).__mro__):
            raise UsageError(
                f'client {type(sdk).__name__} has no Message Batches; give an `AsyncAnthropic`, or `mode="live"`'
            )

    async def close(self) -> None:
        """Close what `start` opened; a second call does nothing."""
        await self._client.close()

    def line(self, custom_id: str, messages: list[Message], dialect: Dialect) -> bytes:
        """The line of one chat request: JSON in UTF-8, with its line end. Needs `start`.

        Raises
        ------
        UnicodeEncodeError
            Where UTF-8 can't hold a text.
        """
        added, instruction = self._shape(dialect)
        params = {**self._client.request(messages, dialect, shaped=False), **added}
        if instruction:
            params["system"] = [*_blocks(params.get("system")), *instruction]
        params.pop("extra_query", None)
        return _json({"custom_id": custom_id, "params": params}).encode() + b"\n"

    def embedding_line(self, custom_id: str, texts: list[str], dialect: Dialect | None = None) -> bytes:  # noqa: ARG002 - the port's form
        """Refused: Anthropic embeds nothing.

        Raises
        ------
        UsageError
            Always.
        """
        raise UsageError(
            f"model {self.model!r} of 'anthropic' can't embed, nor can any of its models; give another provider's, "
            'such as `model="openai/text-embedding-3-small"`'
        )

    def reask(self, messages: list[Message], reply: Reply, problem: str, dialect: Dialect) -> list[Message]:
        """The messages that show the model its invalid reply and what was wrong with it, as the live client's."""
        return self._client.reask(messages, reply, problem, dialect)

    async def upload(self, lines: Path, *, intent: str) -> str:  # noqa: ARG002 - the port's form
        """Refused: lines go with `create`.

        Raises
        ------
        UsageError
            Always.
        """
        raise UsageError("'anthropic' takes no files of lines; give them to `create`")

    async def create(self, source: str | Path, *, intent: str) -> BatchState:  # noqa: ARG002 - the service takes none
        """Make the batch of a file of lines, in one request whose body is read as it goes out. This is what is paid."""
        return _state(await self._calls.create(Path(source)))

    async def find(self, intent: str, *, since: float, known: Iterable[str]) -> BatchState | None:
        """The batch that was made with this intent, `None` when there is none.

        Every batch that was made since is looked at, but for the `known`: an ended one is told by the first line of
        its results. One whose results are gone is taken for another's.

        Raises
        ------
        UndecidedError
            If none is it, and others still run: theirs can't be told from ours before they end.
        """
        others = frozenset(known)
        running: list[str] = []
        async for state in self._since(since - SLACK_S):
            if state.id in others:
                continue
            if state.phase == "running":
                running.append(state.id)
            elif state.output is not None and await self._is(intent, state):
                return state
        if running:
            more = f" and {len(running) - 1} more" if len(running) > 1 else ""
            raise UndecidedError(
                f"batch {running[0]}{more} of this account, made at the time in question, still runs; Anthropic tells "
                "whose requests they are only when they have ended"
            )
        return None

    async def state(self, batch_id: str) -> BatchState:
        """Where a batch stands."""
        return _state(await self._calls.get(f"/{_quoted(batch_id)}"))

    async def results(self, state: BatchState, folder: Path) -> AsyncIterator[list[LineResult]]:
        """Everything that an ended batch came to, some lines at a time.

        Raises
        ------
        RequestError
            `not_found` when the results are there no more: the service keeps them for 29 days.
        """
        if state.phase == "ended" and state.output is None:
            raise RequestError(
                "not_found", f"the results of batch {state.id} are gone; the service keeps them for 29 days"
            )
        target = folder / "results.jsonl"
        # Not the address that the state tells: it may be another than the one that this client talks to.
        await self._calls.download(f"/{_quoted(state.id)}/results", target)
        lines = read_results(target, secrets=self._client.secrets)
        try:
            async for some in lines:
                yield some
        finally:
            await lines.aclose()

    async def cancel(self, batch_id: str) -> BatchState:
        """Ask the service to stop a batch; one that has ended already is told as it stands."""
        try:
            return _state(await self._calls.post(f"/{_quoted(batch_id)}/cancel"))
        except RequestError as error:
            refused = error
        if refused.status not in _DONE_STATUS:
            raise refused
        state = await self.state(batch_id)
        if state.phase == "running":
            raise refused
        return state

    async def _since(self, moment: float) -> AsyncIterator[BatchState]:
        """The batches that were made since, the latest first."""
        query: dict[str, object] = {"limit": PAGE}
        while True:
            page = await self._calls.get(query=query)
            states = [_state(entry) for entry in _dicts(page.get("data"))]
            for state in states:
                if state.created is not None and state.created < moment:
                    return
                yield state
            if not states or page.get("has_more") is not True:
                return
            query["after_id"] = page.get("last_id") or states[-1].id

    async def _is(self, intent: str, state: BatchState) -> bool:
        try:
            line = await self._calls.first_line(f"/{_quoted(state.id)}/results")
        except RequestError as error:
            if error.status != _NOT_FOUND:
                raise
            return False  # deleted or archived meanwhile
        return custom_id_of(line).startswith(f"{intent}-")

    def _shape(self, dialect: Dialect) -> tuple[dict[str, Any], list[Any]]:
        """What the schema adds to a request, and to the end of its system text; instructor takes 0.7 ms to say it."""
        if dialect not in self._shapes:
            plain = self._client.request(_SAMPLE, dialect, shaped=False)
            asked = self._client.request(_SAMPLE, dialect)
            instruction = _blocks(asked.pop("system", None))[len(_blocks(plain.pop("system", None))) :]
            added = {name: value for name, value in asked.items() if name not in plain}
            self._shapes[dialect] = (added, instruction)
        return self._shapes[dialect]


def _state(batch: dict[str, Any]) -> BatchState:
    """A batch object, of which only the id must be there.

    Raises
    ------
    RequestError
        If it isn't.
    """
    batch_id = batch.get("id")
    if not isinstance(batch_id, str) or not batch_id:
        raise RequestError("server", "an answer without the id of a batch")
    status = str(batch.get("processing_status"))
    ended = status == "ended"
    told = batch.get("request_counts")
    said = cast("dict[str, object]", told) if isinstance(told, dict) else {}
    counts = {name: value for name, value in said.items() if isinstance(value, int)}
    # Until the end the service counts all requests as processing, so nobody knows how many are done.
    failed = sum(counts.get(name, 0) for name in ("errored", "canceled", "expired"))
    address = batch.get("results_url")
    return BatchState(
        id=batch_id,
        status=status,
        phase="ended" if ended else "running",
        total=sum(counts.values()) if counts else None,
        done=counts.get("succeeded") if ended else None,
        failed=failed if ended and counts else None,
        output=address if isinstance(address, str) and address else None,
        created=_moment(batch.get("created_at")),
        expires=_moment(batch.get("expires_at")),
    )


def _moment(told: object) -> float | None:
    """Seconds since 1970 of a time in RFC 3339."""
    try:
        return datetime.fromisoformat(told).timestamp() if isinstance(told, str) else None
    except ValueError:
        return None


def _quoted(batch_id: str) -> str:
    """An id as part of a path."""
    return quote(batch_id, safe="")


def _blocks(system: Any) -> list[Any]:
    """A system text as the list of blocks that more can be added to."""
    if not system:
        return []
    return [{"type": "text", "text": system}] if isinstance(system, str) else list(system)


def _dicts(value: object) -> list[dict[str, Any]]:
    entries = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", entry) for entry in entries if isinstance(entry, dict)]
