"""What a cascade has taken and found, as it goes."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from llmframe.core.columns import ColumnType
from llmframe.errors import UsageError
from llmframe.judge import course as module
from llmframe.judge.columns import AnswerColumns
from llmframe.judge.course import Course, last_cascade
from llmframe.judge.tier_columns import TierColumns
from llmframe.judge.tiers import Cascade, tiers_of

WORD = ColumnType("string")


def meta(source: str, attempts: int, usd: float | None, fingerprint: str = "f") -> dict[str, Any]:
    told = {"source": source, "attempts": attempts, "usd": usd, "input_tokens": 10, "output_tokens": 2}
    return {**told, "fingerprint": fingerprint}


FRAME = pd.DataFrame(
    {
        "label": ["a", "b", "a", None],
        "tier": ["x", "y", "x", "y"],
        "error": [None, None, None, "timeout: after 60 s"],
        "gold": ["a", "a", None, "a"],
        "llm_cascade0_goes_on": [False, True, False, True],
        "one": [meta("live", 2, 0.25), meta("cache", 0, 0.0, "g"), meta("shared", 0, 0.0), meta("live", 1, None, "h")],
        "two": [None, meta("live", 1, 2.0, "i"), None, meta("live", 1, 4.0, "j")],
    }
)


def made(threshold: float | None = 0.9) -> Course:
    cascade = Cascade(["x", "y"], threshold=threshold)
    types = (("label", WORD), ("error", WORD))
    columns = TierColumns(tiers=tiers_of(cascade), types=(types, types), field="label")
    return Course(cascade=cascade, columns=columns, gold="gold")


def test_there_is_no_report_before_the_first_cascade(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_last", None)
    with pytest.raises(UsageError, match="no cascade yet"):
        last_cascade()


def test_the_report_counts_rows_requests_dollars_and_errors_by_tier():
    course = made()
    course.spend(FRAME, ["one"])
    assert course.threshold(0, FRAME, AnswerColumns(value="label")) == 0.9
    course.spend(FRAME, ["two"])
    course.tell(FRAME, "")
    first, second = last_cascade().tiers
    assert (first.asked, first.answered, first.failed) == (4, 2, 0)
    assert (second.asked, second.answered, second.failed) == (2, 1, 1)
    assert (first.requests, first.usd, first.unknown_usage) == (3, 0.25, 1)
    assert (second.requests, second.usd, second.input_tokens) == (2, 6.0, 20)
    # of the first model's rows one was paid for and one shares it; one was kept, of one nobody told its dollars
    assert (first.paid, second.paid) == (2, 2)
    assert (first.threshold, first.certificate) == (0.9, None)
    assert math.isnan(second.threshold)
    # known answers: the first row of tier x is right, the second one's y is wrong, the failed row is none
    assert (first.error.value, first.error.n) == (0, 1)
    assert (second.error.value, second.error.n) == (1, 1)
    assert (last_cascade().gold_rows, last_cascade().rows) == (3, 4)


def test_a_certified_threshold_comes_with_its_certificate():
    rows = 120
    frame = pd.DataFrame({"label": ["a"] * rows, "confidence": [0.9] * rows, "gold": ["a"] * rows})
    frame["error"] = pd.Series([None] * rows, dtype=object)
    columns = AnswerColumns(value="label", error="error", confidence="confidence", shown="confidence")
    course = made(None)
    assert course.threshold(0, frame, columns) == pytest.approx(0.9)
    assert course._decisions[0].certificate.kept == rows
