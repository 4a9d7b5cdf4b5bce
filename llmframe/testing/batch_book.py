"""What a simulated provider knows of its files and batches."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from llmframe.testing.batch_faults import CallFault, Results, Turns
from llmframe.testing.batch_lines import Line, Problem, digest, prompts_of
from llmframe.testing.batch_state import Batch, End, Fate
from llmframe.testing.files import Files


class Book:
    """Files, batches, what is to go wrong with them, and counts; written by the serving thread, read from any.

    `held` is the share of their lines that batches have done while none may end, or `None`.
    """

    def __init__(self, files: Files) -> None:
        self.files = files
        self.batches: dict[str, Batch] = {}
        self.held: float | None = None
        self._changed = threading.Condition()
        self.zero()
        self.forget()

    def zero(self) -> None:
        """Zero every counter."""
        self.created = self.uploads = 0
        self.calls: Counter[str] = Counter()
        self.paid_ids: Counter[str] = Counter()
        self.paid_prompts: Counter[str] = Counter()

    def forget(self) -> None:
        """Nothing goes wrong any more."""
        self.fates: Turns[Fate] = Turns()
        self.refusals: Turns[Problem] = Turns()
        self.results: Turns[Results] = Turns()
        self._faults: dict[str, Turns[CallFault]] = {}

    def add_fault(self, call: str, fault: CallFault, times: int | None) -> None:
        """A fault for the next calls of a kind."""
        self._faults.setdefault(call, Turns()).add(fault, times)

    def take_fault(self, call: str) -> CallFault | None:
        """The fault of the call that has come."""
        return self._faults[call].take() if call in self._faults else None

    def called(self, call: str) -> None:
        """A call has come."""
        with self._changed:
            self.calls[call] += 1
            self._changed.notify_all()

    def wait_for(self, reached: Callable[[], bool], timeout: float) -> bool:
        """Block until `reached()` or the end of `timeout` seconds; whether it was reached."""
        with self._changed:
            return self._changed.wait_for(reached, timeout)

    def paid(self, line: Line) -> None:
        """A line has been answered."""
        self.paid_ids[line.custom_id] += 1
        for prompt in prompts_of(line.body):
            self.paid_prompts[digest(prompt)] += 1

    def enqueued(self) -> int:
        """Tokens of all batches that run."""
        return sum(batch.tokens for batch in self.batches.values() if batch.running)

    def finish(self, end: End, share: float) -> None:
        """End every batch that runs, and the holding."""
        self.held = None
        for batch in self.batches.values():
            if batch.running:
                batch.settle(end, share)
