"""OpenAI's Batch API, as OpenAI, Azure and compatible servers have it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

from pydantic_core import to_json

from llmframe.clients import chat
from llmframe.clients.base import Dialect, Message, RequestError
from llmframe.clients.batch import NO_BATCH_API, BatchLimits, BatchState, LineResult, Phase, Problem
from llmframe.clients.faults import clean
from llmframe.clients.openai import OpenAIClient
from llmframe.clients.openai_calls import Calls
from llmframe.clients.openai_results import Kind, read_results
from llmframe.clients.transport import PATH
from llmframe.core.reply import Reply
from llmframe.errors import UsageError

CHAT_LIMITS: Final = BatchLimits(lines=50_000, bytes=200_000_000)
EMBEDDINGS_LIMITS: Final = BatchLimits(lines=50_000, bytes=200_000_000, inputs=50_000)

INTENT: Final = "llmframe_intent"
"""The metadata key that holds a batch's intent."""

CLOCK_SKEW_S: Final = 3600.0
"""How far the provider's clock may be from ours when a batch is looked for."""

_WINDOW: Final = "24h"  # the only one that OpenAI takes
_PAGE: Final = 100  # the most that OpenAI lists at once
_ENDED: Final = frozenset({"completed", "expired", "cancelled", "canceled"})
_QUEUE_FULL: Final = "token_limit_exceeded"
_ABSENT_STATUS: Final = frozenset({404, 405, 501})
_DONE_STATUS: Final = frozenset({400, 404, 409, 422})

# Some servers cut files into lines where Python's `splitlines` does, not at line feeds alone.
_BREAKS: Final = ((b"\xc2\x85", rb"\u0085"), (b"\xe2\x80\xa8", rb"\u2028"), (b"\xe2\x80\xa9", rb"\u2029"))


class OpenAIBatches:
    """The batches of one endpoint, model and kind of request; implements `Batches`.

    Parameters
    ----------
    client
        The live client of the same options: what it would send stands in the lines. It needs no `start`.
    silence
        Longest wait for the next byte of an answer, in seconds.

    Attributes
    ----------
    kind
        `"chat"` or `"embeddings"`, by the client.
    foreign_loop
        Whether the connections are the user's own, bound to the loop they were first used in.
    """

    name = "openai"
    uploads = True

    def __init__(self, client: OpenAIClient, *, silence: float = 60.0) -> None:
        self.identity = client.identity
        self.account = client.account
        self.model = client.model
        self.provider = client.provider
        self.dialects = client.dialects
        self.foreign_loop = client.foreign_loop
        self.kind: Kind = "chat" if client.path == PATH else "embeddings"
        self.limits = CHAT_LIMITS if self.kind == "chat" else EMBEDDINGS_LIMITS
        self.endpoint = client.path if _is_azure(client) else f"/v1{client.path}"
        self._client = client
        self._calls = Calls(client.origin, client.params, identity=client.identity, silence=silence)
        self._head = f'", "method": "POST", "url": "{self.endpoint}", "body": '.encode()

    async def start(self) -> None:
        """Open connections in the running loop."""
        await self._calls.start()

    async def close(self) -> None:
        """Close what `start` opened; the user's own connections stay open."""
        await self._calls.close()

    def line(self, custom_id: str, messages: list[Message], dialect: Dialect) -> bytes:
        """The line of one chat request; the first of a dialect takes longer, instructor is imported for it.

        Raises
        ------
        UnicodeEncodeError
            Where UTF-8 can't hold a text.
        """
        shape, prepared = self._client.prepare(dialect)
        return self._line(custom_id, prepared.with_messages(shape.instructed(messages)))

    def embedding_line(self, custom_id: str, texts: list[str], dialect: Dialect | None = None) -> bytes:
        """The line of one request that embeds texts, in the first dialect unless said.

        Raises
        ------
        UsageError
            If the client chats.
        UnicodeEncodeError
            Where UTF-8 can't hold a text.
        """
        if self.kind != "embeddings":
            raise UsageError("texts can't be embedded by a client that chats; open one by `open_embeddings`")
        _, prepared = self._client.prepare(dialect or self.dialects[0])
        return self._line(custom_id, prepared.with_messages(texts))

    def reask(self, messages: list[Message], reply: Reply, problem: str, dialect: Dialect) -> list[Message]:
        """The messages that show the model its invalid reply and what was wrong with it."""
        return self._client.reask(messages, reply, problem, dialect)

    async def upload(self, lines: Path, *, intent: str) -> str:
        """Upload the file of a batch's lines as `<intent>.jsonl`, reading it as it is sent; returns the file's id.

        Raises
        ------
        RequestError
            With code `NO_BATCH_API` where the endpoint knows no files.
        StoreError
            If the file can't be read.
        """
        try:
            answer = await self._calls.upload("/files", lines, name=f"{intent}.jsonl", fields={"purpose": "batch"})
        except RequestError as error:
            failed = self._without_api(error) if error.code is None else error
        else:
            return _id_of(answer, "file")
        raise failed

    async def create(self, source: str | Path, *, intent: str) -> BatchState:
        """Make the batch of an uploaded file; it is named in the batch's metadata."""
        body = {
            "input_file_id": str(source),
            "endpoint": self.endpoint,
            "completion_window": _WINDOW,
            "metadata": {INTENT: intent},
        }
        try:
            answer = await self._calls.post("/batches", body)
        except RequestError as error:
            # A file that isn't visible yet is a 404, too; it says more than the status.
            about_file = error.param is not None or error.code is not None or str(source) in error.detail
            failed = error if about_file and error.status not in {405, 501} else self._without_api(error)
        else:
            return self._state(answer)
        raise failed

    async def find(self, intent: str, *, since: float, known: Iterable[str]) -> BatchState | None:
        """The batch with this intent in its metadata.

        Where a server drops metadata, the name of the batch's file tells, as long as it's not one of `known`. One that
        was refused as a whole is none: after a full queue another is made under the same name.
        """
        others = frozenset(known)
        seen: set[str] = set()
        query: dict[str, object] = {"limit": _PAGE}
        while True:
            page = await self._calls.get("/batches", query)
            batches = [_dict(entry) for entry in cast("list[object]", page.get("data") or [])]
            fresh = [batch for batch in batches if str(batch.get("id")) not in seen]
            for batch in fresh:
                if await self._is_of(batch, intent, since=since - CLOCK_SKEW_S, others=others):
                    state = self._state(batch)
                    if state.phase != "failed":
                        return state
            seen.update(str(batch.get("id")) for batch in fresh)
            # A server that knows no `after` sends the same page again; one that sorts the other way isn't cut short.
            if not fresh or page.get("has_more") is False or _is_past(batches, since - CLOCK_SKEW_S):
                return None
            query = {"limit": _PAGE, "after": str(batches[-1].get("id"))}

    async def state(self, batch_id: str) -> BatchState:
        """Where a batch stands."""
        return self._state(await self._calls.get(f"/batches/{_quoted(batch_id)}"))

    async def results(self, state: BatchState, folder: Path) -> AsyncIterator[list[LineResult]]:
        """The lines of the output file, then those of the error file; either may be absent.

        A file is in `folder` before its first line is read. One that is gone keeps nobody from reading the other.

        Raises
        ------
        RequestError
            `not_found` when a file is there no more.
        StoreError
            If a file can't be written.
        """
        files = [(file_id, folder / name) for file_id, name in _files(state)]
        gone: RequestError | None = None
        for file_id, path in files:
            try:
                await self._calls.download(f"/files/{_quoted(file_id)}/content", path)
            except RequestError as error:
                if error.kind != "not_found":
                    raise
                gone = error
                continue
            async for results in read_results(path, kind=self.kind, secrets=self._calls.secrets):
                yield results
        if gone is not None:
            raise gone

    async def cancel(self, batch_id: str) -> BatchState:
        """Ask the provider to stop a batch; one that has ended already is told as it stands."""
        try:
            return self._state(await self._calls.post(f"/batches/{_quoted(batch_id)}/cancel"))
        except RequestError as error:
            refused = error
        if refused.status not in _DONE_STATUS:
            raise refused
        state = await self.state(batch_id)
        if state.phase == "running":
            raise refused
        return state

    def _line(self, custom_id: str, body: bytes) -> bytes:
        for character, escape in _BREAKS:
            if character in body:
                body = body.replace(character, escape)
        return b'{"custom_id": ' + to_json(custom_id)[:-1] + self._head + body + b"}\n"

    def _without_api(self, error: RequestError) -> RequestError:
        """The error that says that there is no Batch API, where the status does."""
        if error.status not in _ABSENT_STATUS:
            return error
        return RequestError(
            "not_found",
            f'{self.identity} has no Batch API (status {error.status}); use `mode="live"` there, or give the address '
            "of one that has",
            status=error.status,
            code=NO_BATCH_API,
        )

    async def _is_of(self, batch: dict[str, Any], intent: str, *, since: float, others: frozenset[str]) -> bool:
        if batch.get("id") in others:
            return False
        metadata = _dict(batch.get("metadata"))
        if metadata or (_number(batch.get("created_at")) or since) < since:
            return metadata.get(INTENT) == intent
        source = batch.get("input_file_id")
        if not isinstance(source, str) or not source:
            return False
        try:
            file = await self._calls.get(f"/files/{_quoted(source)}")
        except RequestError as error:
            if error.kind != "not_found":
                raise
            return False
        return file.get("filename") == f"{intent}.jsonl"

    def _state(self, batch: dict[str, Any]) -> BatchState:
        counts = _dict(batch.get("request_counts"))
        problems = tuple(self._problem(each) for each in _problems(batch.get("errors")))
        output, errors = (_word(batch.get(name)) for name in ("output_file_id", "error_file_id"))
        status = _word(batch.get("status")) or ""
        phase: Phase = "ended" if status.lower() in _ENDED else "running"
        if status.lower() == "failed":
            # Some servers call a batch failed whose every request failed: its error file says why, line by line.
            refused = (output is None and errors is None) or any(each.code == _QUEUE_FULL for each in problems)
            phase = "failed" if refused else "ended"
        return BatchState(
            id=_id_of(batch, "batch"),
            status=status,
            phase=phase,
            total=chat.count(counts.get("total")),
            done=chat.count(counts.get("completed")),
            failed=chat.count(counts.get("failed")),
            output=output,
            errors=errors,
            problems=problems,
            created=_number(batch.get("created_at")),
            expires=_number(batch.get("expires_at")),
        )

    def _problem(self, told: object) -> Problem:
        facts = _dict(told)
        message = facts.get("message")
        said = message if isinstance(message, str) else told if isinstance(told, str) else ""
        return Problem(
            _word(facts.get("code")), clean(said, secrets=self._calls.secrets), chat.count(facts.get("line"))
        )


def _is_azure(client: OpenAIClient) -> bool:
    """Whether its lines name paths as Azure does, without a version."""
    given = type(client.origin.given).__name__
    return client.origin.azure_version is not None or client.provider == "azure" or given == "AsyncAzureOpenAI"


def _is_past(batches: list[dict[str, Any]], since: float) -> bool:
    """Whether a page that goes back in time has reached batches older than `since`."""
    times = [time for batch in batches if (time := _number(batch.get("created_at"))) is not None]
    return len(times) > 1 and times[0] > times[-1] and times[-1] < since


def _files(state: BatchState) -> list[tuple[str, str]]:
    """Ids of the result files, with the names that they get."""
    found = ((state.output, "output.jsonl"), (state.errors, "errors.jsonl"))
    return [(file_id, name) for file_id, name in found if file_id is not None]


def _problems(errors: object) -> list[object]:
    data = _dict(errors).get("data", errors)
    return cast("list[object]", data) if isinstance(data, list) else []


def _id_of(answer: dict[str, Any], what: str) -> str:
    found = answer.get("id")
    if not isinstance(found, str) or not found:
        raise RequestError("server", f"an answer about a {what} without its id")
    return found


def _quoted(word: str) -> str:
    """An id as part of a path; gateways make ids with slashes in them."""
    return quote(word, safe="")


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
