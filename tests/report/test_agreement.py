"""An agreement as people and programs read it."""

from __future__ import annotations

import json
import math

import pytest

from llmframe.report.agreement import Agreement
from llmframe.stats.agreement import ClassAgreement
from llmframe.stats.estimate import Estimate, unknown
from llmframe.stats.raters import HumanCeiling

KAPPA = Estimate(value=0.62, low=0.51, high=0.71, n=80)
CLASS = ClassAgreement(label="<a>", gold=50, pred=48, precision=KAPPA, recall=KAPPA, f1=unknown("never comes"))


def made(**change):
    facts = {
        "pred": "label",
        "gold": ("human",),
        "scale": "nominal",
        "rows": 100,
        "n": 80,
        "failed": 12,
        "missing": 0,
        "without_gold": 8,
        "clusters": 80,
        "level": 0.95,
        "draws": 2000,
        "seed": 0,
        "labels": ("<a>",),
        "confusion": ((50,),),
        "classes": (CLASS,),
        "accuracy": Estimate(value=0.9, low=0.82, high=0.95, n=80),
        "kappa": KAPPA,
        "ac1": unknown("all have one and the same label", n=80),
        "notes": ("a note",),
    }
    return Agreement(**facts | change)


def test_the_text_is_a_small_table():
    assert repr(made()).splitlines() == [
        "llmframe agreement · label against human · 80 of 100 rows · nominal",
        "                   95 % interval",
        "accuracy  0.90     0.82 to 0.95",
        "kappa     0.62     0.51 to 0.71",
        "ac1       unknown  all have one and the same label",
        "label  gold  answered  precision            recall               f1",
        "'<a>'  50    48        0.62 (0.51 to 0.71)  0.62 (0.51 to 0.71)  unknown",
        "left out: 12 failed, 8 without gold",
        "note: a note",
    ]


def test_groups_have_a_line_each():
    lines = repr(made(groups={"de": made(), None: made(n=3)})).splitlines()
    assert "group  n   accuracy             kappa                ac1" in lines
    assert "None   3   0.90 (0.82 to 0.95)  0.62 (0.51 to 0.71)  unknown" in lines


def test_people_have_lines_of_their_own():
    humans = HumanCeiling(raters=4, items=80, humans=KAPPA, with_judge=KAPPA, change=unknown("no item has two ratings"))
    text = repr(made(humans=humans))
    assert "against 4 people" in text
    assert "humans.with_judge  0.62     0.51 to 0.71" in text
    assert json.loads(made(humans=humans).to_json())["humans"]["raters"] == 4


def test_labels_are_escaped_in_notebooks():
    html = made()._repr_html_()
    assert "&lt;a&gt;" in html
    assert "<a>" not in html
    assert "gold \\ answer" in html


def test_many_labels_stay_out_of_the_text():
    assert "precision" not in repr(made(classes=(CLASS,) * 13))


def test_json_has_every_number_by_its_name_and_null_for_unknown():
    told = json.loads(made(groups={"de": made()}).to_json())
    assert told["kappa"] == {"value": 0.62, "low": 0.51, "high": 0.71, "n": 80, "level": 0.95, "reason": ""}
    assert told["ac1"]["value"] is None
    assert "bias" not in told
    assert told["classes"][0]["f1"]["reason"] == "never comes"
    assert told["groups"][0]["group"] == "de"
    assert told["groups"][0]["kappa"] == told["kappa"]
    assert (told["n"], told["failed"], told["notes"]) == (80, 12, ["a note"])


def test_a_number_of_another_scale_is_unknown():
    assert math.isnan(made().bias.value)
    assert list(made().estimates) == ["accuracy", "kappa", "ac1"]


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_the_title_names_the_scale(scale):
    assert f"· {scale}" in repr(made(scale=scale, groups={"x": made(scale=scale)}))
