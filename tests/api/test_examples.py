"""Reading few-shot examples."""

from __future__ import annotations

from typing import Literal

import pandas as pd
import pytest
from pydantic import BaseModel

from llmframe.api.examples import examples_of, read_examples
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError


class Verdict(BaseModel):
    label: Literal["pos", "neg"]
    stars: Literal[1, 2] | None


VERDICT = schema_of(Verdict)
LABELS = schema_of(list[Literal["a", "b"]])


def test_without_examples_there_is_nothing_to_read():
    assert read_examples(None, VERDICT, template="J {t}") is None
    assert examples_of(None, VERDICT, template="J {t}", series=False) == []


def test_a_frame_is_read_once_and_serves_frames_and_series():
    frame = pd.DataFrame({"t": ["x", "y"], "label": ["pos", "neg"], "stars": [1, None]})
    found = read_examples(frame, VERDICT, template="J {t}")
    frame["label"] = "none of them"
    texts = ['{"label": "pos", "stars": 1}', '{"label": "neg", "stars": null}']
    assert read_examples(found, VERDICT, template="J {t}") is found
    assert examples_of(found, VERDICT, template="J {t}", series=False) == [
        ({"t": "x"}, texts[0]),
        ({"t": "y"}, texts[1]),
    ]
    assert examples_of(found, VERDICT, template="J {t}", series=True) == [("x", texts[0]), ("y", texts[1])]


@pytest.mark.parametrize(
    ("schema", "answer", "told"),
    [
        (VERDICT, {"label": "mixed", "stars": 1}, "'label' must be 'pos' or 'neg', got 'mixed'$"),
        (VERDICT, {"label": "pos", "stars": 7}, "'stars' must be 1 or 2, got 7$"),
        (VERDICT, {"label": "mixed", "stars": 7}, "'label' must be 'pos' or 'neg'; field 'stars' must be 1 or 2$"),
        (VERDICT, {"label": "pos"}, "'stars' is missing$"),
        (LABELS, ["a", "x"], r"'response\.1' must be 'a' or 'b', got \['a', 'x'\]$"),
        (LABELS, ["x" * 100], "got .{79}…$"),
    ],
)
def test_an_answer_that_does_not_fit_is_told_with_what_it_is(schema, answer, told):
    with pytest.raises(UsageError, match="answer of example 1: .*" + told):
        read_examples([({"t": "x"}, answer)], schema, template="J {t}")


def test_where_the_model_states_how_sure_it_is_examples_do_too():
    stated = schema_of(Literal["a", "b"], into="label", confidence="stated")
    text = '{"response": "a", "confidence": 0.75}'
    frame = pd.DataFrame({"t": ["x"], "label": ["a"], "confidence": [0.75]})
    for examples in (frame, [({"t": "x"}, {"label": "a", "confidence": 0.75})]):
        assert examples_of(examples, stated, template="J {t}", series=False) == [({"t": "x"}, text)]
    with pytest.raises(
        UsageError, match=r"example 1 lacks 'confidence': .* as in \{'label': ..., 'confidence': 0.9\}$"
    ):
        read_examples([({"t": "x"}, "a")], stated, template="J {t}")
    with pytest.raises(UsageError, match=r"lacks the answer column 'confidence'; its columns: t, label$"):
        read_examples(frame.drop(columns="confidence"), stated, template="J {t}")
