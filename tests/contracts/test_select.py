"""Rows that stand and rows that need review, on every library."""

from __future__ import annotations

import hashlib
from typing import Literal

import llmframe
from llmframe.testing import Provider
from tests.contracts.kinds import Kind

Label = Literal["pos", "neg"]
TEXTS = [f"text {number}" for number in range(120)]
GOLD = ["pos" if number % 2 else None for number in range(120)]
"""Every other row's answer is known; all answers are "pos"."""


def sure_of(text: str) -> float:
    """A confidence in [.6, .95], by the text."""
    return 0.6 + 0.35 * hashlib.sha256(text.encode()).digest()[0] / 255


def opinion(message: str) -> dict[str, float]:
    sure = sure_of(message.removeprefix("Is it good? "))
    return {"pos": sure, "neg": 1 - sure}


def test_a_run_is_split_into_rows_that_stand_and_rows_that_need_review(library: Kind):
    with Provider(probabilities=opinion) as provider:
        out = llmframe.map(
            library.make({"text": TEXTS, "gold": GOLD}),
            "Is it good? {text}",
            schema=Label,
            client=provider,
            into="label",
            confidence="logprobs",
            cache=False,
        )
    found = llmframe.select(out, "gold", random=True)
    assert (found.certificate.n, found.certificate.errors) == (60, 0)
    told = library.to_dict(out)
    stand = [sure >= found.threshold for sure in told["confidence"]]
    assert found.kept == sum(stand) > 0
    kept, rest = library.to_dict(found.keep(out)), library.to_dict(found.needs_review(out))
    assert list(kept) == list(told)
    assert kept["text"] == [text for text, each in zip(TEXTS, stand, strict=True) if each]
    assert rest.get("text", []) == [text for text, each in zip(TEXTS, stand, strict=True) if not each]
