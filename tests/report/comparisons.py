"""A made-up comparison, for what is told of one."""

from __future__ import annotations

import dataclasses
from typing import Any

from llmframe.report.compared import ColumnComparison, Flip, Spending
from llmframe.report.comparison import Comparison
from llmframe.stats.flips import Significance
from llmframe.stats.paired import Difference
from llmframe.stats.proportions import wilson_interval

COLUMN = ColumnComparison(
    name="label",
    runs=("a", "b"),
    both=100,
    failed_a=2,
    failed_b=0,
    missing_a=0,
    missing_b=1,
    flips=10,
    flip_rate=0.1,
    flip_interval=wilson_interval(10, 100),
    kappa=0.8,
    table=(Flip(before="p", after="n", count=9), Flip(before="n", after="p", count=1)),
    rows=tuple(range(10)),
    symmetry=Significance(p=0.02),
    shift=Significance(p=0.02),
)


def column(**changes: Any) -> ColumnComparison:
    return dataclasses.replace(COLUMN, **changes)


def comparison(*columns: ColumnComparison, **changes: Any) -> Comparison:
    facts: dict[str, Any] = {
        "runs": ("a", "b"),
        "n": 103,
        "columns": columns or (COLUMN,),
        "spending_a": Spending(),
        "spending_b": Spending(),
        "seconds_a": None,
        "seconds_b": None,
        "latency": Difference(n=0, reason="no row has both numbers"),
    }
    return Comparison(**facts | changes)
