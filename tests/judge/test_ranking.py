"""From columns of verdicts to a ranking, whatever the frame's library and shape."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from llmframe.errors import UsageError
from llmframe.judge.ranking import rank
from tests.contracts.kinds import ALL_KINDS, Kind

# ant beats bee 6:2 and cat 5:1, bee beats cat 4:2, ties between ant and bee: 2; one pair has no verdict
MET = [("ant", "bee", "ant")] * 6 + [("bee", "ant", "bee")] * 2 + [("ant", "bee", "tie")] * 2
MET += [("cat", "ant", "ant")] * 5 + [("cat", "ant", "cat")] + [("bee", "cat", "bee")] * 4 + [("bee", "cat", "cat")] * 2
MET += [("ant", "cat", None)]
LONG: dict[str, list[Any]] = {
    "left": [a for a, _, _ in MET],
    "right": [b for _, b, _ in MET],
    "winner": [winner for *_, winner in MET],
    "item": [at // 2 for at in range(len(MET))],
}


@pytest.mark.parametrize("kind", ALL_KINDS, ids=lambda kind: kind.name)
def test_a_row_for_each_comparison_is_ranked_from_any_library(kind: Kind):
    found = rank(kind.make(LONG), winner="winner", a="left", b="right", draws=200)
    assert [each.system for each in found.systems] == ["ant", "bee", "cat"]
    assert (found.comparisons, found.unjudged, found.items) == (22, 1, 22)
    assert [(each.won, each.tied, each.comparisons) for each in found.systems] == [(11, 2, 16), (6, 2, 16), (3, 0, 12)]
    # choix 0.4.1 on the same wins, a tie half a win each way
    assert [each.strength.value for each in found.systems] == pytest.approx(
        [0.81216454, -0.04876463, -0.76339992], abs=1e-7
    )


def test_comparisons_of_one_item_are_drawn_together():
    found = rank(pd.DataFrame(LONG), winner="winner", a="left", b="right", item="item", draws=200)
    assert found.items == 11


def test_sides_tell_what_verdicts_call_the_systems():
    frame = pd.DataFrame(LONG)
    frame["said"] = [{a: "text_a", b: "text_b", "tie": "tie", None: None}[winner] for a, b, winner in MET]
    by_side = rank(frame, winner="said", a="left", b="right", sides=("text_a", "text_b"), draws=50)
    by_name = rank(frame, winner="winner", a="left", b="right", draws=50)
    assert by_side.to_dict() == by_name.to_dict()


def test_a_row_for_each_item_has_a_column_for_each_pair():
    frame = pd.DataFrame(
        {
            "ab": ["ant", "ant", "bee", "tie"],
            "bc": ["bee", "cat", "bee", None],
            "ac": ["ant", "cat", "ant", "ant"],
        }
    )
    pairs = {"ab": ("ant", "bee"), "bc": ("bee", "cat"), "ac": ("ant", "cat")}
    found = rank(frame, winner=pairs, draws=50)
    assert (found.comparisons, found.unjudged, found.items) == (11, 1, 4)
    assert [each.system for each in found.systems] == ["ant", "bee", "cat"]


def test_the_report_says_whose_order_stands():
    many = {name: values[:22] * 20 for name, values in LONG.items()}
    found = rank(pd.DataFrame(many), winner="winner", a="left", b="right", draws=300)
    assert found.verdict.splitlines()[0].startswith("ant is above bee: 0.86 (")
    few = rank(pd.DataFrame(LONG), winner="winner", a="left", b="right", draws=300)
    assert few.verdict.splitlines()[1].startswith("bee and cat can't be told apart: 0.71 (-")
    assert few.notes[0] == "1 comparisons without a verdict are left out"
    assert "1     ant" in repr(few)
    assert "<table>" in few._repr_html_()
    told = json.loads(few.to_json())
    assert [row["system"] for row in told["systems"]] == ["ant", "bee", "cat"]
    assert told["systems"][2]["gap_to_next"] is None
    assert few.difference("ant", "cat").value == pytest.approx(0.81216454 + 0.76339992)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"winner": "winer", "a": "left", "b": "right"}, "column 'winer' is absent; did you mean 'winner'"),
        ({"winner": "winner"}, "`a` and `b` name the columns with the two systems' names"),
        ({"winner": {"winner": ("ant", "bee")}, "a": "left"}, "leave `a`, `b` and `sides` out"),
        ({"winner": {"winner": "ant"}}, r"`winner\['winner'\]` are the two systems that it compared, got 'ant'"),
        ({"winner": {}}, "`winner` is a column's name, or a dict"),
        ({"winner": "winner", "a": "left", "b": "right", "sides": ("x", "x")}, "`sides` are two different names"),
        (
            {"winner": "winner", "a": "left", "b": "right", "sides": ("x", "y")},
            "a verdict 'ant', which is neither of the systems 'x' and 'y', nor \"tie\"; .* say `sides=",
        ),
        (
            {"winner": "winner", "a": "left", "b": "right", "item": "winner"},
            rf"`item` is null in row {len(MET) - 1} \(counted from 0\): every comparison is of an item",
        ),
    ],
    ids=["typo", "no sides", "both", "one system", "empty", "same", "names", "no item"],
)
def test_what_can_t_be_ranked_is_refused(said: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        rank(pd.DataFrame(LONG), **said)


def test_a_series_has_no_systems():
    with pytest.raises(UsageError, match="not a Series"):
        rank(pd.Series(["ant"]), winner="winner")
