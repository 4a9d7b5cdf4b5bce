"""What the answers of a run took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Dollars and tokens of a run's rows; `None` is unknown, never 0.

    Attributes
    ----------
    told_by
        `"llm_meta"`: the column of `meta=True`; `"report"`: pandas' report of the frame's last run; empty: nobody.
    asked
        Rows whose answer was asked for in this run, those that share a request included.
    cached
        Rows whose answer was kept from an earlier run: they cost nothing this time.
    unknown
        Requests whose cost nobody told (a timed-out attempt, a model without a price): more may have been spent.
    usd, input_tokens, output_tokens
        Sums over the rows that were asked, as far as they are known.
    """

    told_by: Literal["llm_meta", "report", ""] = ""
    asked: int | None = None
    cached: int | None = None
    unknown: int = 0
    usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def usd_per_row(self) -> float | None:
        """Dollars over the rows that were asked: what runs are compared by when answers of one were kept."""
        return self.usd / self.asked if self.usd is not None and self.asked else None
