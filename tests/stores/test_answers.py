"""Answers in tables."""

from __future__ import annotations

import sqlite3
import zlib
from pathlib import Path

import pytest

from llmframe.core.outcome import Usage
from llmframe.core.request import Components
from llmframe.stores.answers import difference
from llmframe.stores.base import Stored
from llmframe.stores.sqlite import SqliteStore

NOW = Components("m" * 16, "p" * 16, "s" * 16)
TEXT = bytes(range(8))


def of(**changed: str) -> Components:
    return Components(**{"model": NOW.model, "params": NOW.params, "schema": NOW.schema, **changed})


@pytest.fixture
def store(tmp_path: Path):
    store = SqliteStore(tmp_path / "a.sqlite")
    yield store
    store.close()


@pytest.mark.parametrize(
    ("old", "change", "count"),
    [
        (of(model="x"), "model", 1),
        (of(params="x"), "params", 1),
        (of(schema="x"), "schema", 1),
        (of(model="x", params="x"), "model", 2),
        (of(model="x", schema="x"), "schema", 2),
        (of(model="x", params="x", schema="x"), "schema", 3),
        (NOW, "schema", 0),  # the reply was valid by a schema with the same digest: what validates has changed
    ],
)
def test_a_change_is_named_by_what_differs(old, change, count):
    assert difference(old, NOW) == (change, count)


def test_a_text_never_asked_is_new_and_a_known_one_says_what_changed(store):
    store.put_many([(b"k", Stored("x", components=of(params="old"), prompt_digest=TEXT))])
    assert store.changes([b"\xff" * 8, TEXT, TEXT], NOW) == ["text", "params", "params"]
    assert store.changes([], NOW) == []


def test_of_several_answers_to_a_text_the_nearest_counts(store):
    olds = [of(model="a", schema="a"), of(params="a"), of(model="a", params="a", schema="a")]
    store.put_many([(bytes([i]), Stored("x", components=old, prompt_digest=TEXT)) for i, old in enumerate(olds)])
    assert store.changes([TEXT], NOW) == ["params"]


def test_of_equally_near_answers_the_one_with_another_schema_counts(store):
    olds = [of(params="a"), of(schema="a"), of(model="a")]
    store.put_many([(bytes([i]), Stored("x", components=old, prompt_digest=TEXT)) for i, old in enumerate(olds)])
    assert store.changes([TEXT], NOW) == ["schema"]


def test_an_answer_that_does_not_tell_what_was_asked_is_no_match(store):
    store.put_many([(b"a", Stored("x", prompt_digest=TEXT)), (b"b", Stored("x", components=NOW))])
    assert store.changes([TEXT], NOW) == ["text"]


def test_a_thousand_texts_are_compared_in_their_order(store):
    digests = [i.to_bytes(8, "big") for i in range(1200)]
    store.put_many(
        [(digest, Stored("x", components=of(model="a"), prompt_digest=digest)) for digest in digests if digest[7] % 3]
    )
    assert store.changes(digests, NOW) == ["model" if digest[7] % 3 else "text" for digest in digests]


@pytest.mark.parametrize("column", ["text = 'y'", "text = CAST(x'ff00' AS TEXT)", "checksum = 0", "text = 5"])
def test_an_answer_that_is_not_what_was_written_counts_as_missing(store, column):
    store.put_many([(b"a", Stored("x")), (b"b", Stored("x"))])
    other = sqlite3.connect(store.path)
    with other:
        other.execute(f"UPDATE answers SET {column} WHERE key = ?", (b"a",))  # noqa: S608 - from above
    other.close()
    assert store.get_many([b"a", b"b"]) == {b"b": Stored("x")}
    assert list(store.entries()) == [(b"b", Stored("x"))]
    store.put_many([(b"a", Stored("x"))])
    assert set(store.get_many([b"a", b"b"])) == {b"a", b"b"}


@pytest.mark.parametrize(
    "evidence",
    [
        "evidence || ' '",
        "'00000000' || substr(evidence, 9)",
        "substr(evidence, 1, 8)",
        "''",
        "5",
        "CAST(x'ff00' AS TEXT)",
    ],
)
def test_an_answer_whose_evidence_is_not_what_was_written_counts_as_missing(store, evidence):
    store.put_many([(b"a", Stored("x", evidence='{"label":[0.9,0.1]}')), (b"b", Stored("x", evidence="{}"))])
    other = sqlite3.connect(store.path)
    with other:
        other.execute(f"UPDATE answers SET evidence = {evidence} WHERE key = ?", (b"a",))  # noqa: S608 - from above
    other.close()
    assert store.get_many([b"a", b"b"]) == {b"b": Stored("x", evidence="{}")}


def test_evidence_goes_with_its_answer(store):
    with_, without = Stored("x", evidence='{"label":[0.9,0.1]}'), Stored("y")
    store.put_many([(b"a", with_), (b"b", without)])
    store.put_many([(b"c", with_), (b"c", without), (b"d", without), (b"d", with_)])
    assert store.get_many([b"a", b"b", b"c", b"d"]) == {b"a": with_, b"b": without, b"c": without, b"d": with_}
    assert dict(store.entries()) == {b"a": with_, b"b": without, b"c": without, b"d": with_}
    store.put_many([(b"a", without), (b"b", without)])
    assert store.get_many([b"a"]) == {b"a": without}


EARLIER = "key, prompt, question, created, input, output, cached, model, finish, checksum, text"
"""What a version before evidence names; changing it here would change nothing that was released."""


def test_an_earlier_version_reads_an_answer_with_evidence(store):
    store.put_many([(b"a", Stored("x", Usage(1, 2, 3), "m", "stop", 1.5, evidence="{}"))])
    other = sqlite3.connect(store.path)
    found = other.execute(f"SELECT {EARLIER} FROM answers").fetchall()  # noqa: S608 - from above
    other.close()
    # It checks the checksum over key and text.
    assert found == [(b"a", None, None, 1500, 1, 2, 3, "m", "stop", zlib.crc32(b"x", zlib.crc32(b"a")), "x")]


def test_evidence_is_not_taken_for_another_text_that_an_earlier_version_puts_there(store):
    store.put_many([(b"a", Stored("x", evidence="{}")), (b"b", Stored("x", evidence="{}"))])
    other = sqlite3.connect(store.path)
    for key, text in ((b"a", "y"), (b"b", "x"), (b"c", "z")):
        with other:
            other.execute(
                f"INSERT INTO answers ({EARLIER}) VALUES (?, NULL, NULL, 0, 1, 2, 3, 'm', 'stop', ?, ?)"  # noqa: S608
                " ON CONFLICT (key) DO UPDATE SET prompt = excluded.prompt, question = excluded.question,"
                " created = excluded.created, input = excluded.input, output = excluded.output,"
                " cached = excluded.cached, model = excluded.model, finish = excluded.finish,"
                " checksum = excluded.checksum, text = excluded.text",
                (key, zlib.crc32(text.encode(), zlib.crc32(key)), text),
            )
    other.close()
    took = Usage(1, 2, 3)
    assert store.get_many([b"a", b"b", b"c"]) == {
        b"b": Stored("x", took, "m", "stop", evidence="{}"),  # the same text: the same evidence is true of it
        b"c": Stored("z", took, "m", "stop"),
    }


def test_texts_of_an_answer_whose_question_is_lost_are_still_read(store):
    store.put_many([(b"a", Stored("x", Usage(1, 2, 3), components=NOW, prompt_digest=TEXT))])
    store.close()
    other = sqlite3.connect(store.path)
    with other:
        other.execute("DELETE FROM questions")
    other.close()
    assert store.get_many([b"a"]) == {b"a": Stored("x", Usage(1, 2, 3), prompt_digest=TEXT)}
    assert store.changes([TEXT], NOW) == ["text"]


def test_a_digest_has_eight_bytes(store):
    with pytest.raises(ValueError, match="8 bytes, this one 3"):
        store.put_many([(b"a", Stored("x")), (b"b", Stored("x", prompt_digest=b"abc"))])
    assert store.get_many([b"a"]) == {}  # all or none


def test_a_question_that_was_rolled_back_is_written_again(store):
    with pytest.raises(ValueError, match="8 bytes"):
        store.put_many([(b"a", Stored("x", components=NOW)), (b"b", Stored("x", prompt_digest=b"abc"))])
    store.put_many([(b"c", Stored("x", components=of(model="other")))])
    store.put_many([(b"a", Stored("x", components=NOW))])
    store.close()
    assert [entry.components for entry in store.get_many([b"c", b"a"]).values()] in (
        [of(model="other"), NOW],
        [NOW, of(model="other")],
    )
