"""The embedded model as it scores labels, started for real."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from typing import Any, Literal

import aiohttp
import pytest

from llmframe.clients import open_client
from llmframe.clients.base import Client, RequestError
from llmframe.clients.local import embedded
from llmframe.clients.local_scoring import blank_before
from llmframe.core.reply import Reply
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError

LABELS = ("positive", "negative")

NOISE = 0.03
"""Quantised weights round by the length of a batch, so by what a slot has kept of a prompt (0.011 seen)."""

EXAMPLES: list[Any] = [
    message
    for text, label in (
        ("Great sound and it lasts all day.", "positive"),
        ("The food was cold and the waiter was rude.", "negative"),
        ("It broke after a week.", "negative"),
    )
    for message in (
        {"role": "user", "content": text},
        {"role": "assistant", "content": json.dumps({"response": label})},
    )
]


def opened(schema: object = LABELS, **options: Any) -> Client:
    said: dict[str, Any] = {"base_url": None, "api_key": None, "client": None, "params": {}, "output_mode": "score"}
    spec = list(schema) if isinstance(schema, tuple) else schema  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return open_client(**{"model": "local/smollm2-135m", **said, "schema": schema_of(spec), **options})


async def asked(client: Client, *texts: str, before: list[Any] | None = None) -> list[Reply]:
    await client.start()
    try:
        return await asyncio.gather(
            *(client.send([*(before or []), {"role": "user", "content": text}], client.dialects[0]) for text in texts)
        )
    finally:
        await client.close()


def shares(reply: Reply) -> dict[Any, float]:
    assert reply.tokens is not None
    return {json.loads(text[:-1]): math.exp(logprob) for text, logprob in reply.tokens[1].top}


@pytest.fixture
async def endpoint() -> AsyncIterator[Any]:
    base_url, key = embedded("smollm2-135m").start()
    async with aiohttp.ClientSession(
        base_url.removesuffix("v1"), headers={"Authorization": f"Bearer {key}"}
    ) as session:

        async def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
            async with session.post(path, json=body) as answer:
                return await answer.json()

        yield post


async def raw(post: Any, messages: list[Any], answer: str) -> dict[int, float]:
    """The model's own probabilities of all tokens after the start of an answer, by the raw numbers of the server."""
    prompt = (await post("apply-template", {"messages": messages}))["prompt"]
    start = (await post("tokenize", {"content": answer}))["tokens"]
    body = {"prompt": [prompt, *start], "n_predict": 1, "n_probs": 60_000}
    place = (await post("completion", body))["completion_probabilities"][0]
    return {entry["id"]: math.exp(entry["logprob"]) for entry in place["top_logprobs"]}


@pytest.mark.local_model
async def test_a_label_has_its_share_of_what_the_model_gives_to_all_labels(endpoint: Any):
    question = {"role": "user", "content": "I love this phone"}
    (reply,) = await asked(opened(), question["content"], before=EXAMPLES)
    found = await raw(endpoint, [*EXAMPLES, question], ' {"response": "')
    first = {label: found[(await endpoint("tokenize", {"content": label}))["tokens"][0]] for label in LABELS}
    wanted = {label: each / sum(first.values()) for label, each in first.items()}
    assert shares(reply) == pytest.approx(wanted, abs=NOISE)
    assert reply.text == json.dumps({"response": max(wanted, key=wanted.__getitem__)})


@pytest.mark.local_model
async def test_labels_that_begin_alike_are_told_by_the_chain_of_their_tokens(endpoint: Any):
    labels = ("good", "good one", "bad")
    question = {"role": "user", "content": "I love this phone"}
    (reply,) = await asked(opened(labels), question["content"])
    ids = {text: (await endpoint("tokenize", {"content": text}))["tokens"] for text in ("good", "bad", " one", '"}')}
    root = await raw(endpoint, [question], '{"response": "')
    after = await raw(endpoint, [question], '{"response": "good')
    good = root[ids["good"][0]] / (root[ids["good"][0]] + root[ids["bad"][0]])
    longer = after[ids[" one"][0]] / (after[ids[" one"][0]] + after[ids['"}'][0]])
    wanted = {"good": good * (1 - longer), "good one": good * longer, "bad": 1 - good}
    assert shares(reply) == pytest.approx(wanted, abs=NOISE)
    assert reply.usage.output_tokens == 2  # one pass a fork


@pytest.mark.local_model
@pytest.mark.parametrize(
    "schema", [LABELS, bool, Literal[1, 2, 10, 11], Literal["a", 'a "b"', "日本", "日米"], ("only",)]
)
async def test_shares_sum_to_1_and_the_text_is_the_likeliest_label(schema: object):
    client = opened(schema)
    for before in ([], EXAMPLES):
        for reply in await asked(client, "I love it.", "It is bad.", before=before):
            found = shares(reply)
            assert math.fsum(found.values()) == pytest.approx(1)
            assert json.loads(reply.text or "")["response"] == max(found, key=found.__getitem__)
            assert reply.finish_reason == "stop"
            assert reply.model == "smollm2-135m"
            assert reply.usage.output_tokens
            assert (reply.usage.input_tokens or 0) > (reply.usage.cached_tokens or 0)


@pytest.mark.local_model
async def test_labels_that_part_inside_a_character_are_told_like_others(endpoint: Any):
    labels = ("日本", "月光")
    question = {"role": "user", "content": "日本"}
    pieces = [(await endpoint("tokenize", {"content": text, "with_pieces": True}))["tokens"] for text in labels]
    parted = next(n for n, (left, right) in enumerate(zip(*pieces, strict=False)) if left["id"] != right["id"])
    assert isinstance(pieces[0][parted]["piece"], list)  # bytes: a part of a character
    client = opened(labels)
    found = [shares((await asked(client, question["content"]))[0]) for _ in range(8)]  # what is drawn differs
    assert all(each == pytest.approx(found[0], abs=NOISE) for each in found)
    assert math.fsum(found[0].values()) == pytest.approx(1)


@pytest.mark.local_model
async def test_params_of_drawing_change_nothing_and_nothing_streams():
    plain = await asked(opened(), "I love it.", before=EXAMPLES)
    params = {"temperature": 5.0, "top_p": 0.1, "seed": 3, "max_tokens": 1, "stream": True}
    client = opened(params=params)
    assert not client.streams
    assert shares((await asked(client, "I love it.", before=EXAMPLES))[0]) == pytest.approx(shares(plain[0]), abs=NOISE)


@pytest.mark.local_model
async def test_a_prompt_that_is_too_long_is_told_as_the_chat_tells_it():
    with pytest.raises(RequestError) as caught:
        await asked(opened(), "word " * 3000)
    assert (caught.value.kind, caught.value.status) == ("context_length", 400)


@pytest.mark.local_model
async def test_a_client_that_was_closed_can_be_started_again():
    client = opened()
    first, second = await asked(client, "I love it."), await asked(client, "I love it.")
    assert shares(first[0]) == pytest.approx(shares(second[0]), abs=NOISE)
    with pytest.raises(RequestError, match="wasn't started"):
        await client.send([{"role": "user", "content": "x"}], client.dialects[0])


@pytest.mark.parametrize(
    "options",
    [
        {"model": "openai/gpt-4o-mini", "api_key": "sk-x"},
        {"model": "m", "base_url": "http://localhost:1/v1"},
        {"model": "google/gemini-test", "api_key": "sk-x"},
        {"model": None},
    ],
)
def test_a_model_that_is_not_embedded_is_refused_with_what_tells_confidence_there(options: dict[str, Any]):
    with pytest.raises(UsageError, match="output_mode 'score' is for embedded models") as caught:
        opened(**options)
    assert 'confidence="logprobs"' in str(caught.value)


def test_what_a_template_puts_before_an_answer_is_found_where_the_prompt_goes_on():
    assert blank_before("q\nAnswer:", "q\nAnswer: answer\n###\nq\nAnswer:") == " "
    assert blank_before("<user>q<model>\n", "<user>q<model>\nanswer<user>q<model>\n") == ""
    assert blank_before("<user>q<model>", "q\nAnswer: answer\nq\nAnswer:") == ""
    assert blank_before("<model>", "<model><think></think>answer") == ""
