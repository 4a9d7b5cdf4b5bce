"""What a comparison says in words, and what it doesn't claim."""

from __future__ import annotations

import math

from llmframe.report.compared import Flip, Spending
from llmframe.report.verdicts import column_lines, difference, latency_line, money_lines, p_value, verdict
from llmframe.stats.flips import Significance
from llmframe.stats.paired import Difference, accuracies
from llmframe.stats.proportions import Interval
from tests.report.comparisons import COLUMN, column

MOVED = Difference(n=9, a=1.0, b=1.5, mean=0.5, interval=Interval(0.1, 0.9), t_p=0.02, wilcoxon_p=0.03)


def test_without_gold_a_shift_is_told_but_no_run_is_better():
    assert verdict(COLUMN) == (
        "label: 10 of 100 values differ; their shares shift (McNemar p = 0.02); which run is better takes gold"
    )
    balanced = column(shift=Significance(statistic=1.0, df=2, p=0.6))
    assert "no shift of their shares can be told (Stuart–Maxwell p = 0.6)" in verdict(balanced)
    few = column(shift=Significance(reason="5 flips between 3 labels are too few for a test, which takes 10"))
    assert "too few for a test" in verdict(few)


def test_numbers_are_told_by_their_mean():
    assert "b is higher (+0.5, t p = 0.02)" in verdict(column(numbers=MOVED))


def test_an_open_question_says_what_would_be_seen():
    # 50 rows, 2 against 3: (1.959964 + .841621) * sqrt(6 - 1/52) / 52 = .1318
    found = accuracies([True] * 2 + [False] * 48, [False] * 2 + [True] * 3 + [False] * 45)
    text = verdict(column(gold=found, gold_rows=50))
    assert text.startswith("label: no difference can be told on 50 rows with gold: +2.0 points, 95 % interval ")
    assert text.endswith("McNemar p = 1; it takes one of some 13 points to be seen")


def test_gold_on_which_both_are_right_alike_says_so():
    found = accuracies([True, False], [True, False])
    assert "no row is right in one and wrong in the other" in verdict(column(gold=found, gold_rows=2))


def test_the_table_names_the_rows_beside_and_the_flips():
    lines = list(column_lines(COLUMN))
    assert ("answered", "100 by both (2 failed in a, 1 without a value in b)") in lines
    assert ("", "9 × p -> n") in lines
    assert ("agreement", "90.0 %, kappa 0.80") in lines


def test_many_kinds_of_flips_are_summed_up_and_long_values_cut():
    flips = tuple(Flip(before="x" * 40, after=str(number), count=1) for number in range(8))
    lines = [text for _, text in column_lines(column(table=flips))]
    assert "2 others" in lines
    assert f"1 × {'x' * 29}… -> 0" in lines


def test_an_unknown_kappa_is_not_shown_as_a_number():
    assert all(name != "agreement" for name, _ in column_lines(column(kappa=math.nan)))


def test_costs_name_what_was_kept_and_what_is_unknown():
    first = Spending(told_by="llm_meta", asked=3, cached=2, unknown=1, usd=0.5, input_tokens=30, output_tokens=3)
    lines = list(money_lines(("a", "b"), (first, Spending()), 0.002))
    assert lines == [
        ("cost", "a $0.5 (3 rows asked, 2 kept from an earlier run, unknown for 1 requests, 30 tokens in, 3 out)"),
        ("cost", "b unknown"),
        ("", "+$2.00 for 1,000 rows that are asked"),
    ]


def test_latency_is_silent_where_nothing_is_known():
    nothing = Difference(n=0)
    assert list(latency_line(("a", "b"), (None, None), nothing)) == []
    assert list(latency_line(("a", "b"), (1.0, None), nothing)) == [("latency", "median a 1.00 s")]


def test_a_difference_has_its_interval_or_its_reason():
    assert difference(MOVED) == "1 -> 1.5: +0.5 (0.1 to 0.9) over 9 rows, t p = 0.02, Wilcoxon p = 0.03"
    assert difference(Difference(n=0, reason="no row has both numbers")) == "no row has both numbers"
    assert difference(Difference(n=1, a=1.0, b=2.0, mean=1.0, reason="one row has no spread")).endswith(
        "over 1 rows (one row has no spread)"
    )


def test_tiny_p_values_are_bounded():
    assert p_value(0.0004) == "p < 0.001"
