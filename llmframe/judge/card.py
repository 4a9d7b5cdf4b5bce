"""A judge's report card, put together from its frame."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.judge.agreement import agreement
from llmframe.judge.card_rows import CardRows, card_rows, counts_of, models_of, report_of, spending_of_rows
from llmframe.judge.spending import question_in
from llmframe.report.agreement import Agreement, Scale
from llmframe.report.card import TITLE, ReportCard
from llmframe.report.card_parts import coverage_part, sureness_part
from llmframe.report.card_parts.agreement_part import agreement_section
from llmframe.report.card_parts.bias_part import bias_section
from llmframe.report.card_parts.cost_part import cost_section
from llmframe.report.card_parts.counts_part import counts_section
from llmframe.report.card_parts.coverage_part import coverage_section, selection_section
from llmframe.report.card_parts.estimate_part import estimate_section
from llmframe.report.card_parts.section import Section, absent
from llmframe.report.card_parts.source_part import Source, source_section
from llmframe.report.card_parts.sureness_part import reliability_section
from llmframe.stats.bootstrap import DRAWS
from llmframe.stats.risk_coverage import risk_coverage

if TYPE_CHECKING:
    from llmframe.report.audit import Audit
    from llmframe.report.estimates import EstimateReport
    from llmframe.report.run_report import RunReport
    from llmframe.report.selection import Selection
    from llmframe.stats.certificate import Certificate


def card(  # noqa: PLR0913 - what a card may show
    frame: object,
    pred: str,
    gold: object,
    *,
    confidence: str | None = None,
    scale: Scale | None = None,
    labels: Sequence[Hashable] | None = None,
    by: object = None,
    group: object = None,
    audit: Audit | None = None,
    estimate: EstimateReport | None = None,
    selection: Selection | None = None,
    run: RunReport | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> ReportCard:
    """Put on one page what is known of a judge: whether its answers can be used.

    Parameters
    ----------
    frame
        What `map` or a preset gave, or any frame with answers and gold, such as an old log. It is never changed.
    pred
        The column with the answers. Rows whose error column isn't null count as failed.
    gold
        What is right: name of a column, or a value for each row; null where unknown. A list of names: the ratings of
        several people; gold is then their consensus, and their own agreement stands beside.
    confidence
        The column of confidences, in [0, 1]; `None`: the one beside the answers, as it is shown.
    scale, labels, by
        As for `agreement`.
    group
        What each row belongs to, name of a column or a value for each row: rows of a group are drawn together.
        `None`: rows with one request, as `meta=True` tells; else each row is its own.
    audit
        What `df.llm.audit(...)` found about the same judge.
    estimate
        What `llmframe.estimate(...)` found: the corrected number.
    selection
        What `llmframe.select(...)` found: the certified threshold.
    run
        The `RunReport` of the run, `llmframe.last_run()` right after it: model, digest of the prompt, and what the run
        took, where the frame doesn't tell (all but pandas).
    draws, seed
        Samples drawn anew for the intervals, and what decides them.
    level
        Coverage of the intervals, in (0, 1).

    Returns
    -------
    ReportCard
        A part appears when its inputs are there; absent parts say why. It shows itself in a notebook; `to_html`,
        `to_markdown` and `to_json` write it, `check` holds its numbers against gates.

    Raises
    ------
    UsageError
        If a column is missing, gold and answers are of different kinds, or an argument can't be used.
    MissingExtraError
        Without scikit-learn, scipy or krippendorff: `pip install 'llmframe[judge]'`.

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"label": ["a", "a", "b", "b"] * 10, "human": ["a", "b", "b", "b"] * 10})
    >>> found = card(df, "label", "human")
    >>> [str(gate) for gate in found.check(min={"accuracy.low": 0.6})]
    ['accuracy.low is 0.5981, less than 0.6']
    """
    wrapped = wrap(frame)
    if wrapped.single:
        raise UsageError("`card` takes a frame, not a Series: it needs the gold beside the answers")
    if not isinstance(pred, str):  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
        raise UsageError(f"`pred` is the name of the column with the answers, got {type(pred).__name__}")
    if selection is not None and selection.name != pred:
        raise UsageError(f"`selection` is of the answers in {selection.name!r}, the card of those in {pred!r}")
    rows = card_rows(wrapped, pred, gold, confidence=confidence, group=group)
    agreed = agreement(
        frame, pred, gold, by=by, group=group, scale=scale, labels=labels, draws=draws, seed=seed, level=level
    )
    truth = rows.truth(agreed.scale, labels)
    pairs = {at: pair for at, pair in enumerate(zip(rows.rated.answers, truth, strict=True)) if None not in pair}
    report = report_of(wrapped, run, pred=pred)
    source = Source(
        columns=_columns(rows, agreed),
        models=models_of(rows, report),
        question=question_in(report, pred),
        seed=seed,
        draws=draws,
        level=level,
        version=version("llmframe"),
    )
    certificate = None if selection is None else selection.certificate
    return ReportCard(
        title=f"{TITLE} · {pred} against {_against(agreed)} · {len(wrapped):,} rows",
        sections=(
            counts_section(counts_of(rows, truth, report)),
            cost_section(spending_of_rows(wrapped, rows, report)),
            agreement_section(agreed, pairs=_as_numbers(pairs, agreed.scale)),
            *_of_confidence(rows, pairs, agreed, certificate),
            selection_section(selection),
            estimate_section(estimate),
            bias_section(audit),
            source_section(source),
        ),
    )


def _of_confidence(
    rows: CardRows, pairs: Mapping[int, tuple[Any, Any]], agreed: Agreement, certificate: Certificate | None
) -> tuple[Section, Section]:
    """What confidences are worth, and the errors among the surest; `pairs` are answer and gold by row."""
    why = ""
    if rows.confidence is None:
        why = 'no column of confidences; map with `confidence=...`, or name one: `confidence="..."`'
    elif agreed.scale == "interval":
        why = "numbers are near or far, not right or wrong, so no confidence can be held against them"
    if why:
        return (
            absent(sureness_part.NAME, sureness_part.TITLE, why, keys=sureness_part.KEYS),
            absent(coverage_part.NAME, coverage_part.TITLE, why, keys=coverage_part.KEYS),
        )
    sure = {at: each for at in pairs if (each := rows.sure[at]) is not None}
    confidences, right = list(sure.values()), [pairs[at][0] == pairs[at][1] for at in sure]
    clusters = rows.rated.clusters
    reliability = reliability_section(
        confidences,
        right,
        name=str(rows.confidence),
        without=len(pairs) - len(sure),
        clusters=None if clusters is None else [clusters[at] for at in sure],
        draws=agreed.draws,
        seed=agreed.seed,
        level=agreed.level,
    )
    curve = risk_coverage(confidences, right)
    return reliability, coverage_section(curve, certificate=certificate, level=agreed.level)


def _as_numbers(pairs: Mapping[int, tuple[Any, Any]], scale: Scale) -> tuple[list[float], list[float]] | None:
    """Answers and gold as numbers, where they are."""
    if scale == "nominal" or not all(isinstance(each, int | float) for pair in pairs.values() for each in pair):
        return None
    return [float(answer) for answer, _ in pairs.values()], [float(right) for _, right in pairs.values()]


def _columns(rows: CardRows, agreed: Agreement) -> list[tuple[str, str]]:
    told = [("judge", rows.columns.value), ("gold", ", ".join(agreed.gold))]
    beside = (("confidence", rows.confidence), ("error", rows.columns.error), ("meta", rows.columns.meta))
    return told + [(f"{name} column", column) for name, column in beside if column is not None]


def _against(agreed: Agreement) -> str:
    return agreed.gold[0] if len(agreed.gold) == 1 else f"{len(agreed.gold)} people"
