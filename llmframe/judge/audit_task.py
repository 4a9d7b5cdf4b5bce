"""An audit made ready: its judge, its sample, its probes and their questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from llmframe.api.arguments import lazy_kind
from llmframe.api.runs import looking_for_ties
from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.judge.asks import columns_of
from llmframe.judge.audit_judges import Judge, judge_of
from llmframe.judge.audit_probes import chosen, findings_of, variants_of
from llmframe.judge.audit_rows import Answers, Beside, Sample, beside_of, sample_of
from llmframe.judge.task import Task
from llmframe.report.audit import Audit

DECIDED: Final = (
    *("where", "prefix", "into", "overwrite", "on_null", "nested", "meta"),
    *("confidence", "samples", "distribution", "calibration"),
)
"""Arguments of `map` without a place here: rows are a sample of the audit's own, and what counts are verdicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An audit before anything is asked."""

    judge: Judge
    beside: Beside
    probes: tuple[str, ...]
    sample: Sample
    task: Task
    seed: int
    least: float

    @staticmethod
    def asking() -> AbstractContextManager[None]:
        """What the questions are asked within: an answer that a repetition changes is no news but a result."""
        return looking_for_ties()

    @property
    def records(self) -> list[dict[str, object]]:
        """The rows that are asked about."""
        return self.sample.records

    def audit(self, native: object) -> Audit:
        """What the answers in these rows come to."""
        answers = Answers(self.judge, self.sample, native)
        return Audit(
            judge=self.judge.kind,
            rows=len(answers),
            failed=answers.failed,
            findings=findings_of(answers, self.probes, self.beside, least=self.least),
            least=self.least,
            seed=self.seed,
        )


def prepare_audit(  # noqa: PLR0913 - the facts of an audit
    frame: object,
    column: object,
    said: object,
    beside: Beside,
    *,
    words: Mapping[str, Any],
    options: Mapping[str, object],
    probes: Sequence[str] | None,
    rows: int | None,
    seed: int,
    least: float,
) -> Prepared:
    """Check what a call said, draw its sample, and make its questions.

    Parameters
    ----------
    said
        The judge, as the call said it.
    words
        `ties`, `descriptions` and `instructions`.
    options
        Arguments of `map` as the call said them.

    Raises
    ------
    UsageError
        For whatever can't work.
    """
    taken = next((name for name in DECIDED if not _is_default(options.get(name))), None)
    if taken is not None:
        raise UsageError(
            f"`{taken}` has no place in an audit, which draws rows of its own and counts verdicts; leave it out"
        )
    if isinstance(least, bool) or not isinstance(least, int | float) or not 0 < least < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
        raise UsageError(f"`least` is the smallest effect that matters, between 0 and 1, got {least!r}")
    if lazy_kind(frame):
        raise UsageError("an audit draws a sample of rows that are there: collect (part of) the lazy query first")
    table = wrap(frame)
    if table.single:
        raise UsageError("an audit needs a frame with named columns, got a Series: `.to_frame()`")
    judge = judge_of(column, said, names=table.names, **words)
    beside = beside_of(judge, table.names, beside)
    names = chosen(probes, judge, beside)
    sample = sample_of(table, judge, beside, rows=rows, seed=seed)
    return Prepared(
        judge=judge,
        beside=beside,
        probes=names,
        sample=sample,
        task=_task(judge, names, options),
        seed=seed,
        least=least,
    )


def _is_default(value: object) -> bool:
    return value is None or value is False or (isinstance(value, str) and value in ("", "skip", "native"))


def _task(judge: Judge, probes: Sequence[str], options: Mapping[str, object]) -> Task:
    questions = judge.questions(variants_of(probes))
    if "again" in questions:
        columns_of(questions["plain"], options)  # whatever else can't work is told first
        try:
            columns_of(questions["again"], options)
        except UsageError:  # at temperature 0 and in batches nothing is asked twice
            del questions["again"]
    return Task(asks=tuple(questions.values()), verdict=judge.answer)
