"""Listed values and their probabilities."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.errors import UsageError
from llmframe.testing import Provider
from llmframe.testing.closed import Opinion, closed_fields

LABELS = ("good", "bad", "ugly")


def weights(opinion: Opinion, options: tuple[object, ...] = LABELS, likeliest: object = "bad") -> list[float]:
    return opinion.weights(options, prompt="p", seed=1, key="label", likeliest=likeliest)


def test_fields_whose_values_are_listed_are_found_through_references_and_unions():
    schema: dict[str, Any] = {
        "$ref": "#/$defs/Root",
        "$defs": {
            "Tone": {"enum": ["good", "bad"], "type": "string"},
            "Root": {
                "type": "object",
                "properties": {
                    "tone": {"$ref": "#/$defs/Tone"},
                    "maybe": {"anyOf": [{"allOf": [{"$ref": "#/$defs/Tone"}]}, {"type": "null"}]},
                    "sure": {"type": "boolean"},
                    "once": {"const": 1},
                    "both": {"type": ["boolean", "null"]},
                    "text": {"type": "string"},
                    "open": {"anyOf": [{"const": "x"}, {"type": "string"}]},
                },
            },
        },
    }
    assert closed_fields(schema) == {
        "tone": ("good", "bad"),
        "maybe": ("good", "bad", None),
        "sure": (True, False),
        "once": (1,),
        "both": (True, False, None),
    }


def test_a_reference_to_itself_lists_nothing():
    assert closed_fields({"properties": {"a": {"$ref": "#/properties/a"}}}) == {}


@given(st.integers(1, 12), st.data())
def test_derived_probabilities_sum_to_one_with_the_likeliest_in_front(count: int, data: Any):
    options = tuple(range(count))
    likeliest = data.draw(st.sampled_from(options))
    shares = Opinion().weights(options, prompt="", seed=data.draw(st.integers(0, 9)), key="k", likeliest=likeliest)
    assert sum(shares) == pytest.approx(1)
    assert min(shares) > 0
    assert shares[likeliest] == max(shares) >= 0.5


def test_stated_probabilities_hold_and_what_they_leave_is_shared():
    assert weights(Opinion(stated={"good": 0.7})) == pytest.approx([0.7, 0.15, 0.15])
    assert weights(Opinion(stated={"good": 0.7, "bad": 0.3})) == pytest.approx([0.7, 0.3, 0])
    # 0.5 and 0.3 of 0.8
    assert weights(Opinion(stated={"good": 0.5, "bad": 0.3}), LABELS[:2]) == pytest.approx([0.625, 0.375])
    assert weights(Opinion(stated={True: 0.9}), (True, False), True) == pytest.approx([0.9, 0.1])
    assert weights(Opinion(stated={True: 0.9}), (1, 2), 1) == weights(Opinion(), (1, 2), 1), "1 isn't true"
    assert weights(Opinion(stated=lambda prompt: {prompt: 1.0}), ("p", "q"), "q") == [1.0, 0.0]


def test_what_is_stated_of_other_values_leaves_a_field_as_it_was():
    assert weights(Opinion(stated={"x": 1.0})) == weights(Opinion())


def test_a_share_outside_of_zero_and_one_is_refused():
    with pytest.raises(UsageError, match=r"probabilities gives 'a' the share 1.5; shares lie in \[0, 1\]"):
        Provider(probabilities={"a": 1.5})


def test_the_likeliest_value_is_said_unless_the_model_varies(make_provider, http_kit):
    form = http_kit.json_schema(http_kit.schema)
    provider = make_provider(probabilities={"positive": 0.3, "negative": 0.7})
    said = {http_kit.ask(provider, f"row-{i}", response_format=form).object["label"] for i in range(8)}
    assert said == {"negative"}


def test_samples_of_a_prompt_vary_by_count_or_by_seed_and_always_alike(make_provider, http_kit):
    form = http_kit.json_schema(http_kit.schema)

    def samples(**body: Any) -> list[str]:
        provider = make_provider(probabilities={"positive": 0.7, "negative": 0.3}, varies=True)
        asked = ({key: value(number) for key, value in body.items()} for number in range(40))
        return [http_kit.ask(provider, "row-1", response_format=form, **each).object["label"] for each in asked]

    by_count, by_seed = samples(), samples(seed=lambda number: number)
    assert samples() == by_count
    assert samples(seed=lambda number: number) == by_seed != by_count
    assert set(samples(seed=lambda _: 3)) == {by_seed[3]}
    # 28 expected of 40; a standard deviation is 2.9, and the draws are the same in every run
    assert 20 <= by_count.count("positive") <= 36
    assert 20 <= by_seed.count("positive") <= 36


def test_counting_begins_again_after_a_reset(make_provider, http_kit):
    form = http_kit.json_schema(http_kit.schema)
    provider = make_provider(varies=True)
    first = [http_kit.ask(provider, "q", response_format=form).content for _ in range(12)]
    provider.reset()
    assert [http_kit.ask(provider, "q", response_format=form).content for _ in range(12)] == first
    assert len(set(first)) == 2


def test_an_answer_of_the_tests_own_does_not_vary(make_provider, http_kit):
    form = http_kit.json_schema(http_kit.schema)
    provider = make_provider(answer=lambda *_: {"echo": "", "label": "positive"}, varies=True)
    assert {http_kit.ask(provider, response_format=form).object["label"] for _ in range(10)} == {"positive"}
