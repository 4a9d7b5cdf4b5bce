"""Message Batches as Anthropic keeps them: made, worked on, ended, archived, deleted."""

from __future__ import annotations

import itertools
import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from llmframe.testing.anthropic_messages import Trouble, incomplete, trouble
from llmframe.testing.shapes import as_object, is_objects

MAX_REQUESTS: Final = 100_000
MAX_BYTES: Final = 256 * 2**20
"""Of one create, its body."""
EXPIRES_AFTER: Final = 24 * 3600.0
"""Seconds."""
PAGE: Final = 20
MAX_PAGE: Final = 1000
"""Batches of a page of the list: unless said otherwise, and at most."""

_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(slots=True)
class Batch:
    """One batch; times in seconds since 1970, results by custom id."""

    id: str
    requests: dict[str, dict[str, Any]]
    created: float
    status: Literal["in_progress", "canceling", "ended"] = "in_progress"
    results: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    cancelled: float | None = None
    ended: float | None = None
    archived: float | None = None

    def object(self, base_url: str) -> dict[str, Any]:
        """What the API tells about it: counts other than `processing` only once it has ended."""
        done = self.status == "ended"
        kinds = [result["type"] for result in self.results.values()] if done else []
        counts = {kind: kinds.count(kind) for kind in ("succeeded", "errored", "canceled", "expired")}
        there = done and self.archived is None
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": self.status,
            "request_counts": {"processing": 0 if done else len(self.requests), **counts},
            "created_at": _told(self.created),
            "expires_at": _told(self.created + EXPIRES_AFTER),
            "ended_at": _told(self.ended),
            "cancel_initiated_at": _told(self.cancelled),
            "archived_at": _told(self.archived),
            "results_url": f"{base_url}/v1/messages/batches/{self.id}/results" if there else None,
        }

    def lines(self) -> list[bytes]:
        """Its results, each with its line end."""
        pairs = ({"custom_id": custom_id, "result": result} for custom_id, result in self.results.items())
        return [json.dumps(pair, ensure_ascii=False).encode() + b"\n" for pair in pairs]


class Shelf:
    """All batches of one workspace, the oldest first."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._numbers = itertools.count(1)
        # No two providers give the same id: a ledger that met both mustn't mistake one's batch for the other's.
        self._mark = uuid.uuid4().hex[:8]
        self.batches: dict[str, Batch] = {}

    def create(self, body: bytes) -> Batch | Trouble:
        """Make a batch of `{"requests": [...]}`.

        One request without a field that it needs refuses all of them; whatever else is wrong comes to light when it is
        worked on.
        """
        if len(body) > MAX_BYTES:
            return trouble(413, "Request exceeds the maximum size")
        try:
            requests = as_object(json.loads(body)).get("requests")
        except ValueError:
            return trouble(400, "The request body is not valid JSON")
        if not is_objects(requests) or not requests:
            return trouble(400, "requests: List should have at least 1 item after validation, not 0")
        if len(requests) > MAX_REQUESTS:
            return trouble(
                400, f"requests: List should have at most {MAX_REQUESTS} items after validation, not {len(requests)}"
            )
        taken: dict[str, dict[str, Any]] = {}
        for at, request in enumerate(requests):
            wrong = _wrong(at, request, taken)
            if wrong is not None:
                return wrong
            taken[request["custom_id"]] = request["params"]
        batch = Batch(f"msgbatch_{self._mark}{next(self._numbers):016d}", taken, self._clock())
        self.batches[batch.id] = batch
        return batch

    def get(self, batch_id: str) -> Batch | Trouble:
        """The batch of an id."""
        return self.batches.get(batch_id) or trouble(404, f"Message batch {batch_id} not found")

    def page(self, query: Mapping[str, str], base_url: str) -> dict[str, Any] | Trouble:
        """A page of the list, the latest first."""
        limit = query.get("limit", str(PAGE))
        if not limit.isdigit() or not 1 <= int(limit) <= MAX_PAGE:
            return trouble(400, f"limit: Input should be between 1 and {MAX_PAGE}")
        after, before = query.get("after_id"), query.get("before_id")
        if after and before:
            return trouble(400, "Only one of before_id and after_id may be given")
        everything = list(reversed(self.batches.values()))
        ids = [batch.id for batch in everything]
        for cursor in (after, before):
            if cursor and cursor not in ids:
                return trouble(400, f"cursor {cursor} is invalid")
        if before:
            end = ids.index(before)
            start = max(0, end - int(limit))
            more = start > 0
        else:
            start = ids.index(after) + 1 if after else 0
            end = start + int(limit)
            more = end < len(ids)
        shown = everything[start:end]
        return {
            "data": [batch.object(base_url) for batch in shown],
            "has_more": more,
            "first_id": shown[0].id if shown else None,
            "last_id": shown[-1].id if shown else None,
        }

    def cancel(self, batch_id: str) -> Batch | Trouble:
        """Ask for a batch's end; it comes with `end`."""
        batch = self.get(batch_id)
        if isinstance(batch, Batch):
            if batch.status == "ended":
                return trouble(400, f"Message batch {batch_id} has already ended and can't be canceled")
            batch.status = "canceling"
            batch.cancelled = self._clock()
        return batch

    def delete(self, batch_id: str) -> dict[str, Any] | Trouble:
        """Forget an ended batch."""
        batch = self.get(batch_id)
        if isinstance(batch, Trouble):
            return batch
        if batch.status != "ended":
            return trouble(400, f"Message batch {batch_id} is still processing; cancel it first")
        del self.batches[batch_id]
        return {"id": batch_id, "type": "message_batch_deleted"}

    def results(self, batch_id: str) -> list[bytes] | Trouble:
        """The lines of an ended batch."""
        batch = self.get(batch_id)
        if isinstance(batch, Trouble):
            return batch
        if batch.status != "ended" or batch.archived is not None:
            return trouble(404, f"Results of message batch {batch_id} are not available")
        return batch.lines()

    def end(self, batch: Batch, results: Mapping[str, dict[str, Any]]) -> None:
        """Finish a batch with these results."""
        batch.results = dict(results)
        batch.status = "ended"
        batch.ended = self._clock()

    def archive(self, batch: Batch) -> None:
        """Let 29 days pass: the batch is told of, its results are gone."""
        batch.archived = self._clock()


def _wrong(at: int, request: dict[str, Any], taken: Mapping[str, object]) -> Trouble | None:
    custom_id = request.get("custom_id")
    if not isinstance(custom_id, str):
        return trouble(400, f"requests.{at}.custom_id: Field required")
    if not _CUSTOM_ID.fullmatch(custom_id):
        return trouble(400, f"requests.{at}.custom_id: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
    if custom_id in taken:
        return trouble(400, f"requests.{at}.custom_id: Duplicate custom_id: {custom_id}")
    wrong = incomplete(request.get("params"))
    return None if wrong is None else trouble(400, f"requests.{at}.params.{wrong.message}")


def _told(moment: float | None) -> str | None:
    """RFC 3339, as the service writes it."""
    return None if moment is None else datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
