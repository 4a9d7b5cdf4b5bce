"""What an endpoint allows, as its answers and refusals teach it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from llmframe.clients.base import RequestError
from llmframe.core.outcome import Usage
from llmframe.core.ratelimits import Allowance, RateLimits
from llmframe.engine.limits import FEW, Limits
from llmframe.engine.line import UNBOUNDED, Flow, Ticket
from llmframe.engine.tokens import Cost
from llmframe.errors import ErrorKind
from tests.engine.doubles import say

SMALL = Cost(1, 1)


@dataclass
class Endpoint:
    """Limits under a clock that is set by hand, with what they told."""

    now: float = 0.0
    moved: list[str] = field(default_factory=list[str])
    cooled: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    in_flight: int = 0

    def __post_init__(self) -> None:
        self.flow = Flow(256)
        self.limits = Limits(
            lambda: self.now,
            connections=UNBOUNDED,
            moved=self.moved.append,
            cooled=lambda longer, until: self.cooled.append((longer, until)),
            changed=lambda: None,
        )
        self.limits.join(self.flow, [self.flow])

    def send(self, cost: Cost = SMALL) -> Ticket:
        ticket = Ticket(self.flow, cost, self.now)
        self.in_flight += 1
        self.limits.sent(ticket, self.now, in_flight=self.in_flight)
        return ticket

    def answer(self, ticket: Ticket, **said: Any) -> None:
        reply = say("pos", usage=Usage(1, 1, 0))
        if said:
            reply = type(reply)(text="pos", usage=Usage(1, 1, 0), limits=RateLimits(**said))
        self.limits.answered(ticket, reply, in_flight=self.in_flight)
        self.in_flight -= 1

    def refuse(self, ticket: Ticket, retry_after: float | None = None, **said: Any) -> None:
        limits = RateLimits(**said) if said else None
        error = RequestError("rate_limit", "429", status=429, retry_after=retry_after, limits=limits)
        self.limits.faulted(ticket, error)
        self.in_flight -= 1

    def wait(self, cost: Cost = SMALL) -> float:
        return self.limits.wait(Ticket(self.flow, cost, self.now), self.now)

    def rounds(self, count: int, *, size: int, seconds: float = 1.0) -> None:
        """`count` waves of `size` requests, each answered after `seconds`."""
        for _ in range(count):
            wave = [self.send() for _ in range(size)]
            self.now += seconds
            for ticket in wave:
                self.answer(ticket)


def test_a_429_with_every_place_busy_lowers_the_limit_in_flight():
    endpoint = Endpoint()
    endpoint.rounds(4, size=30)
    before = endpoint.limits.concurrency
    wave = [endpoint.send() for _ in range(30)]
    one_too_many = endpoint.send()
    endpoint.refuse(one_too_many)
    assert endpoint.limits.concurrency < min(before, len(wave) + 1)
    assert "429" in endpoint.moved


def test_a_429_with_few_in_flight_teaches_a_rate_alone():
    endpoint = Endpoint()
    endpoint.rounds(4, size=8)
    before = endpoint.limits.concurrency
    for _ in range(7):
        endpoint.send()
    endpoint.refuse(endpoint.send())
    assert endpoint.in_flight < FEW
    assert endpoint.limits.concurrency == before
    assert endpoint.limits.pace.rate is not None


def test_a_429_among_many_that_were_not_answered_teaches_a_rate_alone():
    endpoint = Endpoint()
    endpoint.rounds(6, size=8, seconds=0.2)
    before = endpoint.limits.concurrency
    wave = [endpoint.send() for _ in range(40)]
    endpoint.refuse(wave[-1])
    assert endpoint.limits.concurrency == before
    assert endpoint.limits.pace.rate is not None


def test_where_a_rate_is_stated_a_429_says_nothing_of_how_many_may_be_in_flight():
    endpoint = Endpoint()
    stated = Flow(256, requests_per_minute=60_000)
    endpoint.limits.join(stated, [endpoint.flow, stated])
    endpoint.rounds(4, size=30)
    before = endpoint.limits.concurrency
    wave = [endpoint.send() for _ in range(31)]
    endpoint.refuse(wave[-1])
    assert endpoint.limits.concurrency == before


def test_a_pause_is_told_by_how_much_it_lasts_longer():
    endpoint = Endpoint()
    first, second = endpoint.send(), endpoint.send()
    endpoint.refuse(first, 5.0)
    endpoint.now = 1.0
    endpoint.refuse(second, 9.0)
    assert endpoint.cooled == [(5.0, 5.0), (5.0, 10.0)]
    assert endpoint.wait() == pytest.approx(9.0)


def test_the_lower_of_stated_and_told_tokens_holds_and_the_told_ones_outlive_the_call():
    endpoint = Endpoint()
    stated = Flow(256, tokens_per_minute=600)
    endpoint.limits.join(stated, [endpoint.flow, stated])
    endpoint.answer(endpoint.send(), tokens=Allowance(6_000, None, None))
    endpoint.send(Cost(8, 0))  # with the 2 of the answer a second's worth at 600 a minute
    assert endpoint.wait(Cost(5, 0)) == pytest.approx(0.5)
    endpoint.limits.leave(stated, [endpoint.flow])
    endpoint.now = 60.0
    endpoint.send(Cost(100, 0))  # a second's worth at 6,000 a minute
    assert endpoint.wait(Cost(50, 0)) == pytest.approx(0.5)


@pytest.mark.parametrize(("kind", "seconds"), [("rate_limit", 1.0), ("timeout", 5.0)])
def test_what_a_429_refused_took_no_tokens_and_what_timed_out_keeps_them(kind: ErrorKind, seconds: float):
    """10 tokens a second: a request of 50 leaves a debt of 40, unless it is refused; then there is the pause of 1 s."""
    endpoint = Endpoint()
    stated = Flow(256, tokens_per_minute=600)
    endpoint.limits.join(stated, [endpoint.flow, stated])
    headers = RateLimits(requests=Allowance(None, 0, None))  # the 429 is about requests
    endpoint.limits.faulted(endpoint.send(Cost(50, 0)), RequestError(kind, "no", limits=headers))
    assert endpoint.wait(Cost(10, 0)) == pytest.approx(seconds)


def test_an_outage_ramps_only_when_nobody_was_answered_meanwhile():
    alone, shared = Endpoint(), Endpoint()
    for endpoint in (alone, shared):
        endpoint.rounds(3, size=8)
    since = alone.now
    shared.now += 5
    shared.answer(shared.send())
    alone.limits.restart(since=since + 1)
    shared.limits.restart(since=since + 1)
    assert alone.limits.in_flight == 1
    assert shared.limits.in_flight == shared.limits.concurrency


def test_there_is_room_to_spare_below_seven_tenths_of_the_limit():
    endpoint = Endpoint()
    ticket = Ticket(endpoint.flow, Cost(1, 1), 0.0)
    assert endpoint.limits.roomy(ticket, 5, 0.0)  # of 8
    assert not endpoint.limits.roomy(ticket, 6, 0.0)
