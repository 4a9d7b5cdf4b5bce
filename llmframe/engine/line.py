"""Who is next: the calls that wait for one endpoint, key and model, by weighted turns."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from llmframe.engine.spending import Claim
from llmframe.engine.tokens import Cost, Reservation
from llmframe.options import Priority

WEIGHTS: Final[dict[Priority, int]] = {"high": 16, "normal": 4, "low": 1}
"""Turns of a call while others of another class wait too."""

UNBOUNDED: Final = float("inf")


@dataclass(slots=True, eq=False)
class Ticket:
    """One request's way through a gate.

    Attributes
    ----------
    cost
        Tokens that it is expected to take.
    came, sent_at
        Seconds: when it joined the line, when it was let through.
    generation
        Cooldowns that had begun when it was let through.
    number
        Which of the gate's requests it was.
    level
        Requests in flight when it was sent, itself included.
    probe
        Whether it was sent to see if a provider is back that seemed dead.
    claim
        What it takes from its run's budget; `None` without one.
    """

    flow: Flow
    cost: Cost
    came: float
    turn: asyncio.Future[bool] | None = None
    sent_at: float = 0.0
    generation: int = 0
    number: int = 0
    level: int = 0
    probe: bool = False
    ended: bool = False
    reservation: Reservation | None = None
    claim: Claim | None = None

    def may_spend(self) -> bool:
        """Whether its run's budget lets it go as the next one."""
        return self.claim is None or self.claim.admits()


@dataclass(slots=True, eq=False)
class Flow:
    """One call's requests at one gate: first come, first served among themselves.

    Parameters
    ----------
    places
        Most requests of it in flight.
    priority
        Its class; a call has `WEIGHTS[priority]` turns where a call of weight 1 has one.
    requests_per_minute, tokens_per_minute
        Limits that the call states for all.
    moved
        Told `(seconds, limit, reason)` when the gate's limit of requests in flight moves.
    cooled
        Told the seconds of a cooldown that begins, and when it is over.
    """

    places: int
    priority: Priority = "normal"
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    moved: Callable[[float, int, str], None] | None = None
    cooled: Callable[[float, float], None] | None = None
    waiting: deque[Ticket] = field(default_factory=deque[Ticket])
    in_flight: int = 0
    held_until: float = 0.0
    probing: bool = False
    due: float = 0.0
    is_new: bool = True
    is_unserved: bool = False

    def free(self, now: float) -> bool:
        """Whether another request of it may be in flight."""
        return self.in_flight < (1 if self.probing else self.places) and self.held_until <= now


class Line:
    """Start-time fair queueing over flows (Goyal, Vin and Cheng 1996), every request of cost 1.

    A flow that comes anew starts at the turn that is on now: it has no claim to turns it didn't wait for, and none
    waits longer than its weight's share says. The first turns of all new flows of a class are those of one flow of it,
    or calls over a single row, one after the other, would keep everybody else out for good.
    """

    __slots__ = ("_flows", "_newcomers", "_turn")

    def __init__(self) -> None:
        self._flows: list[Flow] = []
        self._newcomers: dict[Priority, float] = {}
        self._turn = 0.0

    def __bool__(self) -> bool:
        """Whether anybody waits."""
        return bool(self._flows)

    def add(self, ticket: Ticket) -> None:
        """Have `ticket` wait behind the others of its flow."""
        flow = ticket.flow
        if not flow.waiting:
            flow.due = max(self._first(flow) if flow.is_new else flow.due, self._turn)
            self._flows.append(flow)
        flow.waiting.append(ticket)

    def head(self, now: float) -> Ticket | None:
        """The one whose turn it is, of those whose flow may have another in flight, and pay for it."""
        best: Flow | None = None
        for flow in self._flows:
            if (best is None or flow.due < best.due) and flow.free(now) and flow.waiting[0].may_spend():
                best = flow
        return None if best is None else best.waiting[0]

    def take(self, ticket: Ticket) -> None:
        """`ticket` has had its turn."""
        self.served(ticket.flow)
        self.remove(ticket)

    def served(self, flow: Flow) -> None:
        """`flow` has had a turn, waited for or not; turns that it couldn't take for want of places aren't saved up."""
        self._turn, flow.is_new, flow.is_unserved = max(self._turn, flow.due), False, False
        flow.due = self._turn + 1 / WEIGHTS[flow.priority]

    def _first(self, flow: Flow) -> float:
        flow.is_new, flow.is_unserved = False, True
        due = max(self._newcomers.get(flow.priority, 0.0), self._turn)
        self._newcomers[flow.priority] = due + 1 / WEIGHTS[flow.priority]
        return due

    def remove(self, ticket: Ticket) -> None:
        """`ticket` waits no more."""
        waiting = ticket.flow.waiting
        if waiting[0] is ticket:
            waiting.popleft()
        else:
            waiting.remove(ticket)
        if not waiting:
            self._flows.remove(ticket.flow)
            if ticket.flow.is_unserved:  # or calls that were cancelled would have those that come later wait for them
                ticket.flow.is_new, ticket.flow.is_unserved = True, False
                self._newcomers[ticket.flow.priority] -= 1 / WEIGHTS[ticket.flow.priority]

    def held_until(self, now: float) -> float:
        """When the first flow that is held back may go on; infinity when only an end in flight can help."""
        return min((flow.held_until for flow in self._flows if flow.held_until > now), default=UNBOUNDED)
