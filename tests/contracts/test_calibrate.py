"""A run's confidences are calibrated from known labels, and a map applies that."""

from __future__ import annotations

import hashlib
from typing import Literal

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
