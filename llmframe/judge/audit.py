"""A judge's biases, measured on a small sample of the rows that it judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack, overload

from llmframe.api.arguments import PresetOptions
from llmframe.judge.asks import arun, run
from llmframe.judge.audit_rows import Beside, authors_of
from llmframe.judge.audit_task import prepare_audit
from llmframe.report import PlanReport
from llmframe.report.audit import Audit


class AuditOptions(PresetOptions, total=False):
    """The keyword arguments of `audit`, but for `plan`."""

    probes: Sequence[str] | None
    rows: int | None
    seed: int
    gold: str | None
    authors: str | Sequence[str] | None
    own: str | None
    group: str | None
    least: float
    ties: bool
    descriptions: Mapping[str, str] | None
    instructions: str | None


@overload
def audit(
    frame: object, column: object, judge: object, *, plan: Literal[True], **options: Unpack[AuditOptions]
) -> PlanReport: ...
@overload
def audit(
    frame: object, column: object, judge: object, *, plan: Literal[False] = False, **options: Unpack[AuditOptions]
) -> Audit: ...
def audit(  # noqa: PLR0913 - the facts of an audit
    frame: object,
    column: object,
    judge: object,
    *,
    probes: Sequence[str] | None = None,
    rows: int | None = 100,
    seed: int = 0,
    gold: str | None = None,
    authors: str | Sequence[str] | None = None,
    own: str | None = None,
    group: str | None = None,
    least: float = 0.1,
    ties: bool = True,
    descriptions: Mapping[str, str] | None = None,
    instructions: str | None = None,
    plan: bool = False,
    **options: Unpack[PresetOptions],
) -> Audit | PlanReport:
    """Measure a judge's biases on a sample: place, length, wording, chance, wishes in the text, its own texts.

    Parameters
    ----------
    frame
        A pandas or polars DataFrame, a `pyarrow.Table` or a list of dicts. It is never changed.
    column, judge
        What is judged and by what, as the preset has it: `"answer", Rubric(...)` as `score`, `("a", "b"), "Which is
        clearer?"` as `pairwise`, `"text", ["bug", "praise"]` as `classify`. Answers that the preset has got are used.
    probes
        Names of probes; `None`: all that can be made. `"position"`, `"order"` (of labels), `"verbosity"`, `"length"`,
        `"self_preference"`, `"template"`, `"stability"`, `"compression"`, `"injection"`: see the guide.
    rows
        Size of the random sample; `None`: all rows. The plan tells what it costs: 7 requests a row for a rubric or
        labels, 14 for a pair.
    seed
        Decides the sample.
    gold
        Name of a column with what is right, null where unknown: a level; of a pair the better column's name or `"tie"`.
    authors, own
        Columns that say who wrote each judged text, and which of these authors is the judge's own.
    group
        A column that says which rows belong together; `None`: those with equal texts.
    least
        The smallest effect that matters, in (0, 1): 0.1 is ten points of a share, or a tenth of a scale.
    ties, descriptions, instructions
        As of `pairwise` and `classify`.
    plan
        Ask nothing, and tell what would be asked.
    **options
        As `llmframe.map` takes them, for sending: `model`, `budget`, `cache`, `params`, ….

    Returns
    -------
    Audit or PlanReport
        For every probe an effect with its interval, p, q, the least effect that it would have found, and a verdict.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.
    MissingExtraError
        Without scipy and statsmodels: `pip install 'llmframe[judge]'`.
    """
    beside = Beside(gold=gold, authors=authors_of(authors), own=own, group=group)
    words = {"ties": ties, "descriptions": descriptions, "instructions": instructions}
    how: dict[str, Any] = {"words": words, "options": options, "probes": probes, "rows": rows, "seed": seed}
    prepared = prepare_audit(frame, column, judge, beside, least=least, **how)
    if plan:
        return run(prepared.records, prepared.task, options, of=audit, plan=True)
    with prepared.asking():
        return prepared.audit(run(prepared.records, prepared.task, options, of=audit))


async def aaudit(  # noqa: PLR0913 - as `audit`
    frame: object,
    column: object,
    judge: object,
    *,
    probes: Sequence[str] | None = None,
    rows: int | None = 100,
    seed: int = 0,
    gold: str | None = None,
    authors: str | Sequence[str] | None = None,
    own: str | None = None,
    group: str | None = None,
    least: float = 0.1,
    ties: bool = True,
    descriptions: Mapping[str, str] | None = None,
    instructions: str | None = None,
    **options: Unpack[PresetOptions],
) -> Audit:
    """`audit` for async code; it takes the same, but for `plan`."""
    beside = Beside(gold=gold, authors=authors_of(authors), own=own, group=group)
    words = {"ties": ties, "descriptions": descriptions, "instructions": instructions}
    how: dict[str, Any] = {"words": words, "options": options, "probes": probes, "rows": rows, "seed": seed}
    prepared = prepare_audit(frame, column, judge, beside, least=least, **how)
    with prepared.asking():
        return prepared.audit(await arun(prepared.records, prepared.task, options, of=aaudit))
