"""The log-probabilities that benchmarks are answered with are such that a confidence can be read from them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from llmframe.clients.chat import read_chat
from llmframe.core.confidence import token_scores
from llmframe.core.scores import Target

FOLDER = Path(__file__).parents[2] / "benchmarks"
MODULES = ("server", "wire", "told_tokens", "reading")


@pytest.fixture
def module(monkeypatch):
    def load(name: str) -> ModuleType:
        return __import__(name)

    monkeypatch.syspath_prepend(FOLDER)
    yield load
    for name in MODULES:
        sys.modules.pop(name, None)


def test_a_reply_tells_fifteen_tokens_of_its_row_with_twenty_alternatives_each(module):
    head, body = b"row-000123".join(module("server").whole(logprobs=True)).split(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head
    reply = read_chat(json.loads(body))
    assert reply.text == '{"echo":"row-000123","label":"positive","score":0.5}'
    assert reply.tokens is not None
    assert b"".join(token.text for token in reply.tokens).decode() == reply.text
    assert [len(token.top) for token in reply.tokens] == [20] * 15
    labels = module("told_tokens").LABELS
    (score,) = token_scores(reply.text, reply.tokens, [Target("label", "label", labels)], ["positive"])
    assert score.source == "logprobs"


def test_a_reply_without_log_probabilities_has_the_length_it_says(module):
    head, body = b"row-000123".join(module("server").whole(logprobs=False)).split(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head
    assert read_chat(json.loads(body)).tokens is None


@pytest.mark.parametrize("number", [2, 5, 20, 100])
def test_labels_differ(module, number):
    assert len(set(module("reading").labels_of(number))) == number
