"""Admission to one endpoint, key and model: whose turn it is, and whether it may go now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from llmframe.clients.base import RequestError
from llmframe.core.reply import Reply
from llmframe.engine.limits import Limits
from llmframe.engine.line import UNBOUNDED, Flow, Line, Ticket
from llmframe.engine.spending import Claim
from llmframe.engine.tokens import Cost

TOO_SOON: Final = 1e-4
"""Seconds that a wait takes at least: a timer that fires a hair early must not spin."""


class ClosedError(Exception):
    """The flow was closed while its request waited."""


class Gate:
    """What all calls of the process to the same endpoint, key and model pass through.

    The request whose turn it is goes when nothing cools down, a place is free (the adaptive limit, the ramp after a
    cooldown, the call's own bound, the process's `connections`), its tokens and its run's money are there, and the pace
    lets it. Nobody overtakes it meanwhile but a call whose turn comes first by weight, or, while its run waits for
    money, any other.

    Attributes
    ----------
    limits
        What the server allows, as far as it is known.
    in_flight
        Requests let through that haven't ended.
    """

    def __init__(self, clock: Callable[[], float], *, connections: float = UNBOUNDED) -> None:
        self._clock = clock
        self._line = Line()
        self._flows: dict[Flow, int] = {}
        self.limits = Limits(
            clock, connections=connections, moved=self._tell, cooled=self._tell_cooled, changed=self._changed
        )
        self.in_flight = 0
        self._turns: asyncio.Task[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None

    def join(self, flow: Flow) -> None:
        """A part of a call begins; the lowest limits that running calls state hold."""
        self._flows[flow] = self._flows.get(flow, 0) + 1
        if self._flows[flow] == 1:
            self.limits.join(flow, self._flows)
            if flow.moved is not None:
                flow.moved(self._clock(), self.limits.concurrency, "start")

    def leave(self, flow: Flow) -> None:
        """A part of a call has ended."""
        self._flows[flow] -= 1
        if not self._flows[flow]:
            del self._flows[flow]
            self.limits.leave(flow, self._flows)

    @property
    def limit(self) -> int:
        """Requests that may be in flight now."""
        return self.limits.in_flight

    async def enter(self, flow: Flow, cost: Cost, claim: Claim | None = None) -> Ticket:
        """Wait for a turn, and for what `claim` wants of a budget.

        Raises
        ------
        ClosedError
            If the flow was closed meanwhile.
        """
        now, pace = self._clock(), self.limits.pace
        ticket = Ticket(flow, cost, now, claim=claim)
        if not self._line and self._may_go(ticket, now) and pace.free:
            await pace.turn()  # it's free: nobody comes in between
            self._line.served(flow)
            self._grant(ticket, now)
            return ticket
        ticket.turn = asyncio.get_running_loop().create_future()
        self._line.add(ticket)
        self._wake()
        try:
            if await ticket.turn:
                return ticket
        except asyncio.CancelledError:
            if ticket.turn.done() and not ticket.turn.cancelled() and ticket.turn.result():
                self.unsent(ticket)
            else:
                self._forget(ticket)
            raise
        raise ClosedError

    async def spare(self, flow: Flow, cost: Cost, claim: Claim | None = None) -> Ticket | None:
        """A turn at once for a request that nobody would miss; `None` unless a third of everything is free."""
        now, pace = self._clock(), self.limits.pace
        ticket = Ticket(flow, cost, now, claim=claim)
        if self._line or not self.limits.roomy(ticket, self.in_flight, now):
            return None
        if not self._may_go(ticket, now) or not pace.free:
            return None
        await pace.turn()
        self._grant(ticket, now)
        return ticket

    def unsent(self, ticket: Ticket) -> None:
        """The request wasn't sent after all. Nothing happens to one that has ended."""
        self.limits.unsent(ticket)
        if ticket.claim is not None:
            ticket.claim.unsent()
        self._end(ticket)

    def answered(self, ticket: Ticket, reply: Reply) -> None:
        """The server answered."""
        try:
            self.limits.answered(ticket, reply, in_flight=self.in_flight)
        finally:
            if ticket.claim is not None:
                ticket.claim.answered(reply.usage)
            self._end(ticket)

    def faulted(self, ticket: Ticket, error: RequestError) -> None:
        """The request failed, or the server refused it."""
        try:
            self.limits.faulted(ticket, error)
        finally:
            if ticket.claim is not None:
                ticket.claim.faulted(error)
            self._end(ticket)

    def cancelled(self, ticket: Ticket) -> None:
        """The request was given up on its way; what it took nobody knows."""
        self.limits.cancelled(ticket)
        if ticket.claim is not None:
            ticket.claim.cancelled()
        self._end(ticket)

    def hold(self, flow: Flow, until: float) -> None:
        """Send nothing of `flow` before `until`, and then one request at a time until `go_on`."""
        flow.held_until, flow.probing = until, True
        self._wake()

    def go_on(self, flow: Flow) -> None:
        """`flow` is itself again."""
        flow.held_until, flow.probing = 0.0, False
        self._wake()

    def close(self, flow: Flow) -> None:
        """Send away whoever of `flow` waits."""
        for ticket in list(flow.waiting):
            self._line.remove(ticket)
            if ticket.turn is not None and not ticket.turn.done():
                ticket.turn.set_result(False)
        self._wake()

    def look(self) -> None:
        """Something else that a request waited for may be there now: money."""
        self._wake()

    def _may_go(self, ticket: Ticket, now: float) -> bool:
        if ticket.claim is not None and not ticket.claim.affords():
            return False
        return ticket.flow.free(now) and self.in_flight < self.limit and self.limits.wait(ticket, now) <= 0

    def _grant(self, ticket: Ticket, now: float) -> None:
        self.in_flight += 1
        ticket.flow.in_flight += 1
        ticket.probe = ticket.flow.probing
        if ticket.claim is not None:
            ticket.claim.sent()
        self.limits.sent(ticket, now, in_flight=self.in_flight)

    def _end(self, ticket: Ticket) -> None:
        if ticket.ended:
            return
        ticket.ended = True
        self.in_flight -= 1
        ticket.flow.in_flight -= 1
        self._wake()

    def _forget(self, ticket: Ticket) -> None:
        if ticket in ticket.flow.waiting:
            self._line.remove(ticket)
        self._wake()

    def _wake(self) -> None:
        """Let go whoever may go now, and see to it that the next one is looked at in time."""
        if not self._line:
            self._quiet()
        elif self._turns is None:
            if self.limits.pace.rate is not None:
                if self._next() is None:  # most often: no place is free, and no task need find that out
                    return
                self._turns = asyncio.get_running_loop().create_task(self._give_turns())
                return
            while (ticket := self._next()) is not None:
                self._let(ticket)

    async def _give_turns(self) -> None:
        try:
            while self._next() is not None:
                await self.limits.pace.turn()
                ticket = self._next()  # another one's, perhaps, who came meanwhile; none, and the turn lapses
                if ticket is None:
                    break
                self._let(ticket)
        finally:
            if self._turns is asyncio.current_task():
                self._turns = None

    def _let(self, ticket: Ticket) -> None:
        self._line.take(ticket)
        self._grant(ticket, self._clock())
        if ticket.turn is not None:
            ticket.turn.set_result(True)

    def _next(self) -> Ticket | None:
        """The request that may go now; when only time keeps it back, an alarm is set."""
        now = self._clock()
        self._set_alarm(None)
        if self.in_flight >= self.limit:
            return None
        while (ticket := self._line.head(now)) is not None and ticket.turn is not None and ticket.turn.done():
            self._line.remove(ticket)  # cancelled, at this very instant: its own task hasn't run since
        wait = self._line.held_until(now) - now if ticket is None else self.limits.wait(ticket, now)
        if ticket is not None and wait <= 0:
            return ticket
        self._set_alarm(wait)
        return None

    def _set_alarm(self, seconds: float | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if seconds is not None and seconds < UNBOUNDED:
            self._alarm = asyncio.get_running_loop().call_later(max(seconds, TOO_SOON), self._wake)

    def _changed(self) -> None:
        """What waits for the pace waits for another one now."""
        self._stop_turns()
        self._wake()

    def _quiet(self) -> None:
        """Nobody waits."""
        self._set_alarm(None)
        self._stop_turns()

    def _stop_turns(self) -> None:
        turns, self._turns = self._turns, None
        if turns is not None and turns is not asyncio.current_task():
            turns.cancel()

    def _tell(self, reason: str) -> None:
        now = self._clock()
        for flow in self._flows:
            if flow.moved is not None:
                flow.moved(now, self.limits.concurrency, reason)

    def _tell_cooled(self, longer: float, until: float) -> None:
        for flow in self._flows:
            if flow.cooled is not None:
                flow.cooled(longer, until)
