"""A limit on what runs spend: dollars, tokens, calls, seconds."""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, NoReturn, cast

from llmframe.errors import UsageError, did_you_mean

Limited = Literal["usd", "tokens", "calls"]

LIMITS: Final = ("usd", "tokens", "calls", "seconds")
"""What a budget may limit."""

_SPENT: Final[tuple[Limited, ...]] = ("usd", "tokens", "calls")

_PICO: Final = 10**12
"""Parts of a dollar that are counted: sums of them are exact, and a millionth of $0.01 is one."""

_GOES_ON: Final = "with a fresh budget the same call goes on where it stopped"

_EXAMPLE: Final = (
    'say budget=1.0 (dollars), or budget={"tokens": 2_000_000, "calls": 1_000, "seconds": 600} or a part of it'
)


@dataclass(slots=True, eq=False)
class Hold:
    """What is set aside for one request, in picodollars and tokens, until its end is known."""

    usd: int
    tokens: int
    is_open: bool = True


class Budget:
    """What runs may spend, and what they have spent; one may serve several calls, one after the other or at once.

    Before a request goes out what it is expected to take is set aside, and settled by what the provider counted. No
    request goes out that would take more than is left, so a limit isn't passed by more than what is in flight takes
    beyond its estimates. A request whose usage nobody tells keeps what was set aside.

    Parameters
    ----------
    usd
        Dollars, above 0.
    tokens
        Tokens, in and out together, a whole number of at least 1.
    calls
        Requests, retries and re-asks included, a whole number of at least 1.
    seconds
        Seconds in which requests may go out, above 0; they run from the first request that could go.

    Raises
    ------
    UsageError
        If nothing is limited, or by a value that can't be a limit.

    Examples
    --------
    >>> import llmframe
    >>> budget = llmframe.Budget(5, calls=1_000)
    >>> budget
    <llmframe.Budget: $0.00 of $5.00, 0 of 1,000 calls>
    >>> budget.left
    {'usd': 5.0, 'calls': 1000}
    """

    __slots__ = (
        "__weakref__",
        "_began",
        "_limits",
        "_lock",
        "_reserved",
        "_spent",
        "calls",
        "seconds",
        "tokens",
        "usd",
    )

    def __init__(
        self,
        usd: float | None = None,
        *,
        tokens: int | None = None,
        calls: int | None = None,
        seconds: float | None = None,
    ) -> None:
        said = {"usd": usd, "tokens": tokens, "calls": calls, "seconds": seconds}
        limits = _checked({name: value for name, value in said.items() if value is not None}, "`Budget({}=...)`")
        self.usd: float | None = limits.get("usd")
        self.tokens = _whole(limits.get("tokens"))
        self.calls = _whole(limits.get("calls"))
        self.seconds: float | None = limits.get("seconds")
        self._limits: dict[Limited, int] = {
            name: _pico(limits[name]) if name == "usd" else int(limits[name]) for name in _SPENT if name in limits
        }
        self._spent: dict[Limited, int] = {"usd": 0, "tokens": 0, "calls": 0}
        self._reserved: dict[Limited, int] = {"usd": 0, "tokens": 0, "calls": 0}
        self._began: float | None = None
        self._lock = threading.Lock()
        _budgets.add(self)

    @property
    def spent_usd(self) -> float:
        """Dollars, with the estimates of requests whose usage nobody told; 0 where no price is known."""
        return self._spent["usd"] / _PICO

    @property
    def spent_tokens(self) -> int:
        """Tokens, in and out, with such estimates."""
        return self._spent["tokens"]

    @property
    def spent_calls(self) -> int:
        """Requests that went out and have ended."""
        return self._spent["calls"]

    @property
    def reserved_usd(self) -> float:
        """Dollars set aside for what is in flight."""
        return self._reserved["usd"] / _PICO

    @property
    def limits(self) -> dict[str, float]:
        """The limits that were said, by name."""
        return {name: getattr(self, name) for name in LIMITS if getattr(self, name) is not None}

    @property
    def spent(self) -> dict[str, float]:
        """What was spent of dollars, tokens and calls, where they are limited."""
        return {name: _told(name, self._spent[name]) for name in self._limits}

    @property
    def left(self) -> dict[str, float]:
        """What is left of dollars, tokens and calls, where they are limited; what is in flight isn't off yet."""
        return {name: _told(name, max(0, limit - self._spent[name])) for name, limit in self._limits.items()}

    def __repr__(self) -> str:
        """What was spent of what."""
        told = [self._line(name) for name in self._limits]
        if self.seconds is not None:
            told.append(limit_text("seconds", self.seconds))
        return f"<llmframe.Budget: {', '.join(told)}>"

    def __reduce__(self) -> NoReturn:
        """Refused: a copy would know nothing of what the other spends."""
        raise UsageError("a Budget counts in the process that made it, and can't be copied or sent to another")

    # What the engine calls ------------------------------------------------------------------------------------------

    def fits(self, usd: float, tokens: int) -> bool:
        """Whether a request that takes this may go beside what is spent and set aside."""
        with self._lock:
            return not self._missing(usd, tokens)

    def refusal(self, usd: float, tokens: int) -> str | None:
        """Why such a request can't go any more, in words; `None` while it may, or may when what is in flight ends."""
        with self._lock:
            missing = self._missing(usd, tokens)
            over: list[Limited] = [name for name in missing if self._spent[name] >= self._limits[name]]
            if over:
                return f"{self._line(over[0])} spent; {_GOES_ON}"
            if not missing or self._reserved["calls"]:
                return None
            name = missing[0]
            needs = money(usd) if name == "usd" else f"{tokens:,} tokens"
            if not self._spent[name]:
                whole = limit_text(name, _told(name, self._limits[name]))
                return f"the next request may take {needs}, and the whole budget is {whole}"
            return f"{self._line(name)} spent, and the next request may take {needs}; {_GOES_ON}"

    def reserve(self, usd: float, tokens: int) -> Hold:
        """Set aside what a request may take, whatever is left: whoever asks has seen that it fits."""
        hold = Hold(_pico(usd), tokens)
        with self._lock:
            self._set_aside(hold, 1)
        return hold

    def settle(self, hold: Hold, *, usd: float | None = None, tokens: int | None = None) -> None:
        """The request has ended: this was spent; `None` is unknown, and what was set aside counts as spent."""
        with self._lock:
            if self._close(hold):
                self._spent["usd"] += hold.usd if usd is None else _pico(usd)
                self._spent["tokens"] += hold.tokens if tokens is None else tokens
                self._spent["calls"] += 1

    def release(self, hold: Hold) -> None:
        """The request wasn't sent."""
        with self._lock:
            self._close(hold)

    def seconds_left(self, now: float) -> float | None:
        """Seconds until nothing may go out any more, negative afterwards; they run from the first time that this asks.

        Parameters
        ----------
        now
            Seconds of a clock that doesn't run backwards.
        """
        if self.seconds is None:
            return None
        with self._lock:
            if self._began is None:
                self._began = now
            return self._began + self.seconds - now

    def _missing(self, usd: float, tokens: int) -> list[Limited]:
        """The limits that such a request would pass."""
        asked: dict[Limited, int] = {"usd": _pico(usd), "tokens": tokens, "calls": 1}
        return [
            name
            for name, limit in self._limits.items()
            if (taken := self._spent[name] + self._reserved[name]) >= limit or taken + asked[name] > limit
        ]

    def _set_aside(self, hold: Hold, sign: int) -> None:
        self._reserved["usd"] += sign * hold.usd
        self._reserved["tokens"] += sign * hold.tokens
        self._reserved["calls"] += sign

    def _close(self, hold: Hold) -> bool:
        """Whether `hold` was open until now."""
        if not hold.is_open:
            return False
        hold.is_open = False
        self._set_aside(hold, -1)
        return True

    def _line(self, name: Limited) -> str:
        return limit_line(name, _told(name, self._spent[name]), _told(name, self._limits[name]))

    def _forget_parent(self) -> None:
        """In a forked process: what is in flight is the parent's, and its end is never told here."""
        self._lock = threading.Lock()
        self._reserved = {"usd": 0, "tokens": 0, "calls": 0}


BudgetOption = float | Mapping[str, float] | Budget
"""As the option `budget` may be said: dollars, limits by name, or one for several calls."""


def budget_of(said: object) -> Budget | None:
    """The budget that the option `budget` names: a shared one itself, anything else a fresh one.

    Raises
    ------
    UsageError
        If it can't be a budget.
    """
    if said is None or isinstance(said, Budget):
        return said
    if isinstance(said, (int, float)) and not isinstance(said, bool):
        if not _is_positive(said):
            raise UsageError(f"`budget` must be a number of dollars above 0, got {said!r}: {_EXAMPLE}")
        return Budget(said)
    if not isinstance(said, Mapping):
        raise UsageError(f"`budget` must be dollars, a mapping or a llmframe.Budget, got {said!r}: {_EXAMPLE}")
    limits = _checked(cast("Mapping[object, object]", said), "`budget['{}']`")
    return Budget(
        limits.get("usd"),
        tokens=_whole(limits.get("tokens")),
        calls=_whole(limits.get("calls")),
        seconds=limits.get("seconds"),
    )


def limit_text(name: str, limit: float) -> str:
    """`"$1.00"`, `"1,000 calls"`, `"600 s"`."""
    if name == "usd":
        return money(limit)
    return f"{limit:,g} s" if name == "seconds" else f"{limit:,.0f} {name}"


def limit_line(name: str, spent: float, limit: float) -> str:
    """`"$0.42 of $1.00"`, `"120 of 1,000 calls"`."""
    return f"{money(spent) if name == 'usd' else f'{spent:,.0f}'} of {limit_text(name, limit)}"


def money(usd: float) -> str:
    """`"$12.30"`, `"$0.0123"`."""
    short = Decimal(f"{usd:.4g}")
    return f"${usd:,.2f}" if short >= 1 or usd == 0 else f"${short:f}"


def _told(name: Limited, amount: int) -> float:
    """In dollars where they were counted in parts of them."""
    return amount / _PICO if name == "usd" else amount


def _checked(said: Mapping[object, object] | Mapping[str, object], place: str) -> dict[str, float]:
    """`said`, where every name is a limit's and every value can be one; `place` shows how a limit is said."""
    for name in said:
        if name not in LIMITS:
            near = did_you_mean(name, LIMITS) if isinstance(name, str) else ""
            raise UsageError(f"`budget` has no limit {name!r}{near or ';'} limits: {', '.join(LIMITS)}")
    if not said:
        raise UsageError(f"`budget` limits nothing: {_EXAMPLE}")
    for name, value in said.items():
        whole = name in ("tokens", "calls")
        if not _is_positive(value) or (whole and value != int(cast("float", value))):
            wanted = "a whole number of at least 1" if whole else "a number above 0"
            raise UsageError(f"{place.format(name)} must be {wanted}, got {value!r}")
    return cast("dict[str, float]", dict(said))


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _pico(usd: float) -> int:
    return round(usd * _PICO)


_budgets: Final[weakref.WeakSet[Budget]] = weakref.WeakSet()


def _forget_parents() -> None:
    for budget in list(_budgets):
        budget._forget_parent()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - its own module


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_parents)
