"""Collections of garbage are rare while a run goes on, and as they were afterwards."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

from llmframe.engine.garbage import ALLOCATIONS, rarely_collected
from tests.engine.doubles import Client, Sent, answered, names, say


@pytest.fixture(autouse=True)
def usual() -> Generator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_threshold_is_higher_in_a_block_and_the_same_after_it():
    with rarely_collected():
        assert gc.get_threshold() == (ALLOCATIONS, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


def test_it_stays_until_the_last_of_several_blocks_ends():
    first, second = rarely_collected(), rarely_collected()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] == ALLOCATIONS
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 10, 10)


def test_it_is_given_back_after_an_error():
    with pytest.raises(ValueError, match="row"), rarely_collected():
        raise ValueError("row")
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (100_000, 5, 5)])
def test_who_collects_more_rarely_or_never_is_left_alone(own: tuple[int, int, int]):
    gc.set_threshold(*own)
    with rarely_collected():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_who_sets_it_meanwhile_keeps_it():
    with rarely_collected():
        gc.set_threshold(1_000, 10, 10)
    assert gc.get_threshold() == (1_000, 10, 10)


def test_a_run_raises_it_and_gives_it_back():
    seen: set[int] = set()

    def behave(sent: Sent, before: int):
        seen.add(gc.get_threshold()[0])
        return say("pos")

    answered(names(3), Client(behave))
    assert seen == {ALLOCATIONS}
    assert gc.get_threshold() == (700, 10, 10)
