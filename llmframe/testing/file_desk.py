"""The calls about files and what each of them does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from llmframe.testing.answers import Response, error
from llmframe.testing.batch_faults import BatchCall
from llmframe.testing.files import MAX_FILE_BYTES, Files
from llmframe.testing.http import Exchange
from llmframe.testing.multipart import read_form


@dataclass(frozen=True, slots=True)
class Route:
    """Which call a request is, and the id in its path."""

    call: BatchCall
    id: str


@dataclass(frozen=True, slots=True)
class Served:
    """The answer of a call, and the id of the file or batch that it was about."""

    answer: Response
    what: str = ""


class FileDesk:
    """Answers the calls about files; `stored` hears of every file that was uploaded."""

    def __init__(self, files: Files, *, clock: Callable[[], float], stored: Callable[[str], None]) -> None:
        self._files = files
        self._clock = clock
        self._stored = stored

    def call_for(self, file_id: str) -> BatchCall:
        """Which call the download of a file is."""
        file = self._files.get(file_id)
        if file is None or file.purpose == "batch":
            return "content"
        return "errors" if file.name.endswith("_error.jsonl") else "output"

    def do(self, route: Route, exchange: Exchange) -> Served:
        """Do what a call asks for."""
        if route.call == "upload":
            return self._upload(exchange)
        if route.call == "files":
            purpose = query_of(exchange).get("purpose")
            return Served(page((file.object() for file in self._files.newest(purpose)), has_more=False))
        return Served(self._about(route), route.id)

    def _upload(self, exchange: Exchange) -> Served:
        try:
            form = read_form(exchange.body, exchange.head.headers.get("content-type", ""))
        except ValueError as problem:
            return Served(error(400, str(problem)))
        file, purpose = form.get("file"), form.get("purpose")
        if file is None or purpose is None:
            name = "file" if file is None else "purpose"
            return Served(error(400, f"'{name}' is a required property", param=name))
        if purpose.data != b"batch":
            message = f"'{purpose.data.decode('utf-8', 'replace')}' is not one of ['batch'] - 'purpose'"
            return Served(error(400, message, param="purpose"))
        if len(file.data) > MAX_FILE_BYTES:
            return Served(error(413, "The file is too large; the maximum is 512 MB."))
        created = int(self._clock())
        kept = self._files.add(file.data, name=file.filename or "file", purpose="batch", created=created)
        self._stored(kept.id)
        return Served(in_json(kept.object()), kept.id)

    def _about(self, route: Route) -> Response:
        file = self._files.get(route.id)
        if file is None:
            return error(404, f"No such File object: {route.id}", param="id")
        if route.call == "file":
            return in_json(file.object())
        if route.call == "delete":
            self._files.remove(file.id)
            return in_json({"id": file.id, "object": "file", "deleted": True})
        return Response(body=file.data, content_type="application/octet-stream")


def in_json(value: dict[str, Any]) -> Response:
    """An answer that is a JSON object."""
    return Response(body=json.dumps(value).encode())


def page(objects: Iterable[dict[str, Any]], *, has_more: bool) -> Response:
    """A page of a list."""
    data = list(objects)
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return in_json({"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": has_more})


def query_of(exchange: Exchange) -> dict[str, str]:
    """The words after the path, each with its last value."""
    return {name: values[-1] for name, values in parse_qs(exchange.head.query).items()}
