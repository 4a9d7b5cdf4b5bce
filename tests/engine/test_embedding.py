"""Every distinct text to its vector: how many requests it takes, and what a refusal costs its neighbours."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable

import pytest

from llmframe.clients.base import RequestError
from llmframe.clients.embeddings import BASE64, FLOATS
from llmframe.core.embeddings import NO_VECTOR, VectorReply
from llmframe.core.plan import CHUNK_ROWS
from llmframe.core.reply import Reply
from llmframe.core.vectors import vector_of
from llmframe.engine.sharing import Shared
from llmframe.stores.base import MemoryStore, Stored
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import names
from tests.engine.embedding_doubles import Server, embed, embedded, part_of, refused, vector


def bad(*texts: str):
    """A server that refuses a request which holds one of these."""

    def behave(sent: list[str], before: int) -> Reply | BaseException:
        return refused() if set(sent) & set(texts) else embedded(sent)

    return behave


def at_most(inputs: int, error: RequestError | None = None):
    def behave(sent: list[str], before: int) -> Reply | BaseException:
        return (error or refused()) if len(sent) > inputs else embedded(sent)

    return behave


def test_distinct_texts_go_out_in_full_packs_and_rows_keep_their_place():
    rows = [f"row-{number % 10}" for number in range(1000)]
    random.Random(1).shuffle(rows)
    server = Server()
    part = embed(rows, server)
    assert part.found == [vector(text) for text in rows]
    assert sorted(server.sizes) == [2, 4, 4]
    assert max(server.asked.values()) == 1
    assert part.run.metrics.requests == 3
    assert part.run.metrics.usage.input_tokens == 50  # ten texts of five characters


def test_null_empty_and_too_long_texts_are_never_sent():
    server = Server()
    part = embed(["a", None, "", "x" * 801, "b"], server)  # 100 tokens have 800 characters at most
    assert part.found == [vector("a"), "null", "empty", "context_length", vector("b")]
    assert server.sent == [["a", "b"]]


def test_a_text_that_may_be_too_long_goes_alone_and_its_refusal_is_its_own():
    server = Server(behave=lambda texts, before: refused() if len(texts[0]) > 9 else embedded(texts))
    part = embed(["a", "x" * 400, "b"], server)
    assert part.found == [vector("a"), "context_length", vector("b")]
    assert sorted(server.sizes) == [1, 2]


def test_one_bad_text_does_not_fail_its_neighbours():
    server = Server(behave=bad("row-5"))
    part = embed(names(8), server, inputs=8)
    assert part.found == [vector(text) if text != "row-5" else "bad_request" for text in names(8)]
    assert server.sizes == [8, 4, 4, 2, 2, 1, 1]


@pytest.mark.parametrize("error", [refused(413, kind="context_length"), refused(code="max_tokens_per_request")])
def test_a_refused_size_is_halved_and_what_follows_is_sent_in_smaller_packs(error: RequestError):
    server = Server(behave=at_most(2, error))
    part = embed(names(32), server, inputs=8, max_concurrency=1)
    assert part.found == [vector(text) for text in names(32)]
    # 8 is refused, 4 is refused, and nobody tries more than 2 again
    assert server.sizes[:2] == [8, 4]
    assert server.sizes.count(2) == 16
    assert len(server.sizes) == 18


def test_a_server_that_does_not_say_what_it_refuses_is_understood_by_two_refused_halves():
    server = Server(behave=at_most(2))
    part = embed(names(32), server, inputs=8, max_concurrency=1)
    assert part.found == [vector(text) for text in names(32)]
    assert [size for size in server.sizes if size > 2] == [8, 4, 4]


def test_a_transient_fault_is_tried_again_as_a_whole():
    server = Server(behave=lambda texts, before: refused(503, kind="server") if before < 2 else embedded(texts))
    part = embed(names(4), server)
    assert part.found == [vector(text) for text in names(4)]
    assert server.sizes == [4, 4, 4]
    assert part.run.metrics.retries == 2
    assert [outcome.attempts for outcome in part.outcomes if outcome] == [3] * 4


def test_a_fault_that_meets_all_rows_stops_the_sending():
    server = Server(behave=lambda texts, before: refused(401, kind="auth"))
    part = embed(names(40), server, max_concurrency=1)
    assert part.found == ["auth"] * 40
    assert server.sizes == [4]


def test_a_server_that_refuses_base64_is_asked_for_numbers_once():
    def behave(texts: list[str], before: int) -> Reply | BaseException:
        wanted_base64 = server.dialects_used[before] == BASE64
        return refused(param="encoding_format") if wanted_base64 else embedded(texts)

    server = Server(behave=behave)
    part = embed(names(12), server, max_concurrency=1)
    assert part.found == [vector(text) for text in names(12)]
    assert server.dialects_used == [BASE64, FLOATS, FLOATS, FLOATS]
    assert any("base64" in note for note in part.run.metrics.notes)


def test_vectors_of_another_width_are_invalid_and_without_a_right_one_the_sending_stops():
    short = vector_of([1.0])

    def behave(texts: list[str], before: int) -> Reply | BaseException:
        reply = embedded(texts)
        return VectorReply(text=None, vectors=(*reply.vectors[:-1], short), usage=reply.usage)

    part = embed(names(4), Server(behave=behave))
    assert part.found == [*map(vector, names(3)), "invalid"]
    server = Server()
    part = embed(names(40), server, dimensions=3, max_concurrency=1)
    assert part.found == ["invalid"] * 40
    assert server.sizes == [4]


def test_a_missing_vector_is_its_texts_error_and_what_was_paid_is_counted():
    def behave(texts: list[str], before: int) -> Reply | BaseException:
        reply = embedded(texts)
        return VectorReply(text=None, vectors=(NO_VECTOR, *reply.vectors[1:]), usage=reply.usage)

    part = embed(names(4), Server(behave=behave))
    assert part.found == ["invalid", *map(vector, names(4)[1:])]
    told = [outcome.usage.input_tokens for outcome in part.outcomes if outcome]
    assert told == [5, 5, 5, 5]


def test_what_is_kept_is_not_asked_again():
    store, server = MemoryStore(), Server()
    embed(names(6), server, store=store)
    part = embed(names(8), server, store=store)
    assert part.found == [vector(text) for text in names(8)]
    assert server.sent[2:] == [["row-6", "row-7"]]
    assert [outcome.source for outcome in part.outcomes if outcome] == ["cache"] * 6 + ["live"] * 2


class SlowDisk(MemoryStore):
    """A store whose commits take 50 rounds of the loop; `seen` is what `look` told at the end of each."""

    instant = False

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self.look: Callable[[], int] = lambda: 0
        self.seen: list[int] = []

    def put_many(self, entries: Iterable[tuple[bytes, Stored]]) -> None:
        asyncio.run_coroutine_threadsafe(self._rounds(), self._loop).result()
        super().put_many(entries)

    async def _rounds(self) -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        self.seen.append(self.look())


def test_while_answers_wait_for_a_commit_no_texts_are_drawn():
    """Texts that are drawn but not in flight would be packed once more by the next part, with other neighbours."""

    async def main():
        disk = SlowDisk(asyncio.get_running_loop())
        part = part_of(names(900), server, inputs=250, max_concurrency=2, store=disk)
        disk.look = lambda: part.plan.rows_drawn
        return disk, await part.work()

    server = Server()
    disk, part = run_in_fake_time(main())
    # Two requests of 250 are in flight when one is answered, out of the first chunk of 512 rows; 200 answers are enough
    # for a commit.
    assert disk.seen[0] == CHUNK_ROWS == 512
    assert part.found == [vector(text) for text in names(900)]
    assert server.sizes == [250, 250, 250, 150]


@pytest.mark.parametrize("fails", [False, True])
def test_calls_that_ask_the_same_at_once_share_the_request_and_only_its_answer(*, fails: bool):
    def behave(texts: list[str], before: int) -> Reply | BaseException:
        return refused() if fails and before == 0 else embedded(texts)

    async def main():
        shared = Shared(asyncio.get_running_loop().time)
        parts = [part_of(rows, server, shared=shared, store=MemoryStore()) for rows in (["a"], ["a", "b"])]
        return await asyncio.gather(*(part.work() for part in parts))

    server = Server(behave=behave)
    first, second = run_in_fake_time(main())
    assert second.found == [vector("a"), vector("b")]
    assert first.found == (["bad_request"] if fails else [vector("a")])
    assert server.asked == {"a": 1 + fails, "b": 1}
    sources = [outcome.source for outcome in second.outcomes if outcome]
    assert sources == (["live"] * 2 if fails else ["shared", "live"])
    assert second.run.metrics.usage.input_tokens == (2 if fails else 1)


def together(server: Server, *calls: list[str], every: float = 0.1, **options: object):
    async def main():
        shared = Shared(asyncio.get_running_loop().time)

        async def call(number: int, rows: list[str]):
            await asyncio.sleep(number * every)
            return await part_of(rows, server, shared=shared, wait=0.5, store=MemoryStore(), **options).work()  # type: ignore[arg-type]

        return await asyncio.gather(*(call(number, rows) for number, rows in enumerate(calls)))

    return run_in_fake_time(main())


def test_texts_of_several_calls_go_in_one_request_and_each_pays_for_its_own():
    server = Server()
    parts = together(server, ["a"], ["bb"], ["a", "ccc"], inputs=8)
    assert server.sent == [["a", "bb", "ccc"]]
    assert server.at == [0.5]  # the first one's deadline
    assert [part.found for part in parts] == [[vector("a")], [vector("bb")], [vector("a"), vector("ccc")]]
    assert [part.run.metrics.usage.input_tokens for part in parts] == [1, 2, 3]
    assert [part.run.metrics.requests for part in parts] == [1, 0, 0]


def test_a_shared_request_that_fails_is_everybodys_own_again():
    server = Server(behave=lambda texts, before: refused(503, kind="server") if before == 0 else embedded(texts))
    parts = together(server, ["a"], ["b"], inputs=8)
    assert [part.found for part in parts] == [[vector("a")], [vector("b")]]
    assert server.asked == {"a": 2, "b": 2}
    assert sorted(server.sizes) == [1, 1, 2]


@pytest.mark.parametrize("code", [None, "max_tokens_per_request"])
@pytest.mark.parametrize("bad", ["a", "b", "c"])
def test_a_text_that_is_refused_fails_no_text_of_the_calls_that_it_shared_a_request_with(bad: str, code: str | None):
    def behave(texts: list[str], before: int) -> Reply | BaseException:
        del before
        return refused(code=code) if bad in texts else embedded(texts)

    server = Server(behave=behave)
    parts = together(server, ["a"], ["b"], ["c", "d"], inputs=8)
    found = dict(zip("abcd", (each for part in parts for each in part.found), strict=True))
    assert found == {text: "bad_request" if text == bad else vector(text) for text in "abcd"}
    assert sum(part.run.metrics.usage.input_tokens or 0 for part in parts) == 3


def test_calls_with_a_budget_do_not_share():
    server = Server()
    together(server, ["a"], ["b"], inputs=8, budget={"calls": 5})
    assert server.sizes == [1, 1]


def test_who_is_cancelled_while_it_waits_for_others_takes_nobody_along():
    async def main():
        shared = Shared(asyncio.get_running_loop().time)
        parts = [part_of([text], server, shared=shared, wait=1.0, store=MemoryStore(), inputs=8) for text in "abc"]
        works = [asyncio.create_task(part.work()) for part in parts]
        await asyncio.sleep(0.5)
        parts[0].run.cancel()  # who sends
        parts[1].run.cancel()  # who joined
        await asyncio.gather(*works)
        return parts

    server = Server()
    first, second, third = run_in_fake_time(main())
    assert (first.found, second.found, third.found) == (["cancelled"], ["cancelled"], [vector("c")])
    assert server.asked == {"c": 1}


def test_a_budget_of_calls_counts_requests():
    server = Server()
    part = embed(names(12), server, budget={"calls": 2}, max_concurrency=1)
    assert part.found == [*map(vector, names(8)), *["budget"] * 4]


def test_an_interrupt_keeps_what_came():
    async def main():
        part = part_of(names(8), server, max_concurrency=1)
        work = asyncio.create_task(part.work())
        await asyncio.sleep(1.5)
        part.run.cancel()
        return await work

    server = Server()
    part = run_in_fake_time(main())
    assert part.found == [*map(vector, names(4)), *["cancelled"] * 4]


def test_the_first_failure_stops_the_sending_when_asked_to():
    server = Server(behave=bad("row-0"))
    part = embed(names(40), server, inputs=1, fail_fast=True, max_concurrency=1)
    assert part.found == ["bad_request", *["cancelled"] * 39]
    assert server.sizes == [1]
