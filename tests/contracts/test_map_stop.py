"""Stopping early: by the first failure, by Ctrl-C, by `cancel()`; what came back stays."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Literal

import pytest
from pydantic import BaseModel

import llmframe
from llmframe.errors import LlmframeWarning, RowError
from llmframe.testing import Provider, Status
from tests.contracts.kinds import Kind


class Verdict(BaseModel):
    id: str
    label: Literal["pos", "neg"]


ROWS = [f"row-{number} " for number in range(40)]
NAMES = [row.strip() for row in ROWS]


def meanwhile(work: Callable[[], None]) -> threading.Thread:
    def guarded() -> None:
        try:
            work()
        except BaseException:
            llmframe.cancel()  # the main thread would wait for ever
            raise

    thread = threading.Thread(target=guarded)
    thread.start()
    return thread


def test_the_first_failure_is_raised_with_the_frame_and_ends_the_sending(library: Kind, provider: Provider):
    provider.when("row-5 ", Status(400, "context_length_exceeded"))
    frame = library.make({"t": ROWS})
    with pytest.raises(RowError, match="row 5 failed: context_length") as caught:
        frame.llm.map("J {t}", schema=Verdict, client=provider, on_error="raise", max_concurrency=1)
    assert caught.value.kind == "context_length"
    assert provider.requests == 6
    columns = library.to_dict(caught.value.frame)
    assert columns["t"] == ROWS
    assert columns["id"] == NAMES[:5] + [None] * 35
    assert columns["error"][5].startswith("context_length: ")
    assert {error.split(":")[0] for error in columns["error"][6:]} == {"cancelled"}
    provider.reset()
    out = frame.llm.map("J {t}", schema=Verdict, client=provider, on_error="raise")
    assert library.to_dict(out)["id"] == NAMES
    assert provider.requests == 35


def test_what_is_raised_says_where_the_reason_stands(library: Kind, provider: Provider):
    provider.always(Status(400, "context_length_exceeded"))
    frame = library.make({"t": ["a"]})
    ask = {"client": provider, "on_error": "raise", "prefix": "x_"}
    for call, place in (
        (lambda: frame.llm.map("J {t}", schema=Verdict, **ask), "`x_error` in this exception's `.frame`"),
        (lambda: frame.llm.map("J {t}", schema=Verdict, into="all", **ask), "`x_all.error` in this exception's"),
        (lambda: frame["t"].llm.map("J {}", schema=Verdict, **ask), "`x_error` in this exception's"),
        (lambda: frame["t"].llm.map("J {}", schema=bool, **ask), r"`\.to_frame\(\)` has an error column"),
    ):
        with pytest.raises(RowError, match=place):
            call()


def test_requests_in_flight_end_before_the_first_failure_is_raised(library: Kind, provider: Provider):
    provider.when("row-0 ", Status(400, "context_length_exceeded"))
    provider.hold()
    frame = library.make({"t": ROWS})

    def work() -> None:
        provider.wait_in_flight(4)
        provider.release(1)  # the oldest: one of the first four rows, not always row 0
        provider.release()

    thread = meanwhile(work)
    with pytest.raises(RowError) as caught:
        frame.llm.map("J {t}", schema=Verdict, client=provider, on_error="raise", max_concurrency=4)
    thread.join()
    assert provider.closed_in_flight == 0
    answered = [name for name in library.to_dict(caught.value.frame)["id"] if name is not None]
    assert len(answered) == provider.requests - 1


def test_a_null_is_a_failed_row_too(library: Kind, provider: Provider):
    with pytest.raises(RowError, match="row 1 failed: null") as caught:
        library.make({"t": ["row-0", None]}).llm.map("J {t}", schema=Verdict, client=provider, on_error="raise")
    assert library.to_dict(caught.value.frame)["error"][1] == "null: missing value in 't'"


def test_without_a_failure_nothing_is_raised(library: Kind, provider: Provider):
    out = library.make({"t": ROWS}).llm.map("J {t}", schema=Verdict, client=provider, on_error="raise")
    assert library.to_dict(out)["id"] == NAMES


def test_ctrl_c_hands_over_what_is_there_and_the_same_call_asks_for_the_rest(kind: Kind, provider: Provider):
    main = threading.main_thread().ident
    assert main == threading.get_ident()
    frame = kind.make({"t": ROWS})
    provider.hold()

    def press() -> None:
        provider.wait_in_flight(4)
        provider.release(3)
        provider.wait_requests(7)  # the seventh goes out when the third answer is in
        signal.pthread_kill(main, signal.SIGINT)

    thread = meanwhile(press)
    with pytest.raises(KeyboardInterrupt) as caught:
        frame.llm.map("J {t}", schema=Verdict, client=provider, max_concurrency=4)
    thread.join()
    provider.wait_closed(4)
    assert ".frame" in str(caught.value)
    columns = kind.to_dict(caught.value.frame)
    assert columns["t"] == ROWS
    done = [row for row, name in enumerate(columns["id"]) if name is not None]
    assert len(done) == 3
    assert all(columns["id"][row] == NAMES[row] for row in done)
    for row in range(40):
        error = columns["error"][row]
        assert error is None if row in done else error.startswith("cancelled: ")
    run = llmframe.last_run()
    assert run.state == "interrupted"
    assert run.failed == {"cancelled": 37}
    assert kind.to_dict(run.frame) == columns
    provider.release()
    provider.reset()
    out = frame.llm.map("J {t}", schema=Verdict, client=provider)
    assert kind.to_dict(out)["id"] == NAMES
    assert provider.requests == 37


def test_a_second_frame_is_not_touched_by_an_earlier_interrupt(kind: Kind, provider: Provider):
    out = kind.make({"t": ["row-1"]}).llm.map("J {t}", schema=Verdict, client=provider)
    assert kind.to_dict(out)["id"] == ["row-1"]
    assert llmframe.last_run().state == "done"


def test_cancelled_from_another_thread_a_map_returns_its_frame(kind: Kind, provider: Provider):
    frame = kind.make({"t": ROWS})
    provider.hold()

    def stop() -> None:
        provider.wait_in_flight(4)
        provider.release(3)
        provider.wait_requests(7)
        llmframe.cancel()

    thread = meanwhile(stop)
    with pytest.warns(LlmframeWarning, match="37 of 40 rows failed: 37 cancelled"):
        out = frame.llm.map("J {t}", schema=Verdict, client=provider, max_concurrency=4)
    thread.join()
    provider.wait_closed(4)
    columns = kind.to_dict(out)
    assert sum(name is not None for name in columns["id"]) == 3
    assert sum((error or "").startswith("cancelled: ") for error in columns["error"]) == 37
    llmframe.cancel()  # nothing runs: nothing happens


def test_before_the_first_run_there_is_none_to_tell_of(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("llmframe.api.runs._last", None)
    with pytest.raises(llmframe.UsageError, match=r"no run yet"):
        llmframe.last_run()
