"""What may go wrong with a simulated provider's batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Generic, Literal, TypeVar, get_args

from llmframe.errors import UsageError
from llmframe.testing import steps
from llmframe.testing.answers import Response, broken, fault

T = TypeVar("T")

BatchCall = Literal[
    "upload", "create", "state", "list", "output", "errors", "cancel", "file", "files", "content", "delete"
]
"""Calls of the Batch API: files uploaded, batches made, asked after and listed, an output or error file downloaded, a
batch cancelled; a file asked after, files listed, another file downloaded, a file deleted."""

CALLS: Final = get_args(BatchCall)
_TAKEN = (
    steps.Status
    | steps.Html
    | steps.Hang
    | steps.Reset
    | steps.Delay
    | steps.Drip
    | steps.Stall
    | steps.Cut
    | steps.BadBody
)
_OF_AN_ANSWER = steps.Stall | steps.Cut | steps.BadBody
"""Steps that break an answer, so that the work for it has been done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """How the result files of a batch are written.

    Parameters
    ----------
    reverse
        Whether lines come in the reverse of the order they were sent in.
    double
        Whether every line comes twice: all of them, then all of them again.
    unknown
        Lines of the output file with a `custom_id` that nobody sent: `"unknown-1"` and so on.
    blank_line
        Whether an empty line ends each file.
    missing
        Lines that stand in no file and aren't paid: the first so many of the batch, or those of whose `custom_id` a
        function is true.
    given_up
        Whether the error file tells of lines that were given up, as `batch_expired` or `batch_cancelled`.
    """

    reverse: bool = False
    double: bool = False
    unknown: int = 0
    blank_line: bool = False
    missing: int | Callable[[str], bool] = 0
    given_up: bool = True

    def leaves_out(self, at: int, custom_id: str) -> bool:
        """Whether the line at a place (from 0) of the batch is missing."""
        return self.missing(custom_id) if callable(self.missing) else at < self.missing

    def written(self, lines: list[bytes]) -> bytes:
        """The file of these lines."""
        lines = lines[::-1] if self.reverse else lines
        lines = lines * 2 if self.double else lines
        return b"".join(line + b"\n" for line in lines) + (b"\n" if self.blank_line else b"")


@dataclass(frozen=True, slots=True)
class CallFault:
    """A step for one call, before or after its work."""

    step: steps.Step
    after_work: bool

    def answer(self, work: Callable[[], Response]) -> Response:
        """The answer of the call."""
        return disturbed(work() if self.after_work else Response(), self.step)


class Turns(Generic[T]):
    """Values for the next so many that ask, then for all that ask."""

    def __init__(self) -> None:
        self._next: deque[T] = deque()
        self._standing: T | None = None

    def add(self, value: T, times: int | None) -> None:
        """Give a value `times` times after those that were added before; `None` is for good, once these are gone."""
        if times is None:
            self._standing = value
        else:
            self._next.extend([value] * times)

    def take(self) -> T | None:
        """The value of whoever asks now."""
        return self._next.popleft() if self._next else self._standing


def call_fault(call: str, step: steps.Step, *, lost: bool) -> CallFault:
    """A fault of a call.

    Raises
    ------
    UsageError
        If there is no such call, or the step says something about a model's reply.
    """
    if call not in CALLS:
        msg = f"fault({call!r}, …) names no call; known calls: {', '.join(map(repr, CALLS))}"
        raise UsageError(msg)
    inner = step.then if isinstance(step, steps.Delay) else step
    if not isinstance(step, _TAKEN) or not (inner is None or isinstance(inner, _TAKEN)):
        msg = (
            f"fault({call!r}, {step!r}): a file or a batch has no reply; give steps such as `Status(500)` or `Reset()`"
        )
        raise UsageError(msg)
    return CallFault(step, lost or inner is None or isinstance(inner, _OF_AN_ANSWER))


def disturbed(answer: Response, step: steps.Step) -> Response:
    """What a step makes of an answer."""
    if isinstance(step, steps.Delay):
        inner = answer if step.then is None else disturbed(answer, step.then)
        return replace(inner, delay=inner.delay + step.seconds)
    return fault(step) or broken(answer, step)
