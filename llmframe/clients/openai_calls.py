"""One call of an OpenAI-compatible endpoint at a time, beside its completions: JSON, a file up, a file down."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar, cast

from llmframe.clients import chat
from llmframe.clients.base import RequestError
from llmframe.clients.faults import from_exception, from_response
from llmframe.clients.keys import PLACEHOLDER
from llmframe.clients.openai import Origin, sdk_of
from llmframe.clients.params import Params
from llmframe.clients.transport import MAX_REDIRECTS, copy_here, is_copyable, moved
from llmframe.errors import TROUBLE_BY_ERRNO, StoreError

T = TypeVar("T")

CONNECT_S: Final = 30.0
UPLOADED_S: Final = 600.0
"""Longest wait for the answer to a file: servers read all of it before they say a word."""

BUFFER_BYTES: Final = 1 << 20
"""Downloaded bytes that are written at once: a hop to a thread for every piece of a network would cost more."""

_REDIRECT_STATUS, _ERROR_STATUS, _LOOP_DETECTED = 300, 400, 508


class Calls:
    """The endpoint of a client; each call is one attempt, and raises `RequestError` as requests do.

    Parameters
    ----------
    origin, params
        As the client's; of the params only headers and query are sent.
    identity
        The address for messages.
    silence
        Longest wait for the next byte, in seconds; never less than `UPLOADED_S` after a file.
    """

    def __init__(self, origin: Origin, params: Params, *, identity: str, silence: float = 60.0) -> None:
        self._origin = origin
        self._params = params
        self._identity = identity
        self._silence = silence
        self._owned = origin.given is None or is_copyable(origin.given)
        key = () if origin.key == PLACEHOLDER else (origin.key,)
        self.secrets: tuple[str, ...] = (*key, *params.headers.values())
        self._sdk: Any = None

    async def start(self) -> None:
        """Open connections in the running loop; the SDK is imported in a thread, it takes a second."""
        if self._sdk is not None:
            return
        await asyncio.to_thread(importlib.import_module, "openai")
        given = sdk_of(self._origin)
        sdk = copy_here(given) if self._owned else given.with_options(max_retries=0, timeout=None)
        account, deployment, _ = str(given.base_url).partition("/deployments/")
        if deployment:  # only Azure's models stand there, and a copied client has forgotten that
            sdk = sdk.copy(base_url=account)
        # Not in the options of a request: those are logged at DEBUG with their headers.
        self._sdk = sdk.copy(default_headers=dict(self._params.headers)) if self._params.headers else sdk

    async def close(self) -> None:
        """Close the connections that `start` opened; the user's own stay open."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None and self._owned:
            await sdk.close()

    async def get(self, path: str, query: Mapping[str, object] | None = None) -> dict[str, Any]:
        """The JSON object at `path`."""
        return await self._json(lambda: self._send("get", path, query=query or {}))

    async def post(self, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        """The JSON object that answers `body`."""
        return await self._json(lambda: self._send("post", path, body=dict(body or {})))

    async def upload(self, path: str, file: Path, *, name: str, fields: Mapping[str, object]) -> dict[str, Any]:
        """The JSON object that answers a form with `file` in it, which is read as it is sent.

        Raises
        ------
        StoreError
            If the file can't be read.
        """
        opened = await asyncio.to_thread(_open, file, "rb")
        try:
            form = {"file": (name, opened, "application/jsonl")}
            return await self._json(lambda: self._send("post", path, body=dict(fields), files=form))
        finally:
            opened.close()

    async def download(self, path: str, target: Path) -> None:
        """Write what is at `path` into `target`, which is there in full or not at all.

        Raises
        ------
        StoreError
            If it can't be written.
        """
        part = target.with_name(target.name + ".part")
        answer = await self._attempt(lambda: self._send("get", path, stream=True))
        try:
            self._refuse(answer)
            written = await asyncio.to_thread(_open, part, "wb")
            try:
                await self._pour(answer.aiter_bytes(), written, target)
            finally:
                with contextlib.suppress(OSError):  # `_pour` has told it
                    written.close()
        finally:
            await answer.aclose()
        try:
            await asyncio.to_thread(part.replace, target)
        except OSError as error:
            raise _file_trouble(target, error) from None

    async def _pour(self, pieces: Any, written: BinaryIO, target: Path) -> None:
        held: list[bytes] = []
        size = 0
        while True:
            piece: bytes = await self._attempt(lambda: anext(pieces, b""))
            held.append(piece)
            size += len(piece)
            if size >= BUFFER_BYTES or not piece:
                try:
                    await asyncio.to_thread(written.writelines, held)
                    await asyncio.to_thread(written.flush)
                except OSError as error:
                    raise _file_trouble(target, error) from None
                held, size = [], 0
            if not piece:
                return

    async def _json(self, send: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
        answer = await self._attempt(send)
        self._refuse(answer)
        try:
            data = chat.parse(answer.content)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            kind = str(answer.headers.get("content-type", "unknown type")).split(";")[0]
            said = f"status {answer.status_code} with a body that isn't a JSON object ({kind})"
            raise RequestError("server", said, status=answer.status_code)
        return cast("dict[str, Any]", data)

    async def _attempt(self, send: Callable[[], Awaitable[T]]) -> T:
        failed: RequestError
        try:
            return await send()
        except RequestError:
            raise
        except Exception as error:  # noqa: BLE001 - the seam: whatever the SDK or its transport raises is a failed call
            failed = from_exception(error, secrets=self.secrets, where=self._identity)
        raise failed  # outside the except block: the cause holds headers, so no chain may lead to it

    async def _send(  # noqa: PLR0913 - parts of one request
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: dict[str, object] | None = None,
        files: object = None,
        stream: bool = False,
    ) -> Any:
        """httpx's response; from 400 up the SDK's exception."""
        if self._sdk is None:
            raise RequestError("internal", "the client wasn't started")
        import httpx2  # noqa: PLC0415 - comes with the SDK
        import openai  # noqa: PLC0415 - a second of import

        silence = self._silence if files is None else max(self._silence, UPLOADED_S)
        # The user's own client would follow to any host, with prompts and every key but `Authorization`.
        options: dict[str, Any] = {
            "follow_redirects": False,
            "timeout": httpx2.Timeout(silence, connect=CONNECT_S, pool=None),
        }
        form: dict[str, Any] = {"cast_to": httpx2.Response}
        if body is not None:
            form["body"] = body
        if files is not None:
            form["files"] = files
            options["headers"] = {"Content-Type": "multipart/form-data"}
        if stream:
            form |= {"stream": True, "stream_cls": openai.AsyncStream}
        url, origin = path, ""
        options["params"] = {**self._params.query, **(query or {})}
        for _ in range(MAX_REDIRECTS):
            try:
                return await getattr(self._sdk, method)(url, options=options, **form)
            except openai.APIStatusError as error:
                if error.status_code >= _ERROR_STATUS:
                    raise
                answer = error.response
            here = str(answer.request.url)
            origin = origin or here
            target = moved(answer.status_code, answer.headers, here=here, origin=origin)
            if target is None or files is not None:  # a file that was sent can't be read a second time
                return answer
            url = target
            options.pop("params", None)
        raise from_response(_LOOP_DETECTED, {"message": "the server redirects without end"})

    @staticmethod
    def _refuse(answer: Any) -> None:
        if _REDIRECT_STATUS <= answer.status_code < _ERROR_STATUS:
            # Where to isn't shown: an address to sign in at holds tokens.
            elsewhere = "the address sends requests elsewhere; give the one where the server stands as `base_url`"
            raise from_response(answer.status_code, {"message": elsewhere})


def _open(path: Path, mode: str) -> BinaryIO:
    try:
        return cast("BinaryIO", path.open(mode))
    except OSError as error:
        raise _file_trouble(path, error) from None


def _file_trouble(path: Path, error: OSError) -> StoreError:
    reason = TROUBLE_BY_ERRNO.get(error.errno, "io")
    said = error.strerror or type(error).__name__
    return StoreError(f"file {path.name!r} of a batch can't be used: {said}", reason=reason)
