"""A rubric in a model's words."""

from __future__ import annotations

import pytest

from llmframe.core.schema import schema_of
from llmframe.errors import UsageError
from llmframe.judge.rubric import Rubric
from llmframe.judge.rubric_text import examples_of, judged, system_of, template_of, verdict_of

ANCHORED = Rubric("Is {it} clear?", {1: "not at all", 2: ""}, anchors=[("a ``` b", 2)])


def test_the_system_message_has_criterion_levels_and_the_codes_meaning():
    template = system_of(ANCHORED, anchors=False)
    assert template.literal
    assert template.text.startswith(
        "Judge the text by this criterion: Is {it} clear?\n\n"
        "Levels in their order, each after its code:\n1: not at all\n2\n\nThe text stands"
    )
    assert "a ``` b" not in template.text
    named = Rubric("Tone", {"warm": "kind words", "cold": ""}, scale="nominal")
    assert "\nLevels, each after its code:\nA: warm - kind words\nB: cold\n" in system_of(named, anchors=False).text


def test_anchors_stand_in_the_system_message_where_an_answer_has_more_than_a_code():
    assert "\n\nA text of level 2:\n````\na ``` b\n````\n\n" in system_of(ANCHORED, anchors=True).text
    known = Rubric("Right?", [0, 1], reference="gold", anchors=[("t", 1, "r")])
    text = system_of(known, anchors=True).text
    assert "A text of level 1:\n```\nt\n```\nIts reference answer:\n```\nr\n```" in text


def test_elsewhere_they_are_turns_with_a_code_as_answer():
    assert examples_of(ANCHORED, "t") == [({"t": "a ``` b"}, "2")]
    known = Rubric("Right?", ["no", "yes"], reference="gold", anchors=[("t", "yes", "r")])
    assert examples_of(known, "t") == [({"t": "t", "gold": "r"}, "B")]


def test_the_judged_text_stands_last_behind_a_fence():
    assert template_of(ANCHORED, "my {text}").text == "Text:\n{my {text}}"
    known = template_of(Rubric("Right?", [0, 1], reference="gold"), "t")
    assert known.text == "Reference answer:\n{gold}\n\nText:\n{t}"
    assert known.fenced


def test_the_reason_comes_before_or_after_the_level():
    def fields(reason: str | None) -> list[str]:
        return [field.name for field in schema_of(verdict_of(Rubric("Clear?", [1, 2], reason=reason))).fields]  # type: ignore[arg-type]

    assert fields("after") == ["level", "reason"]
    assert fields("before") == ["reason", "level"]
    assert fields(None) == ["response"]
    assert "then give" not in system_of(ANCHORED, anchors=False).text
    assert "then with the reason" in system_of(Rubric("Clear?", [1, 2], reason="after"), anchors=True).text
    assert "First think" in system_of(Rubric("Clear?", [1, 2], reason="before"), anchors=True).text


def test_a_rubric_alone_judges_the_only_column_beside_its_reference():
    rubric = Rubric("Is it clear?", [1, 2], reference="gold")
    assert judged(["text", "gold"], rubric, None) == ("text", rubric)
    assert judged(["text", "other"], "other", rubric) == ("other", rubric)
    with pytest.raises(UsageError, match="can't tell which column"):
        judged(["text", "other", "gold"], rubric, None)


@pytest.mark.parametrize(
    ("column", "rubric", "said"),
    [(3, Rubric("?", [1, 2]), "`column` is the name"), ("text", None, "`rubric` is"), ("text", "rubric", "got 'str'")],
)
def test_what_is_neither_is_refused(column: object, rubric: object, said: str):
    with pytest.raises(UsageError, match=said):
        judged(["text"], column, rubric)
