"""From both orders' verdicts to a pair's columns."""

from __future__ import annotations

from llmframe.core.columns import ColumnType
from llmframe.judge.pair_columns import pair_columns

FLOAT, TEXT = ColumnType("float"), ColumnType("string")
META = ColumnType("struct", fields=(("usd", FLOAT),))
SPREAD = ColumnType("struct", fields=(("A", FLOAT), ("B", FLOAT), ("tie", FLOAT)))
PLAIN = [("winner", TEXT), ("error", TEXT)]
SURE = [
    ("winner", TEXT),
    ("confidence", FLOAT),
    ("confidence_source", TEXT),
    ("distribution", SPREAD),
    ("label_mass", FLOAT),
    ("error", TEXT),
]


def test_the_second_order_is_mapped_back():
    outputs, make = pair_columns(("x", "y"), PLAIN, keep=True, shown=False)
    assert [name for name, _ in outputs] == ["winner", "consistent", "first_winner", "second_winner", "error"]
    # first order: A is x; second order: A is y
    made = make([["A", "B", "A", "tie", None], [None] * 5, ["B", "A", "A", "tie", None], [None] * 5])
    assert made == [
        ["x", "y", "tie", "tie", None],
        [True, True, False, True, None],
        ["x", "y", "x", "tie", None],
        ["x", "y", "y", "tie", None],
        [None] * 5,
    ]


def test_probabilities_are_those_of_the_sides():
    outputs, make = pair_columns(("x", "y"), SURE, keep=False, shown=True)
    assert [name for name, _ in outputs][2:] == ["confidence", "confidence_source", "distribution", "error"]
    assert dict(outputs)["distribution"].fields == (("x", FLOAT), ("y", FLOAT), ("tie", FLOAT))
    first: list[list[object]] = [["A"], [0.75], ["logprobs"], [{"A": 0.75, "B": 0.25, "tie": 0.0}], [1.0], [None]]
    second: list[list[object]] = [["B"], [0.5], ["logprobs"], [{"A": 0.25, "B": 0.5, "tie": 0.25}], [1.0], [None]]
    # of x the mean of 0.75 and 0.5, of y of 0.25 twice, of the tie of 0 and 0.25
    assert make([*first, *second]) == [
        ["x"],
        [True],
        [0.625],
        ["logprobs"],
        [{"x": 0.625, "y": 0.25, "tie": 0.125}],
        [None],
    ]


def test_what_was_taken_is_told_for_either_order():
    outputs, make = pair_columns(("x", "y"), [*PLAIN, ("llm_meta", META)], keep=False, shown=False)
    assert outputs[-2:] == [("first_llm_meta", META), ("second_llm_meta", META)]
    made = make([["A"], [None], [{"usd": 1.0}], ["B"], [None], [{"usd": 2.0}]])
    assert made[-2:] == [[{"usd": 1.0}], [{"usd": 2.0}]]
