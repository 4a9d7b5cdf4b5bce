"""What a map promises of confidences: the numbers, their sources, their dtypes, and what they cost."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.core.scores import SOURCES
from llmframe.errors import LlmframeWarning, UsageError
from llmframe.testing import Logprobs, Provider, Status
from tests.contracts.kinds import Kind

Label = Literal["good", "bad"]
SHARES = {"a": {"good": 0.9, "bad": 0.1}, "b": {"good": 0.25, "bad": 0.75}}
"""What the simulated model thinks of each text."""


def shares(prompt: str) -> Mapping[str, float]:
    return SHARES[prompt[-1]]


class Two(BaseModel):
    label: Label
    spam: bool


def ask(frame: Any, provider: Provider, **options: Any) -> Any:
    given = {"schema": Label, "client": provider, "cache": False, "progress": False, "confidence": "logprobs"}
    return llmframe.map(frame, "Judge {text}", **(given | options))


def test_log_probabilities_are_shares_of_the_allowed_labels_on_every_frame(any_kind: Kind):
    with Provider(probabilities=shares) as provider:
        out = ask(any_kind.make({"text": ["a", "b", "a"]}), provider, distribution=True)
        assert provider.requests == 2
    columns = any_kind.to_dict(out)
    assert list(columns) == [
        *("text", "response", "confidence", "confidence_source", "distribution", "label_mass", "error")
    ]
    assert columns["response"] == ["good", "bad", "good"]
    assert columns["confidence"] == pytest.approx([0.9, 0.75, 0.9])
    assert columns["confidence_source"] == ["logprobs"] * 3
    assert [dict(each) for each in columns["distribution"]] == [
        pytest.approx({"good": 0.9, "bad": 0.1}),
        pytest.approx({"good": 0.25, "bad": 0.75}),
        pytest.approx({"good": 0.9, "bad": 0.1}),
    ]
    assert columns["label_mass"] == pytest.approx([0.99] * 3)  # the simulated model has 0.01 for other words


def test_dtypes_are_those_of_numbers_and_closed_words():
    with Provider(probabilities=shares) as provider:
        out = ask(pd.DataFrame({"text": ["a"]}), provider, distribution=True)
        assert [str(out[name].dtype) for name in ("confidence", "label_mass")] == ["float64", "float64"]
        assert tuple(out["confidence_source"].cat.categories) == SOURCES
        lazy = ask(pl.LazyFrame({"text": ["a"]}), provider, distribution=True)
        expected = {
            "confidence": pl.Float64(),
            "confidence_source": pl.Enum(SOURCES),
            "distribution": pl.Struct({"good": pl.Float64(), "bad": pl.Float64()}),
            "label_mass": pl.Float64(),
        }
        schema = lazy.collect_schema()
        assert {name: schema[name] for name in expected} == expected
        assert lazy.collect().schema == schema
        text = ask(pl.DataFrame({"text": ["a"]}), provider, labels="string")
        assert text.schema["confidence_source"] == pl.String()


def test_without_rows_the_columns_are_there(any_kind: Kind, provider: Provider):
    if any_kind.library == "records":
        return
    out = ask(any_kind.make({"text": []}), provider, distribution=True)
    columns = any_kind.to_dict(out)
    assert list(columns)[2:] == ["confidence", "confidence_source", "distribution", "label_mass", "error"]


def test_several_closed_fields_have_a_confidence_each(library: Kind):
    with Provider(probabilities=lambda _: {"good": 0.8, "bad": 0.2, "true": 0.3, "false": 0.7}) as provider:
        out = ask(library.make({"text": ["a"]}), provider, schema=Two)
    columns = library.to_dict(out)
    assert list(columns) == [
        *("text", "label", "spam", "label_confidence", "label_confidence_source"),
        *("spam_confidence", "spam_confidence_source", "error"),
    ]
    assert columns["label_confidence"] == pytest.approx([0.8])


def test_a_failed_row_has_no_confidence_and_no_source(library: Kind):
    def answer(prompt: str, _request: object) -> object:
        return Status(400) if prompt.endswith("b") else None

    with Provider(probabilities=shares, answer=answer) as provider, pytest.warns(LlmframeWarning, match="1 of 2 rows"):
        columns = library.to_dict(ask(library.make({"text": ["a", "b"]}), provider))
    assert columns["confidence"] == [pytest.approx(0.9), None]
    assert columns["confidence_source"] == ["logprobs", None]
    assert columns["error"][1].startswith("bad_request")


def test_kept_answers_keep_their_confidence(tmp_path: Path):
    with Provider(probabilities=shares) as provider:
        frame = {"text": ["a", "b", "a"]}
        first = ask(pl.DataFrame(frame), provider, cache=tmp_path / "s", distribution=True)
        again = ask(pl.DataFrame(frame), provider, cache=tmp_path / "s", distribution=True)
        other = ask(pd.DataFrame(frame), provider, cache=tmp_path / "s")
        assert provider.requests == 2
    assert again.equals(first)
    assert other["confidence"].tolist() == first["confidence"].to_list()


def test_answers_without_log_probabilities_are_other_questions(tmp_path: Path):
    with Provider(probabilities=shares) as provider:
        frame = pl.DataFrame({"text": ["a"]})
        ask(frame, provider, cache=tmp_path / "s", confidence=None)
        ask(frame, provider, cache=tmp_path / "s")
        ask(frame, provider, cache=tmp_path / "s", confidence=None)
        assert provider.requests == 2


def test_log_probabilities_that_came_before_anyone_asked_how_sure_it_is_are_kept(tmp_path: Path):
    with Provider(probabilities=shares) as provider:
        frame = pl.DataFrame({"text": ["a", "b"]})
        told = {"logprobs": True, "top_logprobs": 20}
        plain = ask(frame, provider, cache=tmp_path / "s", confidence=None, params=told)
        assert plain.columns == ["text", "response", "error"]
        out = ask(frame, provider, cache=tmp_path / "s", params=told)
        assert provider.requests == 2
    assert out["confidence"].to_list() == pytest.approx([0.9, 0.75])


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ({"ignores": ("logprobs",)}, "no_logprobs"),
        ({"logprobs": Logprobs(tops=0)}, "no_logprobs"),
        ({"logprobs": Logprobs(outside=0.5)}, "low_label_mass"),
    ],
    ids=["ignored", "without alternatives", "before the grammar"],
)
def test_what_an_endpoint_does_not_tell_is_null_with_its_reason_counted(
    behaviour: dict[str, Any], reason: str, library: Kind
):
    told = pytest.warns(LlmframeWarning, match=f"2 of 2 answered rows have no confidence: 2 {reason}")
    with Provider(probabilities=shares, **behaviour) as provider, told:
        columns = library.to_dict(ask(library.make({"text": ["a", "b"]}), provider))
    assert columns["response"] == ["good", "bad"]
    assert columns["confidence"] == [None, None]
    assert columns["confidence_source"] == [reason] * 2
    assert columns["error"] == [None, None]
    assert llmframe.last_run().confidences == {reason: 2}


@pytest.mark.parametrize(
    "behaviour",
    [Logprobs(most=5), Logprobs(per_byte=True), Logprobs(tells_bytes=False), Logprobs(hides_emitted=True)],
    ids=["fewer than asked", "per byte", "no bytes", "top without the token"],
)
def test_other_ways_of_telling_give_the_same_numbers(behaviour: Logprobs):
    with Provider(probabilities=shares, logprobs=behaviour) as provider:
        out = ask(pl.DataFrame({"text": ["a", "b"]}), provider)
    assert out["confidence"].to_list() == pytest.approx([0.9, 0.75])


def test_an_endpoint_that_refuses_log_probabilities_ends_the_run_with_the_remedy():
    with Provider(refuses_params=("logprobs",)) as provider:
        with pytest.warns(LlmframeWarning) as told:
            out = ask(pl.DataFrame({"text": [f"text {number}" for number in range(60)]}), provider)
        assert provider.requests <= 16  # those that were on their way, and one that found it out
    assert any('confidence="votes"' in str(each.message) for each in told)
    assert out["error"].drop_nulls().str.contains("the endpoint refuses `logprobs`").all()
    assert out["response"].count() == 60 - out["error"].count()


def test_batches_tell_them_too(tmp_path: Path):
    with Provider(probabilities=shares) as provider:
        frame = pl.DataFrame({"text": ["a", "b", "a"]})
        live = ask(frame, provider, distribution=True)
        batch = ask(frame, provider, cache=tmp_path / "s", mode="batch", distribution=True)
    assert batch.equals(live)


def test_lazy_queries_and_expressions_tell_them_too():
    with Provider(probabilities=shares) as provider:
        frame = pl.DataFrame({"text": ["a", "b"]})
        lazy = ask(frame.lazy(), provider).filter(pl.col("confidence") > 0.8).collect()
        assert lazy["text"].to_list() == ["a"]
        expression = ask(pl.col("text"), provider)
        struct = frame.with_columns(expression)["llm"].struct
        assert struct.field("confidence").to_list() == pytest.approx([0.9, 0.75])


def test_into_holds_the_confidence_too(library: Kind):
    with Provider(probabilities=lambda _: {"good": 0.8, "bad": 0.2, "true": 0.3, "false": 0.7}) as provider:
        out = ask(library.make({"text": ["a"]}), provider, schema=Two, into="all", prefix="p_")
    (cell,) = library.to_dict(out)["p_all"]
    assert list(cell) == [
        *("label", "spam", "label_confidence", "label_confidence_source"),
        *("spam_confidence", "spam_confidence_source", "error"),
    ]


def test_a_series_gives_a_frame_with_its_confidence():
    with Provider(probabilities=shares) as provider:
        out = llmframe.map(
            pd.Series(["a", "b"]),
            "Judge {}",
            Label,
            client=provider,
            confidence="logprobs",
            cache=False,
            progress=False,
        )
    assert list(out.columns) == ["response", "confidence", "confidence_source", "error"]


def test_what_is_stated_has_a_source(library: Kind, provider: Provider):
    columns = library.to_dict(ask(library.make({"text": ["a"]}), provider, confidence="stated"))
    assert list(columns) == ["text", "response", "confidence", "confidence_source", "error"]
    assert columns["confidence_source"] == ["stated"]


def test_a_calibration_moves_the_confidence_and_keeps_the_raw_one(library: Kind):
    halved = llmframe.Calibration(method="temperature", parameters=(2.0,))
    with Provider(probabilities=shares) as provider:
        columns = library.to_dict(ask(library.make({"text": ["a"]}), provider, calibration=halved))
    assert list(columns)[2:5] == ["confidence", "confidence_raw", "confidence_source"]
    assert columns["confidence_raw"] == pytest.approx([0.9])
    assert columns["confidence"] == pytest.approx([0.75])  # logit 0.9 = log 9, half of it log 3


def test_a_stated_confidence_is_calibrated_in_its_place():
    halved = llmframe.Calibration(method="temperature", parameters=(2.0,))
    with Provider(answer=lambda *_: {"response": "good", "confidence": 0.9}) as provider:
        out = ask(pl.DataFrame({"text": ["a"]}), provider, confidence="stated", calibration=halved)
    assert out.columns == ["text", "response", "confidence", "confidence_raw", "confidence_source", "error"]
    assert out.row(0)[2:4] == (pytest.approx(0.75), pytest.approx(0.9))


def test_a_calibration_of_another_question_is_refused(tmp_path: Path, provider: Provider):
    frame = pl.DataFrame({"text": ["a"]})
    ask(frame, provider)
    question = llmframe.last_run().question
    assert question is not None
    mine = llmframe.Calibration(method="temperature", parameters=(2.0,), question=question)
    (tmp_path / "c.json").write_text(mine.to_json())
    sent = provider.requests
    with pytest.raises(UsageError, match="belongs to question"):
        ask(frame, provider, calibration=tmp_path / "c.json", schema=Literal["good", "evil"])
    assert provider.requests == sent
    assert "confidence_raw" in ask(frame, provider, calibration=tmp_path / "c.json").columns


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"confidence": "logprob"}, "did you mean 'logprobs'"),
        ({"samples": 5}, 'give `confidence="votes"`'),
        ({"confidence": "votes", "samples": 1}, "one vote"),
        ({"confidence": "votes", "samples": 0}, "`samples` must be a whole number of 2 or more, got 0"),
        ({"confidence": "votes", "samples": 2.5}, "`samples` must be a whole number of 2 or more, got 2.5"),
        ({"confidence": "votes", "samples": True}, "`samples` must be a whole number of 2 or more, got True"),
        ({"confidence": "votes", "params": {"temperature": 0}}, "one answer several times"),
        ({"confidence": "votes", "mode": "batch"}, "live"),
        ({"confidence": "votes", "schema": None}, "free texts are hardly ever equal"),
        ({"confidence": "stated", "distribution": True}, "`distribution=True`"),
        ({"confidence": None, "distribution": True}, "`distribution=True`"),
        ({"schema": str, "distribution": True}, "this schema has none"),
        ({"confidence": None, "calibration": "c.json"}, "give `confidence=` as well"),
        ({"calibration": "not/there.json"}, "can't be read"),
        ({"calibration": 3}, "must be a Calibration"),
        ({"output_mode": "tools"}, 'confidence="votes"'),
        ({"params": {"logprobs": False}}, "leave it out"),
    ],
)
def test_wrong_use_is_told_before_anything_is_sent(options: dict[str, Any], said: str, provider: Provider):
    with pytest.raises(UsageError, match=said):
        ask(pl.DataFrame({"text": ["a"]}), provider, **options)
    assert provider.requests == 0


def test_the_prompt_is_told_once_in_the_report_and_its_json(provider: Provider):
    out = ask(pd.DataFrame({"text": ["a", "b"]}), provider)
    report = llmframe.last_run()
    assert report.confidences == {"logprobs": 2}
    assert "certainty 2 logprobs" in repr(report)
    assert json.loads(out.attrs["llm"])["question"] == report.question
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(pd.DataFrame({"text": ["a"]}), provider)
    assert llmframe.last_run().question == report.question
