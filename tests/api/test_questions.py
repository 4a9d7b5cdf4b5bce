"""The digest of a question: what decides an answer changes it, what doesn't leaves it."""

from __future__ import annotations

import json
from typing import Any, Literal

import pandas as pd
import pytest

from llmframe.api.arguments import arguments
from llmframe.api.prepared import asking
from llmframe.api.questions import question_digest, report_text
from llmframe.report import RunReport

USUAL: dict[str, Any] = {"model": "m", "base_url": "http://localhost:1/v1", "api_key": "k", "confidence": "logprobs"}


def digest(template: object = "Judge {text}", schema: object = Literal["a", "b"], **options: Any) -> str | None:
    ask = asking(arguments(template, schema, USUAL | options))
    return question_digest(ask, ask.client(), series=False)


@pytest.mark.parametrize(
    "changed",
    [
        {"template": "Assess {text}"},
        {"schema": Literal["a", "c"]},
        {"model": "n"},
        {"base_url": "http://localhost:2/v1"},
        {"system": "Be strict."},
        {"params": {"temperature": 0.5}},
        {"examples": [({"text": "x"}, "a")]},
        {"confidence": "votes"},
        {"confidence": "votes", "samples": 7},
        {"output_mode": "json"},
    ],
    ids=str,
)
def test_what_decides_answers_makes_another_question(changed: dict[str, Any]):
    assert digest(**changed) != digest()


@pytest.mark.parametrize(
    "changed",
    [{"api_key": "other"}, {"timeout": 5}, {"prefix": "p_"}, {"meta": True}, {"distribution": True}, {"cache": False}],
    ids=str,
)
def test_what_does_not_leaves_it(changed: dict[str, Any]):
    assert digest(**changed) == digest()


def test_a_digest_has_16_hex_digits():
    found = digest()
    assert found is not None
    assert len(found) == 16
    int(found, 16)


def test_a_function_is_no_question_that_could_be_told_again():
    assert digest(lambda row: row["text"]) is None


def test_a_report_in_a_frame_tells_the_question_of_each_column_of_earlier_runs_too():
    frame = pd.DataFrame({"t": ["x"]})
    for digest, columns in (("a1", ["one", "error"]), ("b2", ["two", "error"])):
        run = RunReport(model="m", question=digest)
        frame.attrs["llm"] = report_text(run, frame, columns)
        told = json.loads(frame.attrs["llm"])
        assert {**told, "questions": None} == {**json.loads(run.to_json()), "questions": None}
    assert told["questions"] == {"one": "a1", "two": "b2", "error": "b2"}
    for strange in ("no JSON", "[1]", '{"questions": 1}', 7):
        frame.attrs["llm"] = strange
        assert json.loads(report_text(run, frame, ["two"]))["questions"] == {"two": "b2"}
