"""A frame's answers against its gold."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, get_args

from llmframe.errors import UsageError, did_you_mean
from llmframe.frames import wrap
from llmframe.judge.columns import comparable, said_or_column
from llmframe.judge.gold_guards import spelt_otherwise, unequally_picked
from llmframe.judge.rated_rows import RatedRows, labels_of, rated_rows, scale_of
from llmframe.report.agreement import Agreement, Scale
from llmframe.stats.agreement import MOST_LABELS, NominalAgreement, nominal_agreement
from llmframe.stats.alpha import alpha
from llmframe.stats.alt_test import AltTest, alt_test
from llmframe.stats.bootstrap import DRAWS, Resampling
from llmframe.stats.estimate import Estimate, unknown
from llmframe.stats.numeric import NumericAgreement, numeric_agreement
from llmframe.stats.ordinal import OrdinalAgreement, ordinal_agreement
from llmframe.stats.raters import HumanCeiling, consensus, human_ceiling

SCALES: Final[tuple[Scale, ...]] = get_args(Scale)

SKEWED, HIGH, LOW = 0.8, 0.8, 0.4
"""A label's part of the gold above which a kappa below `LOW` at an accuracy above `HIGH` is explained."""


def agreement(  # noqa: PLR0913 - the facts of an agreement
    frame: object,
    pred: object,
    gold: object,
    *,
    by: object = None,
    group: object = None,
    scale: Scale | None = None,
    labels: Sequence[Hashable] | None = None,
    margin: float | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> Agreement:
    """How far answers agree with what is right, every number with its interval.

    Parameters
    ----------
    frame
        What `map` or a preset gave, or any frame with answers and gold. It is never changed.
    pred
        The column with the answers, or a value for each row. Rows whose error column isn't null count as failed.
    gold
        What is right: name of a column, or a value for each row; null where unknown. Several people's ratings are a
        list of names, or a column of lists: gold is then their consensus (the most frequent label, none where two
        are; the median level; the mean number), and their own agreement stands beside.
    by
        Column whose values each get an agreement of their own, beside that of all rows.
    group
        What each row belongs to, name of a column or a value for each row: rows of a group (a document, a user) are
        drawn together. `None`: rows with one request, as `meta=True` tells; else each row is its own.
    scale
        `"nominal"` for labels, `"ordinal"` for levels, `"interval"` for numbers. `None`: whole numbers of up to 20
        levels are ordinal, other numbers interval, everything else nominal.
    labels
        All labels there could be; of an ordinal scale from low to high, which texts need.
    margin
        By how much the answers may be the worse and still replace a person, for the alternative annotator test
        against people in columns of their own: 0.2 for experts, 0.15 for skilled people, 0.1 for crowd workers.
        `None`: no test.
    draws
        Samples drawn anew for the intervals.
    seed
        Decides the draws.
    level
        Coverage of the intervals, in (0, 1).

    Returns
    -------
    Agreement
        `.kappa.low` and the like; `.groups` with `by=`. What can't be told is nan, with its reason.

    Raises
    ------
    UsageError
        If a column is missing, gold and answers are of different kinds, or an argument can't be used.
    MissingExtraError
        Without scikit-learn, scipy or krippendorff: `pip install 'llmframe[judge]'`.

    Notes
    -----
    Formulas and sources stand at `llmframe.stats.agreement`, `ordinal`, `numeric`, `alpha`, `raters` and `alt_test`.
    Intervals are of the percentile bootstrap; shares have Wilson's where each row is its own cluster.

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"label": ["a", "a", "b", "b"] * 10, "human": ["a", "b", "b", "b"] * 10})
    >>> found = agreement(df, "label", "human")
    >>> print(found.accuracy, round(found.kappa.value, 2))
    0.75 (0.60 to 0.86) 0.5
    """
    if scale is not None and scale not in SCALES:
        raise UsageError(f"`scale` is one of {list(SCALES)}, got {scale!r}{did_you_mean(str(scale), SCALES)}")
    wrapped = wrap(frame)
    if wrapped.single:
        raise UsageError("`agreement` takes a frame, not a Series: it needs the gold beside the answers")
    told = rated_rows(wrapped, pred, gold, group=group)
    kind = scale_of(told, scale)
    if margin is not None and len(told.gold) < 2:  # noqa: PLR2004 - one person and another
        raise UsageError(
            "`margin` is for a test against people, each in a column of their own: `gold=[...]` names two or more"
        )
    options = _Options(
        scale=kind, labels=labels_of(told, kind, labels), margin=margin, draws=draws, seed=seed, level=level
    )
    found = _measured(told, options)
    if unequally_picked(wrapped, [at for at, item in enumerate(told.golds) if any(cell is not None for cell in item)]):
        note = "gold was picked with unequal probabilities, so this is of the picked rows, not of all: pick at random"
        found = replace(found, notes=(*found.notes, note))
    if by is None:
        return found
    values = comparable(said_or_column([wrapped], by, argument="by"))
    places: dict[Hashable, list[int]] = {}
    for at, value in enumerate(values):
        places.setdefault(value, []).append(at)
    return replace(found, groups={value: _measured(told.part(rows), options) for value, rows in places.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    scale: Scale
    labels: Sequence[Hashable] | None
    margin: float | None
    draws: int
    seed: int
    level: float


def _measured(told: RatedRows, options: _Options) -> Agreement:
    several = any(len(item) > 1 for item in told.golds)
    right: list[Any] = (
        consensus(told.golds, scale=options.scale, labels=options.labels)
        if several
        else [item[0] for item in told.golds]
    )
    rows = [at for at, (answer, gold) in enumerate(zip(told.answers, right, strict=True)) if None not in (answer, gold)]
    answers, golds = [told.answers[at] for at in rows], [right[at] for at in rows]
    clusters = None if told.clusters is None else [told.clusters[at] for at in rows]
    known = [at for at, gold in enumerate(right) if gold is not None]
    failed = sum(told.errors[at] is not None for at in known)
    size = Resampling.of(len(rows), clusters=clusters).size
    keep: dict[str, Any] = {"clusters": clusters, "draws": options.draws, "seed": options.seed, "level": options.level}
    parts: list[NominalAgreement | OrdinalAgreement | NumericAgreement] = []
    if options.scale == "interval":
        parts.append(numeric_agreement(golds, answers, **keep))
    elif options.scale == "ordinal":
        levels = ordinal_agreement(golds, answers, labels=options.labels, **keep)
        parts += [levels, nominal_agreement(golds, answers, labels=options.labels, **keep)]
    else:
        parts.append(nominal_agreement(golds, answers, labels=options.labels, **keep))
    pairs = [list(pair) for pair in zip(golds, answers, strict=True)]
    found = Agreement(
        pred=told.pred,
        gold=told.gold,
        scale=options.scale,
        rows=len(right),
        n=len(rows),
        failed=failed,
        missing=len(known) - len(rows) - failed,
        without_gold=len(right) - len(known),
        clusters=size,
        level=options.level,
        draws=options.draws,
        seed=options.seed,
        **{name: value for part in parts for name, value in _facts(part).items()},
        alpha=_alpha(pairs, options, keep),
        humans=_ceiling(told, options) if several else None,
        alt_test=None if options.margin is None else _alt_test(told, options, options.margin),
    )
    return replace(found, notes=tuple(_notes(found, told, right)))


def _facts(part: NominalAgreement | OrdinalAgreement | NumericAgreement) -> dict[str, Any]:
    return {each.name: getattr(part, each.name) for each in fields(part) if each.name != "n"}


def _alpha(pairs: Sequence[Sequence[Any]], options: _Options, keep: Mapping[str, Any]) -> Estimate:
    if options.scale == "nominal" and len({cell for pair in pairs for cell in pair}) > MOST_LABELS:
        return unknown("too many different labels", n=len(pairs), level=options.level)
    return alpha(pairs, scale=options.scale, labels=options.labels, **keep)


def _ceiling(told: RatedRows, options: _Options) -> HumanCeiling:
    return human_ceiling(
        told.answers,
        told.golds,
        scale=options.scale,
        labels=options.labels,
        clusters=told.clusters,
        draws=options.draws,
        seed=options.seed,
        level=options.level,
    )


def _alt_test(told: RatedRows, options: _Options, margin: float) -> AltTest:
    """The test on places for levels that are texts."""
    answers, golds = told.answers, told.golds
    if options.scale == "ordinal" and options.labels is not None:
        places: dict[Any, int] = {label: place for place, label in enumerate(options.labels)}
        answers = [None if cell is None else places[cell] for cell in answers]
        golds = [[None if cell is None else places[cell] for cell in item] for item in golds]
    return alt_test(answers, golds, scale=options.scale, margin=margin)


def _notes(found: Agreement, told: RatedRows, right: Sequence[Any]) -> list[str]:
    notes: list[str] = []
    few = Resampling.of(0, level=found.level)
    if found.n and (warning := replace(few, size=found.clusters).few):
        notes.append(warning)
    if found.scale == "nominal" and found.n:
        golds = {gold for gold in right if gold is not None}
        strange = [answer for answer in told.answers if answer is not None and answer not in golds]
        if len(strange) == sum(answer is not None for answer in told.answers):
            notes.append("no answer is any of the gold's labels: are they spelt otherwise?")
        elif (pair := spelt_otherwise(golds, {answer for answer in told.answers if answer is not None})) is not None:
            notes.append(f"the gold has {pair[0]!r} where the answers have {pair[1]!r}, and they count as two labels")
    of_gold = {right[at] for at, answer in enumerate(told.answers) if None not in (answer, right[at])}
    if found.scale != "interval" and found.n > 1 and len(of_gold) == 1:
        notes.append(f"all gold is {next(iter(of_gold))!r}, so nothing tells of other labels: label rows of those too")
    prevalent = max((each.gold for each in found.classes), default=0)
    if found.accuracy.value > HIGH and found.kappa.value < LOW and prevalent > SKEWED * found.n:
        part = f"{100 * prevalent / found.n:.0f} %"
        notes.append(
            f"kappa is low beside the accuracy because {part} of the gold is one label: look at ac1 and recall"
        )
    ties = sum(
        gold is None and any(each is not None for each in item) for gold, item in zip(right, told.golds, strict=True)
    )
    if ties:
        notes.append(f"{ties:,} {'row has' if ties == 1 else 'rows have'} no gold because people's votes are tied")
    return notes
