"""What stands for a request before its batch is known."""

from __future__ import annotations

import dataclasses

import pytest

from llmframe.batch.chat import ChatDrafts
from llmframe.batch.drafts import Draft, Drafts, Invalid
from llmframe.batch.embeddings import EmbeddingDrafts
from llmframe.engine.packing import Bounds
from tests.batch.doubles import Bench, key
from tests.engine.doubles import LABEL


def test_a_draft_is_rendered_when_its_id_is_known_and_never_changes():
    draft = Draft([key(1)], 3, 4, [b"8 bytes!"], lambda custom_id: f"{custom_id}\n".encode())
    assert (draft.render("a"), draft.render("b")) == (b"a\n", b"b\n")
    with pytest.raises(dataclasses.FrozenInstanceError):
        draft.tokens = 7  # type: ignore[misc]


def test_chats_and_texts_to_embed_are_drafted_alike():
    invalid: Invalid = {}
    chats: Drafts = ChatDrafts(Bench(), LABEL, max_tokens=None, invalid=invalid)
    texts: Drafts = EmbeddingDrafts(Bench(), bounds=Bounds(inputs=2, tokens=10))  # type: ignore[arg-type]
    for drafts in (chats, texts):
        assert list(drafts.flush()) == []
        assert drafts.tool is None
        assert drafts.dialect is not None
