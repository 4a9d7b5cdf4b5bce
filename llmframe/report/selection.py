"""Which rows stand as they are, which need review, and what is promised of the former."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeVar

from llmframe.core.columns import ColumnType
from llmframe.frames.derived import derive, dropped, names_of, rows_where
from llmframe.report.wording import html_table, text_table
from llmframe.stats.certificate import Certificate, percent
from llmframe.stats.risk_coverage import COVERAGES, RiskCoverage

N = TypeVar("N")

TITLE: Final = "llmframe selection"

STANDS: Final = "__llmframe_stands"
"""A column for a moment: whether a row is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Rows split by a certified threshold; `repr` is a small table, notebooks show it as HTML.

    Attributes
    ----------
    name, confidence, error
        The columns with the answers, with their confidences, with their errors (`None`: there is none).
    n
        Rows of the frame.
    kept
        Rows that stand: answered, with a confidence at the threshold or above.
    failed
        Rows with an error.
    missing
        Rows without an answer or a confidence, and without an error.
    gold_rows
        Rows with gold; `certificate.n` of them have an answer and a confidence, too.
    certificate
        What is promised, and what it rests on.
    curve
        Errors among the surest gold rows, by how many are kept.
    auroc
        How often a right answer of the gold rows is surer than a wrong one; nan unless there are both.
    notes
        What is to be known about these numbers, in words.
    """

    name: str
    confidence: str
    error: str | None
    n: int
    kept: int
    failed: int
    missing: int
    gold_rows: int
    certificate: Certificate
    curve: RiskCoverage
    auroc: float
    notes: tuple[str, ...] = ()

    @property
    def threshold(self) -> float:
        """The confidence from which on rows stand; nan where nothing is certified."""
        return self.certificate.threshold

    @property
    def coverage(self) -> float:
        """Share of all rows that stands; nan without rows."""
        return self.kept / self.n if self.n else math.nan

    def keep(self, frame: N) -> N:
        """The rows of `frame` that stand, in a frame of its kind; a lazy one stays lazy.

        Parameters
        ----------
        frame
            The frame that was selected from, or another one with the same columns, rows like which the gold was drawn
            from: pandas, polars (lazy, too), `pyarrow.Table`, or a list of dicts.

        Raises
        ------
        UsageError
            If it lacks the columns.
        """
        return self._part(frame, stands=True)

    def needs_review(self, frame: N) -> N:
        """The other rows: below the threshold, without a confidence, failed."""
        return self._part(frame, stands=False)

    def to_dict(self) -> dict[str, object]:
        """Plain values for logs and JSON; what is unknown is `None`."""
        certificate = self.certificate.to_dict()
        return {
            "name": self.name,
            "confidence": self.confidence,
            "threshold": certificate["threshold"],
            "coverage": _known(self.coverage),
            "n": self.n,
            "kept": self.kept,
            "needs_review": self.n - self.kept,
            "failed": self.failed,
            "missing": self.missing,
            "gold_rows": self.gold_rows,
            "certificate": certificate,
            "accuracy": {str(share): self.curve.accuracy_at(share).to_dict() for share in COVERAGES},
            "aurc": _known(self.curve.aurc),
            "excess_aurc": _known(self.curve.excess),
            "auroc": _known(self.auroc),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        """A small table."""
        return text_table(self._title, self._lines())

    def _repr_html_(self) -> str:
        """The same table for notebooks."""
        return html_table(self._title, self._lines())

    @property
    def _title(self) -> str:
        return f"{TITLE} · {self.name} · {self.n:,} rows"

    def _lines(self) -> list[tuple[str, str]]:
        rest = self.n - self.kept
        share = f" ({percent(self.coverage)})" if self.n else ""
        stand = f"{self.kept:,} of {self.n:,} rows{share} stand, {rest:,} need review"
        if self.failed or self.missing:
            stand += f", {self.failed:,} of them failed, {self.missing:,} without answer or confidence"
        gold = f"{self.certificate.n:,} rows with gold, an answer and a confidence"
        if self.gold_rows > self.certificate.n:
            gold += f"; {self.gold_rows - self.certificate.n:,} more have gold alone"
        lines = [("rows", stand), ("promise", self.certificate.sentence), ("gold", gold)]
        if self.certificate.advice:
            lines.append(("more", self.certificate.advice))
        told = ", ".join(f"{self.curve.accuracy_at(share)} of the surest {percent(share)}" for share in COVERAGES)
        lines.append(("right", told))
        order = "unknown: all gold rows are right, or all are wrong" if math.isnan(self.auroc) else f"{self.auroc:.2f}"
        lines.append(
            ("order", f"AUROC {order}; AURC {self.curve.aurc:.3f}, {self.curve.excess:.3f} above the best order")
        )
        return [*lines, *(("note", note) for note in self.notes)]

    def _part(self, frame: N, *, stands: bool) -> N:
        existing = names_of(frame)
        inputs = [self.name, self.confidence, *([self.error] if self.error in existing else [])]
        out = derive(frame, inputs, [(STANDS, ColumnType("bool"))], self._standing)
        return dropped(rows_where(out, STANDS, stands), [STANDS])

    def _standing(self, cells: list[list[object]]) -> list[list[object]]:
        """Whether each row stands, from its answer, its confidence and its error."""
        return [[self._stands(*row) for row in zip(*cells, strict=True)]]

    def _stands(self, answer: object, confidence: object, error: object = None) -> bool:
        if answer is None or error is not None or isinstance(confidence, bool):
            return False
        return isinstance(confidence, int | float | Decimal) and float(confidence) >= self.threshold


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number
