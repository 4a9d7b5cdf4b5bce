"""The fingerprint: equal questions, equal keys."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.request import (
    KEY_VERSION,
    TRANSPORT_PARAMS,
    Components,
    Question,
    canonical_json,
    text_digest,
)

QUESTION = Question(
    identity="https://api.openai.com/v1",
    model="gpt-4o-mini",
    params={"temperature": 0, "seed": 7},
    schema='{"type":"object"}',
    output_mode="auto",
)
MESSAGES = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Größe: 😀"}]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def key_of(question: Question = QUESTION, messages: object = MESSAGES) -> str:
    return question.fingerprints().key(messages).hex()


def whole(question: Question, messages: object) -> str:
    """The key as the contract words it: SHA-256 over one canonical document."""
    document = {
        "client": question.identity,
        "key_version": KEY_VERSION,
        "messages": messages,
        "model": question.model,
        "output_mode": question.output_mode,
        "params": {name: value for name, value in question.params.items() if name not in TRANSPORT_PARAMS},
        "sample": question.sample,
        "schema": question.schema,
    }
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_key_is_frozen():
    """A snapshot.

    If it changes, every answer that anybody keeps is asked and paid for again, resumed runs start from nothing and
    batch jobs lose their rows: then raise KEY_VERSION and say so in the changelog.
    """
    assert KEY_VERSION == 1
    assert key_of() == "ab09906080d8f601afc77deb5b9613940ae75808468e137f2ec759a6ca28982f"
    assert QUESTION.components() == Components(
        model="68645149bf9fa3be", params="bd1285fea720cd7a", schema="d9437832403e12b4"
    )


@given(
    messages=st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=3), max_size=3),
    params=st.dictionaries(st.text(), JSON, max_size=4),
    texts=st.tuples(st.text(), st.text(), st.text(), st.text()),
    sample=st.integers(0, 99),
)
def test_hashing_in_pieces_equals_hashing_the_whole_document(
    messages: list[Any], params: dict[str, Any], texts: tuple[str, str, str, str], sample: int
):
    identity, model, schema, mode = texts
    question = Question(identity=identity, model=model, params=params, schema=schema, output_mode=mode, sample=sample)
    assert key_of(question, messages) == whole(question, messages)


def test_one_maker_serves_many_rows():
    maker = QUESTION.fingerprints()
    first = maker.key(MESSAGES)
    assert maker.key([]) != first
    assert maker.key(MESSAGES) == first
    assert len(first) == 32


@given(st.dictionaries(st.text(), JSON, max_size=5), st.randoms())
def test_the_order_of_params_does_not_count(params: dict[str, Any], random: Any):
    names = list(params)
    random.shuffle(names)
    shuffled = {name: params[name] for name in names}
    assert key_of(dataclasses.replace(QUESTION, params=shuffled)) == key_of(
        dataclasses.replace(QUESTION, params=params)
    )


@pytest.mark.parametrize("name", sorted(TRANSPORT_PARAMS))
def test_how_a_request_travels_is_no_part_of_the_question(name: str):
    travelling = dataclasses.replace(QUESTION, params={**QUESTION.params, name: {"x-trace": "7"}})
    assert key_of(travelling) == key_of()
    assert travelling.components() == QUESTION.components()


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"identity": "http://127.0.0.1:8000/v1"}, "model"),
        ({"model": "gpt-4o"}, "model"),
        ({"sample": 1}, "params"),
        ({"params": {"temperature": 0}}, "params"),
        ({"params": {"temperature": 0, "seed": 8}}, "params"),
        ({"params": {"temperature": 0, "seed": 7, "max_tokens": 5}}, "params"),
        ({"schema": '{"type":"array"}'}, "schema"),
        ({"output_mode": "tools"}, "schema"),
    ],
)
def test_every_component_changes_the_key_and_its_own_part_alone(changed: dict[str, Any], part: str):
    other = dataclasses.replace(QUESTION, **changed)
    assert key_of(other) != key_of()
    before, after = dataclasses.asdict(QUESTION.components()), dataclasses.asdict(other.components())
    assert {name for name in before if before[name] != after[name]} == {part}


def test_the_digest_of_a_text_depends_on_the_messages_alone():
    assert text_digest(MESSAGES).hex() == "57770673a3962cdf"
    assert text_digest([dict(reversed(message.items())) for message in MESSAGES]) == text_digest(MESSAGES)
    assert text_digest(MESSAGES[:1]) != text_digest(MESSAGES)


def test_another_sample_and_other_messages_are_other_questions():
    assert key_of(dataclasses.replace(QUESTION, sample=1)) != key_of()
    assert key_of(messages=MESSAGES[1:]) != key_of()
    assert key_of(messages=MESSAGES[::-1]) != key_of()


@given(st.text(), st.text())
def test_nothing_moves_from_one_component_into_the_next(left: str, right: str):
    """Joining texts without marks would make `ab` + `c` and `a` + `bc` one question."""
    one = dataclasses.replace(QUESTION, identity=left + right, model="m")
    two = dataclasses.replace(QUESTION, identity=left, model=right + "m")
    assert (key_of(one) == key_of(two)) == (right == "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, 1.5]}, '{"a":[true,null,1.5],"b":1}'),
        ("ü\n\ud800", '"\\u00fc\\n\\ud800"'),
        (1, "1"),
        (True, "true"),
        (1.0, "1.0"),
    ],
)
def test_canonical_json_is_sorted_dense_and_ascii(value: object, text: str):
    assert canonical_json(value) == text


@given(messages=st.lists(JSON, max_size=3), data=st.data())
def test_a_start_that_is_hashed_once_gives_the_same_keys(messages: list[object], data: st.DataObject):
    text = canonical_json(messages)
    cut = data.draw(st.integers(0, len(text)))
    fingerprints = QUESTION.fingerprints()
    key = fingerprints.key(messages)
    assert fingerprints.key_of(text) == key
    start = fingerprints.after(text[:cut])
    assert [start.key_of(text[cut:]), start.key_of(text[cut:])] == [key, key]
    assert fingerprints.key(messages) == key
