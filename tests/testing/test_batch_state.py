from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.testing import Results
from llmframe.testing.answers import Response, error
from llmframe.testing.batch_lines import Line, Problem, Reading
from llmframe.testing.batch_state import Batch, Fate, Surroundings
from llmframe.testing.files import Files

REQUEST = {"endpoint": "/v1/chat/completions", "input_file_id": "file-1", "completion_window": "24h"}


class Made:
    """A batch of so many lines, of which every third fails, and what became of it."""

    def __init__(self, count: int, fate: Fate | None = None, problems: tuple[Problem, ...] = ()) -> None:
        self.paid: list[str] = []
        self.files = Files()
        seconds = itertools.count(1_000)
        around = Surroundings(
            answer=self.answer,
            paid=lambda line: self.paid.append(line.custom_id),
            files=self.files,
            clock=lambda: next(seconds),
        )
        lines = [Line(str(i), {"n": i}) for i in range(count)]
        reading = Reading(lines=lines, model="m", tokens=count, problems=list(problems))
        self.batch = Batch("batch_1", REQUEST, reading, fate or Fate(), around, words=(), began=0.0)

    def answer(self, endpoint: str, body: dict[str, Any]) -> Response:
        assert endpoint == REQUEST["endpoint"]
        return error(500, "no") if body["n"] % 3 == 2 else Response(body=b"{}", prompt_tokens=2, completion_tokens=3)

    def poll(self, polls: int, *, late: bool = False, held: float | None = None) -> dict[str, Any]:
        self.batch.polls += 1
        self.batch.go_on(polls=polls, late=late, held=held)
        return self.batch.object()


def test_a_completed_batch_tells_what_it_took_and_when():
    told = Made(4).poll(1)
    assert (told["status"], told["created_at"], told["expires_at"]) == ("completed", 1_000, 1_000 + 86_400)
    assert [told[f"{word}_at"] for word in ("in_progress", "finalizing", "completed")] == [1_001, 1_002, 1_005]
    assert [told[f"{word}_at"] for word in ("failed", "expired", "cancelling", "cancelled")] == [None] * 4
    assert told["request_counts"] == {"total": 4, "completed": 3, "failed": 1}
    assert (told["usage"]["input_tokens"], told["usage"]["output_tokens"]) == (6, 9)


@given(st.integers(1, 20), st.integers(1, 6))
def test_counts_only_grow_and_every_line_is_paid_once(count: int, polls: int):
    made = Made(count)
    counts = [made.poll(polls)["request_counts"] for _ in range(polls)]
    done = [one["completed"] + one["failed"] for one in counts]
    assert done == sorted(done)
    assert done[-1] == count
    assert made.paid == [str(i) for i in range(count) if i % 3 != 2]


@pytest.mark.parametrize("end", ["expired", "cancelled"])
def test_a_batch_that_ends_early_never_does_more_than_its_share(end: Any):
    made = Made(10, Fate(end=end, share=0.4))
    assert [made.poll(3)["status"] for _ in range(3)] == ["in_progress", "in_progress", end]
    assert made.paid == ["0", "1", "3"]
    output, errors = (made.files.get(made.batch.object()[f"{kind}_file_id"]) for kind in ("output", "error"))
    assert output is not None
    assert errors is not None
    assert output.data.count(b"\n") == 3
    assert errors.data.count(b"\n") == 7


def test_lines_that_were_given_up_may_stand_nowhere():
    made = Made(2, Fate(end="expired", share=0.0, results=Results(given_up=False)))
    told = made.poll(1)
    assert (told["status"], told["output_file_id"], told["error_file_id"]) == ("expired", None, None)


def test_a_late_or_held_batch_goes_on_without_an_end():
    made = Made(4)
    assert made.poll(1, late=True)["request_counts"] == {"total": 4, "completed": 0, "failed": 0}
    assert made.poll(1, held=0.5)["request_counts"] == {"total": 4, "completed": 2, "failed": 0}
    assert made.poll(1)["status"] == "completed"


def test_a_batch_with_problems_fails_at_once_and_names_them():
    told = Made(0, problems=(Problem(code="c", message="m", line=3),)).poll(5)
    assert (told["status"], told["failed_at"]) == ("failed", 1_001)
    assert told["errors"]["data"] == [{"code": "c", "message": "m", "line": 3, "param": None}]


def test_a_cancelled_batch_ends_when_it_is_asked_after_again():
    made = Made(4)
    made.batch.cancel(0.25)
    assert (made.batch.object()["status"], made.batch.running) == ("cancelling", True)
    assert (made.poll(9)["status"], made.paid) == ("cancelled", ["0"])


def test_a_word_hides_the_state_and_changes_nothing():
    batch = Made(1).batch
    assert (batch.object("queued")["status"], batch.status) == ("queued", "validating")
