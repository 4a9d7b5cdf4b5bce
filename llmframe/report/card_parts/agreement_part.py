"""The part of a report card about how far answers agree with gold."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Final

from llmframe.report.agreement import MAIN, Agreement
from llmframe.report.card_parts.section import (
    Picture,
    Section,
    Table,
    Value,
    estimate_reasons,
    estimate_text,
    estimate_values,
)
from llmframe.report.pictures.confusion_matrix import confusion_matrix
from llmframe.report.pictures.forest_plot import ForestRow, figures_text, forest_plot
from llmframe.report.pictures.gold_scatter import gold_scatter
from llmframe.stats.agreement import ClassAgreement
from llmframe.stats.estimate import Estimate

NAME: Final = "agreement"

NAMES: Final[Mapping[str, str]] = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "macro_f1": "macro F1",
    "kappa": "Cohen's kappa",
    "ac1": "Gwet's AC1",
    "kappa_linear": "kappa, linear weights",
    "kappa_quadratic": "kappa, quadratic weights",
    "tau_b": "Kendall's tau-b",
    "spearman": "Spearman's rho",
    "pearson": "Pearson's r",
    "ccc": "Lin's concordance",
    "icc": "ICC(2,1)",
    "mae": "mean distance",
    "bias": "bias (answer less gold)",
    "lower_limit": "lower limit of agreement",
    "upper_limit": "upper limit of agreement",
    "alpha": "Krippendorff's alpha",
    "alpha.humans": "alpha of the people",
    "alpha.with_judge": "alpha of people and judge",
    "alpha.change": "the judge's change of it",
}
"""What people read for each key."""

IN_UNITS: Final = frozenset({"mae", "bias", "lower_limit", "upper_limit", "alpha.change"})
"""Numbers that are no agreement up to 1: the forest plot leaves them out."""

MOST_CLASSES: Final = 20
"""Most labels whose numbers a card tells."""

MOST_GROUPS: Final = 40
"""Most groups whose numbers a card tells."""


def agreement_section(found: Agreement, *, pairs: tuple[Sequence[float], Sequence[float]] | None = None) -> Section:
    """Every number that the scale has, those of each label and group, confusion, forest plot, scatter.

    Parameters
    ----------
    found
        What `llmframe.agreement` found.
    pairs
        Answers and gold as numbers, row by row, for the scatter; `None`: they are no numbers.
    """
    estimates = _estimates(found)
    values: dict[str, Value] = {"n": found.n, "clusters": found.clusters}
    reasons: dict[str, str] = {}
    for key, estimate in estimates.items():
        values |= estimate_values(key, estimate)
        reasons |= estimate_reasons(key, estimate)
    tables: list[Table] = []
    if found.classes and len(found.classes) <= MOST_CLASSES:
        values |= _class_values(found.classes)
        tables.append(_class_table(found.classes))
    groups = dict(list(found.groups.items())[:MOST_GROUPS])
    if groups:
        values |= _group_values(groups)
        tables.append(_group_table(groups, found))
    notes = [*found.notes, *sorted({each.reason for each in estimates.values() if each.known and each.reason})]
    if len(found.groups) > len(groups):
        notes.append(f"{len(found.groups) - len(groups):,} more groups aren't told here")
    return Section(
        name=NAME,
        title="Agreement with gold",
        lines=(
            ("rows", f"{found.n:,} with gold and an answer{_clusters(found)}"),
            ("scale", found.scale),
            *((NAMES[key], estimate_text(each)) for key, each in estimates.items()),
        ),
        values=values,
        tables=tuple(tables),
        pictures=tuple(_pictures(found, estimates, pairs)),
        notes=tuple(dict.fromkeys(notes)),
        reasons=reasons,
    )


def _estimates(found: Agreement) -> dict[str, Estimate]:
    told = dict(found.estimates)
    if found.humans is not None:
        told["alpha.humans"] = found.humans.humans
        told["alpha.with_judge"] = found.humans.with_judge
        told["alpha.change"] = found.humans.change
    return told


def _clusters(found: Agreement) -> str:
    return f" in {found.clusters:,} groups that were drawn together" if found.clusters < found.n else ""


def _class_values(classes: Sequence[ClassAgreement]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for each in classes:
        for name, estimate in (("precision", each.precision), ("recall", each.recall), ("f1", each.f1)):
            values |= estimate_values(f"{name}.{each.label}", estimate)
    return values


def _class_table(classes: Sequence[ClassAgreement]) -> Table:
    return Table(
        head=("label", "gold", "answered", "precision", "recall", "F1"),
        rows=tuple(
            (str(each.label), f"{each.gold:,}", f"{each.pred:,}", str(each.precision), str(each.recall), str(each.f1))
            for each in classes
        ),
    )


def _group_values(groups: Mapping[Hashable, Agreement]) -> dict[str, Value]:
    return {
        key: value
        for group, each in groups.items()
        for name in MAIN[each.scale]
        for key, value in estimate_values(f"by.{group}.{name}", getattr(each, name)).items()
    }


def _group_table(groups: Mapping[Hashable, Agreement], found: Agreement) -> Table:
    names = MAIN[found.scale]
    return Table(
        head=("group", "rows", *(NAMES[name] for name in names)),
        rows=tuple(
            (str(group), f"{each.n:,}", *(str(getattr(each, name)) for name in names)) for group, each in groups.items()
        ),
    )


def _pictures(
    found: Agreement, estimates: Mapping[str, Estimate], pairs: tuple[Sequence[float], Sequence[float]] | None
) -> list[Picture]:
    if not found.n:
        return []
    rows = [
        ForestRow(
            name=NAMES[key],
            value=each.value,
            low=each.low,
            high=each.high,
            mark="open" if key == "alpha.humans" else "plain",
        )
        for key, each in estimates.items()
        if key not in IN_UNITS
    ]
    lowest = min([0.0, *(end for row in rows for end in (row.value, row.low) if not math.isnan(end))])
    limits = (min(0.0, 1.1 * lowest), 1.02)
    title = f"Agreement of {found.pred} with gold, {found.n:,} rows"
    told = "; ".join(f"{row.name} {figures_text(row)}" for row in rows)
    x = f"{100 * found.level:g} % interval"
    pictures = [
        Picture(
            name="agreement",
            alt=f"Forest plot of agreement: {told}.",
            draw=partial(forest_plot, rows, x=x, limits=limits, title=title),
        )
    ]
    if found.confusion:
        hits = sum(row[at] for at, row in enumerate(found.confusion))
        pictures.append(
            Picture(
                name="confusion",
                alt=f"Confusion matrix of {len(found.labels)} labels: {hits:,} of {found.n:,} rows on the diagonal.",
                draw=partial(confusion_matrix, found.labels, found.confusion, title=f"Gold against {found.pred}"),
            )
        )
    if pairs is not None:
        title = f"{found.pred} against gold, {found.n:,} rows"
        alt = f"Scatter of {found.pred} against gold around the line of equality; bias {estimate_text(found.bias)}."
        draw = partial(gold_scatter, *pairs, y=found.pred, title=title)
        pictures.append(Picture(name="scatter", alt=alt, draw=draw))
    return pictures
