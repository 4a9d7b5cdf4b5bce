"""Lines of texts to embed: packed, taken apart, read."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.batch.embeddings import EmbeddingDrafts, EmbeddingReading, failed_line
from llmframe.clients.base import RequestError
from llmframe.clients.batch import Vectors
from llmframe.clients.embeddings import BASE64, FLOATS
from llmframe.core.embeddings import Width, unwrapped
from llmframe.core.outcome import Usage
from llmframe.core.plan import Planned
from llmframe.core.reply import Reply
from llmframe.core.vectors import vector_of
from llmframe.engine.packing import Bounds
from llmframe.stores.jobs import LineOutcome, LineRecord


class Lines:
    """A provider's side that writes a line as its texts and their encoding."""

    def embedding_line(self, custom_id: str, texts: list[str], dialect: Any = None) -> bytes:
        del custom_id
        return repr((texts, dialect.words)).encode()


def key(text: str) -> bytes:
    return text.encode().ljust(32, b"\0")


def planned(texts: Iterable[str]) -> list[Planned]:
    return [Planned(at, key(text), [{"role": "user", "content": text}]) for at, text in enumerate(texts)]


def drafts_of(inputs: int = 3, tokens: int = 1000, alone: int | None = 100) -> EmbeddingDrafts:
    return EmbeddingDrafts(Lines(), bounds=Bounds(inputs=inputs, tokens=tokens, alone=alone))  # type: ignore[arg-type]


def lines(drafts: Iterable[Any]) -> list[list[str]]:
    """The texts of each line, by its keys and by what is sent, which have to agree."""
    found: list[list[str]] = []
    for draft in drafts:
        texts, _ = literal_eval(draft.render("id").decode())
        assert [key(text) for text in texts] == draft.keys
        assert len(draft.digests) == len(texts)
        found.append(texts)
    return found


def all_lines(drafts: EmbeddingDrafts, texts: Iterable[str]) -> list[list[str]]:
    return lines([*drafts.add(planned(texts)), *drafts.flush()])


def error(status: int = 400, code: str | None = "invalid", param: str | None = "input") -> RequestError:
    return RequestError("bad_request", "no", status=status, code=code, param=param)


def test_texts_fill_lines_across_lists_and_the_rest_comes_at_the_end():
    drafts = drafts_of(inputs=3)
    assert lines(drafts.add(planned("ab"))) == []
    assert lines(drafts.add(planned("cde"))) == [["a", "b", "c"]]
    assert lines(drafts.flush()) == [["d", "e"]]
    assert lines(drafts.flush()) == []


def test_a_text_that_waits_already_is_not_taken_twice():
    drafts = drafts_of(inputs=3)
    assert lines(drafts.add(planned("ab"))) == []
    assert lines(drafts.add(planned("bac"))) == [["a", "b", "c"]]


def test_a_line_holds_so_many_tokens_and_a_long_text_goes_alone():
    drafts = drafts_of(inputs=9, tokens=20, alone=15)
    # three characters a token and one more: 9 tokens, 9, 9, and 17 of the long one
    texts = ["a" * 24, "b" * 24, "c" * 24, "d" * 48]
    assert all_lines(drafts, texts) == [[texts[0], texts[1]], [texts[3]], [texts[2]]]


@given(st.lists(st.text("ab", min_size=1, max_size=9), unique=True), st.integers(1, 5), st.integers(4, 12))
def test_every_text_stands_in_one_line_that_keeps_its_bounds(texts: list[str], inputs: int, tokens: int):
    found = all_lines(drafts_of(inputs=inputs, tokens=tokens, alone=None), texts)
    assert sorted(text for line in found for text in line) == sorted(texts)
    assert all(len(line) <= inputs for line in found)
    assert all(len(line) == 1 or sum(len(text) // 3 + 1 for text in line) <= tokens for line in found)


def test_the_texts_of_a_refused_line_go_alone_and_only_they():
    drafts = drafts_of(inputs=3)
    assert drafts.refused([key("a"), key("b")], error())
    assert all_lines(drafts, "abcde") == [["a"], ["b"], ["c", "d", "e"]]
    assert not drafts.refused([key("a")], error())  # it is to blame itself


def test_a_line_that_was_surely_too_large_is_made_of_fewer_then_alone():
    drafts = drafts_of(inputs=32)
    sent = [key(str(number)) for number in range(32)]
    assert drafts.refused(sent, error(413))
    assert list(map(len, all_lines(drafts, map(str, range(32))))) == [4] * 8  # an eighth
    assert drafts.refused(sent[:4], error(code="max_tokens_per_request"))
    assert list(map(len, all_lines(drafts, map(str, range(8))))) == [1] * 4 + [4]
    assert not drafts.refused(sent[:1], error(413))


@pytest.mark.parametrize("kind", ["server", "rate_limit", "auth", "batch_expired", "cancelled"])
def test_what_is_not_about_the_texts_takes_no_line_apart(kind: Any):
    drafts = drafts_of()
    assert not drafts.refused([key("a"), key("b")], RequestError(kind, "no", status=500))
    assert all_lines(drafts, "ab") == [["a", "b"]]


def test_a_long_text_that_is_refused_is_too_long_whatever_the_words():
    drafts, long = drafts_of(alone=15), "d" * 48
    all_lines(drafts, [long, "a"])
    for text, kind in ((long, "context_length"), ("a", "bad_request")):
        refusal = error()
        assert not drafts.refused([key(text)], refusal)
        assert refusal.kind == kind


def test_a_server_that_takes_no_base64_is_asked_for_numbers_once():
    drafts = drafts_of()
    refusal = error(code=None, param="encoding_format")
    assert [literal_eval(draft.render("id").decode())[1] for draft in drafts.flush()] == []
    assert drafts.dialect == BASE64
    assert drafts.refused([key("a")], refusal)
    assert drafts.dialect == FLOATS
    assert [literal_eval(draft.render("id").decode())[1] for draft in [*drafts.add(planned("xyz"))]] == ["float"]
    assert not drafts.refused([key("a")], refusal)


def test_a_refusal_without_a_word_is_tried_alone_and_in_numbers():
    drafts = drafts_of()
    wordless = error(code=None, param=None)
    assert drafts.refused([key("a"), key("b")], wordless)
    sent = [literal_eval(draft.render("id").decode()) for draft in [*drafts.add(planned("abcde")), *drafts.flush()]]
    assert sent == [(["a"], "float"), (["b"], "float"), (["c", "d", "e"], "base64")]
    assert not drafts.refused([key("a")], wordless)


ONE, TWO = vector_of([1.0]), vector_of([2.0])


def read(answer: Any, texts: str = "abc", width: Width | None = None) -> list[tuple[LineOutcome, Any]]:
    records = [LineRecord(7, place, key(text), text.encode()) for place, text in enumerate(texts)]
    reading = EmbeddingReading(width or Width(), components=None, clock=lambda: 7.0)
    return list(reading.read(records, answer))


def test_each_text_gets_its_vector_and_a_share_of_the_tokens():
    told = read(Vectors(values=(ONE, TWO, ONE), usage=Usage(10, 0, 0), model="m"))
    assert [outcome for outcome, _ in told] == [
        LineOutcome(state="kept", usage=Usage(tokens, 0, 0)) for tokens in (3, 3, 4)
    ]
    assert [unwrapped(entry.text) for _, entry in told] == [ONE, TWO, ONE]
    assert [(entry.usage.input_tokens, entry.model, entry.created) for _, entry in told] == [
        (tokens, "m", 7.0) for tokens in (3, 3, 4)
    ]
    assert [entry.prompt_digest for _, entry in told] == [b"a", b"b", b"c"]


def test_what_took_an_unknown_number_of_tokens_stays_unknown():
    assert [outcome.usage for outcome, _ in read(Vectors(values=(ONE, ONE, ONE)))] == [Usage()] * 3


def test_a_vector_that_is_missing_or_has_another_width_fails_alone():
    told = read(Vectors(values=(ONE, b"", ONE + TWO), usage=Usage(3, 0, 0)))
    assert [(outcome.state, outcome.kind) for outcome, _ in told] == [
        ("kept", None),
        ("failed", "invalid"),
        ("failed", "invalid"),
    ]
    assert [entry is None for _, entry in told] == [False, True, True]
    assert [outcome.usage.input_tokens for outcome, _ in told] == [1, 1, 1]  # paid all the same
    short = read(Vectors(values=(ONE,)))
    assert [outcome.state for outcome, _ in short] == ["kept", "failed", "failed"]


def test_vectors_without_places_are_nobodys_unless_there_are_as_many_as_texts():
    fewer = read(Vectors(values=(ONE, TWO), in_order=True))
    assert [outcome.kind for outcome, _ in fewer] == ["invalid"] * 3
    whole = read(Vectors(values=(ONE, TWO, ONE), in_order=True))
    assert [unwrapped(entry.text) for _, entry in whole] == [ONE, TWO, ONE]


def test_an_answer_to_a_chat_is_no_vector():
    assert [outcome.state for outcome, _ in read(Reply(text="hello"))] == ["failed"] * 3


def test_whoever_has_no_texts_at_hand_blames_none_of_several():
    records = [LineRecord(0, place, key(str(place))) for place in range(2)]
    assert failed_line(records, error()).state == "missing"
    assert failed_line(records[:1], error()).state == "failed"
    assert failed_line(records, RequestError("batch_expired", "late")).state == "expired"
