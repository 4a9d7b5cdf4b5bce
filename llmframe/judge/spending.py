"""What a run took, as its frame tells: dollars, tokens and seconds of the rows that were asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from llmframe.frames import Frame
from llmframe.judge.columns import numbers, read
from llmframe.report.compared import Spending

_PAID: Final = frozenset({"live", "batch"})
_REPORT: Final = "llm"
_TAKEN: Final = ("requests", "usd", "input_tokens", "output_tokens", "cached_tokens", "unknown_usage")
_ASKED: Final = frozenset({"live", "batch", "shared"})


def spending_of(frame: Frame, meta: str | None, *, column: str | None = None) -> Spending:
    """What the answers of a frame took.

    Parameters
    ----------
    meta
        Its column of `meta=True`; without one pandas' report of the frame's last run is read, if it is of as many
        rows.
    column
        The answers' own; where an earlier run wrote it, the last one's report tells nothing of it.
    """
    if meta is not None:
        return _of_rows([cast("Mapping[str, Any]", cell) for cell in read(frame, meta) if isinstance(cell, dict)])
    return _of_report(frame, column)


def live_seconds(frame: Frame, meta: str | None) -> list[float | None]:
    """Of every row the seconds of its request, `None` where nothing was sent for it live."""
    cells = [cast("dict[str, Any]", cell) if isinstance(cell, dict) else {} for cell in read(frame, meta)]
    return numbers([cell.get("seconds") if cell.get("source") == "live" else None for cell in cells])


def report_in(native: object) -> dict[str, Any]:
    """The report of its last run that pandas keeps with a frame; empty where there is none."""
    text = getattr(native, "attrs", {}).get(_REPORT)
    try:
        told: object = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        told = None
    return cast("dict[str, Any]", told) if isinstance(told, dict) else {}


def question_in(report: Mapping[str, Any], column: str) -> str | None:
    """The digest of the question that a column answers; `None` where that isn't told, or it may be one of several."""
    told: object = report.get("questions")
    if not isinstance(told, dict):
        return report.get("question")
    questions = cast("dict[str, str | None]", told)
    asked = set(questions.values())
    return questions.get(column, next(iter(asked)) if len(asked) == 1 else None)


def is_of_another(report: Mapping[str, Any], column: str | None) -> bool:
    """Whether another run than the report's wrote a column, as far as the report tells."""
    told: object = report.get("questions")
    if not isinstance(told, dict) or column is None or column not in told:
        return False
    return cast("dict[str, object]", told)[column] != report.get("question")


def spending_in(report: Mapping[str, Any]) -> Spending:
    """What a run took by its report, as `RunReport.to_dict` tells it."""
    cached = report.get("cached", 0)
    return Spending(
        told_by="report",
        asked=report.get("answered", 0) - cached,
        cached=cached,
        unknown=report.get("unknown_usage", 0),
        usd=report.get("usd"),
        input_tokens=report.get("input_tokens"),
        output_tokens=report.get("output_tokens"),
    )


def with_reports(native: Any, reports: Sequence[Mapping[str, Any]]) -> Any:
    """The frame that several maps made, one after the other, whose report tells what all of them took.

    Parameters
    ----------
    reports
        What `report_in` found after each map. A row counts as kept from an earlier run where every map had it kept.
    """
    if len(reports) > 1 and all(reports):
        whole = dict(reports[-1])
        for name in _TAKEN:
            found = [report.get(name) for report in reports]
            whole[name] = None if None in found else sum(cast("list[float]", found))
        for name, pick in (("answered", max), ("cached", min)):
            whole[name] = pick(report.get(name, 0) for report in reports)
        native.attrs[_REPORT] = json.dumps(whole)
    return native


def _of_rows(rows: Sequence[Mapping[str, Any]]) -> Spending:
    paid = [row for row in rows if row.get("source") in _PAID]
    return Spending(
        told_by="llm_meta",
        asked=sum(row.get("source") in _ASKED for row in rows),
        cached=sum(row.get("source") == "cache" for row in rows),
        unknown=sum(row.get("usd") is None for row in paid),
        usd=_sum([row.get("usd") for row in paid]),
        input_tokens=_sum([row.get("input_tokens") for row in paid]),
        output_tokens=_sum([row.get("output_tokens") for row in paid]),
    )


def _of_report(frame: Frame, column: str | None) -> Spending:
    found = report_in(frame.native)
    return spending_in(found) if found.get("rows") == len(frame) and not is_of_another(found, column) else Spending()


def _sum(values: Sequence[float | None]) -> Any:
    """The sum of what is known; `None` where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known or not values else None
