"""Where parts come from: a thread that reads one ahead, or slices of a frame."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any, cast

import pyarrow as pa
import pytest

from llmframe.api.arguments import arguments
from llmframe.api.prepared import Prepared, asking, prepare
from llmframe.api.supply import Reading, Slices
from llmframe.frames import wrap
from llmframe.frames.base import Frame
from llmframe.testing import Provider


@pytest.fixture
def whole() -> Iterator[Prepared]:
    with Provider() as provider:
        ask = asking(arguments("J {t}", str, {"client": provider}))
        yield prepare(ask, wrap(pa.table({"t": list("abcde")})), verb="map")


@pytest.mark.parametrize(("rows", "lengths"), [(2, [2, 2, 1]), (5, [5]), (9, [5])])
def test_slices_cover_the_frame(whole: Prepared, rows: int, lengths: list[int]):
    supply = Slices(whole, rows=rows)
    found = [len(cast("Prepared", supply.next(lambda: None)).frame) for _ in lengths]
    assert (found, supply.over, supply.next(lambda: None)) == (lengths, True, None)


async def taken(supply: Reading) -> list[Any]:
    """All that a supply gives, waiting for each."""
    news, found = asyncio.Event(), []
    while True:
        item = supply.next(news.set)
        if item is not None:
            found.append(item)
        elif supply.over:
            return found
        else:
            await news.wait()
            news.clear()


def as_it_is(frame: Frame) -> Prepared:
    return cast("Prepared", frame)


async def test_a_thread_reads_what_an_iterator_gives():
    threads: set[int] = set()

    def frames() -> Iterator[Any]:
        for number in range(5):
            threads.add(threading.get_ident())
            yield number

    supply = Reading(frames(), as_it_is, going=lambda: True)
    assert await taken(supply) == [0, 1, 2, 3, 4]
    assert (supply.ended, supply.error()) == (True, None)
    assert len(threads - {threading.get_ident()}) == 1


async def test_it_reads_one_ahead_and_no_more():
    read: list[int] = []
    second = threading.Event()

    def frames() -> Iterator[Any]:
        for number in range(5):
            read.append(number)
            if number == 1:
                second.set()
            yield number

    supply, news = Reading(frames(), as_it_is, going=lambda: True), asyncio.Event()
    while (found := supply.next(news.set)) is None:
        await news.wait()
        news.clear()
    assert (found, await asyncio.to_thread(second.wait, 60)) == (0, True)
    assert read == [0, 1]
    supply.stop()


async def test_what_reading_raises_comes_after_what_was_read():
    def frames() -> Iterator[Any]:
        yield 1
        raise KeyError

    supply = Reading(frames(), as_it_is, going=lambda: True)
    assert await taken(supply) == [1]
    assert isinstance(supply.error(), KeyError)
    assert not supply.ended


async def test_it_ends_when_more_is_of_no_use():
    read: list[int] = []

    def frames() -> Iterator[Any]:
        for number in range(100):
            read.append(number)
            yield number

    supply = Reading(frames(), as_it_is, going=lambda: len(read) < 3)
    assert len(await taken(supply)) <= 3
    assert (supply.ended, supply.error(), len(read) <= 4) == (False, None, True)
