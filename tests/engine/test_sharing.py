"""Attempts under way, shared: who pays, and when they are cancelled."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from llmframe.clients.base import RequestError
from llmframe.core.reply import Reply
from llmframe.engine.sharing import Shared, shared_here
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import say

KEY = b"k" * 32
REPLY = say("pos")


def shared() -> Shared:
    return Shared(asyncio.get_running_loop().time)


async def reply_after(seconds: float, *, ends: list[str] | None = None, lingers: float = 0.0) -> Reply:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.sleep(lingers)
        if ends is not None:
            ends.append("cancelled")
        raise
    return REPLY


async def fail_after(seconds: float) -> Reply:
    await asyncio.sleep(seconds)
    raise RequestError("server", "500")


def test_all_who_wait_get_the_reply_and_the_first_of_them_pays():
    async def main() -> None:
        flight = shared().launch(KEY, reply_after(1))
        replies = await asyncio.gather(*(flight.wait(name) for name in ("a", "b", "c")))
        assert replies == [REPLY] * 3
        assert [flight.pays(name) for name in ("a", "b", "c")] == [True, False, False]

    run_in_fake_time(main())


@pytest.mark.parametrize("attempt", [reply_after, fail_after])
def test_an_attempt_that_has_just_ended_is_not_joined(attempt: Callable[[float], Coroutine[Any, Any, Reply]]):
    """Not even before its callbacks have run: a failure would be joined over and over, and nothing else would run."""

    async def main() -> None:
        here = shared()
        flight = here.launch(KEY, attempt(0))
        waiting = asyncio.create_task(flight.wait("a"))
        while not flight.task.done():  # noqa: ASYNC110 - looks between the end of a task and its callbacks
            await asyncio.sleep(0)
        assert KEY in here._flights  # its callbacks come next
        assert here.flight(KEY) is None
        await asyncio.gather(waiting, return_exceptions=True)
        assert KEY not in here._flights

    run_in_fake_time(main())


def test_when_the_sender_leaves_the_next_one_pays():
    async def main() -> None:
        flight = shared().launch(KEY, reply_after(5))
        first, second = (asyncio.create_task(flight.wait(name)) for name in ("a", "b"))
        await asyncio.sleep(1)
        first.cancel()
        assert await second is REPLY
        assert [flight.pays(name) for name in ("a", "b")] == [False, True]

    run_in_fake_time(main())


def test_the_last_who_leaves_cancels_the_attempt():
    async def main() -> list[str]:
        ends: list[str] = []
        flight = shared().launch(KEY, reply_after(5, ends=ends))
        waiting = [asyncio.create_task(flight.wait(name)) for name in ("a", "b")]
        await asyncio.sleep(1)
        waiting[0].cancel()
        await asyncio.sleep(1)
        assert ends == []
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await asyncio.sleep(1)
        return ends

    assert run_in_fake_time(main()) == ["cancelled"]


def test_an_attempt_that_is_being_cancelled_takes_nobody_on_board():
    async def main() -> None:
        desk = shared()
        flight = desk.launch(KEY, reply_after(5, lingers=3))
        waiting = asyncio.create_task(flight.wait("a"))
        await asyncio.sleep(1)
        assert desk.flight(KEY) is flight
        waiting.cancel()
        await asyncio.sleep(1)  # it lingers: its connection is being closed
        assert not flight.task.done()
        assert desk.flight(KEY) is None
        again = desk.launch(KEY, reply_after(5))
        assert await again.wait("b") is REPLY
        assert flight.task.cancelled()

    run_in_fake_time(main())


def test_the_end_of_an_old_attempt_leaves_the_new_one_registered():
    async def main() -> None:
        desk = shared()
        old = desk.launch(KEY, reply_after(1))
        new = desk.launch(KEY, reply_after(9))
        waiting = asyncio.create_task(new.wait("b"))
        await old.wait("a")
        await asyncio.sleep(1)
        assert desk.flight(KEY) is new
        await waiting

    run_in_fake_time(main())


def test_a_landed_attempt_is_no_longer_joined():
    async def main() -> None:
        desk = shared()
        await desk.launch(KEY, reply_after(1)).wait("a")
        await asyncio.sleep(0)
        assert desk.flight(KEY) is None

    run_in_fake_time(main())


def test_a_failure_reaches_all_who_wait_and_nobody_after_them():
    async def main() -> None:
        desk = shared()
        flight = desk.launch(KEY, fail_after(1))
        ended = await asyncio.gather(*(flight.wait(name) for name in ("a", "b")), return_exceptions=True)
        assert [type(error) for error in ended] == [RequestError] * 2
        assert desk.flight(KEY) is None

    run_in_fake_time(main())


def test_other_questions_are_other_attempts():
    async def main() -> None:
        desk = shared()
        waiting = asyncio.create_task(desk.launch(KEY, reply_after(1)).wait("a"))
        await asyncio.sleep(0)
        assert desk.flight(b"x" * 32) is None
        await waiting

    run_in_fake_time(main())


def test_an_attempt_that_fails_unseen_makes_no_noise(caplog: pytest.LogCaptureFixture):
    gc.collect()  # what earlier tests left behind is no matter of this one
    caplog.clear()

    async def main() -> None:
        desk = shared()
        flight = desk.launch(KEY, fail_after(1))
        waiting = asyncio.create_task(flight.wait("a"))
        await asyncio.sleep(1)  # it fails at this instant
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.sleep(1)

    run_in_fake_time(main())
    gc.collect()
    assert caplog.records == []


def test_one_gate_an_endpoint_key_and_model():
    async def main() -> None:
        desk = shared()
        assert desk.gate(("url", "key", "m")) is desk.gate(("url", "key", "m"))
        assert desk.gate(("url", "key", "m")) is not desk.gate(("url", "other", "m"))

    run_in_fake_time(main())


def test_each_loop_has_its_own():
    async def main() -> Shared:
        assert shared_here() is shared_here()
        return shared_here()

    assert run_in_fake_time(main()) is not run_in_fake_time(main())
