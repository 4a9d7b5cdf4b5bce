"""How a cascade goes: thresholds as they are found, what each tier took, and the report in the end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from llmframe.api.arguments import lazy_kind
from llmframe.errors import UsageError
from llmframe.frames import Frame, wrap
from llmframe.judge.columns import AnswerColumns, comparable, read
from llmframe.judge.spending import spending_of
from llmframe.judge.thresholds import Decision, Gold, decided, warn_of_none
from llmframe.judge.tier_columns import TierColumns
from llmframe.judge.tiers import Cascade
from llmframe.report.compared import Spending
from llmframe.report.tier_report import CascadeReport, TierReport, error_on_gold

_PAID: Final = ("live", "batch")

_last: CascadeReport | None = None


def last_cascade() -> CascadeReport:
    """The report of the process's last cascade.

    Returns
    -------
    CascadeReport
        By tier: rows, requests, dollars, error on gold with its interval; and what is certified.

    Raises
    ------
    UsageError
        If there was none yet; a lazy query's cascade tells nothing.
    """
    if _last is None:
        raise UsageError('no cascade yet: call `.llm.classify(..., cascade=["cheap", "strong"])` or the like first')
    return _last


@dataclass(slots=True, kw_only=True)
class Course:
    """What one call's cascade has come to so far.

    Parameters
    ----------
    cascade, columns
        What was said, and the columns of the tiers.
    gold
        Name of the column of known answers.
    """

    cascade: Cascade
    columns: TierColumns
    gold: str | None
    _gold: Gold | None = None
    _decisions: list[Decision] = field(default_factory=list[Decision])
    _spent: list[tuple[int, int, Spending]] = field(default_factory=list[tuple[int, int, Spending]])

    def spend(self, native: Any, metas: Sequence[str]) -> None:
        """Book what a tier took, told by the columns of its asks; the tiers come in their order."""
        if lazy_kind(native) is not None:
            return
        frame = wrap(native)
        if frame.names:
            spent = _all([spending_of(frame, name) for name in metas])
            self._spent.append((_requests(frame, metas), _paid_rows(frame, metas), spent))

    def threshold(self, at: int, native: Any, columns: AnswerColumns) -> float:
        """From which confidence on the answers of tier `at` stand; inf: all go on."""
        tiers = self.columns.tiers
        said = tiers[at].threshold
        if said is not None:
            self._decisions.append(Decision(threshold=said))
            return said
        frame = wrap(native)
        if self._gold is None:
            self._gold = Gold.of(frame, str(self.gold), tiers=len(tiers) - 1)
        decision = decided(frame, columns, self._gold, self.cascade, tier=at, tiers=len(tiers) - 1)
        self._decisions.append(decision)
        asked = any(each is not None for name in (columns.value, columns.error) for each in read(frame, name))
        if asked and decision.certificate is not None and not decision.certificate.holds:
            warn_of_none(tiers[at].name, tiers[at + 1].name, decision.certificate)
        return decision.threshold

    def tell(self, native: Any, prefix: str) -> None:
        """Have `last_cascade()` tell of the finished frame, in which the tiers' own columns still are."""
        global _last  # noqa: PLW0603 - the last cascade is the process's own
        if lazy_kind(native) is not None:
            return
        frame = wrap(native)
        if frame.names:
            _last = self._report(frame, prefix)

    def _report(self, frame: Frame, prefix: str) -> CascadeReport:
        columns = self.columns
        values = comparable(read(frame, prefix + columns.field))
        errors = read(frame, prefix + columns.error)
        at_tier = read(frame, prefix + columns.tier)
        truth = comparable(read(frame, self.gold)) if self.gold is not None else [None] * len(frame)
        judged = [at for at, right in enumerate(truth) if right is not None and errors[at] is None and at_tier[at]]
        asked = [
            sum(name is not None for name in at_tier),
            *(sum(cell is True for cell in read(frame, prefix + name)) for name in columns.going),
        ]
        tiers: list[TierReport] = []
        for place, tier in enumerate(columns.tiers):
            own = [at for at, name in enumerate(at_tier) if name == tier.name]
            requests, paid, spent = self._spent[place]
            decision = [*self._decisions, Decision(threshold=math.nan)][place]
            failed = sum(errors[at] is not None for at in own)
            tiers.append(
                TierReport(
                    name=tier.name,
                    asked=asked[place],
                    answered=len(own) - failed,
                    failed=failed,
                    requests=requests,
                    paid=paid,
                    usd=spent.usd,
                    input_tokens=spent.input_tokens,
                    output_tokens=spent.output_tokens,
                    unknown_usage=spent.unknown,
                    error=error_on_gold([values[at] == truth[at] for at in judged if at_tier[at] == tier.name]),
                    threshold=decision.threshold,
                    certificate=decision.certificate,
                )
            )
        return CascadeReport(
            tiers=tuple(tiers),
            rows=len(frame),
            gold_rows=sum(None not in pair for pair in zip(truth, at_tier, strict=True)),
            error=error_on_gold([values[at] == truth[at] for at in judged]),
        )


def _requests(frame: Frame, metas: Sequence[str]) -> int:
    cells = [cast("Mapping[str, Any]", cell) for name in metas for cell in read(frame, name) if isinstance(cell, dict)]
    return sum(cell.get("attempts") or 0 for cell in cells)


def _paid_rows(frame: Frame, metas: Sequence[str]) -> int:
    """Rows that the dollars were paid for: those of a request that was sent, and those that share it."""
    rows = [
        [cast("Mapping[str, Any]", cell) for cell in row if isinstance(cell, dict)]
        for row in zip(*(read(frame, name) for name in metas), strict=True)
    ]
    sent = {
        cell.get("fingerprint")
        for row in rows
        for cell in row
        if cell.get("source") in _PAID and cell.get("attempts") and cell.get("usd") is not None
    }
    return sum(any(cell.get("fingerprint") in sent for cell in row) for row in rows)


def _all(spent: Sequence[Spending]) -> Spending:
    """The sum of what several asks took."""
    return Spending(
        told_by="llm_meta",
        unknown=sum(each.unknown for each in spent),
        usd=_sum([each.usd for each in spent]),
        input_tokens=_sum([each.input_tokens for each in spent]),
        output_tokens=_sum([each.output_tokens for each in spent]),
    )


def _sum(amounts: Sequence[float | None]) -> Any:
    """The sum of what is known; `None` where nothing is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None
