"""How far an answer agrees with gold."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields
from typing import Final, Literal

from llmframe.errors import UsageError, did_you_mean
from llmframe.report.wording import html_rows, text_rows
from llmframe.stats.agreement import ClassAgreement
from llmframe.stats.alt_test import AltTest
from llmframe.stats.estimate import Estimate, unknown
from llmframe.stats.raters import HumanCeiling

Scale = Literal["nominal", "ordinal", "interval"]

TITLE: Final = "llmframe agreement"

NOT_TOLD: Final = "not told on this scale"

MOST_TOLD_CLASSES: Final = 12
"""Most labels whose numbers the text shows; `classes` has all."""


def _not_told() -> Estimate:
    return unknown(NOT_TOLD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """An answer against gold; `repr` is a small table, notebooks show it as HTML.

    Every number is an `Estimate` with `value`, `low`, `high`, `n` and, where something can't be told, `reason`.
    Which of them are told depends on `scale`; the others are nan.

    Attributes
    ----------
    pred, gold
        What the two are called; several names where several people gave the gold.
    scale
        `"nominal"`, `"ordinal"` or `"interval"`.
    rows
        Rows of the frame, or of the group.
    n
        Rows with gold and an answer: all numbers are of these.
    failed
        Rows with gold whose answer has an error.
    missing
        Rows with gold that have neither answer nor error.
    without_gold
        Rows without gold, tied votes among people included.
    clusters
        Groups of rows that were drawn together for the intervals; `n` where each row is its own.
    level, draws, seed
        Of the intervals.
    labels
        Labels, or levels from low to high; empty for numbers.
    confusion
        Counts, a row for each gold label, a column for each answered one.
    classes
        Precision, recall and F1 of each label.
    accuracy, balanced_accuracy, macro_f1, kappa, ac1
        Of labels and levels.
    kappa_linear, kappa_quadratic, tau_b
        Of levels.
    spearman, mae, bias
        Of levels and numbers; `bias` is the mean of answer less gold.
    pearson, ccc, icc, lower_limit, upper_limit
        Of numbers.
    alpha
        Krippendorff's, of the answer and the gold as two raters.
    humans
        People's alpha beside that with the answer among them; `None` with a single gold.
    alt_test
        Whether the answers can replace a person, with `margin=`.
    groups
        With `by=` the same for each of its values.
    notes
        What is to be known about these numbers, in words.
    """

    pred: str
    gold: tuple[str, ...]
    scale: Scale
    rows: int
    n: int
    failed: int
    missing: int
    without_gold: int
    clusters: int
    level: float
    draws: int
    seed: int
    labels: tuple[Hashable, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    classes: tuple[ClassAgreement, ...] = ()
    accuracy: Estimate = field(default_factory=_not_told)
    balanced_accuracy: Estimate = field(default_factory=_not_told)
    macro_f1: Estimate = field(default_factory=_not_told)
    kappa: Estimate = field(default_factory=_not_told)
    ac1: Estimate = field(default_factory=_not_told)
    kappa_linear: Estimate = field(default_factory=_not_told)
    kappa_quadratic: Estimate = field(default_factory=_not_told)
    tau_b: Estimate = field(default_factory=_not_told)
    spearman: Estimate = field(default_factory=_not_told)
    pearson: Estimate = field(default_factory=_not_told)
    ccc: Estimate = field(default_factory=_not_told)
    icc: Estimate = field(default_factory=_not_told)
    mae: Estimate = field(default_factory=_not_told)
    bias: Estimate = field(default_factory=_not_told)
    lower_limit: Estimate = field(default_factory=_not_told)
    upper_limit: Estimate = field(default_factory=_not_told)
    alpha: Estimate = field(default_factory=_not_told)
    humans: HumanCeiling | None = None
    alt_test: AltTest | None = None
    groups: Mapping[Hashable, Agreement] = field(default_factory=dict[Hashable, "Agreement"])
    notes: tuple[str, ...] = ()

    @property
    def estimates(self) -> dict[str, Estimate]:
        """The numbers that the scale has, by name."""
        values = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: value for name, value in values if isinstance(value, Estimate) and value.reason != NOT_TOLD}

    def __getitem__(self, group: Hashable) -> Agreement:
        """The agreement in one group of `by=`."""
        if group not in self.groups:
            hint = did_you_mean(str(group), [each for each in self.groups if isinstance(each, str)])
            told = f"groups: {list(self.groups)}" if self.groups else "there are none; name their column: `by=...`"
            raise UsageError(f"no group is {group!r}{hint}; {told}")
        return self.groups[group]

    def to_dict(self) -> dict[str, object]:
        """Plain values for logs and JSON; what is unknown is `None`."""
        return {
            "pred": self.pred,
            "gold": list(self.gold),
            "scale": self.scale,
            "rows": self.rows,
            "n": self.n,
            "failed": self.failed,
            "missing": self.missing,
            "without_gold": self.without_gold,
            "clusters": self.clusters,
            "level": self.level,
            "draws": self.draws,
            "seed": self.seed,
            **{name: value.to_dict() for name, value in self.estimates.items()},
            "labels": list(self.labels),
            "confusion": [list(row) for row in self.confusion],
            "classes": [_of_class(each) for each in self.classes],
            "humans": _of_humans(self.humans),
            "alt_test": None if self.alt_test is None else self.alt_test.to_dict(),
            "notes": list(self.notes),
            "groups": [{"group": group, **each.to_dict()} for group, each in self.groups.items()],
        }

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), default=str)

    def __repr__(self) -> str:
        """A small table."""
        parts = [self._title, text_rows(("", "", self._interval), self._lines())]
        if self._classes():
            parts.append(text_rows(CLASS_HEAD, self._classes()))
        if self.groups:
            parts.append(text_rows(self._group_head(), self._groups()))
        return "\n".join([*parts, *self._beside()])

    def _repr_html_(self) -> str:
        """The same for notebooks, with the table of confusions."""
        parts = [f"<p>{html.escape(self._title)}</p>", html_rows(("", "", self._interval), self._lines())]
        if self._classes():
            parts.append(html_rows(CLASS_HEAD, self._classes()))
        if self.confusion and self._classes():
            head = ["gold \\ answer", *map(str, self.labels)]
            rows = [[str(label), *map(str, row)] for label, row in zip(self.labels, self.confusion, strict=True)]
            parts.append(html_rows(head, rows))
        if self.groups:
            parts.append(html_rows(self._group_head(), self._groups()))
        return "".join([*parts, *(f"<p>{html.escape(line)}</p>" for line in self._beside())])

    @property
    def _title(self) -> str:
        against = " ".join(self.gold) if self.humans is None else f"{self.humans.raters} people"
        return f"{TITLE} · {self.pred} against {against} · {self.n:,} of {self.rows:,} rows · {self.scale}"

    @property
    def _interval(self) -> str:
        return f"{self.level * 100:g} % interval"

    def _lines(self) -> list[tuple[str, str, str]]:
        found = dict(self.estimates)
        if self.humans is not None:
            found |= {
                "humans.humans": self.humans.humans,
                "humans.with_judge": self.humans.with_judge,
                "humans.change": self.humans.change,
            }
        return [(name, *_told(value)) for name, value in found.items()]

    def _classes(self) -> list[tuple[str, ...]]:
        if len(self.classes) > MOST_TOLD_CLASSES:
            return []
        return [
            (repr(each.label), f"{each.gold:,}", f"{each.pred:,}", str(each.precision), str(each.recall), str(each.f1))
            for each in self.classes
        ]

    def _group_head(self) -> tuple[str, ...]:
        return ("group", "n", *MAIN[self.scale])

    def _groups(self) -> list[tuple[str, ...]]:
        return [
            (str(group), f"{each.n:,}", *(str(getattr(each, name)) for name in MAIN[self.scale]))
            for group, each in self.groups.items()
        ]

    def _beside(self) -> list[str]:
        counts = ((self.failed, "failed"), (self.missing, "without an answer"), (self.without_gold, "without gold"))
        beside = ", ".join(f"{count:,} {word}" for count, word in counts if count)
        tested = [] if self.alt_test is None else [f"alternative annotator test: {self.alt_test}"]
        return [*tested, *([f"left out: {beside}"] if beside else []), *(f"note: {note}" for note in self.notes)]


CLASS_HEAD: Final = ("label", "gold", "answered", "precision", "recall", "f1")

MAIN: Final[Mapping[Scale, tuple[str, ...]]] = {
    "nominal": ("accuracy", "kappa", "ac1"),
    "ordinal": ("kappa_quadratic", "tau_b", "bias"),
    "interval": ("ccc", "spearman", "bias"),
}
"""What the table of groups tells."""


def _told(estimate: Estimate) -> tuple[str, str]:
    """A number, and its interval or why there is none."""
    text = str(estimate)
    if math.isnan(estimate.low):
        return text, estimate.reason
    number, _, ends = text.partition(" (")
    return number, ends.removesuffix(")")


def _of_class(found: ClassAgreement) -> dict[str, object]:
    numbers = {"precision": found.precision, "recall": found.recall, "f1": found.f1}
    told = {name: value.to_dict() for name, value in numbers.items()}
    return {"label": found.label, "gold": found.gold, "pred": found.pred, **told}


def _of_humans(found: HumanCeiling | None) -> dict[str, object] | None:
    if found is None:
        return None
    numbers = {"humans": found.humans, "with_judge": found.with_judge, "change": found.change}
    return {"raters": found.raters, "items": found.items, **{name: each.to_dict() for name, each in numbers.items()}}
