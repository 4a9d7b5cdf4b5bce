"""One simulated batch, from its creation to its result files."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from llmframe.testing.answers import Response
from llmframe.testing.batch_faults import Results
from llmframe.testing.batch_lines import Line, Problem, Reading, answered_line, unanswered_line
from llmframe.testing.files import Files

End = Literal["completed", "expired", "cancelled"]
"""How a batch that was accepted ends."""

WINDOW_SECONDS: Final = 86_400
"""From a batch's creation to its end at the latest."""
STAMPS: Final = ("in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled")
ENDED: Final = frozenset({"completed", "failed", "expired", "cancelled"})
_GIVEN_UP: Final = {
    "expired": ("batch_expired", "This request could not be executed before the completion window expired."),
    "cancelled": ("batch_cancelled", "This request was not executed because the batch was cancelled."),
}
_NO_ANSWER: Final = {
    "hang": ("request_timeout", "The request timed out."),
    "drip": ("request_timeout", "The request timed out."),
    "stall": ("request_timeout", "The request timed out."),
    "reset": ("server_error", "The server had an error while processing your request."),
    "cut": ("server_error", "The server had an error while processing your request."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a batch needs of its provider."""

    answer: Callable[[str, dict[str, Any]], Response]
    paid: Callable[[Line], None]
    files: Files
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of a batch: how it ends, the share of its lines done until then, and how its results are written."""

    end: End = "completed"
    share: float = 1.0
    results: Results = field(default_factory=Results)


@dataclass(slots=True, kw_only=True)
class _Work:
    """What has been done of a batch."""

    lines: int = 0
    completed: int = 0
    failed: int = 0
    output: list[bytes] = field(default_factory=list[bytes])
    errors: list[bytes] = field(default_factory=list[bytes])
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Batch:
    """A batch; used in the serving loop only.

    Attributes
    ----------
    polls
        How often it was asked after while it ran.
    words
        States that it is still to name in place of its own, one each time it's asked after.
    """

    def __init__(  # noqa: PLR0913 - the parts of a batch
        self,
        batch_id: str,
        request: dict[str, Any],
        reading: Reading,
        fate: Fate,
        around: Surroundings,
        *,
        words: Collection[str],
        began: float,
    ) -> None:
        self.id = batch_id
        self.status = "validating"
        self.polls = 0
        self.words = list(words)
        self.began = began
        self.fate = fate
        self.tokens = reading.tokens
        self.problems: list[Problem] = reading.problems
        self._request = request
        self._lines = reading.lines
        self._total = len(reading.lines)
        self._model = reading.model
        self._around = around
        self._work = _Work()
        self._created = int(around.clock())
        self._stamps: dict[str, int] = {}
        self._output_id: str | None = None
        self._error_id: str | None = None

    @property
    def running(self) -> bool:
        """Whether it hasn't come to an end."""
        return self.status not in ENDED

    def move(self, status: str) -> None:
        """Take on a state; the first time is noted."""
        self.status = status
        self._stamps.setdefault(status, int(self._around.clock()))

    def work(self, share: float) -> None:
        """Answer its lines in their order, until this share of them has an answer."""
        while self._work.lines < int(self._total * min(share, 1.0) + 1e-9):
            at, line = self._work.lines, self._lines[self._work.lines]
            self._work.lines += 1
            if not self.fate.results.leaves_out(at, line.custom_id):
                self._answer(at, line)

    def go_on(self, *, polls: int, late: bool, held: float | None) -> None:
        """One step further, as it is asked after: to the end at the `polls`-th time, unless it's `late` or held."""
        share = self.fate.share
        if self.problems or self.status == "cancelling":
            self.settle(self.fate.end, share)
        elif held is not None:
            self.move("in_progress")
            self.work(held)
        elif self.polls >= polls and not late:
            self.settle(self.fate.end, share)
        else:
            self.move("in_progress")
            self.work(0.0 if late else min(share, self.polls / polls))
            if 1 < self.polls == polls - 1 and self.fate.end == "completed":
                self.work(1.0)
                self.move("finalizing")

    def settle(self, end: End, share: float) -> None:
        """End as it must: refused, cancelled where that was asked for, or as given."""
        if self.problems:
            self.move("failed")
            self._total, self._lines = 0, []
        elif self.status == "cancelling":
            self._end("cancelled", self.fate.share)
        else:
            self._end(end, share)

    def cancel(self, share: float) -> None:
        """Begin to end, with this share of its lines done at least."""
        if self.status != "cancelling":
            self.fate = replace(self.fate, share=share)
            self.move("cancelling")

    def _end(self, how: End, share: float) -> None:
        """Answer this share of the lines, give up the others, and write the files."""
        if self.status == "validating":
            self.move("in_progress")
        self.work(share)
        if how in _GIVEN_UP and self.fate.results.given_up:
            code, message = _GIVEN_UP[how]
            for at, line in enumerate(self._lines[self._work.lines :], self._work.lines):
                self._work.errors.append(unanswered_line(at, line.custom_id, code, message))
        if how != "cancelled":
            self.move("finalizing")
        self._output_id = self._write("output", self._work.output, unknown=self.fate.results.unknown)
        self._error_id = self._write("error", self._work.errors, unknown=0)
        self.move(how)
        self._lines = []

    def object(self, word: str | None = None) -> dict[str, Any]:
        """What the API tells about it, under another word for its state perhaps."""
        work = self._work
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": self._request["endpoint"],
            "model": self._model,
            "errors": self._errors() if self.status == "failed" else None,
            "input_file_id": self._request["input_file_id"],
            "completion_window": self._request["completion_window"],
            "status": word or self.status,
            "output_file_id": self._output_id,
            "error_file_id": self._error_id,
            "created_at": self._created,
            "expires_at": self._created + WINDOW_SECONDS,
            **{f"{status}_at": self._stamps.get(status) for status in STAMPS},
            "request_counts": {
                "total": 0 if self.status == "validating" else self._total,
                "completed": work.completed,
                "failed": work.failed,
            },
            "usage": self._usage() if not self.running and work.lines else None,
            "metadata": self._request.get("metadata"),
        }

    def _answer(self, at: int, line: Line) -> None:
        answer = self._around.answer(self._request["endpoint"], line.body)
        if answer.ending in _NO_ANSWER:
            self._work.failed += 1
            self._work.errors.append(unanswered_line(at, line.custom_id, *_NO_ANSWER[answer.ending]))
            return
        result = answered_line(at, line.custom_id, answer)
        if answer.status != 200:  # noqa: PLR2004 - HTTP
            self._work.failed += 1
            self._work.errors.append(result)
            return
        self._work.completed += 1
        self._work.output.append(result)
        self._work.prompt_tokens += answer.prompt_tokens
        self._work.completion_tokens += answer.completion_tokens
        self._around.paid(line)

    def _errors(self) -> dict[str, Any]:
        return {"object": "list", "data": [one.object() for one in self.problems]}

    def _usage(self) -> dict[str, Any]:
        told, said = self._work.prompt_tokens, self._work.completion_tokens
        return {
            "input_tokens": told,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": said,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": told + said,
        }

    def _write(self, kind: str, lines: list[bytes], *, unknown: int) -> str | None:
        """The id of a result file, if there is anything to write."""
        if not lines:
            return None
        results = self.fate.results
        strange = [answered_line(at, f"unknown-{at + 1}", Response(body=b"{}")) for at in range(unknown)]
        name = f"{self.id}_{kind}.jsonl"
        data, now = results.written(lines + strange), int(self._around.clock())
        return self._around.files.add(data, name=name, purpose="batch_output", created=now).id
