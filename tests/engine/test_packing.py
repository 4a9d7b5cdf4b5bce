"""How items are packed, and when a pack that others may join goes out."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from llmframe.engine.packing import Bounds, Gathering, Halves, packed, tokens_of
from llmframe.testing import run_in_fake_time

SMALL = Bounds(inputs=3, tokens=10, alone=6)


def test_a_pack_is_full_by_count_or_by_tokens_and_long_items_go_alone():
    assert list(packed([1, 1, 1, 1], SMALL, tokens=int)) == [[1, 1, 1], [1]]
    assert list(packed([5, 5, 1], SMALL, tokens=int)) == [[5, 5], [1]]  # 5 + 5 = 10 fits, 11 doesn't
    assert list(packed([1, 7, 2], SMALL, tokens=int)) == [[7], [1, 2]]
    assert list(packed([], SMALL, tokens=int)) == []


@given(st.lists(st.integers(1, 12)), st.integers(1, 5), st.integers(12, 40))
def test_packing_loses_and_doubles_nothing_and_keeps_the_bounds(items, inputs, tokens):
    packs = list(packed(items, Bounds(inputs=inputs, tokens=tokens, alone=None), tokens=int))
    assert [item for pack in packs for item in pack] == items
    assert all(0 < len(pack) <= inputs and sum(pack) <= tokens for pack in packs)


def test_tokens_are_estimated_rather_too_high():
    assert tokens_of("word " * 60) == 101  # 300 characters of English, 60 tokens
    assert tokens_of("你好") == 4  # 6 bytes, 2 tokens


def test_a_server_that_refuses_both_halves_takes_less_at_once():
    bounds = Bounds(inputs=64)
    halves = Halves(64)
    halves.refused(bounds)
    assert bounds.inputs == 64  # one bad text spoils one half
    halves.refused(bounds)
    assert bounds.inputs == 16  # 32 were too many
    bounds.shrink(100)
    assert bounds.inputs == 16
    Bounds(inputs=1).shrink(1)


def gathering(wait: float) -> Gathering[str]:
    return Gathering(Bounds(inputs=3, tokens=100), wait=wait)


def test_the_oldest_item_sets_the_deadline():
    async def main() -> tuple[list[str], float]:
        open_pack = gathering(2.0)
        assert open_pack.add("first", [b"1"], tokens=1)
        await asyncio.sleep(1.5)
        assert open_pack.add("second", [b"2"], tokens=1)
        return await open_pack.closed(), asyncio.get_running_loop().time()

    assert run_in_fake_time(main()) == (["first", "second"], 2.0)


def test_a_full_pack_goes_at_once_and_takes_nothing_more():
    async def main() -> tuple[list[str], float]:
        open_pack = gathering(60.0)
        assert open_pack.add("first", [b"1", b"2"], tokens=1)
        assert open_pack.add("second", [b"2", b"3"], tokens=1)  # of which one is in it
        assert not open_pack.add("third", [b"4"], tokens=1)
        return await open_pack.closed(), asyncio.get_running_loop().time()

    assert run_in_fake_time(main()) == (["first", "second"], 0.0)


def test_what_has_no_room_sends_the_pack_on_its_way():
    async def main() -> list[str]:
        open_pack = gathering(60.0)
        open_pack.add("first", [b"1"], tokens=90)
        assert not open_pack.add("second", [b"2"], tokens=11)
        return await open_pack.closed()

    assert run_in_fake_time(main()) == ["first"]


def test_who_leaves_in_time_is_not_sent_and_all_hear_the_first_word():
    async def main() -> tuple[list[str], object]:
        open_pack = gathering(1.0)
        for name in ("first", "second"):
            open_pack.add(name, [name.encode()], tokens=1)
        open_pack.leave(lambda party: party == "second")
        parties = await open_pack.closed()
        open_pack.settle("sent")
        open_pack.settle(None)
        return parties, await open_pack.result()

    assert run_in_fake_time(main()) == (["first"], "sent")
