from __future__ import annotations

import array
import base64
import json
import math

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types import CreateEmbeddingResponse

from llmframe.testing import BadBody, Delay, NoChoices, Object, Provider, Status, Text, Without
from llmframe.testing.embeddings import embed, read_embedding, vector

DATA = {"object", "index", "embedding"}


def body(**request) -> dict:
    """What is answered to a request."""
    call = read_embedding({"model": "e", **request}, dimensions=8)
    return json.loads((call if not hasattr(call, "texts") else embed(call, None)).body)


def refusal(**request) -> tuple:
    call = read_embedding({"model": "e", **request}, dimensions=8)
    assert call.status == 400
    error = json.loads(call.body)["error"]
    return error["message"], error["type"], error["param"], error["code"]


@given(st.text(), st.integers(1, 64))
def test_a_vector_has_unit_length_and_depends_on_its_text_alone(text: str, dimensions: int):
    one = vector(text, dimensions)
    assert len(one) == dimensions
    assert math.isclose(math.hypot(*one), 1.0, rel_tol=1e-6)
    assert vector(text, dimensions) == one


def test_different_texts_have_different_vectors():
    assert len({vector(f"text {i}", 8).tobytes() for i in range(1_000)}) == 1_000


def test_the_answer_has_the_shape_of_the_sdks_type_and_the_order_of_the_texts():
    answer = body(input=["b", "a", "b"])
    CreateEmbeddingResponse.model_validate(answer, strict=True)
    assert answer.keys() == {"object", "data", "model", "usage"}
    assert [one.keys() for one in answer["data"]] == [DATA] * 3
    assert [one["index"] for one in answer["data"]] == [0, 1, 2]
    assert [one["embedding"] for one in answer["data"]] == [vector(text, 8).tolist() for text in "bab"]
    assert answer["usage"] == {"prompt_tokens": 3, "total_tokens": 3}


def test_both_encodings_hold_the_same_numbers():
    plain, packed = body(input="a", dimensions=5), body(input="a", dimensions=5, encoding_format="base64")
    numbers = array.array("f", base64.b64decode(packed["data"][0]["embedding"]))
    assert numbers.tolist() == plain["data"][0]["embedding"]
    assert len(numbers) == 5


def test_four_characters_are_a_token_and_a_list_of_numbers_counts_itself():
    assert body(input=["1234", "12345"])["usage"]["total_tokens"] == 1 + 2
    assert body(input=[7, 8, 9])["usage"]["total_tokens"] == 3
    answer = body(input=[[7, 8], [9]])
    assert (answer["usage"]["total_tokens"], len(answer["data"])) == (3, 2)


@pytest.mark.parametrize("empty", ["", [""], ["a", ""], [[]], []])
def test_an_empty_text_is_refused(empty):
    message, kind, param, _ = refusal(input=empty)
    assert "input cannot be an empty" in message
    assert (kind, param) == ("invalid_request_error", "input")


@pytest.mark.parametrize("wrong", [7, {"a": 1}, [1.5], [None], None])
def test_anything_but_texts_and_numbers_of_tokens_is_refused(wrong):
    assert refusal(input=wrong)[2] == "input"


def test_2048_texts_are_the_most_of_a_request():
    assert len(body(input=["a"] * 2048)["data"]) == 2048
    message, _, param, code = refusal(input=["a"] * 2049)
    assert "maximum length 2048, but got an array with length 2049" in message
    assert (param, code) == ("input", "array_above_max_length")


def test_8192_tokens_are_the_most_of_a_text():
    assert body(input="a" * 4 * 8192)["usage"]["total_tokens"] == 8192
    assert "Invalid 'input[1]': maximum input length is 8192 tokens" in refusal(input=["a", "a" * (4 * 8192 + 1)])[0]


def test_300000_tokens_are_the_most_of_a_request():
    # 36 texts of 8,192 tokens are 294,912; 5,088 more are 300,000
    most = ["a" * 4 * 8192] * 36 + ["a" * 4 * 5088]
    assert body(input=most)["usage"]["total_tokens"] == 300_000
    word = "max_tokens_per_request"
    message = "Requested 300001 tokens, max 300000 tokens per request"
    assert refusal(input=[*most, "b"]) == (message, word, None, word)


def test_dimensions_encodings_and_models_that_make_no_sense_are_refused():
    assert refusal(input="a", dimensions=0)[2] == "dimensions"
    assert refusal(input="a", dimensions="8")[2] == "dimensions"
    assert refusal(input="a", encoding_format="hex")[2] == "encoding_format"
    assert "model" in refusal(input="a", model=None)[0]


def test_live_requests_are_counted_limited_scripted_and_delayed_as_any(make_provider, http_kit):
    provider = make_provider(dimensions=3)
    provider.when("fails", Status(500))
    request = {"model": "e", "input": ["one", "fails"]}
    assert http_kit.call(provider, "POST", "/embeddings", json.dumps(request)).status == 500
    answer = http_kit.call(provider, "POST", "/embeddings", json.dumps(request | {"input": "12345678"}))
    assert answer.body["data"][0]["embedding"] == vector("12345678", 3).tolist()
    assert (provider.requests, provider.charges, provider.prompt_tokens) == (2, [3, 2], 2)
    assert provider.prompts == ["one\nfails", "12345678"]
    assert provider.bodies[0] == request
    # one token an hour: the first text leaves a debt that no slow machine sees paid
    limited = make_provider(tokens_per_minute=1 / 60)
    passed, late = (
        http_kit.call(limited, "POST", "/embeddings", json.dumps(request | {"input": text}))
        for text in ("12345678", "a" * 40)
    )
    assert (passed.status, late.status, late.error["code"]) == (200, 429, "rate_limit_exceeded")
    assert (limited.requests, limited.charges, limited.prompt_tokens) == (2, [2, 0], 2)


def test_steps_that_fit_reach_the_answer_and_others_leave_it_alone(make_provider, http_kit):
    provider, request = make_provider(), json.dumps({"model": "e", "input": ["a", "b"]})
    steps = (
        NoChoices(),
        Without("index", "usage"),
        Text("not for vectors"),
        Object([[1.0, 0.0], [0.0, 1.0]]),
        BadBody(),
    )
    provider.script(*steps, Delay(0.001, Status(503)))
    got = [http_kit.call(provider, "POST", "/embeddings", request) for _ in range(6)]
    assert got[0].body["data"] == []
    assert got[1].body.keys() == {"object", "data", "model"}
    assert got[1].body["data"][0].keys() == DATA - {"index"}
    assert got[2].body == body(input=["a", "b"])
    assert [one["embedding"] for one in got[3].body["data"]] == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        _ = got[4].body
    assert got[5].status == 503


def test_the_sdk_reads_them_and_a_batch_answers_them_alike(with_batches):
    async def main(kit):
        live = await kit.sdk.embeddings.create(model="e", input=["a", "é"])
        assert [one.embedding for one in live.data] == [vector(text, 8).tolist() for text in ("a", "é")]
        with pytest.raises(openai.BadRequestError):
            await kit.sdk.embeddings.create(model="e", input="")
        url = "/v1/embeddings"
        lines = [
            {"custom_id": name, "method": "POST", "url": url, "body": {"model": "e", "input": given}}
            for name, given in (("fine", ["a", "é"]), ("empty", ""))
        ]
        batch = await kit.ended(await kit.create(lines, endpoint=url))
        (row,) = await kit.rows(batch.output_file_id)
        answer = CreateEmbeddingResponse.model_validate(row["response"]["body"], strict=True)
        assert [one.embedding for one in answer.data] == [one.embedding for one in live.data]
        (failed,) = await kit.rows(batch.error_file_id)
        assert failed["response"]["status_code"] == 400
        kit.provider.batches.max_inputs = 2
        batch = await kit.ended(await kit.create(lines, endpoint=url))
        assert (batch.status, batch.errors.data[0].code) == ("failed", "too_many_inputs")

    with_batches(main)


def test_vectors_have_eight_numbers_unless_told_otherwise():
    assert len(body(input="a")["data"][0]["embedding"]) == 8
    assert repr(Provider(dimensions=3)).startswith("<Provider")
