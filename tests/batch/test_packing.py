"""Lines into shards that keep every limit, in their order; ids that find their way back."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from llmframe.batch.drafts import Draft
from llmframe.batch.packing import Pack, begin_pack, custom_id, line_digest, new_intent, parse_custom_id
from llmframe.clients.batch import SAFE_SHARE, BatchLimits
from tests.batch.doubles import key

KEYS = st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=5)


@given(st.integers(0, 10**9), KEYS)
def test_an_id_is_read_back(line: int, keys: list[bytes]):
    intent = new_intent()
    text = custom_id(intent, line, keys)
    assert parse_custom_id(text) == (intent, line, line_digest(keys))
    assert len(text) <= 64  # the most that Anthropic takes


@given(st.text(max_size=60))
def test_what_is_no_id_of_ours_is_told_apart_or_read_alike(text: str):
    parsed = parse_custom_id(text)
    if parsed is not None:
        intent, line, digest = parsed
        assert text.startswith(f"{intent}-")
        assert text.endswith(f"-{digest}")
        assert line >= 0


def test_an_id_stands_for_its_keys_in_their_order():
    one, two = key(1), key(2)
    assert line_digest([one]) == one.hex()[:16]
    assert line_digest([one, two]) != line_digest([two, one])


def test_intents_differ():
    assert len({new_intent() for _ in range(1000)}) == 1000


def drafts(sizes: list[tuple[int, int, int]]) -> list[Draft]:
    """Lines of so many bytes, inputs and tokens."""
    made: list[Draft] = []
    for size, inputs, tokens in sizes:
        keys = [key(1000 * len(made) + place) for place in range(inputs)]
        made.append(Draft(keys, tokens, 0, [each[:8] for each in keys], lambda _, n=size: b"x" * (n - 1) + b"\n"))
    return made


def packed(folder: Path, given_: list[Draft], limits: BatchLimits, most_tokens: float | None) -> list[Pack]:
    """All of them, as a call packs them."""
    packs = [begin_pack(folder)]
    for draft in given_:
        line = draft.render("")
        if not packs[-1].has_room(limits, len(line), len(draft.keys), draft.tokens, most_tokens):
            packs[-1].close()
            packs.append(begin_pack(folder))
        packs[-1].add(line, draft)
    packs[-1].close()
    return packs


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 4), st.integers(1, 9)), max_size=40),
    st.integers(1, 8),
    st.integers(1, 100),
    st.none() | st.integers(1, 8),
    st.none() | st.integers(1, 30),
)
def test_packs_keep_every_limit_and_the_order_and_none_has_room_for_the_next_line(
    sizes: list[tuple[int, int, int]], lines: int, most: int, inputs: int | None, tokens: int | None
):
    limits = BatchLimits(lines=lines, bytes=most, inputs=inputs)
    made = drafts(sizes)
    with TemporaryDirectory() as folder:
        packs = packed(Path(folder), made, limits, tokens)
        assert [record.key for pack in packs for record in pack.records] == [k for each in made for k in each.keys]
        for pack in packs:
            assert pack.path.read_bytes().count(b"\n") == pack.lines
            assert pack.path.stat().st_size == pack.bytes
            assert [record.line for record in pack.records] == sorted(record.line for record in pack.records)
            if pack.lines > 1:  # the first line goes in whatever it is
                assert pack.lines <= lines
                assert pack.bytes <= SAFE_SHARE * most
                assert inputs is None or len(pack.records) <= inputs
                assert tokens is None or pack.tokens <= tokens
        for pack, after in pairwise(packs):
            first = made[sum(each.lines for each in packs[: packs.index(after)])]
            assert not pack.has_room(limits, len(first.render("")), len(first.keys), first.tokens, tokens)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(1, 9)), min_size=1, max_size=12), st.data())
def test_lines_that_are_dropped_leave_the_others_as_they_were(sizes: list[tuple[int, int, int]], data: st.DataObject):
    made = drafts(sizes)
    limits = BatchLimits(lines=10**6, bytes=10**9)
    with TemporaryDirectory() as folder:
        (pack,) = packed(Path(folder), made, limits, None)
        everything = [record.key for record in pack.records]
        gone = set(data.draw(st.lists(st.sampled_from(everything))))
        left = [draft for draft in made if not gone & set(draft.keys)]
        dropped = pack.drop(gone)
        assert set(dropped) == {k for draft in made if gone & set(draft.keys) for k in draft.keys}
        assert [record.key for record in pack.records] == [k for draft in left for k in draft.keys]
        assert pack.path.read_bytes() == b"".join(draft.render("") for draft in left)
        assert (pack.lines, pack.bytes) == (len(left), pack.path.stat().st_size)


def test_a_file_is_there_until_it_is_removed(tmp_path: Path):
    pack = begin_pack(tmp_path)
    assert pack.path == tmp_path / f"{pack.intent}.jsonl"
    pack.close()
    pack.remove()
    pack.remove()
    assert not pack.path.exists()
