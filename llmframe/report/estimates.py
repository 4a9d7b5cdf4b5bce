"""What all rows would come to if each had a known answer."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from llmframe.errors import UsageError, did_you_mean
from llmframe.report.wording import html_rows, text_rows
from llmframe.stats.corrected import Corrected
from llmframe.stats.estimate import Estimate
from llmframe.stats.sizes import rows_for_mean, with_judge

Method = Literal["ppi++", "weighted", "rogan_gladen", "gold", "naive"]

TITLE: Final = "llmframe estimate"

GROUP_HEAD: Final = ("group", "known", "estimate", "gold alone", "judge alone", "effective n")


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateReport:
    """A mean or a share, corrected by known answers; `repr` is a small table, notebooks show it as HTML.

    Attributes
    ----------
    method
        `"ppi++"`, `"weighted"` (known answers picked with unequal probabilities), `"rogan_gladen"`, `"gold"` or
        `"naive"`.
    of
        What is estimated, in words: `"share of 'yes'"`.
    judge, gold
        Names of the columns; two each where the estimate is of a difference.
    rows
        Rows of the frame, or of the group.
    known
        Rows with a known answer and one of the judge's: the estimate is corrected by these.
    unanswered
        Rows without an answer of the judge's, which are left out.
    found
        The numbers: `estimate`, `gold`, `naive`, `se`, `lam`, `effective_n`.
    groups
        With `by=` the same for each of its values.
    notes
        What is to be known about these numbers, in words.
    """

    method: Method
    of: str
    judge: tuple[str, ...]
    gold: tuple[str, ...]
    rows: int
    known: int
    unanswered: int
    found: Corrected
    groups: Mapping[Hashable, EstimateReport] = field(default_factory=dict[Hashable, "EstimateReport"])
    notes: tuple[str, ...] = ()

    @property
    def estimate(self) -> Estimate:
        """The corrected number with its interval."""
        return self.found.estimate

    @property
    def value(self) -> float:
        """The corrected number; nan where it can't be told."""
        return self.found.estimate.value

    @property
    def low(self) -> float:
        """Lower end of its interval."""
        return self.found.estimate.low

    @property
    def high(self) -> float:
        """Upper end of its interval."""
        return self.found.estimate.high

    @property
    def effective_n(self) -> float:
        """As many known answers alone would say as much; nan where the method doesn't tell."""
        return self.found.effective_n

    def known_for(self, half_width: float) -> int:
        """Known answers, in all, for an interval of ± `half_width` with this judge; more than the rows if all won't do.

        Parameters
        ----------
        half_width
            In the unit of the estimate, above 0.

        Raises
        ------
        UsageError
            If the estimate isn't one of `"ppi++"` with an interval: then nothing tells what a known answer is worth.

        Notes
        -----
        `llmframe.stats.sizes.with_judge`, by the spread of the known answers and the worth of the judge as they were
        seen here.
        """
        found = self.found
        if self.method != "ppi++" or not found.se or math.isnan(found.effective_n):
            raise UsageError(
                f"nothing tells how many known answers ± {half_width:g} takes: this estimate is by {self.method!r}"
                f'{"" if self.method != "ppi++" else " without an interval"}; estimate by `method="ppi++"` from a few '
                "dozen random known answers first, or ask `llmframe.stats.sizes`"
            )
        alone = rows_for_mean(half_width, sd=found.se * math.sqrt(found.effective_n), level=found.estimate.level)
        judged = found.n + found.rest
        if not found.rest:
            return alone
        square = max(0.0, 1 - found.n / found.effective_n) * judged / found.rest
        return with_judge(alone, correlation=min(1.0, math.sqrt(square)), judged=judged)

    def __getitem__(self, group: Hashable) -> EstimateReport:
        """The estimate of one group of `by=`."""
        if group not in self.groups:
            hint = did_you_mean(str(group), [each for each in self.groups if isinstance(each, str)])
            told = f"groups: {list(self.groups)}" if self.groups else "there are none; name their column: `by=...`"
            raise UsageError(f"no group is {group!r}{hint}; {told}")
        return self.groups[group]

    def to_dict(self) -> dict[str, object]:
        """Plain values for logs and JSON; what is unknown is `None`."""
        found = self.found
        numbers = {
            "se": found.se,
            "lam": found.lam,
            "effective_n": found.effective_n,
            "specificity": found.specificity,
            "sensitivity": found.sensitivity,
        }
        return {
            "method": self.method,
            "of": self.of,
            "judge": list(self.judge),
            "gold": list(self.gold),
            "rows": self.rows,
            "known": self.known,
            "unanswered": self.unanswered,
            "estimate": found.estimate.to_dict(),
            "gold_alone": found.gold.to_dict(),
            "judge_alone": found.naive.to_dict(),
            **{name: number if math.isfinite(number) else None for name, number in numbers.items()},
            "notes": list(self.notes),
            "groups": [{"group": group, **each.to_dict()} for group, each in self.groups.items()],
        }

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), default=str)

    def __repr__(self) -> str:
        """A small table."""
        parts = [self._title, text_rows(("", "", self._interval), self._lines())]
        if self.groups:
            parts.append(text_rows(GROUP_HEAD, self._groups()))
        return "\n".join([*parts, *self._beside()])

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        parts = [f"<p>{html.escape(self._title)}</p>", html_rows(("", "", self._interval), self._lines())]
        if self.groups:
            parts.append(html_rows(GROUP_HEAD, self._groups()))
        return "".join([*parts, *(f"<p>{html.escape(line)}</p>" for line in self._beside())])

    @property
    def _title(self) -> str:
        return f"{TITLE} · {self.of} · {self.method} · {self.known:,} of {self.rows:,} rows known"

    @property
    def _interval(self) -> str:
        return f"{self.estimate.level * 100:g} % interval"

    def _lines(self) -> list[tuple[str, str, str]]:
        rows = {"estimate": self.found.estimate, "gold alone": self.found.gold, "judge alone": self.found.naive}
        return [(name, *_told(each)) for name, each in rows.items()]

    def _groups(self) -> list[tuple[str, ...]]:
        return [
            (
                str(group),
                f"{each.known:,}",
                str(each.estimate),
                str(each.found.gold),
                str(each.found.naive),
                _count(each.effective_n),
            )
            for group, each in self.groups.items()
        ]

    def _beside(self) -> list[str]:
        found, lines = self.found, list[str]()
        if math.isfinite(found.effective_n):
            trust = f"; the judge is trusted by {found.lam:.2f}" if math.isfinite(found.lam) else ""
            lines.append(f"effective n {_count(found.effective_n)}: {found.n:,} known answers and this judge{trust}")
        if math.isfinite(found.specificity):
            lines.append(f"specificity {found.specificity:.2f}, sensitivity {found.sensitivity:.2f}")
        if self.unanswered:
            lines.append(f"left out: {self.unanswered:,} rows without an answer of the judge")
        return [*lines, *(f"note: {note}" for note in self.notes)]


def _told(estimate: Estimate) -> tuple[str, str]:
    """A number, and its interval or why there is none."""
    text = str(estimate)
    if math.isnan(estimate.low):
        return text, estimate.reason
    number, _, ends = text.partition(" (")
    return number, ends.removesuffix(")")


def _count(number: float) -> str:
    return f"{number:,.0f}" if math.isfinite(number) else "unknown"
