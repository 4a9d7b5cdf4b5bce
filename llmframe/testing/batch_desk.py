"""The calls of the Batch API and what each of them does."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from llmframe.testing import steps
from llmframe.testing.answers import Response, error
from llmframe.testing.batch_book import Book
from llmframe.testing.batch_faults import BatchCall, Results, disturbed
from llmframe.testing.batch_lines import CHAT, EMBEDDINGS, Caps, Problem, Reading, read_lines
from llmframe.testing.batch_state import Batch, Fate, Surroundings
from llmframe.testing.batches import BatchService
from llmframe.testing.file_desk import FileDesk, Route, Served, in_json, page, query_of
from llmframe.testing.files import StoredFile
from llmframe.testing.http import Exchange, Head
from llmframe.testing.shapes import as_object, is_object

PAGE: Final = 20
"""Batches of a list that sets no limit."""
MAX_PAGE: Final = 100
MAX_PAIRS: Final = 16
MAX_KEY_CHARS: Final = 64
MAX_VALUE_CHARS: Final = 512
LineAnswer = Callable[[str, dict[str, Any]], Response]
"""What the model answers, given the endpoint and the body of a line."""

_CALLS: Final[dict[tuple[str, str, bool, str], BatchCall]] = {
    ("POST", "files", False, ""): "upload",
    ("GET", "files", False, ""): "files",
    ("GET", "files", True, ""): "file",
    ("GET", "files", True, "content"): "content",
    ("DELETE", "files", True, ""): "delete",
    ("POST", "batches", False, ""): "create",
    ("GET", "batches", False, ""): "list",
    ("GET", "batches", True, ""): "state",
    ("POST", "batches", True, "cancel"): "cancel",
}
"""By method, collection, whether an id follows, and what follows that."""


class BatchDesk:
    """Answers the calls; everything runs in the serving loop."""

    def __init__(self, service: BatchService, book: Book, answer: LineAnswer) -> None:
        self._service = service
        self._book = book
        self._around = Surroundings(answer=answer, paid=book.paid, files=book.files, clock=self._clock)
        self._file_desk = FileDesk(book.files, clock=self._clock, stored=self._stored)
        self._numbers = itertools.count(1)
        self._mark = uuid.uuid4().hex[:8]
        self._unseen: dict[str, int] = {}
        self._unlisted: dict[str, int] = {}

    def _clock(self) -> float:
        return self._service.clock()  # looked up each time: a test may set another one

    def route(self, head: Head) -> Route | None:
        """Which call a request is, if any of these."""
        parts = head.path.strip("/").split("/")
        for at, part in enumerate(parts):
            if part in {"files", "batches"}:
                the_id, rest = "".join(parts[at + 1 : at + 2]), "/".join(parts[at + 2 :])
                call = _CALLS.get((head.method, part, bool(the_id), rest))
                if call == "content":
                    call = self._file_desk.call_for(the_id)
                return None if call is None else Route(call, the_id)
        return None

    def serve(self, route: Route, exchange: Exchange, *, now: float) -> Served:
        """Do what a call asks for, at the time `now` (seconds of the serving loop), unless a fault comes first."""
        fault = self._book.take_fault(route.call)
        done: list[Served] = []

        def work() -> Response:
            done.append(self._do(route, exchange, now))
            return done[0].answer

        answer = work() if fault is None else fault.answer(work)
        what = done[0].what if done else route.id
        self._came(route.call, what)
        return Served(answer, what)

    def refuse(self, route: Route, step: steps.Step) -> Served:
        """The answer of a call while nothing works."""
        self._came(route.call, route.id)
        return Served(disturbed(Response(), step), route.id)

    def replied(self, route: Route, served: Served) -> None:
        """The answer has gone out."""
        if served.answer.ending == "whole":
            self._log(f"{route.call}-replied", served.what)

    def _came(self, call: str, what: str) -> None:
        self._log(call, what)
        self._book.called(call)

    def _stored(self, file_id: str) -> None:
        self._book.uploads += 1
        self._unseen[file_id] = self._service.late_files

    def _log(self, event: str, what: str) -> None:
        if self._service.log is not None:
            self._service.log(event, what or "-")

    def _do(self, route: Route, exchange: Exchange, now: float) -> Served:
        match route.call:
            case "create":
                return self._create(exchange, now)
            case "list":
                return Served(self._list(query_of(exchange)))
            case "state" | "cancel":
                return Served(self._of_batch(route, now), route.id)
            case _:
                return self._file_desk.do(route, exchange)

    def _create(self, exchange: Exchange, now: float) -> Served:
        try:
            request = as_object(json.loads(exchange.body))
        except ValueError:
            request = {}
        problem = _problem_of(request)
        if problem is not None:
            return Served(problem, "")
        file_id = str(request["input_file_id"])
        file = self._book.files.get(file_id)
        unseen = self._unseen.get(file_id, 0)
        if file is None or unseen > 0:
            self._unseen[file_id] = max(0, unseen - 1)
            return Served(error(404, f"No such File object: {file_id}", param="input_file_id"), "")
        if file.purpose != "batch":
            return Served(error(400, f"File {file_id} has the wrong purpose.", param="input_file_id"), "")
        batch = Batch(
            f"batch_{self._mark}{next(self._numbers):04d}",
            request,
            self._read(file, str(request["endpoint"])),
            self._fate(),
            self._around,
            words=self._service.words,
            began=now,
        )
        self._book.batches[batch.id] = batch
        self._book.created += 1
        self._unlisted[batch.id] = self._service.late_listing
        return Served(in_json(batch.object()), batch.id)

    def _read(self, file: StoredFile, endpoint: str) -> Reading:
        """The lines of a file, and everything for which the service would refuse them."""
        service, limit = self._service, self._service.enqueued_tokens
        refusal = self._book.refusals.take()
        if refusal is not None:
            return Reading(lines=[], model=None, tokens=0, problems=[refusal])
        caps = Caps(lines=service.max_lines, bytes=service.max_bytes, inputs=service.max_inputs)
        reading = read_lines(file.data, endpoint=endpoint, caps=caps)
        if limit is None or self._book.enqueued() + reading.tokens <= limit:
            return reading
        message = (
            f"Enqueued token limit reached for {reading.model} in organization org-testing. Limit: {limit:,} enqueued "
            "tokens. Please try again once some in_progress batches have been completed."
        )
        problem = Problem(code="token_limit_exceeded", message=message)
        return Reading(lines=[], model=reading.model, tokens=0, problems=[problem])

    def _fate(self) -> Fate:
        fate = self._book.fates.take() or Fate()
        return replace(fate, results=self._book.results.take() or Results())

    def _list(self, asked: dict[str, str]) -> Response:
        given = asked.get("limit", str(PAGE))
        if not given.isdecimal() or not 0 < int(given) <= MAX_PAGE:
            return error(400, f"Invalid 'limit': expected an integer from 1 to {MAX_PAGE}.", param="limit")
        batches = [batch for batch in reversed(self._book.batches.values()) if self._is_listed(batch)]
        after = asked.get("after")
        if after is not None:
            at = next((i for i, batch in enumerate(batches) if batch.id == after), None)
            if at is None:
                return error(400, f"No batch found with id '{after}'.", param="after")
            batches = batches[at + 1 :]
        limit = int(given)
        return page((batch.object() for batch in batches[:limit]), has_more=len(batches) > limit)

    def _is_listed(self, batch: Batch) -> bool:
        left = self._unlisted[batch.id]
        self._unlisted[batch.id] = max(0, left - 1)
        return left == 0

    def _of_batch(self, route: Route, now: float) -> Response:
        batch = self._book.batches.get(route.id)
        if batch is None:
            return error(404, f"No batch found with id '{route.id}'.", param="batch_id")
        if route.call == "state":
            return in_json(batch.object(self._go_on(batch, now)))
        if not batch.running:
            return error(409, f"Cannot cancel a batch with status '{batch.status}'.")
        batch.cancel(self._service.cancel_share)
        return in_json(batch.object())

    def _go_on(self, batch: Batch, now: float) -> str | None:
        """Let a batch that is asked after go on; the word that it names in place of its state."""
        if not batch.running:
            return None
        if batch.words:
            return batch.words.pop(0)
        batch.polls += 1
        late = now - batch.began < self._service.seconds
        batch.go_on(polls=self._service.polls, late=late, held=self._book.held)
        return None


def _problem_of(request: dict[str, Any]) -> Response | None:
    """The 400 for a batch that can't be made of this."""
    for name in ("input_file_id", "endpoint", "completion_window"):
        if not isinstance(request.get(name), str):
            return error(400, f"Missing required parameter: '{name}'.", code="missing_required_parameter", param=name)
    for name, known in (("endpoint", (CHAT, EMBEDDINGS)), ("completion_window", ("24h",))):
        if request[name] not in known:
            words = ", ".join(f"'{one}'" for one in known)
            message = f"Invalid value: '{request[name]}'. Supported values are: {words}."
            return error(400, message, code="invalid_value", param=name)
    metadata = request.get("metadata")
    pairs = list(as_object(metadata).items())
    fits = len(pairs) <= MAX_PAIRS and all(
        isinstance(value, str) and len(key) <= MAX_KEY_CHARS and len(value) <= MAX_VALUE_CHARS for key, value in pairs
    )
    if not fits or not (metadata is None or is_object(metadata)):
        message = "Invalid 'metadata': at most 16 pairs of a key of 64 and a string of 512 characters."
        return error(400, message, param="metadata")
    return None
