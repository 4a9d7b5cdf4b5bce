"""The shape of chat messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.messages import ROLES, Turn, canonical_pieces, json_text, message, read_messages
from llmframe.core.request import canonical_json
from llmframe.errors import UsageError


def test_texts_and_text_parts_are_read():
    turns = read_messages(
        [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        ]
    )
    assert turns == [Turn("system", ("s",)), Turn("user", ("a", "b"), parts=True)]


def test_a_message_is_fresh_and_keeps_its_parts():
    assert message("user", ["a", "b"], parts=True) == {
        "role": "user",
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    }
    assert message("user", ["a"]) == {"role": "user", "content": "a"}
    assert message("user", ["a"]) is not message("user", ["a"])


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([], "empty list"),
        (["hello"], "message 1 is of type 'str'"),
        ([{"role": "user"}], r"keys \['role'\]"),
        ([{"role": "user", "content": "a", "name": "b"}], "'name'"),
        (
            [{"role": "usr", "content": "a"}],
            r"role 'usr'; did you mean 'user'\? roles are system, developer, user, assistant",
        ),
        ([{"role": "tool", "content": "a"}], "role 'tool'"),
        ([{"role": ["user"], "content": "a"}], "role"),
        ([{"role": "user", "content": []}], "no content parts"),
        ([{"role": "user", "content": ["a"]}], "content part of type 'str'"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], "'image_url'.*only"),
        ([{"role": "user", "content": [{"type": "text", "text": "a", "more": 1}]}], "'more'"),
    ],
)
def test_anything_else_is_refused(messages, told):
    with pytest.raises(UsageError, match=told):
        read_messages(messages)


TEXTS = st.text() | st.integers(0, 3)
TURNS = st.lists(
    st.builds(Turn, st.sampled_from(ROLES), st.tuples(TEXTS))
    | st.builds(Turn, st.sampled_from(ROLES), st.lists(TEXTS, min_size=1, max_size=3).map(tuple), parts=st.just(True)),
    max_size=4,
)


@given(turns=TURNS, filling=st.lists(st.text(), min_size=4, max_size=4))
def test_pieces_with_texts_in_their_slots_are_the_canonical_json(turns: list[Turn[str | int]], filling: list[str]):
    constants, slots = canonical_pieces(turns)
    joined = constants[0] + "".join(
        json_text(filling[slot]) + constant for slot, constant in zip(slots, constants[1:], strict=True)
    )
    told = [turn.map(lambda text: filling[text] if isinstance(text, int) else text) for turn in turns]
    assert joined == canonical_json([message(turn.role, turn.texts, parts=turn.parts) for turn in told])
