"""A run's confidences are calibrated from known labels, and a map applies that."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import pandas as pd
import pytest

import llmframe
from llmframe.errors import UsageError
from llmframe.judge.calibrate import calibrate
from llmframe.testing import Provider
from tests.contracts.kinds import Kind

Label = Literal["pos", "neg"]
PROMPT = "Is it good? {text}"
TEXTS = [f"text {number}" for number in range(42)]


def sure_of(text: str) -> float:
    """A confidence in [.6, .95], by the text."""
    return 0.6 + 0.35 * hashlib.sha256(text.encode()).digest()[0] / 255


def opinion(message: str) -> dict[str, float]:
    sure = sure_of(message.removeprefix("Is it good? "))
    return {"pos": sure, "neg": 1 - sure}


GOLD = ["neg" if number % 3 == 0 else "pos" for number in range(42)]
"""14 of 42 answers are wrong; all are "pos"."""


def asked(frame, provider: Provider, **options):
    return llmframe.map(
        frame, PROMPT, schema=Label, client=provider, into="label", confidence="logprobs", cache=False, **options
    )


def test_what_is_learnt_from_a_run_is_applied_by_the_next(library: Kind):
    with Provider(probabilities=opinion) as provider:
        out = asked(library.make({"text": TEXTS, "gold": GOLD}), provider, distribution=True)
        run = llmframe.last_run()
        made = calibrate(out, "gold", run=run)
        again = library.to_dict(asked(library.make({"text": TEXTS}), provider, calibration=made))
    assert (made.n, made.accuracy, made.labels) == (42, pytest.approx(28 / 42), ("pos", "neg"))
    assert made.question == run.question is not None
    # only pandas has a place for the run's report beside the data
    assert calibrate(out, "gold").question == (made.question if library.library == "pandas" else None)
    raw = library.to_dict(out)["confidence"]
    assert again["confidence_raw"] == pytest.approx(raw)
    assert again["confidence"] == pytest.approx([made.apply(each, (each, 1 - each), 0) for each in raw])
    assert made.parameters[0] > 1
    assert sum(again["confidence"]) < sum(raw)


def test_another_prompt_is_refused_before_anything_is_sent(library: Kind):
    with Provider(probabilities=opinion) as provider:
        out = asked(library.make({"text": TEXTS, "gold": GOLD}), provider)
        made = calibrate(out, "gold", run=llmframe.last_run())
        before = provider.requests
        with pytest.raises(UsageError, match="belongs to question"):
            llmframe.map(
                library.make({"text": TEXTS}),
                "Good? {text}",
                schema=Label,
                client=provider,
                confidence="logprobs",
                calibration=made,
            )
        assert provider.requests == before


def test_a_calibration_is_bound_to_the_question_of_its_own_column_and_not_of_the_frames_last_run():
    with Provider() as provider:
        frame = pd.DataFrame({"text": TEXTS, "gold": GOLD})
        options: dict[str, Any] = {"client": provider, "confidence": "logprobs", "distribution": True}
        first = llmframe.classify(frame, "text", ["pos", "neg"], prefix="one_", **options)
        both = llmframe.classify(first, "text", ["pos", "neg"], prefix="two_", instructions="Be kind.", **options)
        made = {name: calibrate(both, "gold", field=f"{name}_label") for name in ("one", "two")}
        assert made["one"].question == calibrate(first, "gold").question != made["two"].question
        llmframe.classify(frame, "text", ["pos", "neg"], calibration=made["one"], **options)
        with pytest.raises(UsageError, match="belongs to question"):
            llmframe.classify(frame, "text", ["pos", "neg"], calibration=made["two"], **options)
        judges = {name: {"model": name} for name in ("small", "large")}
        panel = llmframe.classify(frame, "text", ["pos", "neg"], models=judges, **options)
        alone = llmframe.classify(frame, "text", ["pos", "neg"], model="small", **options)
        small = calibrate(panel, "gold", field="small_label")
        assert small.question == calibrate(alone, "gold").question
        assert small.question != calibrate(panel, "gold", field="large_label").question
        assert calibrate(panel, "gold", field="label").question is None  # of several questions
