"""A run's budget at one gate: who may spend, who waits, when the sending ends."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary

from llmframe.budget import Budget, Hold
from llmframe.clients.base import RequestError
from llmframe.clients.refusals import costs_nothing
from llmframe.core.outcome import Failure, Usage
from llmframe.core.prices import Price
from llmframe.engine.tokens import Cost


class Till:
    """The purses that wait for one budget, first come, first served.

    Whoever waits waits for something in flight. Its end wakes the first of them, and that one the next, when it wants
    no more or waits for something else by now.
    """

    def __init__(self) -> None:
        self._waiting: deque[Purse] = deque()

    def is_turn_of(self, purse: Purse) -> bool:
        """Whether nobody waits before `purse`."""
        return not self._waiting or self._waiting[0] is purse

    def join(self, purse: Purse) -> None:
        """Have `purse` wait, where it doesn't already."""
        if purse not in self._waiting:
            self._waiting.append(purse)

    def leave(self, purse: Purse) -> None:
        """`purse` waits no more."""
        if purse in self._waiting:
            self._waiting.remove(purse)
            self.wake()

    def wake(self) -> None:
        """Something may have come free."""
        while self._waiting and not self._waiting[0].wake():
            self._waiting.popleft()


_tills: Final[WeakKeyDictionary[Budget, Till]] = WeakKeyDictionary()


class Purse:
    """What one run may still spend at one gate, and its place in the line for it.

    The gate asks when a request could go otherwise, and money is set aside in the same step in which it goes. Set aside
    earlier, the requests that wait for a turn would hold what others could spend; later, one that must wait for money
    would hold a place and have wasted a turn that another call could use. So a run without money is skipped like one
    without a place.

    Parameters
    ----------
    look
        Has the gate look again who may go.
    halt
        Stops the run.
    """

    def __init__(
        self, budget: Budget, price: Price, *, look: Callable[[], None], halt: Callable[[Failure], None]
    ) -> None:
        self.budget, self.price, self._look, self._halt = budget, price, look, halt
        self._till = _tills.setdefault(budget, Till())
        self._loop = asyncio.get_running_loop()
        self._is_woken = self._is_short = self._is_over = False

    def affords(self, usd: float, tokens: int) -> bool:
        """Whether a request that may take this can go now."""
        return not self._is_over and self._till.is_turn_of(self) and self.budget.fits(usd, tokens)

    def admits(self, usd: float, tokens: int) -> bool:
        """The same of the next request: what it lacks is waited for, or ends the run when nothing more can come."""
        if self.affords(usd, tokens):
            return True
        if self._is_over:
            return False
        refusal = self.budget.refusal(usd, tokens) if self._till.is_turn_of(self) else None
        if refusal is None:
            self._is_short = True
            self._till.join(self)
        else:
            self._is_over = True
            self._loop.call_soon(self._end, Failure("budget", refusal))  # the gate that asks is amid its line
        return False

    def settled(self) -> None:
        """What was set aside is spent or given back."""
        self._till.wake()

    def leave(self) -> None:
        """Nothing more is wanted."""
        self._till.leave(self)

    def wake(self) -> bool:
        """Look again, soon; `False` when its loop has ended."""
        if not self._is_woken:
            try:
                self._loop.call_soon_threadsafe(self._look_again)
            except RuntimeError:
                return False
            self._is_woken = True
        return True

    def _look_again(self) -> None:
        self._is_woken = self._is_short = False
        self._look()
        if not self._is_short:
            self._till.leave(self)

    def _end(self, failure: Failure) -> None:
        self._halt(failure)
        self._till.leave(self)


class Claim:
    """What one request takes from a purse, from its place in the line to its end.

    Parameters
    ----------
    estimate
        Tells what the request may take, by what is known when it is asked: it may wait for long.
    """

    __slots__ = ("_cost", "_estimate", "_hold", "_purse", "_takes")

    def __init__(self, purse: Purse, estimate: Callable[[], Cost]) -> None:
        self._purse, self._estimate = purse, estimate
        self._cost, self._takes = Cost(0, 0), (0.0, 0)
        self._hold: Hold | None = None

    def affords(self) -> bool:
        """Whether the request may go now, as far as money goes."""
        return self._purse.affords(*self._expected())

    def admits(self) -> bool:
        """The same when it is the next one."""
        return self._purse.admits(*self._expected())

    def sent(self) -> None:
        """The request goes out: what it may take is set aside."""
        self._hold = self._purse.budget.reserve(*self._expected())

    def unsent(self) -> None:
        """It wasn't sent after all; nothing happens to one that has ended."""
        if self._hold is not None and self._hold.is_open:
            self._purse.budget.release(self._hold)
            self._purse.settled()

    def answered(self, usage: Usage) -> None:
        """It was answered; of what `usage` doesn't tell, what was set aside is spent."""
        given = round(self._cost.input) if usage.input_tokens is None else usage.input_tokens
        output = round(self._cost.output) if usage.output_tokens is None else usage.output_tokens
        self._settle(self._purse.price.usd(Usage(given, output, usage.cached_tokens)), given + output)

    def faulted(self, error: RequestError) -> None:
        """It failed: what surely isn't charged for is given back, but for the call itself."""
        if costs_nothing(error):
            self._settle(0.0, 0)
        else:
            self.cancelled()

    def cancelled(self) -> None:
        """It was given up on its way: nobody knows what it took."""
        self._settle(None, None)

    def _settle(self, usd: float | None, tokens: int | None) -> None:
        if self._hold is not None and self._hold.is_open:
            self._purse.budget.settle(self._hold, usd=usd, tokens=tokens)
            self._purse.settled()

    def _expected(self) -> tuple[float, int]:
        """Dollars and tokens that the request may take."""
        cost = self._estimate()
        if cost != self._cost:
            given, output = round(cost.input), round(cost.output)
            self._cost = cost
            self._takes = self._purse.price.usd(Usage(given, output, 0)) or 0.0, given + output
        return self._takes
