"""A ranking as people and programs read it."""

from __future__ import annotations

import json

import pytest

from llmframe.report.ranked import Ranking
from llmframe.stats.bradley_terry import bradley_terry


def ranking(times: int = 20) -> Ranking:
    # ant beats bee 3:1, bee beats cat 2:1, ant beats cat 3:1, each so many times
    a = ["ant"] * 4 + ["bee"] * 3 + ["ant"] * 4
    b = ["bee"] * 4 + ["cat"] * 3 + ["cat"] * 4
    wins = [1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0]
    return Ranking.of(bradley_terry(a * times, b * times, wins * times, draws=200), unjudged=3)


def test_each_system_has_its_place_and_its_gap_to_the_next():
    found = ranking()
    assert [(each.rank, each.system) for each in found.systems] == [(1, "ant"), (2, "bee"), (3, "cat")]
    assert found.systems[0].gap == found.difference("ant", "bee")
    assert found.systems[2].gap is None


def test_an_order_stands_where_its_interval_is_above_0():
    assert ranking().verdict.startswith("ant is above bee: 0.89 (")
    assert ranking(3).verdict.splitlines()[1].startswith("bee and cat can't be told apart: 0.45 (-")


def test_the_table_tells_systems_counts_and_what_is_left_out():
    lines = repr(ranking()).splitlines()
    assert lines[0] == "llmframe ranking · 3 systems · 220 verdicts on 220 items"
    assert lines[1].split() == ["rank", "system", "strength", "win", "rate", "verdicts", "won", "tied"]
    assert lines[2].startswith("1     ant     0.74 (")
    assert lines[-1] == "3 comparisons without a verdict are left out"


def test_names_are_no_html():
    found = Ranking.of(bradley_terry(["<b>", "a"], ["a", "<b>"], [1.0, 1.0], draws=20), unjudged=0)
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()


def test_json_has_a_row_for_each_system_and_null_for_what_is_unknown():
    found = Ranking.of(bradley_terry(["a", "b"], ["b", "a"], [1.0, 1.0], draws=20), unjudged=0)
    told = json.loads(found.to_json())
    assert [row["strength"] for row in told["systems"]] == pytest.approx([0, 0])
    assert told["systems"][0]["strength_low"] is None
    assert told["systems"][0]["gap_to_next"]["value"] == pytest.approx(0)
    assert told["notes"] == [ranking_note(found)]


def ranking_note(found: Ranking) -> str:
    return found.systems[0].strength.reason
