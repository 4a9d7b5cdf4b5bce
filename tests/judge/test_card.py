"""A frame's report card: what is there appears, what isn't says why."""

from __future__ import annotations

import json
import math
import random

import pandas as pd
import polars as pl
import pytest

import llmframe
from llmframe.errors import UsageError
from llmframe.judge.card import card
from llmframe.judge.selecting import select
from llmframe.stats.reliability import auroc

LABELS = ["good", "bad", "mixed"]


def judged(n: int = 300, *, good: float = 0.9, seed: int = 3) -> dict[str, list[object]]:
    """A judge that is right as often as it claims, about `good`."""
    source = random.Random(seed)
    rows = []
    for number in range(n):
        human, sure = source.choice(LABELS), source.uniform(2 * good - 1, 1)
        label = human if source.random() < sure else source.choice([each for each in LABELS if each != human])
        failed = source.random() < 0.03
        rows.append(
            {
                "text": f"text {number}",
                "human": human if number % 3 else None,
                "label": None if failed else label,
                "confidence": None if failed else sure,
                "error": "timeout: no answer" if failed else None,
            }
        )
    return {name: [row[name] for row in rows] for name in rows[0]}


GOOD = judged()


@pytest.fixture(scope="module")
def good():
    return card(pd.DataFrame(GOOD), "label", "human", draws=200)


@pytest.fixture(scope="module")
def page(good) -> str:
    return good.to_html()


def test_every_part_appears_when_its_inputs_are_there(good):
    parts = {section.name: section for section in good.sections}
    assert [name for name, part in parts.items() if not part.absent] == [
        "rows", "agreement", "reliability", "coverage", "source",
    ]  # fmt: skip
    assert all(part.reason for part in parts.values() if part.absent)
    assert good.pictures == ("agreement", "confusion", "reliability", "coverage")
    assert good["gold"] == 200
    assert good["failed"] == good["failed.timeout"] > 0


def test_numbers_equal_the_statistics_on_the_judged_rows(good):
    frame = pd.DataFrame(GOOD)
    usable = frame[frame["human"].notna() & frame["error"].isna()]
    right = (usable["label"] == usable["human"]).tolist()
    assert good["accuracy"] == sum(right) / len(right)
    assert good["auroc"] == auroc(usable["confidence"].tolist(), right)
    assert good["n"] == len(right)
    agreed = llmframe.agreement(frame, "label", "human", draws=200)
    assert (good["kappa"], good["kappa.low"]) == (agreed.kappa.value, agreed.kappa.low)


def test_the_same_rows_have_the_same_card_in_every_library(good):
    for frame in (pl.DataFrame(GOOD), pl.DataFrame(GOOD).to_arrow(), pl.DataFrame(GOOD).to_dicts()):
        assert card(frame, "label", "human", draws=200).to_json() == good.to_json()


def test_a_bad_judge_breaks_the_gate_that_a_good_one_passes(good):
    bad = card(pd.DataFrame(judged(good=0.6)), "label", "human", draws=200)
    assert good.check(min={"kappa.low": 0.6}) == []
    [gate] = bad.check(min={"kappa.low": 0.6})
    assert str(gate).startswith("kappa.low is 0.")


def test_a_page_holds_all_pictures_and_json_all_numbers(good, page):
    assert page.count("<img") == len(good.pictures)
    told = json.loads(good.to_json())
    assert told["kappa.low"] == good["kappa.low"]
    assert told["usd"] is None
    assert told["why.bias"].startswith("no audit was given")


def test_no_cell_of_the_judged_texts_is_in_a_card(good, page):
    assert "text 7" not in page + repr(good) + good.to_markdown() + good.to_json()


def test_a_selection_appears_with_its_certificate():
    frame = pd.DataFrame(judged(900, good=0.95))
    chosen = select(frame, "human", target_error=0.1, random=True, field="label")
    found = card(frame, "label", "human", selection=chosen, draws=50)
    assert found["threshold"] == chosen.threshold
    assert chosen.certificate.sentence in repr(found)
    with pytest.raises(UsageError, match="`selection` is of the answers in 'label', the card of those in 'other'"):
        card(frame.rename(columns={"label": "other"}), "other", "human", selection=chosen)


def test_levels_by_several_people_have_a_scatter_and_their_own_agreement():
    source = random.Random(1)
    true = [source.randint(1, 5) for _ in range(60)]
    near = {name: [min(5, max(1, each + source.choice([-1, 0, 0, 1]))) for each in true] for name in ("h1", "h2", "j")}
    found = card(pd.DataFrame(near), "j", ["h1", "h2"], draws=50)
    assert "scatter" in found.pictures
    assert "alpha.humans" in found.values
    assert found.title == "llmframe report card · j against 2 people · 60 rows"


def test_of_numbers_no_confidence_is_told():
    frame = pd.DataFrame({"score": [0.5, 1.25] * 10, "human": [0.5, 1.0] * 10, "confidence": [0.5] * 20})
    found = card(frame, "score", "human", draws=20)
    assert math.isnan(found["ece"])
    assert "near or far" in json.loads(found.to_json())["why.reliability"]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_have_a_card_whose_unknown_numbers_pass_no_gate(n: int):
    frame = pd.DataFrame({"label": ["a"] * n, "human": ["a"] * n, "confidence": [0.5] * n})
    found = card(frame, "label", "human", draws=20)
    assert found["rows"] == n
    assert math.isnan(found["kappa"])
    assert [gate.key for gate in found.check(min={"kappa": -1})] == ["kappa"]
    assert repr(found)


def test_the_run_tells_model_and_prompt_where_the_frame_does_not():
    run = llmframe.RunReport(model="some-model", question="ab12")
    found = card(pl.DataFrame(GOOD), "label", "human", run=run, draws=20)
    assert (found["model"], found["question"]) == ("some-model", "ab12")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((pd.Series(["a"]), "label", "human"), "takes a frame, not a Series"),
        ((pd.DataFrame(GOOD), ["label"], "human"), "`pred` is the name of the column"),
        ((pd.DataFrame(GOOD), "lable", "human"), "did you mean 'label'"),
        ((pd.DataFrame(GOOD), "label", "humann"), "did you mean 'human'"),
    ],
    ids=["series", "list", "pred", "gold"],
)
def test_wrong_use_is_told_with_its_remedy(arguments, words: str):
    with pytest.raises(UsageError, match=words):
        card(*arguments)
