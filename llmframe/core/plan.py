"""From rows to distinct requests and back: deduplication by fingerprint, scatter by position."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from llmframe.core.outcome import Failure, Outcome
from llmframe.core.request import Fingerprints
from llmframe.core.template import Message, Prompt, Rendered

T = TypeVar("T")

CHUNK_ROWS: Final = 512
"""Rows that are rendered at a time: small enough that the event loop never notices (about 2 ms)."""

REMEMBERED_CHARACTERS: Final = 4_000_000
"""Text of prompts kept, so that a repeated one isn't hashed again."""

NOT_PLANNED: Final = -1
NOT_ASKED: Final = -2

CellReader = Callable[[Sequence[int], int, int], list[list[object]]]
"""`(column positions, start, stop)` to one list of values a column, as `Frame.cells`."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One distinct request: its number, its key and what is sent."""

    index: int
    key: bytes
    messages: list[Message]


class Plan:
    """Which rows share which request; it fills as its requests are drawn.

    Nothing of a prompt is kept: a row costs 8 bytes and a distinct request its key, so that a million long rows
    fit. Rows that can't be asked have their failure in `failures`; `first_rows` has the first row of every request;
    `rows_done` counts rows with an outcome, and those that nobody asks for.
    """

    def __init__(
        self,
        prompt: Prompt,
        fingerprints: Fingerprints,
        *,
        length: int,
        read: CellReader,
        asked: Sequence[bool] | None = None,
    ) -> None:
        self._prompt, self._fingerprints, self._read, self._asked = prompt, fingerprints, read, asked
        self.length = length
        self.requests = array("q", [NOT_PLANNED]) * length
        self.failures: dict[int, Failure] = {}
        self.rows_done = 0
        self.first_rows = array("q")
        self._shares = array("q")
        self._finished = bytearray()

    def draw(self) -> Iterator[list[Planned]]:
        """The distinct requests, a list for every chunk of rows (it may be empty)."""
        known = _Known()
        for start in range(0, self.length, CHUNK_ROWS):
            stop = min(start + CHUNK_ROWS, self.length)
            yield self._draw_chunk(start, stop, known)

    def _draw_chunk(self, start: int, stop: int, known: _Known) -> list[Planned]:
        rows = [row for row in range(start, stop) if self._asked is None or self._asked[row]]
        if len(rows) < stop - start:
            self.rows_done += stop - start - len(rows)
            for row in range(start, stop):
                self.requests[row] = NOT_ASKED
            for row in rows:
                self.requests[row] = NOT_PLANNED
            if not rows:
                return []
        cells = self._read(self._prompt.positions, start, stop)
        if len(rows) < stop - start:
            cells = [[column[row - start] for row in rows] for column in cells]
        fresh: list[Planned] = []
        for row, rendered in zip(rows, self._prompt.render(cells, rows=len(rows)), strict=True):
            if isinstance(rendered, Failure):
                self.failures[row] = rendered
                self.rows_done += 1
                continue
            index = known.by_text.get(rendered)
            if index is None:
                messages = self._prompt.messages(rendered)
                key = self._fingerprints.key(messages)
                index = known.by_key.get(key)
                if index is None:
                    index = known.by_key[key] = len(self.first_rows)
                    self.first_rows.append(row)
                    self._shares.append(0)
                    self._finished.append(0)
                    fresh.append(Planned(index, key, messages))
                known.remember(rendered, index)
            self._shares[index] += 1
            self.rows_done += self._finished[index]
            self.requests[row] = index
        return fresh

    def finish(self, index: int) -> None:
        """Request `index` has its outcome: count the rows that share it as done."""
        if not self._finished[index]:
            self._finished[index] = 1
            self.rows_done += self._shares[index]

    def scatter(self, values: Sequence[T], *, unplanned: Callable[[int], T], outside: T) -> list[T]:
        """One value a row: of its request, of `unplanned(row)` where it has none, `outside` where it wasn't asked."""
        count = len(values)
        return [
            values[index] if 0 <= index < count else outside if index == NOT_ASKED else unplanned(row)
            for row, index in enumerate(self.requests)
        ]


class _Known:
    """Requests drawn so far, by key; the first ones by their text too, until `REMEMBERED_CHARACTERS` are kept."""

    __slots__ = ("_room", "by_key", "by_text")

    def __init__(self) -> None:
        self.by_key: dict[bytes, int] = {}
        self.by_text: dict[Rendered, int] = {}
        self._room = REMEMBERED_CHARACTERS

    def remember(self, rendered: Rendered, index: int) -> None:
        if self._room > 0:
            self._room -= len(rendered) if isinstance(rendered, str) else sum(map(len, rendered))
            self.by_text[rendered] = index


def first_failure(plan: Plan, outcomes: Sequence[Outcome | None], *, missing: Failure) -> tuple[int, Failure] | None:
    """The first failed row by position; one that was merely cancelled only when no other failed."""
    cancelled: tuple[int, Failure] | None = None
    for row, index in enumerate(plan.requests):
        if index == NOT_ASKED:
            continue
        outcome = outcomes[index] if 0 <= index < len(outcomes) else None
        result = plan.failures.get(row, missing) if outcome is None else outcome.result
        if isinstance(result, Failure):
            if result.kind != "cancelled":
                return row, result
            cancelled = cancelled or (row, result)
    return cancelled
