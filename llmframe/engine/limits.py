"""Admission to one endpoint, key and model: whose turn it is, and whether it may go now."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from llmframe.clients.base import RequestError
from llmframe.core.outcome import Usage
from llmframe.core.ratelimits import Allowance, RateLimits
from llmframe.core.reply import Reply
from llmframe.engine.concurrency import Concurrency
from llmframe.engine.cooldown import Cooldown
from llmframe.engine.estimate import Estimate
from llmframe.engine.line import UNBOUNDED, Flow, Line, Ticket
from llmframe.engine.pace import Pace
from llmframe.engine.retry import MAX_RETRY_AFTER
from llmframe.engine.tokens import Cost, Dimension, TokenBuckets

CONGESTION: Final = frozenset({"server", "timeout", "connection"})
"""Faults that may come from too much load."""

BUSY: Final = 0.6
"""Answers in the time of one, for each request in flight, from which a 429 may be about how many are in flight: all of
them were answered but for the last. A server that counts requests a minute leaves most unanswered."""

FEW: Final = 20
"""Requests in flight below which a limit of them is too coarse to hold a rate."""

ROOMY: Final = 0.7
"""Of the limit: with more in flight there is no room for requests that only save time."""

TOO_SOON: Final = 1e-4
"""Seconds that a wait takes at least: a timer that fires a hair early must not spin."""


class ClosedError(Exception):
    """The flow was closed while its request waited."""


class Gate:
    """What all calls of the process to the same endpoint, key and model pass through.

    The request whose turn it is goes when nothing cools down, a place is free (the adaptive limit, the ramp after a
    cooldown, the call's own bound, the process's `connections`), its tokens are there, and the pace lets it. Nobody
    overtakes it meanwhile but a call whose turn comes first by weight.
    """

    def __init__(self, clock: Callable[[], float], *, connections: float = UNBOUNDED) -> None:
        self._clock = clock
        self._line = Line()
        self._flows: dict[Flow, int] = {}
        self._pace = Pace(clock, self._pace_changed)
        self._cooldown = Cooldown()
        self._concurrency = Concurrency(most=connections)
        self._tokens = TokenBuckets()
        self._server_tokens: dict[Dimension, float] = {}
        self.estimate = Estimate()
        self._answered: deque[float] = deque(maxlen=512)
        self.in_flight = 0
        self._started = 0
        self._turns: asyncio.Task[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None

    def join(self, flow: Flow) -> None:
        """A part of a call begins; the lowest limits that running calls state hold."""
        self._flows[flow] = self._flows.get(flow, 0) + 1
        if self._flows[flow] == 1:
            self._pace.join(flow.requests_per_minute)
            self._set_limits()
            if flow.moved is not None:
                flow.moved(self._clock(), self._concurrency.limit, "start")

    def leave(self, flow: Flow) -> None:
        """A part of a call has ended."""
        self._flows[flow] -= 1
        if not self._flows[flow]:
            del self._flows[flow]
            self._pace.leave(flow.requests_per_minute)
            self._set_limits()

    @property
    def limit(self) -> int:
        """Requests that may be in flight now."""
        ramp = self._cooldown.ramp
        return self._concurrency.limit if ramp is None else min(ramp, self._concurrency.limit)

    def cost(self, characters: int, max_tokens: int | None) -> Cost:
        """The tokens that a request is expected to take."""
        return Cost(self.estimate.input(characters), self.estimate.output(max_tokens))

    async def enter(self, flow: Flow, cost: Cost) -> Ticket:
        """Wait for a turn.

        Raises
        ------
        ClosedError
            If the flow was closed meanwhile.
        """
        now = self._clock()
        ticket = Ticket(flow, cost, now)
        if not self._line and self._may_go(ticket, now) and self._pace.free:
            await self._pace.turn()  # it's free: nobody comes in between
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

    async def spare(self, flow: Flow, cost: Cost) -> Ticket | None:
        """A turn at once for a request that nobody would miss; `None` unless a third of everything is free."""
        now = self._clock()
        ticket = Ticket(flow, cost, now)
        roomy = self.in_flight < ROOMY * self.limit and not self._tokens.wait(_tripled(cost), now)
        if self._line or not roomy or not self._may_go(ticket, now) or not self._pace.free:
            return None
        await self._pace.turn()
        self._grant(ticket, now)
        return ticket

    def unsent(self, ticket: Ticket) -> None:
        """The request wasn't sent after all: its tokens go back. Nothing happens to one that has ended."""
        self._settle(ticket, None, sent=False)
        self._end(ticket)

    def answered(self, ticket: Ticket, reply: Reply) -> None:
        """The server answered."""
        try:
            self._learn(ticket, reply)
        finally:
            self._end(ticket)

    def _learn(self, ticket: Ticket, reply: Reply) -> None:
        now = self._clock()
        usage = reply.usage
        self._answered.append(now)
        reason = self._concurrency.succeeded(
            now=now,
            sent_at=ticket.sent_at,
            seconds=now - ticket.sent_at,
            in_flight=self.in_flight,
            output_tokens=usage.output_tokens,
        )
        self._pace.answered(ticket.sent_at)
        self._cooldown.succeeded(generation=ticket.generation)
        self._settle(ticket, usage, sent=True)
        if reply.limits is not None:
            self._observe(ticket, reply.limits, now)
        if reason is not None:
            self._tell(reason)

    def faulted(self, ticket: Ticket, error: RequestError) -> None:
        """The request failed, or the server refused it."""
        try:
            self._learn_from(ticket, error)
        finally:
            self._end(ticket)

    def _learn_from(self, ticket: Ticket, error: RequestError) -> None:
        now = self._clock()
        if error.limits is not None:
            self._observe(ticket, error.limits, now)
        if error.kind == "rate_limit":
            asked = error.retry_after
            # a wait over the cap ends this run; closing the gate for so long would silence the next ones
            self._limited(ticket, None if asked and asked > MAX_RETRY_AFTER else asked, error.limits)
        elif error.kind in CONGESTION:
            reason = self._concurrency.faulted(now=now, sent_at=ticket.sent_at)
            if reason is not None:
                self._tell(reason)
        self._settle(ticket, None, sent=error.kind != "rate_limit")

    def cancelled(self, ticket: Ticket) -> None:
        """The request was given up on its way; what it took nobody knows."""
        self._settle(ticket, None, sent=True)
        self._end(ticket)

    def restart(self, *, since: float) -> None:
        """The provider is back that seemed dead `since` then: begin with one request at a time.

        Where others were answered meanwhile it was the call's own trouble, and no reason for them to wait.
        """
        if not self._answered or self._answered[-1] < since:
            self._cooldown.restart()

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

    def _limited(self, ticket: Ticket, retry_after: float | None, limits: RateLimits | None) -> None:
        """Cool down, and learn what the server allows: so many in flight, or a rate of requests, or of tokens."""
        now = self._clock()
        before = self._cooldown.closed_until
        crowded = self._crowded(ticket)
        if crowded:
            reason = self._concurrency.limited(now=now, sent_at=ticket.sent_at, in_flight=ticket.level)
            if reason is not None:
                self._tell(reason)
        self._pace.refused(ticket.number)
        if self._cooldown.limited(retry_after, generation=ticket.generation, now=now):
            if self._concerns_requests(limits):
                self._pace.limited(ticket.number, least=ticket.level / self._concurrency.typical if crowded else 0.0)
            else:
                self._tokens.empty(now)
            if self._pace.rate is not None or self._tokens.limited:  # which keep those who waited from a stampede
                self._cooldown.ramp = max(1, self._concurrency.limit // 2)
        longer = self._cooldown.closed_until - max(before, now)
        for flow in self._flows if longer > 0 else ():
            if flow.cooled is not None:
                flow.cooled(longer, self._cooldown.closed_until)

    def _crowded(self, ticket: Ticket) -> bool:
        """Whether a 429 may be about how many requests are in flight: by Little's law, unless a rate explains it."""
        span, sent_at = self._concurrency.typical, ticket.sent_at
        if not span or self._pace.told or self._tokens.limited or ticket.level < FEW:
            return False
        return sum(sent_at - span < at <= sent_at for at in self._answered) >= BUSY * ticket.level

    def _concerns_requests(self, limits: RateLimits | None) -> bool:
        """Whether a 429 is about the number of requests: by its headers, else unless tokens are what is limited."""
        requests = None if limits is None else limits.requests
        if requests is not None and requests.remaining is not None:
            return requests.remaining < 1
        return not self._tokens.limited

    def _observe(self, ticket: Ticket, limits: RateLimits, now: float) -> None:
        if (requests := limits.requests) is not None:
            since = self._started - ticket.number
            self._pace.observed(limit=requests.limit, remaining=requests.remaining, since=since, sent_at=ticket.sent_at)
        told: dict[Dimension, Allowance | None] = {
            "total": limits.tokens,
            "input": limits.input_tokens,
            "output": limits.output_tokens,
        }
        for dimension, allowance in told.items():
            if allowance is None:
                continue
            if allowance.limit and self._server_tokens.get(dimension) != allowance.limit:
                self._server_tokens[dimension] = allowance.limit
                self._set_limits()
            if allowance.remaining is not None and ticket.reservation is not None:
                self._tokens.observed(
                    dimension, allowance.remaining, ticket.reservation, sent_at=ticket.sent_at, now=now
                )

    def _set_limits(self) -> None:
        self._concurrency.wanted(flow.places for flow in self._flows)
        now = self._clock()
        stated = [flow.tokens_per_minute for flow in self._flows if flow.tokens_per_minute is not None]
        for dimension in ("total", "input", "output"):
            known = [self._server_tokens[dimension]] if dimension in self._server_tokens else []
            known += stated if dimension == "total" else []
            wanted = min(known, default=None)
            if wanted != self._tokens.rate(dimension):
                self._tokens.set_rate(dimension, wanted, now)
        self._wake()

    def _settle(self, ticket: Ticket, usage: Usage | None, *, sent: bool) -> None:
        if ticket.reservation is None:
            return
        if sent:
            self._tokens.settle(ticket.reservation, usage, self._clock())
        else:
            self._tokens.cancel(ticket.reservation, self._clock())

    def _may_go(self, ticket: Ticket, now: float) -> bool:
        return ticket.flow.free(now) and self.in_flight < self.limit and self._wait(ticket, now) <= 0

    def _wait(self, ticket: Ticket, now: float) -> float:
        """Seconds until neither a cooldown nor a header nor missing tokens keep `ticket` back."""
        closed = max(self._cooldown.closed_until - now, self._pace.closed(now))
        return max(closed, self._tokens.wait(ticket.cost, now))

    def _grant(self, ticket: Ticket, now: float) -> None:
        if not self.in_flight:
            reason = self._concurrency.idle(now)
            if reason is not None:
                self._tell(reason)
        self.in_flight += 1
        ticket.flow.in_flight += 1
        self._started += 1
        ticket.number = self._started
        ticket.level = self.in_flight
        ticket.sent_at = now
        self._pace.sent(now)
        ticket.generation = self._cooldown.generation
        ticket.probe = ticket.flow.probing
        ticket.reservation = self._tokens.reserve(ticket.cost, now)

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
            if self._pace.rate is not None:
                if self._next() is None:  # most often: no place is free, and no task need find that out
                    return
                self._turns = asyncio.get_running_loop().create_task(self._give_turns())
                return
            while (ticket := self._next()) is not None:
                self._let(ticket)

    async def _give_turns(self) -> None:
        try:
            while self._next() is not None:
                await self._pace.turn()
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
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self.in_flight >= self.limit:
            return None
        while (ticket := self._line.head(now)) is not None and ticket.turn is not None and ticket.turn.done():
            self._line.remove(ticket)  # cancelled, at this very instant: its own task hasn't run since
        wait = self._line.held_until(now) - now if ticket is None else self._wait(ticket, now)
        if ticket is not None and wait <= 0:
            return ticket
        if wait < UNBOUNDED:
            self._alarm = asyncio.get_running_loop().call_later(max(wait, TOO_SOON), self._wake)
        return None

    def _pace_changed(self) -> None:
        turns, self._turns = self._turns, None
        if turns is not None and turns is not asyncio.current_task():
            turns.cancel()
        self._wake()

    def _quiet(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        turns, self._turns = self._turns, None
        if turns is not None and turns is not asyncio.current_task():
            turns.cancel()

    def _tell(self, reason: str) -> None:
        now = self._clock()
        for flow in self._flows:
            if flow.moved is not None:
                flow.moved(now, self._concurrency.limit, reason)


def _tripled(cost: Cost) -> Cost:
    return Cost(3 * cost.input, 3 * cost.output)
