"""Counts of a card: failed rows stand beside, never among the numbers."""

from __future__ import annotations

import math

from llmframe.report.card_parts.counts_part import Counts, counts_section


def test_rows_are_told_by_what_became_of_them():
    found = Counts(
        rows=10, failed={"timeout": 2, "invalid": 1}, missing=1, gold=5, judged=4, failed_gold=1, unique=6, cached=3,
        shared=0,
    )  # fmt: skip
    part = counts_section(found)
    assert dict(part.lines) == {
        "rows": "10",
        "answered": "6",
        "failed": "3 (2 timeout, 1 invalid)",
        "without an answer": "1",
        "with gold": "5, of them 4 with an answer",
        "unique calls": "6",
        "from the cache": "3",
        "shared": "0",
    }
    assert part.values == {
        "rows": 10, "answered": 6, "failed": 3, "missing": 1, "gold": 5, "judged": 4, "answered_share": 0.6,
        "unique_calls": 6, "cached": 3, "failed.invalid": 1, "failed.timeout": 2,
    }  # fmt: skip
    assert part.notes[0].startswith("1 of 5 rows with gold failed")


def test_what_nobody_told_is_unknown_and_no_row_has_no_share():
    part = counts_section(Counts(rows=0))
    assert math.isnan(part.values["unique_calls"])
    assert math.isnan(part.values["answered_share"])
    assert dict(part.lines)["unique calls"].startswith("unknown")
    assert part.notes == ()
