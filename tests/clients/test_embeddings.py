"""The client of /embeddings, over a simulated provider."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from llmframe.clients.base import RequestError
from llmframe.clients.embeddings import (
    BASE64,
    FLOATS,
    EmbeddingClient,
    Encoding,
    open_embeddings,
    read_vectors,
    refuses_base64,
)
from llmframe.core.embeddings import NO_VECTOR, VectorReply
from llmframe.core.outcome import Usage
from llmframe.core.vectors import vector_of
from llmframe.errors import UsageError
from llmframe.testing import BadBody, NoChoices, Provider, Status
from llmframe.testing.embeddings import vector


def opened(client: object = None, **options: Any) -> EmbeddingClient:
    plain: dict[str, Any] = {"model": None, "base_url": None, "api_key": None, "params": {}, "dimensions": None}
    return open_embeddings(**{**plain, **options}, client=client)


async def sent(client: EmbeddingClient, *texts: str, encoding: Encoding = BASE64) -> VectorReply:
    await client.start()
    try:
        reply = await client.send([{"role": "user", "content": text} for text in texts], encoding)
    finally:
        await client.close()
    assert isinstance(reply, VectorReply)
    return reply


async def test_both_encodings_bring_the_same_vectors_in_the_order_of_the_texts():
    with Provider() as provider:
        replies = [
            await sent(opened(provider, dimensions=4, params={"user": "u"}), "a", "b", encoding=encoding)
            for encoding in (BASE64, FLOATS)
        ]
    wanted = tuple(vector_of(vector(text, 4)) for text in ("a", "b"))
    assert [reply.vectors for reply in replies] == [wanted, wanted]
    assert replies[0].usage.output_tokens == 0
    assert replies[0].usage.input_tokens
    body = {"model": "simulated", "user": "u", "dimensions": 4, "input": ["a", "b"]}
    assert provider.bodies == [{**body, "encoding_format": "base64"}, {**body, "encoding_format": "float"}]


@pytest.mark.parametrize("copied", [True, False])
async def test_a_client_of_the_users_own_asks_the_same_path(*, copied: bool):
    with Provider(check_key=True) as provider:
        more: dict[str, Any] = {} if copied else {"http_client": openai.DefaultAsyncHttpx2Client()}
        own = openai.AsyncOpenAI(base_url=provider.base_url, api_key=provider.api_key, **more)
        client = opened(own, model="m")
        assert client.foreign_loop is not copied
        assert len((await sent(client, "a")).vectors) == 1
        await own.close()


async def test_refusals_and_bodies_without_vectors_are_the_errors_of_any_request():
    with Provider() as provider:
        provider.script(Status(429), BadBody(), NoChoices())
        kinds = []
        for _ in range(2):
            with pytest.raises(RequestError) as raised:
                await sent(opened(provider), "a")
            kinds.append(raised.value.kind)
        assert kinds == ["rate_limit", "server"]
        assert (await sent(opened(provider), "a", "b")).vectors == (NO_VECTOR, NO_VECTOR)
    with pytest.raises(RequestError, match="wasn't started"):
        await opened(provider).send([], BASE64)


def entry(place: object, numbers: object) -> dict[str, object]:
    return {"index": place, "embedding": numbers}


def test_an_answer_is_read_by_its_indices_and_what_is_wrong_concerns_one_text():
    one, two = vector_of([1]), vector_of([2])
    read = read_vectors({"data": [entry(1, [2]), entry(0, [1])], "model": "m"}, inputs=2)
    assert read is not None
    assert (read.values, read.model, read.usage) == ((one, two), "m", Usage())
    wrong = {"data": [entry(0, [1]), entry(1, [2]), entry(1, [2]), entry(7, [3]), entry(2, "?"), "x", entry(True, [9])]}
    read = read_vectors(wrong, inputs=4)
    assert read is not None
    assert read.values == (one, NO_VECTOR, NO_VECTOR, NO_VECTOR)


def test_without_indices_the_order_tells_if_there_are_as_many_as_texts():
    bare = [{"embedding": [1]}, {"embedding": [2]}]
    read = read_vectors({"data": bare, "usage": {"total_tokens": 5}}, inputs=2)
    assert read is not None
    assert (read.values, read.usage) == ((vector_of([1]), vector_of([2])), Usage(5, 0, None))
    fewer = read_vectors({"data": bare}, inputs=3)
    assert fewer is not None
    assert fewer.values == (NO_VECTOR,) * 3
    placed = read_vectors({"data": [{"index": 0, "embedding": [1]}]}, inputs=1)
    assert placed is not None
    assert (read.in_order, fewer.in_order, placed.in_order) == (True, True, False)
    assert read_vectors({"data": None}, inputs=1) is None


@pytest.mark.parametrize(
    ("param", "code", "status", "may_be"),
    [
        ("encoding_format", "unsupported_value", 400, True),
        (None, None, 422, True),
        ("input", None, 400, False),
        (None, "context_length_exceeded", 400, False),
        (None, None, 404, False),
    ],
)
def test_a_refusal_speaks_of_base64_by_its_param_or_says_nothing(
    param: str | None, code: str | None, status: int, *, may_be: bool
):
    assert refuses_base64(RequestError("bad_request", "no", status=status, param=param, code=code)) is may_be


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, r'model="openai/text-embedding-3-small"'),
        ({"model": "anthropic/claude"}, r"'anthropic/claude' can't embed here: .*base_url="),
        ({"model": "m", "base_url": "http://h/v1", "params": {"dimensions": 3}}, r"give `dimensions=`"),
        ({"model": "m", "base_url": "http://h/v1", "params": {"input": 3}}, r"the column or template makes it"),
    ],
)
def test_wrong_use_says_what_works(options: dict[str, Any], says: str):
    with pytest.raises(UsageError, match=says):
        opened(**options)


def test_the_limit_of_a_text_is_known_of_openais_models_alone():
    assert opened(model="openai/text-embedding-3-small", api_key="k").knows_limit
    assert not opened(model="bge", base_url="http://localhost:8080/v1").knows_limit
    assert opened(Provider()).knows_limit
