"""The audited judge: how a call names it, and that its own question is the preset's."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import llmframe
from llmframe.errors import UsageError
from llmframe.judge.audit_judges import CHANGED_FIRST, Judge, judge_of
from llmframe.judge.rubric import Rubric
from llmframe.testing import Provider
from tests.judge.simulated_judges import LABELS, PAIR, SCORE

RUBRIC = Rubric("Is it clear?", range(1, 6))
FRAME = pd.DataFrame({"a": ["u", "v"], "b": ["k", "l"]})


def named(column: object, said: object, **words: object) -> Judge:
    given: dict[str, Any] = {"ties": True, "descriptions": None, "instructions": None, **words}
    return judge_of(column, said, names=["a", "b"], **given)


def test_a_judge_is_named_as_its_preset_names_it():
    assert named("a", RUBRIC).kind == "score"
    assert named(("a", "b"), "Which is better?").kind == "pairwise"
    assert named("a", ["x", "y"]).labels == ("x", "y")


@pytest.mark.parametrize(
    ("column", "said", "words", "message"),
    [
        ("a", "Which is better?", {}, "a criterion in words compares two columns, got 'a'"),
        (("a", "a"), "Which is better?", {}, "compares two columns"),
        (("a", "b"), " ", {}, "`judge` says in words what is compared"),
        (("a", "b"), RUBRIC, {}, "two columns are compared by a criterion in words, got 'Rubric'"),
        ("a", None, {}, "`judge` is a llmframe.Rubric, a list of labels or"),
        ("c", RUBRIC, {}, "column 'c' is absent"),
        (3, RUBRIC, {}, "`column` is the name of a column"),
        ("a", RUBRIC, {"instructions": "Be kind."}, "`instructions` is for a classification"),
    ],
)
def test_a_judge_that_cannot_be_is_told(column: object, said: object, words: dict[str, object], message: str):
    with pytest.raises(UsageError, match=message):
        named(column, said, **words)


@pytest.mark.parametrize(
    "rubric", [RUBRIC, Rubric("Clear?", [1, 2], reason="after", anchors=[("x", 1, "y")], reference="b")]
)
def test_answers_that_score_has_got_are_used(rubric: Rubric):
    with Provider() as provider:
        llmframe.score(FRAME, "a", rubric, client=provider)
        asked = provider.requests
        plan = llmframe.audit(FRAME, "a", rubric, probes=["injection"], client=provider, plan=True)
        assert (asked, plan.requests, plan.cached) == (2, 2, 2)


def test_answers_that_classify_has_got_are_used():
    said: dict[str, Any] = {"descriptions": {"x": "an x"}, "instructions": "Look twice."}
    with Provider() as provider:
        llmframe.classify(FRAME, "a", ["x", "y"], client=provider, **said)
        plan = llmframe.audit(FRAME, "a", ["x", "y"], probes=["order"], client=provider, plan=True, **said)
        assert (plan.requests, plan.cached) == (2, 2)


@pytest.mark.parametrize("ties", [True, False])
def test_answers_that_pairwise_has_got_are_used(ties: bool):  # noqa: FBT001 - a parameter
    with Provider() as provider:
        llmframe.pairwise(FRAME, "a", "b", "Which is better?", ties=ties, client=provider)
        plan = llmframe.audit(
            FRAME, ("a", "b"), "Which is better?", ties=ties, probes=["position"], client=provider, plan=True
        )
        assert (plan.requests, plan.cached) == (0, 4)


def test_a_changed_text_of_a_pair_stands_on_either_side_and_in_both_places():
    shown = [PAIR.questions(["padded"])[f"padded{number}"].template for number in range(1, 5)]
    texts = [str(getattr(template, "text", "")) for template in shown]
    places = [text.index("audit_padded_") < text.rindex("Text B:") for text in texts]
    assert tuple(places) == CHANGED_FIRST
    assert ["audit_padded_a" in text for text in texts] == [True, True, False, False]


def test_an_injection_wishes_for_the_highest_level_and_the_last_label():
    assert SCORE.wished == "5"
    assert "the level 5, the top one" in SCORE.wish()
    assert 'the right label is "other"' in LABELS.wish()
    assert "this text is the better one" in PAIR.wish()
    assert (
        "the level B, whatever"
        in Judge(kind="score", columns=("a",), rubric=Rubric("Tone?", ["dry", "warm"], scale="nominal")).wish()
    )


def test_a_cell_that_is_no_text_is_padded_as_text():
    cells = Judge(kind="score", columns=("a",), rubric=RUBRIC).cells({"a": 3.5})
    assert cells["a"] == 3.5
    assert str(cells["audit_injected_a"]).startswith("3.5\n\nNote")
