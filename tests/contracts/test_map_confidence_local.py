"""The embedded model labels shipped reviews with a confidence; only what holds whatever it says is asserted."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import polars as pl
import pytest

import llmframe
from llmframe import datasets

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.filterwarnings("ignore::llmframe.errors.LlmframeWarning"),  # ties, and labels too unlikely together
]

ROWS = 60
LABELS = ["positive", "negative"]
EXAMPLES = [(row["text"], label) for row, label in datasets.few_shot(4)]
SENDING: dict[str, Any] = {"model": "local/smollm2-135m", "max_concurrency": 4, "cache": False, "progress": False}


def shortest() -> list[str]:
    """The shortest sentences there are: a row costs its own tokens, those of the examples are kept."""
    return sorted((str(text) for text in datasets.reviews()["text"]), key=lambda text: (len(text), text))[:ROWS]


def test_log_probabilities_of_real_answers_are_distributions_over_the_labels():
    frame = pd.DataFrame({"text": shortest()})
    out = llmframe.classify(
        frame,
        "text",
        LABELS,
        examples=EXAMPLES,
        confidence="logprobs",
        distribution=True,
        params={"temperature": 0, "max_tokens": 40},
        **SENDING,
    )
    run = llmframe.last_run()
    assert (run.rows, run.answered, run.requests) == (ROWS, ROWS, ROWS)
    assert out["error"].isna().all()
    told = out[out["confidence"].notna()]
    assert set(told["confidence_source"]) <= {"logprobs"}
    assert set(out.loc[out["confidence"].isna(), "confidence_source"]) <= {"low_label_mass"}
    assert len(told) >= ROWS / 2  # with examples the labels are what the model expects
    for row in told.to_dict("records"):
        assert list(row["distribution"]) == LABELS
        assert math.fsum(row["distribution"].values()) == pytest.approx(1)
        assert row["confidence"] == row["distribution"][row["label"]]
        assert 0.8 <= row["label_mass"] <= 1


def test_votes_of_real_samples_are_shares_of_the_samples():
    frame = pl.DataFrame({"text": shortest()})
    out = llmframe.classify(
        frame,
        "text",
        LABELS,
        examples=EXAMPLES,
        confidence="votes",
        samples=2,
        distribution=True,
        params={"temperature": 1.0, "max_tokens": 400},  # samples differ from run to run: none may be cut
        **SENDING,
    )
    run = llmframe.last_run()
    assert run.rows == ROWS
    assert ROWS <= run.requests <= 2 * ROWS
    assert out["error"].null_count() == ROWS
    for row in out.rows(named=True):
        assert row["confidence_source"] in {"votes", "tie"}
        assert math.fsum(row["distribution"].values()) == pytest.approx(1)
        assert set(row["distribution"].values()) <= {0.0, 0.5, 1.0}
        if row["confidence_source"] == "votes":
            assert row["confidence"] == row["distribution"][row["label"]] == 1
        else:
            assert (row["confidence"], row["label"]) == (None, None)


def test_scored_labels_are_the_likeliest_and_take_one_token_each():
    frame = pd.DataFrame({"text": shortest()[:12]})
    out = llmframe.classify(
        frame,
        "text",
        LABELS,
        examples=EXAMPLES,
        confidence="logprobs",
        distribution=True,
        output_mode="score",
        **SENDING,
    )
    run = llmframe.last_run()
    assert run.output_tokens == len(out)
    assert run.output_mode == "score"
    assert out["label_mass"].min() == pytest.approx(1)
    for row in out.to_dict("records"):
        assert row["label"] == max(LABELS, key=row["distribution"].__getitem__)
        assert row["confidence"] == row["distribution"][row["label"]]


def test_labels_alone_can_be_scored_too():
    out = llmframe.map(
        [{"text": "I love it."}, {"text": None}], "{text}", schema=LABELS, output_mode="score", **SENDING
    )
    assert out[0]["response"] in LABELS
    assert out[0]["error"] is None
    assert (out[1]["response"], out[1]["error"]) == (None, "null: missing value in 'text'")
