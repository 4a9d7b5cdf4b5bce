"""Which texts tell the width of vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from llmframe.api.embed_files import _UNSAID
from llmframe.api.embedding import EmbedAsking, EmbedOptions, embed_asking, embed_prepared
from llmframe.api.gauging import MOST_TEXTS, first_texts
from llmframe.api.prepared import Prepared
from llmframe.core.embeddings import kept_text
from llmframe.core.vectors import vector_of
from llmframe.frames import wrap
from llmframe.stores.base import MemoryStore, Stored
from llmframe.testing import Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


def asking(provider: Provider, **options: Any) -> EmbedAsking:
    said = {name: _UNSAID[name] for name in EmbedOptions.__annotations__}
    return embed_asking("text", {**said, "client": provider, **options}, verb="embed_file")


def parts(ask: EmbedAsking, *texts: Sequence[str | None]) -> list[Prepared]:
    frames = [wrap(pa.table({"text": pa.array(each, pa.string())})) for each in texts]
    return [embed_prepared(frame, ask, verb="embed_file") for frame in frames]


def texts_of(found: list[Prepared]) -> list[list[object]]:
    return [part.frame.cells([0], 0, len(part.frame))[0] for part in found]


def test_the_first_rows_with_a_text_are_taken_each_alone(provider: Provider):
    ask = asking(provider)
    found = first_texts(parts(ask, [None, ""], ["a", None, "a", "b"], ["c"]), ask, MemoryStore())
    assert texts_of(found) == [["a"], ["b"]]
    assert ask.width.size is None


def test_no_more_are_taken_than_will_be_tried(provider: Provider):
    ask = asking(provider)
    found = first_texts(parts(ask, list(map(str, range(100)))), ask, MemoryStore())
    assert texts_of(found) == [[str(number)] for number in range(MOST_TEXTS)]


def test_a_vector_that_is_kept_tells_the_width(provider: Provider):
    ask, store = asking(provider), MemoryStore()
    (part,) = parts(ask, ["a", "b"])
    ((_, second),) = list(part.plan().draw())
    store.put_many([(second.key, Stored(kept_text(vector_of([1.0, 2.0, 3.0]))))])
    assert first_texts([part], ask, store) == []
    assert ask.width.size == 3


def test_nothing_is_read_where_the_width_is_said(provider: Provider):
    def unread() -> Iterator[Prepared]:
        raise AssertionError
        yield

    assert first_texts(unread(), asking(provider, dimensions=5), MemoryStore()) == []


def test_a_source_without_a_text_has_none(provider: Provider):
    ask = asking(provider)
    assert first_texts(parts(ask, [], [None, ""]), ask, MemoryStore()) == []
