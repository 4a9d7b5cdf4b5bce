"""The rows that a report card is of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from llmframe.errors import ERROR_KINDS, UsageError
from llmframe.frames import Frame
from llmframe.frames.derived import position_of
from llmframe.judge.columns import AnswerColumns, answer_columns, confidences, read
from llmframe.judge.rated_rows import RatedRows, rated_rows
from llmframe.judge.spending import is_of_another, report_in, spending_in, spending_of
from llmframe.report.agreement import Scale
from llmframe.report.card_parts.counts_part import Counts
from llmframe.report.compared import Spending
from llmframe.report.run_report import RunReport
from llmframe.stats.raters import consensus

OTHER: Final = "other"
"""The kind of an error that isn't one of llmframe's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRows:
    """A judge's cells by row.

    Attributes
    ----------
    rated
        Answers, errors, gold, and what a row belongs to.
    columns
        Where they stand.
    confidence
        Name of the column of confidences; `None`: there is none.
    sure
        Confidences; `None` where there is none.
    meta
        What `meta=True` told, `{}` without.
    """

    rated: RatedRows
    columns: AnswerColumns
    confidence: str | None
    sure: list[float | None]
    meta: list[dict[str, Any]]

    def truth(self, scale: Scale, labels: Sequence[Hashable] | None) -> list[Any]:
        """What is right by row; of several people their consensus."""
        if any(len(item) > 1 for item in self.rated.golds):
            return consensus(self.rated.golds, scale=scale, labels=labels)
        return [item[0] for item in self.rated.golds]


def card_rows(frame: Frame, pred: str, gold: object, *, confidence: str | None, group: object) -> CardRows:
    """A frame's answers, gold, confidences and groups.

    Parameters
    ----------
    gold
        Name of a column, a value for each row, or names of several people's columns.
    confidence
        Name of the column of confidences; `None`: the one beside the answers, calibrated or not.
    group
        Name of a column, or a value for each row; `None`: rows with one request belong together, as `meta=True` tells.

    Raises
    ------
    UsageError
        If a column is missing, or a confidence isn't in [0, 1].
    """
    rated = rated_rows(frame, pred, gold, group=group)
    columns = answer_columns(frame.names, pred)
    name = columns.shown if confidence is None else confidence
    if name is not None:
        position_of(name, frame.names)
    meta = read(frame, columns.meta)
    return CardRows(
        rated=rated,
        columns=columns,
        confidence=name,
        sure=_confidences(frame, name),
        meta=[cast("dict[str, Any]", cell) if isinstance(cell, dict) else {} for cell in meta],
    )


def report_of(frame: Frame, run: RunReport | None, *, pred: str | None = None) -> dict[str, Any]:
    """What is known of the run that wrote `pred`: by `run`, else by what pandas keeps; empty where nothing is.

    Of an earlier run than the frame's last no more is known than its question.
    """
    report = report_in(frame.native) if run is None else run.to_dict()
    if is_of_another(report, pred):
        return {"questions": report["questions"]}
    return report if report.get("rows") == len(frame) or run is not None else {}


def counts_of(rows: CardRows, truth: Sequence[object], report: Mapping[str, Any]) -> Counts:
    """What became of the rows; what neither the frame nor the run's `report` tells is `None`."""
    known = [at for at, right in enumerate(truth) if right is not None]
    kinds = Counter(_kind(error) for error in rows.rated.errors if error is not None)
    cached, shared, unique = _calls(rows.meta, report, rows=len(truth))
    return Counts(
        rows=len(truth),
        failed=dict(kinds.most_common()),
        missing=sum(cell is None for cell in rows.rated.answers) - sum(kinds.values()),
        gold=len(known),
        judged=sum(rows.rated.answers[at] is not None for at in known),
        failed_gold=sum(rows.rated.errors[at] is not None for at in known),
        unique=unique,
        cached=cached,
        shared=shared,
    )


def spending_of_rows(frame: Frame, rows: CardRows, report: Mapping[str, Any]) -> Spending:
    """What the answers took, by the frame, else by the run's report where it is of as many rows."""
    found = spending_of(frame, rows.columns.meta, column=rows.columns.value)
    return spending_in(report) if not found.told_by and report.get("rows") == len(frame) else found


def models_of(rows: CardRows, report: Mapping[str, Any]) -> list[str]:
    """Models that answered, the most frequent first; without `meta=True` the one of the run's report."""
    told = Counter(str(cell["model"]) for cell in rows.meta if cell.get("model"))
    model = report.get("model")
    return [model for model, _ in told.most_common()] or ([str(model)] if model else [])


def _confidences(frame: Frame, name: str | None) -> list[float | None]:
    found = confidences(read(frame, name), name)
    outside = next((each for each in found if each is not None and not 0 <= each <= 1), None)
    if outside is not None:
        raise UsageError(
            f"the confidences in {name!r} must be in [0, 1], one is {outside:g}; name another column by "
            "`confidence=...`, or divide percentages by 100"
        )
    return found


def _kind(error: object) -> str:
    """`"timeout"` of `"timeout: no answer in 60 s"`."""
    word = str(error).partition(":")[0]
    return word if word in ERROR_KINDS else OTHER


def _calls(
    meta: Sequence[dict[str, Any]], report: Mapping[str, Any], *, rows: int
) -> tuple[int | None, int | None, int | None]:
    """Rows from the cache, rows that shared a call, distinct calls."""
    told = [cell for cell in meta if cell]
    if told:
        sources = Counter(cell.get("source") for cell in told)
        return sources["cache"], sources["shared"], len({cell.get("fingerprint") or id(cell) for cell in told})
    if report.get("rows") == rows and "shared" in report:
        return report.get("cached"), report["shared"], report["answered"] - report["shared"]
    return None, None, None
