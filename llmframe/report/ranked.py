"""Systems in the order of their strength."""

from __future__ import annotations

import html
import json
from collections.abc import Hashable
from dataclasses import dataclass, field

from llmframe.report.wording import html_rows, text_rows
from llmframe.stats.bradley_terry import Strengths
from llmframe.stats.estimate import Estimate

TITLE = "llmframe ranking"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSystem:
    """One system's place.

    Attributes
    ----------
    rank
        1 is the strongest.
    strength
        Its log-strength; those of all have the mean 0.
    win_rate
        Probability of beating another one of the systems, a tie counting half.
    comparisons, won, tied
        What was counted.
    gap
        Its log-strength less the next one's; `None` for the last. An interval above 0: the order of the two stands.
    """

    rank: int
    system: Hashable
    strength: Estimate
    win_rate: Estimate
    comparisons: int
    won: int
    tied: int
    gap: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Systems from the strongest on; `repr` is a small table, notebooks show it as HTML.

    Attributes
    ----------
    systems
        Each with its numbers.
    comparisons
        Verdicts that were counted.
    unjudged
        Comparisons without a verdict, which say nothing.
    items
        Items, over which the intervals are.
    strengths
        The statistic itself; `ranking.strengths.difference(a, b)` compares any two.
    """

    systems: tuple[RankedSystem, ...]
    comparisons: int
    unjudged: int
    items: int
    strengths: Strengths = field(repr=False)

    @classmethod
    def of(cls, strengths: Strengths, *, unjudged: int) -> Ranking:
        """The report of what was estimated."""
        names = strengths.systems
        return cls(
            systems=tuple(
                RankedSystem(
                    rank=at + 1,
                    system=name,
                    strength=strengths.strength[at],
                    win_rate=strengths.win_rate[at],
                    comparisons=strengths.comparisons[at],
                    won=strengths.won[at],
                    tied=strengths.tied[at],
                    gap=strengths.difference(name, names[at + 1]) if at + 1 < len(names) else None,
                )
                for at, name in enumerate(names)
            ),
            comparisons=strengths.sampling.n,
            unjudged=unjudged,
            items=strengths.sampling.size,
            strengths=strengths,
        )

    @property
    def verdict(self) -> str:
        """Which neighbours' order stands, in words."""
        lines: list[str] = []
        for one, other in zip(self.systems, self.systems[1:], strict=False):
            stands = one.gap is not None and one.gap.low > 0
            text = f"{one.system} is above {other.system}: {one.gap}"
            lines.append(text if stands else f"{one.system} and {other.system} can't be told apart: {one.gap}")
        return "\n".join(lines)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known about the numbers."""
        found = [f"{self.unjudged:,} comparisons without a verdict are left out"] if self.unjudged else []
        return (*found, *dict.fromkeys(each.strength.reason for each in self.systems if each.strength.reason))

    def difference(self, one: Hashable, other: Hashable) -> Estimate:
        """The first system's log-strength less the other's; an interval above 0: the first is stronger."""
        return self.strengths.difference(one, other)

    def to_dict(self) -> dict[str, object]:
        """Plain values for logs and JSON; what is unknown is `None`. `["systems"]` is a list of rows for a frame."""
        return {
            "comparisons": self.comparisons,
            "unjudged": self.unjudged,
            "items": self.items,
            "systems": [_row(each) for each in self.systems],
            "verdict": self.verdict,
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), default=str)

    def __repr__(self) -> str:
        """A small table."""
        return "\n".join([self._title, text_rows(*self._table()), self.verdict, *self.notes])

    def _repr_html_(self) -> str:
        """The same table for notebooks."""
        words = "".join(f"<p>{line}</p>" for line in map(html.escape, [*self.verdict.splitlines(), *self.notes]))
        return f"<p>{html.escape(self._title)}</p>{html_rows(*self._table())}{words}"

    @property
    def _title(self) -> str:
        return f"{TITLE} · {len(self.systems)} systems · {self.comparisons:,} verdicts on {self.items:,} items"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        names = ["rank", "system", "strength", "win rate", "verdicts", "won", "tied"]
        return names, [
            [
                str(each.rank),
                str(each.system),
                str(each.strength),
                str(each.win_rate),
                f"{each.comparisons:,}",
                f"{each.won:,}",
                f"{each.tied:,}",
            ]
            for each in self.systems
        ]


def _row(system: RankedSystem) -> dict[str, object]:
    strength, rate = system.strength.to_dict(), system.win_rate.to_dict()
    return {
        "rank": system.rank,
        "system": system.system,
        "strength": strength["value"],
        "strength_low": strength["low"],
        "strength_high": strength["high"],
        "win_rate": rate["value"],
        "win_rate_low": rate["low"],
        "win_rate_high": rate["high"],
        "comparisons": system.comparisons,
        "won": system.won,
        "tied": system.tied,
        "gap_to_next": None if system.gap is None else system.gap.to_dict(),
    }
