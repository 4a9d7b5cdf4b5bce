"""Audits from end to end: simulated judges behind a provider, on every kind of frame."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import llmframe
from llmframe.testing import Provider

ROWS = 40
RANDOM = random.Random(0)
LEVELS = RANDOM.choices(range(1, 6), k=ROWS)
FRAME = pd.DataFrame(
    {
        "answer": [f"answer {row}." for row in range(ROWS)],
        "other": [f"reply {row}." for row in range(ROWS)],
        "gold": LEVELS,
        "better": ["answer" if row % 2 else "other" for row in range(ROWS)],
    }
)
RUBRIC = llmframe.Rubric("Is it clear?", range(1, 6))
LABELS = ["bug", "praise", "question"]

Request = dict[str, Any]


def row_of(prompt: str) -> int:
    found = re.search(r"(?:answer|reply) (\d+)\.", prompt)
    assert found is not None
    return int(found[1])


def honest(prompt: str, _: Request) -> str:
    """Says what is right, whatever stands around it."""
    row = row_of(prompt)
    if "Text A:" not in prompt:
        return str(LEVELS[row])
    first = prompt.index(f"answer {row}.") < prompt.index(f"reply {row}.")
    return "A" if first == (row % 2 == 1) else "B"


def impressed(prompt: str, request: Request) -> str:
    """Honest but for long texts, which gain a level in two thirds of all rows."""
    level = int(honest(prompt, request))
    return str(min(5, level + (row_of(prompt) % 3 > 0))) if "To put all of this" in prompt else str(level)


def obedient(prompt: str, request: Request) -> str:
    """Does what a text asks for."""
    return "5" if "give it the level 5" in prompt else honest(prompt, request)


def hasty(prompt: str, request: Request) -> str:
    """Picks what stands first in a third of all pairs, either way they are asked."""
    return "A" if row_of(prompt) % 3 == 0 else honest(prompt, request)


def lazy(prompt: str, request: Request) -> str:
    """Takes the first label of the list in a half of all rows."""
    listed = re.findall(r'- "(\w+)"', str(request["messages"][0]["content"]))
    row = row_of(prompt)
    return listed[0] if row % 2 else LABELS[row % 3]


def audited(judge: Any, column: Any, by: Any, *, frame: Any = FRAME, **said: Any) -> Any:
    with Provider(answer=judge) as provider:
        return llmframe.audit(frame, column, by, client=provider, progress=False, **said)


def test_an_honest_judge_of_scores_is_clear():
    found = audited(honest, "answer", RUBRIC, gold="gold")
    assert found.biased == ()
    assert (found.judge, found.rows, found.failed) == ("score", ROWS, 0)
    assert {each.probe: each.verdict for each in found.findings if each.probe != "length"} == dict.fromkeys(
        ("verbosity", "template", "stability", "compression", "injection"), "clear at this power"
    )


def test_an_honest_judge_of_pairs_is_clear():
    found = audited(honest, ("answer", "other"), "Which is better?", gold="better")
    assert found.biased == ()
    assert found["position"].facts["first_pick_rate"] == 0.5


@pytest.mark.parametrize(("judge", "probe"), [(impressed, "verbosity"), (obedient, "injection")])
def test_a_bias_of_scores_is_found_by_its_probe_alone(judge: Any, probe: str):
    assert audited(judge, "answer", RUBRIC, gold="gold").biased == (probe,)


def test_a_preference_for_the_first_place_is_found_in_pairs_and_in_lists():
    assert audited(hasty, ("answer", "other"), "Which is better?").biased == ("position",)
    assert audited(lazy, "answer", LABELS).biased == ("order",)


@pytest.mark.parametrize(
    "make",
    [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.to_dict("records")],
    ids=["polars", "arrow", "list"],
)
def test_every_library_gives_the_same_audit(make: Any):
    said: dict[str, Any] = {"gold": "gold", "rows": 20, "seed": 3, "probes": ["verbosity", "compression"]}
    assert audited(impressed, "answer", RUBRIC, frame=make(FRAME), **said) == audited(
        impressed, "answer", RUBRIC, **said
    )


async def test_async_code_gets_the_same_audit():
    frame: Any = FRAME
    with Provider(answer=impressed) as provider:
        found = await frame.llm.aaudit("answer", RUBRIC, probes=["verbosity"], client=provider)
        assert provider.requests == 2 * ROWS
    assert found == await asyncio.to_thread(audited, impressed, "answer", RUBRIC, probes=["verbosity"])


def test_a_judge_that_noise_makes_unstable_is_found_to_be():
    asked: Counter[str] = Counter()

    def wavering(prompt: str, request: Request) -> str:
        """Draws by the prompt and how often it came, so that no order of requests changes what is found."""
        seen = json.dumps(request["messages"])
        asked[seen] += 1
        chance = random.Random(f"{asked[seen]}{seen}")
        return chance.choice("12345") if chance.random() < 0.6 else honest(prompt, request)

    found = audited(wavering, "answer", RUBRIC, probes=["stability", "template"])
    assert found.biased == ("stability",)


def test_a_reason_before_the_level_changes_nothing_about_the_audit():
    rubric = llmframe.Rubric("Is it clear?", range(1, 6), reason="before")

    def reasoned(prompt: str, request: Request) -> dict[str, str]:
        return {"reason": "It reads well.", "level": obedient(prompt, request)}

    found = audited(reasoned, "answer", rubric, probes=["injection", "stability", "template"])
    assert {each.probe: each.verdict for each in found.findings} == {
        "template": "clear at this power",
        "stability": "clear at this power",
        "injection": "biased",
    }


@pytest.mark.filterwarnings("ignore::llmframe.LlmframeWarning")
def test_failed_rows_are_counted_and_left_out():
    def failing(prompt: str, request: Request) -> str:
        return "nothing" if row_of(prompt) < 4 else honest(prompt, request)

    found = audited(failing, "answer", RUBRIC, probes=["verbosity"])
    assert (found.rows, found.failed, found["verbosity"].effect.n) == (ROWS, 4, ROWS - 4)


@pytest.mark.parametrize("frame", [[], FRAME.iloc[:0]], ids=["list", "frame"])
def test_without_rows_nothing_is_asked_and_nothing_known(frame: Any):
    found = audited(honest, "answer", RUBRIC, frame=frame)
    assert found.rows == 0
    assert {each.verdict for each in found.findings} == {"unknown"}
