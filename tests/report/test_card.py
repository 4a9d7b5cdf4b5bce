"""The card: numbers by flat keys, pictures by name, the same in every form."""

from __future__ import annotations

import json
import math
import pickle
from functools import partial
from pathlib import Path

import pytest

from llmframe.errors import UsageError
from llmframe.report.card import ReportCard
from llmframe.report.card_parts.section import Picture, Section, absent
from llmframe.report.pictures.canvas import empty_figure

CARD = ReportCard(
    title="llmframe report card · label",
    sections=(
        Section(
            name="agreement",
            title="Agreement",
            lines=(("kappa", "0.50 (0.40 to 0.60)"),),
            values={"kappa": 0.5, "kappa.low": 0.4, "ac1": math.nan, "model": "m"},
            reasons={"ac1": "one label only"},
            pictures=(Picture(name="confusion", alt="counts", draw=partial(empty_figure, "x")),),
        ),
        absent("bias", "Bias audit", "no audit was given", keys=["bias.worst"]),
    ),
)


def test_numbers_are_found_by_their_flat_keys():
    assert CARD["kappa.low"] == 0.4
    assert list(CARD.values) == ["kappa", "kappa.low", "ac1", "model", "bias.worst"]
    with pytest.raises(UsageError, match="has no 'kapa'; did you mean 'kappa'"):
        CARD["kapa"]


def test_json_has_null_for_the_unknown_and_why_a_part_is_absent():
    assert json.loads(CARD.to_json()) == {
        "title": "llmframe report card · label",
        "kappa": 0.5,
        "kappa.low": 0.4,
        "ac1": None,
        "model": "m",
        "bias.worst": None,
        "why.bias": "no audit was given",
    }


def test_gates_are_checked_with_the_reason_of_what_is_unknown():
    assert CARD.check(min={"kappa": 0.5}) == []
    assert CARD.check() == []
    told = [str(each) for each in CARD.check(min={"ac1": 0.1}, max={"bias.worst": 0.1, "kappa": 0.2})]
    assert told == [
        "ac1 is unknown (one label only), so it can't be at least 0.1",
        "bias.worst is unknown (no audit was given), so it can't be at most 0.1",
        "kappa is 0.5, more than 0.2",
    ]


def test_pictures_are_drawn_by_name():
    assert CARD.pictures == ("confusion",)
    assert CARD.plot("confusion")._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="no picture 'confuson'; did you mean 'confusion'"):
        CARD.plot("confuson")


@pytest.mark.parametrize("form", ["to_html", "to_markdown", "to_json"])
def test_a_form_is_returned_and_written_as_it_is(form: str, tmp_path: Path):
    text = getattr(CARD, form)(tmp_path / "card")
    assert (tmp_path / "card").read_text(encoding="utf-8") == text == getattr(CARD, form)()


def test_text_and_notebook_show_the_same_numbers():
    for shown in (repr(CARD), CARD._repr_html_(), CARD.to_markdown()):
        assert "0.50 (0.40 to 0.60)" in shown
        assert "no audit was given" in shown


def test_a_card_can_be_pickled():
    assert pickle.loads(pickle.dumps(CARD)).values["kappa"] == 0.5  # noqa: S301 - our own
