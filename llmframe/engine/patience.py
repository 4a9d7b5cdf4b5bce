"""Waiting in hours: calls that are tried again, and pauses between two looks at something slow."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Final, TypeVar

from llmframe.clients.base import RequestError
from llmframe.engine.retry import GiveUp, decide

T = TypeVar("T")

ATTEMPTS: Final = 8
"""Tries of a call that fails of something that passes: about a minute in all."""

FIRST_SECONDS: Final = 0.25
"""The first pause: small batches on servers of one's own are answered at once, and 12 looks more cost nothing."""

LONGEST_SECONDS: Final = 300.0
GROWTH: Final = 1.5
"""Each pause is so many times the one before it."""

_CHANCE: Final = random.Random()  # noqa: S311 - spreads calls, protects nothing


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """What `call` returns, which is called again after faults that pass, as a row's request is.

    Raises
    ------
    RequestError
        The last one, when it won't pass or has come `ATTEMPTS` times.
    """
    loop = asyncio.get_running_loop()
    tried, waited = 0, 0.0
    while True:
        begun = loop.time()
        try:
            return await call()
        except RequestError as error:
            tried += error.kind != "rate_limit"
            step = decide(
                error,
                attempts=tried,
                max_attempts=ATTEMPTS,
                waited=waited,
                chance=_CHANCE.random(),
                doomed=False,
                spent=loop.time() - begun,
            )
            if isinstance(step, GiveUp):
                raise
            waited += step.delay if error.kind == "rate_limit" else 0.0
            delay = step.delay
        await asyncio.sleep(delay)


def pauses(longest: float = LONGEST_SECONDS) -> Iterator[float]:
    """Seconds to wait before each look, for ever: longer and longer, and never the same for two who wait."""
    seconds = FIRST_SECONDS
    while True:
        yield seconds * (0.9 + 0.2 * _CHANCE.random())
        seconds = min(longest, seconds * GROWTH)


async def rest(seconds: float) -> None:
    """Do nothing for so long."""
    await asyncio.sleep(seconds)


async def every(seconds: float, call: Callable[[], Awaitable[None]]) -> None:
    """Call again and again until cancelled, with so many seconds between."""
    while True:
        await asyncio.sleep(seconds)
        await call()


async def unbroken(work: Awaitable[T], *, seconds: float) -> T:
    """Await `work`; whoever is cancelled meanwhile still lets it end, for at most so many seconds."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait({task}, timeout=seconds)
        if task.done() and not task.cancelled():
            task.exception()  # looked at: whoever waited is leaving
        task.cancel()
        raise


async def first_of(*waits: Coroutine[Any, Any, None]) -> None:
    """Wait for whichever ends first; the others are given up."""
    tasks = [asyncio.create_task(each) for each in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
