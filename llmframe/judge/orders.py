"""Two verdicts on a pair, one in each order, as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

TIE: Final = "tie"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a judge said in one order, in the names of the two sides.

    Parameters
    ----------
    order
        How errors call the order.
    verdict
        One of the sides, or a tie; `None`: there is none.
    shares
        Probabilities of the verdicts, where they are known.
    confidence, source
        How sure the verdict is; `None` where that isn't asked.
    """

    order: str
    verdict: str | None
    error: str | None
    shares: Mapping[str, float] | None = None
    confidence: float | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What both orders come to; fields as in the columns of `pairwise`."""

    winner: str | None = None
    consistent: bool | None = None
    confidence: float | None = None
    source: str | None = None
    shares: Mapping[str, float] | None = None
    error: str | None = None


def settled(first: Said, second: Said) -> Settled:
    """A side wins when it does in both orders; else it's a tie, which is consistent when both say so.

    Probabilities are the mean of both orders', and the confidence is the winner's; of confidences that are stated it's
    their mean. Orders that disagree on a tie that nobody could say or state have none. Without a verdict in one order
    there is none at all.
    """
    if first.error is not None or second.error is not None:
        return Settled(error=_error(first, second))
    for said in (first, second):
        if said.verdict is None:
            return Settled(source=said.source)
    consistent = first.verdict == second.verdict
    winner = first.verdict if consistent else TIE
    shares: dict[str, float] | None = None
    if first.shares and second.shares:
        shares = {name: (share + second.shares[name]) / 2 for name, share in first.shares.items()}
    confidence, source = _sureness(first, second, None if shares is None else shares.get(str(winner)), consistent)
    return Settled(winner=winner, consistent=consistent, confidence=confidence, source=source, shares=shares)


def _sureness(
    first: Said,
    second: Said,
    share: float | None,
    consistent: bool,  # noqa: FBT001 - private
) -> tuple[float | None, str | None]:
    """Confidence in the winner, whose share is known or `None`, and its source."""
    for said in (first, second):
        if said.confidence is None:
            return None, said.source
    source = first.source if first.source == second.source else "votes"  # log-probabilities were there once only
    if first.shares and second.shares:
        return (None, TIE) if share is None else (share, source)
    if not consistent or first.confidence is None or second.confidence is None:
        return None, TIE
    return (first.confidence + second.confidence) / 2, source


def _error(first: Said, second: Said) -> str | None:
    """The error that both orders have, or the first one's with its order behind the kind."""
    if first.error == second.error:
        return first.error
    failed = first if first.error is not None else second
    kind, _, detail = str(failed.error).partition(": ")
    return f"{kind}: in the order {failed.order}" + (f": {detail}" if detail else "")
