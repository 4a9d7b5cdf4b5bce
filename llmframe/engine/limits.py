"""What one endpoint, key and model allows: stated by callers, told by the server, or learnt from its answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from typing import Final

from llmframe.clients.base import RequestError
from llmframe.core.ratelimits import Allowance, RateLimits
from llmframe.core.reply import Reply
from llmframe.engine.concurrency import Concurrency
from llmframe.engine.cooldown import Cooldown
from llmframe.engine.estimate import Estimate
from llmframe.engine.line import Flow, Ticket
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


class Limits:
    """Requests in flight, requests and tokens a minute, pauses; what each request's end teaches about them.

    Parameters
    ----------
    clock
        Seconds of the running loop.
    connections
        Most requests that the process can have in flight.
    moved
        Told the reason when the adaptive limit moves.
    cooled
        Told by how many seconds a cooldown was made longer, and until when it lasts.
    changed
        Called when a wait may have become another one.

    Attributes
    ----------
    pace
        The turns of requests a minute.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        connections: float,
        moved: Callable[[str], None],
        cooled: Callable[[float, float], None],
        changed: Callable[[], None],
    ) -> None:
        self._clock, self._moved, self._cooled, self._changed = clock, moved, cooled, changed
        self.pace = Pace(clock, changed)
        self._cooldown = Cooldown()
        self._concurrency = Concurrency(most=connections)
        self._tokens = TokenBuckets()
        self._told_tokens: dict[Dimension, float] = {}
        self._stated_tokens: float | None = None
        self._estimate = Estimate()
        self._answered: deque[float] = deque(maxlen=512)
        self._sent = 0

    def join(self, flow: Flow, flows: Collection[Flow]) -> None:
        """A call begins, one of `flows`; the lowest limits that running calls state hold."""
        self.pace.join(flow.requests_per_minute)
        self._state(flows)

    def leave(self, flow: Flow, flows: Collection[Flow]) -> None:
        """A call has ended; `flows` go on."""
        self.pace.leave(flow.requests_per_minute)
        self._state(flows)

    @property
    def concurrency(self) -> int:
        """The adaptive limit of requests in flight."""
        return self._concurrency.limit

    @property
    def in_flight(self) -> int:
        """Requests that may be in flight now: the adaptive limit, or less on the ramp after a cooldown."""
        ramp = self._cooldown.ramp
        return self._concurrency.limit if ramp is None else min(ramp, self._concurrency.limit)

    def cost(self, characters: int, max_tokens: int | None) -> Cost:
        """The tokens that a request is expected to take."""
        return Cost(self._estimate.input(characters), self._estimate.output(max_tokens))

    def learn_size(self, characters: int, reply: Reply) -> None:
        """A request of so many characters took what `reply` says."""
        self._estimate.learn(characters, reply.usage)

    def wait(self, ticket: Ticket, now: float) -> float:
        """Seconds until neither a cooldown nor a header nor missing tokens keep `ticket` back."""
        closed = max(self._cooldown.closed_until - now, self.pace.closed(now))
        return max(closed, self._tokens.wait(ticket.cost, now))

    def roomy(self, ticket: Ticket, in_flight: int, now: float) -> bool:
        """Whether a third of places and tokens is free besides."""
        cost = Cost(3 * ticket.cost.input, 3 * ticket.cost.output)
        return in_flight < ROOMY * self.in_flight and not self._tokens.wait(cost, now)

    def sent(self, ticket: Ticket, now: float, *, in_flight: int) -> None:
        """The request goes out, as one of `in_flight`."""
        if in_flight == 1:
            self._tell(self._concurrency.idle(now))
        self._sent += 1
        ticket.number, ticket.level, ticket.sent_at = self._sent, in_flight, now
        ticket.generation = self._cooldown.generation
        ticket.reservation = self._tokens.reserve(ticket.cost, now)
        self.pace.sent(now)

    def unsent(self, ticket: Ticket) -> None:
        """The request wasn't sent after all: its tokens go back."""
        if ticket.reservation is not None:
            self._tokens.cancel(ticket.reservation, self._clock())

    def cancelled(self, ticket: Ticket) -> None:
        """The request was given up on its way: what it was expected to take stays taken."""
        if ticket.reservation is not None:
            self._tokens.settle(ticket.reservation, None, self._clock())

    def answered(self, ticket: Ticket, reply: Reply, *, in_flight: int) -> None:
        """The server answered, while `in_flight` were on their way, this one included."""
        now = self._clock()
        self._answered.append(now)
        reason = self._concurrency.succeeded(
            now=now,
            sent_at=ticket.sent_at,
            seconds=now - ticket.sent_at,
            in_flight=in_flight,
            output_tokens=reply.usage.output_tokens,
        )
        self.pace.answered(ticket.sent_at)
        self._cooldown.succeeded(generation=ticket.generation)
        if ticket.reservation is not None:
            self._tokens.settle(ticket.reservation, reply.usage, now)
        if reply.limits is not None:
            self._observe(ticket, reply.limits, now)
        self._tell(reason)

    def faulted(self, ticket: Ticket, error: RequestError) -> None:
        """The request failed, or the server refused it; what a 429 refused took no tokens."""
        now = self._clock()
        if error.limits is not None:
            self._observe(ticket, error.limits, now)
        if error.kind == "rate_limit":
            asked = error.retry_after
            # a wait over the cap ends this run; a pause of so long would silence the next ones
            self._limited(ticket, None if asked and asked > MAX_RETRY_AFTER else asked, error.limits)
            self.unsent(ticket)
            return
        if error.kind in CONGESTION:
            self._tell(self._concurrency.faulted(now=now, sent_at=ticket.sent_at))
        self.cancelled(ticket)

    def restart(self, *, since: float) -> None:
        """The provider is back that seemed dead `since` then: begin with one request at a time.

        Where others were answered meanwhile it was the call's own trouble, and no reason for them to wait.
        """
        if not self._answered or self._answered[-1] < since:
            self._cooldown.restart()

    def _limited(self, ticket: Ticket, retry_after: float | None, limits: RateLimits | None) -> None:
        """Cool down, and learn what the server allows: so many in flight, or a rate of requests, or of tokens."""
        now = self._clock()
        before = self._cooldown.closed_until
        crowded = self._crowded(ticket)
        if crowded:
            self._tell(self._concurrency.limited(now=now, sent_at=ticket.sent_at, in_flight=ticket.level))
        self.pace.refused(ticket.number)
        if self._cooldown.limited(retry_after, generation=ticket.generation, now=now):
            if self._concerns_requests(limits):
                self.pace.limited(ticket.number, least=ticket.level / self._concurrency.typical if crowded else 0.0)
            else:
                self._tokens.empty(now)
            if self.pace.rate is not None or self._tokens.limited:  # which keep those who waited from a stampede
                self._cooldown.ramp = max(1, self._concurrency.limit // 2)
        longer = self._cooldown.closed_until - max(before, now)
        if longer > 0:
            self._cooled(longer, self._cooldown.closed_until)

    def _crowded(self, ticket: Ticket) -> bool:
        """Whether a 429 may be about how many requests are in flight: by Little's law, unless a rate explains it."""
        span, sent_at = self._concurrency.typical, ticket.sent_at
        if not span or self.pace.told or self._tokens.limited or ticket.level < FEW:
            return False
        return sum(sent_at - span < at <= sent_at for at in self._answered) >= BUSY * ticket.level

    def _concerns_requests(self, limits: RateLimits | None) -> bool:
        """Whether a 429 is about the number of requests: by its headers, else unless tokens are what is limited."""
        requests = None if limits is None else limits.requests
        if requests is not None and requests.remaining is not None:
            return requests.remaining < 1
        return not self._tokens.limited

    def _observe(self, ticket: Ticket, limits: RateLimits, now: float) -> None:
        """Take note of the headers of an answer."""
        if (requests := limits.requests) is not None:
            since = self._sent - ticket.number
            self.pace.observed(limit=requests.limit, remaining=requests.remaining, since=since, sent_at=ticket.sent_at)
        told: dict[Dimension, Allowance | None] = {
            "total": limits.tokens,
            "input": limits.input_tokens,
            "output": limits.output_tokens,
        }
        for dimension, allowance in told.items():
            if allowance is None:
                continue
            if allowance.limit and self._told_tokens.get(dimension) != allowance.limit:
                self._told_tokens[dimension] = allowance.limit
                self._set_tokens()
            if allowance.remaining is not None and ticket.reservation is not None:
                self._tokens.observed(
                    dimension, allowance.remaining, ticket.reservation, sent_at=ticket.sent_at, now=now
                )

    def _state(self, flows: Collection[Flow]) -> None:
        self._concurrency.wanted(flow.places for flow in flows)
        stated = [flow.tokens_per_minute for flow in flows if flow.tokens_per_minute is not None]
        self._stated_tokens = min(stated, default=None)
        self._set_tokens()

    def _set_tokens(self) -> None:
        now = self._clock()
        for dimension in ("total", "input", "output"):
            known = [self._told_tokens.get(dimension), self._stated_tokens if dimension == "total" else None]
            wanted = min((rate for rate in known if rate is not None), default=None)
            if wanted != self._tokens.rate(dimension):
                self._tokens.set_rate(dimension, wanted, now)
        self._changed()

    def _tell(self, reason: str | None) -> None:
        if reason is not None:
            self._moved(reason)
