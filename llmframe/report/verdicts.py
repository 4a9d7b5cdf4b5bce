"""What a comparison of two runs says, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from llmframe.budget import money
from llmframe.report.compared import ColumnComparison, Spending
from llmframe.stats.paired import Accuracies, Difference
from llmframe.stats.proportions import Interval

LEVEL: Final = 0.05
"""Below this p a difference is told."""

TOLD_FLIPS: Final = 6
"""Kinds of flips that the table tells."""

TOLD_CHARS: Final = 30
"""Most characters of a value that it tells."""


def verdict(column: ColumnComparison) -> str:
    """What the numbers decide about one column, and what they leave open."""
    if not column.both:
        return f"{column.name}: no row was answered by both runs"
    if column.gold is not None and column.gold.n:
        return f"{column.name}: {_on_gold(column.runs, column.gold)}"
    return f"{column.name}: {_without_gold(column)}"


def column_lines(column: ColumnComparison) -> Iterator[tuple[str, str]]:
    """Lines of the table about one column."""
    (a, b), both = column.runs, column.both
    yield "column", column.name
    yield "answered", f"{both:,} by both{_beside(column)}"
    if both:
        yield "flips", f"{column.flips:,} ({percent(column.flip_rate)}, {interval(column.flip_interval)})"
    for flip in column.table[:TOLD_FLIPS]:
        yield "", f"{flip.count:,} × {_short(flip.before)} -> {_short(flip.after)}"
    if len(column.table) > TOLD_FLIPS:
        yield "", f"{sum(flip.count for flip in column.table[TOLD_FLIPS:]):,} others"
    if not math.isnan(column.kappa):
        yield "agreement", f"{percent(column.agreement)}, kappa {column.kappa:.2f}"
    if column.numbers is not None:
        yield "numbers", difference(column.numbers)
    if column.confidence is not None:
        yield "sureness", difference(column.confidence)
    if (gold := column.gold) is not None:
        yield "gold", f"{gold.n:,} of {column.gold_rows:,} rows with gold answered by both"
        if gold.n:
            yield "", f"{a} {percent(gold.a)} ({interval(gold.interval_a)})"
            yield "", f"{b} {percent(gold.b)} ({interval(gold.interval_b)})"
    for note in column.notes:
        yield "note", note
    yield "verdict", verdict(column)


def money_lines(
    runs: tuple[str, str], told: tuple[Spending, Spending], usd_per_row: float | None
) -> Iterator[tuple[str, str]]:
    """Lines about dollars and tokens; the last is the difference for each row that is asked, where it is known."""
    if not any(each.told_by for each in told):
        yield "cost", "unknown: map with `meta=True` to have it told"
        return
    for name, each in zip(runs, told, strict=True):
        yield "cost", f"{name} {_spent(each)}"
    if usd_per_row is not None:
        sign = "-" if usd_per_row < 0 else "+"
        yield "", f"{sign}{money(1000 * abs(usd_per_row))} for 1,000 rows that are asked"


def latency_line(
    runs: tuple[str, str], medians: tuple[float | None, float | None], paired: Difference
) -> Iterator[tuple[str, str]]:
    """The line about seconds; none where nothing is known."""
    told = [f"{name} {seconds:.2f} s" for name, seconds in zip(runs, medians, strict=True) if seconds is not None]
    if told:
        p = paired.wilcoxon_p
        yield "latency", f"median {', '.join(told)}" + ("" if math.isnan(p) else f" (Wilcoxon {p_value(p)})")


def percent(share: float) -> str:
    """`"12.5 %"`."""
    return f"{100 * share:.1f} %"


def interval(ends: Interval) -> str:
    """`"8.1 to 18.0 %"`: 95 % are said once, in the documentation."""
    return f"{100 * ends.low:.1f} to {100 * ends.high:.1f} %"


def p_value(p: float) -> str:
    """`"p = 0.012"`, `"p < 0.001"`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"  # noqa: PLR2004 - as it reads


def difference(found: Difference) -> str:
    """`"0.61 -> 0.72: +0.11 (0.02 to 0.20), Wilcoxon p = 0.03"`."""
    if not found.n:
        return found.reason
    text = f"{found.a:.3g} -> {found.b:.3g}: {found.mean:+.2g}"
    if math.isnan(found.t_p):
        return f"{text} over {found.n:,} rows ({found.reason})"
    ends = f"{found.interval.low:.2g} to {found.interval.high:.2g}"
    return f"{text} ({ends}) over {found.n:,} rows, t {p_value(found.t_p)}, Wilcoxon {p_value(found.wilcoxon_p)}"


def _on_gold(runs: tuple[str, str], gold: Accuracies) -> str:
    points = f"{100 * gold.difference:+.1f} points"
    ends = f"95 % interval {100 * gold.interval.low:.1f} to {100 * gold.interval.high:.1f}"
    if gold.mcnemar_p < LEVEL:
        better = runs[1] if gold.difference > 0 else runs[0]
        told = f"{better} is better on gold: {points} from {runs[0]} to {runs[1]}"
        return f"{told}, {ends}; McNemar {p_value(gold.mcnemar_p)}"
    told = gold.reason if math.isnan(gold.mcnemar_p) else f"McNemar {p_value(gold.mcnemar_p)}"
    return (
        f"no difference can be told on {gold.n:,} rows with gold: {points}, {ends}; {told}; it takes one of some "
        f"{100 * gold.detectable:.0f} points to be seen"
    )


def _without_gold(column: ColumnComparison) -> str:
    if not column.flips:
        return f"no value differs in the {column.both:,} rows that both answered"
    told = f"{column.flips:,} of {column.both:,} values differ"
    if column.numbers is not None and not math.isnan(column.numbers.t_p):
        sure = column.numbers.t_p < LEVEL
        way = "higher" if column.numbers.mean > 0 else "lower"
        moved = f"{column.runs[1]} is {way}" if sure else "no shift of the mean can be told"
        told += f"; {moved} ({column.numbers.mean:+.2g}, t {p_value(column.numbers.t_p)})"
    elif math.isnan(column.shift.p):
        told += f"; {column.shift.reason}"
    else:
        name = "Stuart–Maxwell" if column.shift.df else "McNemar"
        moved = "their shares shift" if column.shift.p < LEVEL else "no shift of their shares can be told"
        told += f"; {moved} ({name} {p_value(column.shift.p)})"
    return f"{told}; which run is better takes gold"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= TOLD_CHARS else text[: TOLD_CHARS - 1] + "…"


def _beside(column: ColumnComparison) -> str:
    parts = [
        f"{count:,} {word} {name}"
        for name, failed, missing in zip(
            column.runs, (column.failed_a, column.failed_b), (column.missing_a, column.missing_b), strict=True
        )
        for count, word in ((failed, "failed in"), (missing, "without a value in"))
        if count
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _spent(told: Spending) -> str:
    if not told.told_by:
        return "unknown"
    if not told.asked:
        return f"unknown: all {told.cached or 0:,} answers were kept from an earlier run"
    cost = "unknown" if told.usd is None else money(told.usd)
    beside = [f"{told.asked:,} rows asked"]
    if told.cached:
        beside.append(f"{told.cached:,} kept from an earlier run")
    if told.unknown:
        beside.append(f"unknown for {told.unknown:,} requests")
    if told.input_tokens is not None and told.output_tokens is not None:
        beside.append(f"{told.input_tokens:,} tokens in, {told.output_tokens:,} out")
    return f"{cost} ({', '.join(beside)})"
