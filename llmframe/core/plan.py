"""From rows to distinct requests and back: deduplication by fingerprint, scatter by position."""

from __future__ import annotations

import copy
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final, TypeVar, cast

from llmframe.core.known import Known, exact_types
from llmframe.core.outcome import Failure, Outcome
from llmframe.core.request import Fingerprints
from llmframe.core.template import Message, Prompt, Rendered

T = TypeVar("T")

CHUNK_ROWS: Final = 512
"""Rows that are rendered at a time: small enough that the event loop never notices (about 2 ms)."""

CHUNK_CHARS: Final = 8 * 2**20
"""Characters of the cells that are rendered at a time, about: of long rows there are fewer in a chunk."""

SAMPLE_ROWS: Final = 8
"""Rows that tell how long those of the first chunk are; later on those of the chunk before do."""

NOT_PLANNED: Final = -1
NOT_ASKED: Final = -2
_FIRST_FAILURE: Final = -3

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
    fit.

    Attributes
    ----------
    length
        Number of rows.
    requests
        Of every row the number of its request, from 0; `NOT_PLANNED` until it is drawn, `NOT_ASKED` outside the mask,
        and below that a number for each different failure of rows that can't be asked.
    first_rows, shares
        Of every request its first row, and how many rows it has so far.
    not_asked
        Rows outside the mask.
    rows_done
        Rows with an outcome, and those that nobody asks for.
    rows_drawn
        Rows whose requests are known.
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
        self._prompt, self._read, self._asked = prompt, read, asked
        self._key = prompt.keys(fingerprints)
        self.length = length
        self.not_asked = self.rows_drawn = 0
        if asked is None:
            self.requests = array("q", [NOT_PLANNED]) * length
        else:
            self.requests = array("q", map((NOT_ASKED, NOT_PLANNED).__getitem__, asked))
            self.not_asked = self.requests.count(NOT_ASKED)
        self.rows_done = self.not_asked
        self.first_rows = array("q")
        self.shares: list[int] = []
        self._finished = bytearray()
        self._numbers: dict[Failure, int] = {}
        self._failed_rows: list[int] = []

    @property
    def failures(self) -> Mapping[int, Failure]:
        """The failures of rows that can't be asked, by row."""
        return _Failures(self.requests, self.failed_rows)

    @property
    def failed_rows(self) -> dict[Failure, int]:
        """How many rows have each of these failures."""
        return dict(zip(self._numbers, self._failed_rows, strict=True))

    def so_far(self) -> Plan:
        """A copy, for reading what is known by now while this one goes on."""
        twin = copy.copy(self)
        twin.requests, twin.first_rows, twin.shares = self.requests[:], self.first_rows[:], self.shares[:]
        twin._numbers, twin._failed_rows = dict(self._numbers), self._failed_rows[:]  # noqa: SLF001 - of its own class
        return twin

    def draw(self) -> Iterator[list[Planned]]:
        """The distinct requests, a list for every chunk of rows (it may be empty)."""
        known = Known()
        self.rows_drawn = start = 0
        rows = self._first_rows()
        while start < self.length:
            self.rows_drawn = min(start + rows, self.length)
            chunk, rows = self._draw_chunk(start, self.rows_drawn, known)
            start = self.rows_drawn
            yield chunk
            del chunk  # a long one isn't kept while the next is drawn
        self._read = _nothing_more  # whoever holds the plan needn't hold the rows

    def _first_rows(self) -> int:
        """How many rows the first chunk has."""
        first = 0 if self._asked is None else next(compress(range(self.length), self._asked), self.length)
        if first == self.length:
            return CHUNK_ROWS
        return _rows_of(self._read(self._prompt.positions, first, min(first + SAMPLE_ROWS, self.length)))

    def _draw_chunk(self, start: int, stop: int, known: Known) -> tuple[list[Planned], int]:
        """The distinct requests, and how many rows the next chunk has."""
        asked = None if self._asked is None else self._asked[start:stop]
        rows: Sequence[int] = range(start, stop)
        if asked is not None and not all(asked):
            rows = list(compress(rows, asked))
            if not rows:
                return [], CHUNK_ROWS
        cells = self._read(self._prompt.positions, start, stop)
        if asked is not None and len(rows) < stop - start:
            cells = [list(compress(column, asked)) for column in cells]
        fresh: list[Planned] = []
        numbers = self._numbers_of(cells, len(rows), known, fresh)
        at = 0
        for planned in fresh:  # numbers are given in the order of the rows
            at = numbers.index(planned.index, at)
            self.first_rows.append(rows[at])
        if len(rows) == stop - start:
            self.requests[start:stop] = array("q", numbers)
        else:
            for row, number in zip(rows, numbers, strict=True):
                self.requests[row] = number
        self._count(numbers)
        return fresh, _rows_of(cells)

    def _numbers_of(self, cells: Sequence[list[object]], rows: int, known: Known, fresh: list[Planned]) -> list[int]:
        """One number a row; only rows with cells that are new are rendered, where cells tell all."""
        prompt = self._prompt
        types = exact_types(cells) if cells and prompt.pure else None
        if types is None:
            return [self._number(known, fresh, rendered, again=True) for rendered in prompt.render(cells, rows=rows)]
        seen = known.by_cells(types)
        keys: list[Any] = cells[0] if len(cells) == 1 else list(zip(*cells, strict=True))
        numbers = list(map(seen.get, keys))
        if None not in numbers:
            return cast("list[int]", numbers)
        new = list(dict.fromkeys(key for key, number in zip(keys, numbers, strict=True) if number is None))
        rendered = prompt.render([new] if len(cells) == 1 else list(zip(*new, strict=True)))
        found = {key: self._number(known, fresh, each, again=False) for key, each in zip(new, rendered, strict=True)}
        for key, number in found.items():
            known.remember(seen, key, number)
        return [found[key] if number is None else number for key, number in zip(keys, numbers, strict=True)]

    def _number(self, known: Known, fresh: list[Planned], rendered: Rendered | Failure, *, again: bool) -> int:
        """The number of a request or failure; `again` when the same text may come again."""
        if isinstance(rendered, Failure):
            number = self._numbers.get(rendered)
            if number is None:
                number = self._numbers[rendered] = _FIRST_FAILURE - len(self._numbers)
                self._failed_rows.append(0)
            return number
        if again and (number := known.by_text.get(rendered)) is not None:
            return number
        key = self._key(rendered)
        number = known.by_key.get(key)
        if number is None:
            number = known.by_key[key] = len(self.shares)
            self.shares.append(0)
            self._finished.append(0)
            fresh.append(Planned(number, key, self._prompt.messages(rendered)))
        if again:
            known.remember(known.by_text, rendered, number)
        return number

    def _count(self, numbers: Sequence[int]) -> None:
        if min(numbers) < 0:
            failed = [_FIRST_FAILURE - number for number in numbers if number < 0]
            for failure in failed:
                self._failed_rows[failure] += 1
            self.rows_done += len(failed)
            numbers = [number for number in numbers if number >= 0]
        shares = self.shares
        for number in numbers:
            shares[number] += 1
        self.rows_done += sum(map(self._finished.__getitem__, numbers))

    def finish(self, index: int) -> None:
        """Request `index` has its outcome: count the rows that share it as done."""
        if not self._finished[index]:
            self._finished[index] = 1
            self.rows_done += self.shares[index]

    def entries(self, of_requests: Sequence[T], *, failed: Callable[[Failure], T], outside: T, missing: T) -> list[T]:
        """What rows can get: `entries[plan.requests[row]]`, counted from the end where negative, is a row's.

        Parameters
        ----------
        of_requests
            One value a request; the last may be lacking, and others may follow for rows that the caller moves to them.
        failed
            The value of a row that can't be asked.
        outside
            The value of rows that aren't asked.
        missing
            The value of rows that aren't drawn yet, and of requests without a value.
        """
        lacking = len(self.first_rows) - len(of_requests)
        failures = [failed(failure) for failure in reversed(self._numbers)]
        return [*of_requests, *[missing] * lacking, *failures, outside, missing]


def _rows_of(cells: Sequence[Sequence[object]]) -> int:
    """How many rows like these are a chunk."""
    chars = sum(len(cell) for column in cells for cell in column if isinstance(cell, str | bytes))
    return CHUNK_ROWS if not chars else max(1, min(CHUNK_ROWS, CHUNK_CHARS * len(cells[0]) // chars))


def _nothing_more(positions: Sequence[int], start: int, stop: int) -> list[list[object]]:
    """The cells of a plan whose rows have all been drawn."""
    raise LookupError(f"columns {list(positions)} of rows {start}:{stop} were drawn already")


class _Failures(Mapping[int, Failure]):
    """Failures by row, without an entry a row."""

    def __init__(self, requests: array[int], rows: dict[Failure, int]) -> None:
        self._requests, self._failures, self._count = requests, list(rows), sum(rows.values())

    def __getitem__(self, row: int) -> Failure:
        if 0 <= row < len(self._requests) and self._requests[row] <= _FIRST_FAILURE:
            return self._failures[_FIRST_FAILURE - self._requests[row]]
        raise KeyError(row)

    def __iter__(self) -> Iterator[int]:
        return (row for row, number in enumerate(self._requests) if number <= _FIRST_FAILURE)

    def __len__(self) -> int:
        return self._count


def first_failure(plan: Plan, outcomes: Sequence[Outcome | None], *, missing: Failure) -> tuple[int, Failure] | None:
    """The first failed row by position; one that was merely cancelled only when no other failed."""
    results = [missing if outcome is None else outcome.result for outcome in outcomes]
    found = plan.entries(
        [result if isinstance(result, Failure) else None for result in results],
        failed=lambda failure: failure,
        outside=None,
        missing=missing,
    )
    cancelled: tuple[int, Failure] | None = None
    for row, number in enumerate(plan.requests):
        failure = found[number]
        if failure is not None:
            if failure.kind != "cancelled":
                return row, failure
            cancelled = cancelled or (row, failure)
    return cancelled
