"""What a cascade's tiers did: rows, requests, dollars, errors on gold, and what is promised."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from llmframe.report.wording import dollars, html_rows, text_rows
from llmframe.stats.certificate import Certificate
from llmframe.stats.estimate import Estimate, unknown
from llmframe.stats.proportions import wilson_interval

TITLE: Final = "llmframe cascade"


@dataclass(frozen=True, slots=True, kw_only=True)
class TierReport:
    """One model of a cascade.

    Attributes
    ----------
    name
        As in the column `tier`.
    asked, answered, failed
        Rows that it was asked, rows whose answer is its own in the end, rows that ended with its error.
    requests
        Requests sent to it; rows with the same prompt share one, retries and votes count.
    paid
        Rows that its dollars were paid for; of the others answers were kept, or nothing was sent.
    usd, input_tokens, output_tokens
        What these took, as far as it is known; `None` where nothing is.
    unknown_usage
        Requests whose cost nobody told.
    error
        Share of its answers on gold that are wrong, with Wilson's interval. Where a threshold was chosen on the same
        rows it flatters a little: the certificate counts, not this.
    threshold
        Confidence below which rows went on; inf where all did, nan for the last tier.
    certificate
        What is promised of its answers; `None` for the last tier, and where the threshold was said by hand.
    """

    name: str
    asked: int
    answered: int
    failed: int
    requests: int
    paid: int
    usd: float | None
    input_tokens: int | None
    output_tokens: int | None
    unknown_usage: int
    error: Estimate
    threshold: float = math.nan
    certificate: Certificate | None = None

    def to_dict(self) -> dict[str, object]:
        """Plain values; what is unknown or infinite is `None`."""
        return {
            "name": self.name,
            "asked": self.asked,
            "answered": self.answered,
            "failed": self.failed,
            "requests": self.requests,
            "paid": self.paid,
            "usd": self.usd,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "unknown_usage": self.unknown_usage,
            "error": self.error.to_dict(),
            "threshold": self.threshold if math.isfinite(self.threshold) else None,
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeReport:
    """What a cascade did, tier by tier; `repr` is a small table, notebooks show it as HTML.

    Attributes
    ----------
    tiers
        From the first model asked to the last.
    rows
        Rows of the frame.
    gold_rows
        Rows with gold that were asked; 0 where none was named.
    error
        Share of all answers on gold that are wrong, whatever the tier.
    """

    tiers: tuple[TierReport, ...]
    rows: int
    gold_rows: int
    error: Estimate

    @property
    def certified(self) -> bool:
        """Whether the answers of every tier but the last are certified, and there are some."""
        found = [tier.certificate for tier in self.tiers[:-1]]
        return any(each is not None and each.holds for each in found) and None not in found

    @property
    def usd(self) -> float | None:
        """Dollars of all tiers; `None` where a tier's are unknown."""
        found = [tier.usd for tier in self.tiers if tier.requests]
        return None if None in found else math.fsum(each for each in found if each is not None)

    @property
    def usd_alone(self) -> float | None:
        """About what the last model alone would have taken, by its dollars a paid row; `None` where nothing tells."""
        first, last = self.tiers[0], self.tiers[-1]
        return None if not last.paid or not last.usd else last.usd / last.paid * first.asked

    @property
    def promises(self) -> tuple[str, ...]:
        """What is certified, and what isn't, a sentence for each tier but the last."""
        return tuple(_promise(tier, self.tiers[at + 1].name) for at, tier in enumerate(self.tiers[:-1]))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known about these numbers."""
        if not self.certified:
            return ()
        sample = f"This holds if the {self.gold_rows:,} rows with gold are a random sample of all rows"
        return (f"{sample}; what {self.tiers[-1].name!r} answers is measured only.",)

    def to_dict(self) -> dict[str, object]:
        """Plain values for logs and JSON; what is unknown is `None`."""
        return {
            "rows": self.rows,
            "gold_rows": self.gold_rows,
            "certified": self.certified,
            "error": self.error.to_dict(),
            "usd": self.usd,
            "usd_alone": self.usd_alone,
            "tiers": [tier.to_dict() for tier in self.tiers],
            "promises": list(self.promises),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        """A small table."""
        return "\n".join([self._title, text_rows(*self._table()), *self._words()])

    def _repr_html_(self) -> str:
        """The same table for notebooks."""
        words = "".join(f"<p>{html.escape(line)}</p>" for line in self._words())
        return f"<p>{html.escape(self._title)}</p>{html_rows(*self._table())}{words}"

    @property
    def _title(self) -> str:
        return f"{TITLE} · {self.rows:,} rows"

    def _words(self) -> list[str]:
        alone = ""
        if self.usd_alone is not None and self.usd is not None:
            alone = f"; all rows by {self.tiers[-1].name!r} about {dollars(self.usd_alone)}"
        cost = [f"Cost: {dollars(self.usd)}{alone}."] if self.usd is not None else []
        told = [f"Error of all answers on gold: {self.error}."] if self.error.known else []
        return [*self.promises, *self.notes, *told, *cost]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        names = ["tier", "asked", "answered", "failed", "below", "requests", "cost", "error on gold"]
        return names, [
            [
                tier.name,
                f"{tier.asked:,}",
                f"{tier.answered:,}",
                f"{tier.failed:,}",
                _threshold(tier.threshold),
                f"{tier.requests:,}",
                _cost(tier),
                f"{tier.error} of {tier.error.n:,}" if tier.error.known else "unknown",
            ]
            for tier in self.tiers
        ]


def error_on_gold(right: Sequence[bool]) -> Estimate:
    """Share of wrong answers among those whose gold is known, with Wilson's interval."""
    if not right:
        return unknown("no answer of this tier has gold")
    wrong = len(right) - sum(right)
    ends = wilson_interval(wrong, len(right))
    return Estimate(value=wrong / len(right), low=ends.low, high=ends.high, n=len(right))


def _promise(tier: TierReport, following: str) -> str:
    found = tier.certificate
    if found is None:
        return f"{tier.name}: the threshold {tier.threshold:.4g} was said by hand, so nothing is certified."
    text = f"{tier.name}: {found.sentence}"
    if found.holds:
        return text
    advice = f" {found.advice[:1].upper()}{found.advice[1:]}." if found.advice else ""
    return f"{text} So all its rows went on to {following!r}.{advice}"


def _cost(tier: TierReport) -> str:
    return "nothing" if not tier.requests else "unknown" if tier.usd is None else dollars(tier.usd)


def _threshold(number: float) -> str:
    return "" if math.isnan(number) else "all go on" if math.isinf(number) else f"{number:.4g}"
