"""The store before the network."""

from __future__ import annotations

from llmframe.core.outcome import Answer, Outcome, Usage
from llmframe.core.plan import CHUNK_ROWS, Planned
from llmframe.engine.keeper import Keeper
from llmframe.engine.resolve import QUIET_CHUNKS, Resolver
from llmframe.stores.base import MemoryStore, Stored
from tests.engine.doubles import LABEL, plan_of


def drawn(
    rows: list[object], store: MemoryStore, *, since: float = 1.0
) -> tuple[list[Planned | None], dict[int, Outcome]]:
    delivered: dict[int, Outcome] = {}
    plan = plan_of(rows, identity="x")
    resolver = Resolver(Keeper(store, clock=lambda: 0.0), LABEL, since=since)
    return list(resolver.unanswered(plan, deliver=delivered.__setitem__)), delivered


def test_what_is_kept_is_delivered_and_the_rest_is_yielded():
    fresh, _ = drawn(["a", "b", "c"], MemoryStore())
    keys = [planned.key for planned in fresh if planned]
    store = MemoryStore()
    store.put_many([(keys[1], Stored('{"response": "neg"}', Usage(7, 3, 0), "m-2024", "stop"))])
    asked, delivered = drawn(["a", "b", "c"], store)
    assert [planned.key for planned in asked if planned] == [keys[0], keys[2]]
    assert delivered == {
        1: Outcome(
            result=Answer('{"response": "neg"}', ("neg",)),
            usage=Usage(0, 0, 0),
            usd=0.0,
            attempts=0,
            seconds=0.0,
            finish_reason="stop",
            model="m-2024",
            source="cache",
            fingerprint=keys[1].hex(),
        )
    }


def test_a_kept_reply_that_no_longer_fits_is_asked_again():
    (planned, _), _ = drawn(["a"], MemoryStore())
    assert planned is not None
    store = MemoryStore()
    store.put_many([(planned.key, Stored('{"response": "lukewarm"}'))])
    (again, _), delivered = drawn(["a"], store)
    assert again == planned
    assert delivered == {}


def test_a_chunk_with_a_request_ends_with_a_pause_and_so_do_several_without():
    rows: list[object] = ["same"] * (CHUNK_ROWS * (QUIET_CHUNKS + 2))
    asked, _ = drawn(rows, MemoryStore())
    assert [planned is None for planned in asked] == [False, True, True]
    rows[CHUNK_ROWS * 2] = "another"
    asked, _ = drawn(rows, MemoryStore())
    assert [planned is None for planned in asked] == [False, True, False, True]


def test_rows_that_can_not_be_asked_ask_the_store_for_nothing():
    assert drawn([None, None], MemoryStore()) == ([], {})


def test_an_answer_kept_since_the_run_began_is_shared_and_an_older_one_cached():
    (planned, _), _ = drawn(["a"], MemoryStore())
    assert planned is not None
    store = MemoryStore()
    store.put_many([(planned.key, Stored('{"response": "pos"}', created=1000.0))])
    assert drawn(["a"], store, since=1000.5)[1][0].source == "cache"
    assert drawn(["a"], store, since=1000.0)[1][0].source == "shared"
