"""What of an output is finished: parts that a run has written, and what a later one may make of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast

from llmframe.errors import ErrorKind, StoreError

STATE_VERSION: Final = 1
"""Raised whenever a state that was written before means something else."""

LASTING: Final[frozenset[ErrorKind]] = frozenset({"null", "render", "encoding"})
"""Failures that lie in the rows themselves: to ask again can't mend them."""


class Target(Protocol):
    """Where an output is written: parts first, then all of it at once."""

    def occupied(self) -> str | None:
        """What stands in its place; `None` when it's free, or holds what an earlier run of ours left unfinished."""
        ...

    def write_part(self, name: str, table: Any) -> int:
        """Write a part, all or nothing, and tell its bytes."""
        ...

    def parts(self) -> Mapping[str, int]:
        """The parts that are there, with their bytes."""
        ...

    def remove_part(self, name: str) -> None:
        """Remove a part that this or an earlier run has written."""
        ...

    def read_state(self) -> Mapping[str, Any] | None:
        """What an earlier run has written about itself; `None` without one, or where it can't be read."""
        ...

    def write_state(self, state: Mapping[str, Any]) -> None:
        """Write it, all or nothing."""
        ...

    def publish(self, names: Sequence[str], schema: Any) -> None:
        """Have these parts, in this order, appear as the output."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedPart:
    """A part that is written.

    Parameters
    ----------
    start, rows
        Where it stands in the input.
    bytes
        Its size, by which a part that is cut short is known.
    answered, not_asked, failed
        Its rows by what became of them; failures by kind.
    """

    name: str
    start: int
    rows: int
    bytes: int
    answered: int
    not_asked: int
    failed: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def stop(self) -> int:
        """The row after its last."""
        return self.start + self.rows

    @property
    def mendable(self) -> int:
        """Failed rows that another attempt may answer."""
        return sum(rows for kind, rows in self.failed.items() if kind not in LASTING)

    def to_dict(self) -> dict[str, object]:
        """As it stands in the state."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"failed": dict(self.failed)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a run makes of which input.

    Parameters
    ----------
    digest
        Of all that decides what an output holds; `None` where that can't be told, as of a function.
    source
        The input's identity.
    rows
        Most rows of a part.
    """

    digest: str | None
    source: str
    rows: int


class Ledger:
    """The parts of one output, written as they are finished and found again by the next run.

    Attributes
    ----------
    recognised
        Parts of an earlier run that stay as they are.
    notes
        Why others are made anew.
    """

    def __init__(self, target: Target, job: Job) -> None:
        self._target, self._job = target, job
        self._parts: dict[int, FinishedPart] = {}
        self.recognised: tuple[FinishedPart, ...] = ()
        self.notes: list[str] = []

    def open(self) -> None:
        """Find out what an earlier run has finished, and remove the parts of it that nobody needs."""
        state = self._target.read_state()
        told = _parts_of(state)
        kept = self._usable(state, told) if state is not None and told else []
        self.recognised = tuple(kept)
        self._parts = {part.start: part for part in kept}
        names = {part.name for part in kept}
        for part in told:
            if part.name not in names:
                self._target.remove_part(part.name)
        self._write_state()  # before a part is written whose name and size may be those of one that isn't this job's

    def gaps(self) -> Iterator[tuple[int, int | None]]:
        """Ranges of rows that no recognised part covers; the last one has no end."""
        at = 0
        for part in self.recognised:
            if part.start > at:
                yield at, part.start
            at = part.stop
        yield at, None

    def add(self, table: Any, *, start: int, answered: int, not_asked: int, failed: Mapping[str, int]) -> None:
        """Write a finished part and record it."""
        name = f"part-{start:012d}"
        size = self._target.write_part(name, table)
        self._parts[start] = FinishedPart(
            name=name,
            start=start,
            rows=table.num_rows,
            bytes=size,
            answered=answered,
            not_asked=not_asked,
            failed=dict(failed),
        )
        self._write_state()

    @property
    def rows(self) -> int:
        """Rows of the parts that are finished."""
        return sum(part.rows for part in self._parts.values())

    def __len__(self) -> int:
        """How many parts are finished."""
        return len(self._parts)

    def publish(self, schema: Any, *, rows: int) -> None:
        """Have the parts appear as the output.

        Raises
        ------
        StoreError
            If they don't hold each of the input's `rows` once: then the output stays as it was.
        """
        parts = [self._parts[start] for start in sorted(self._parts)]
        at = 0
        for part in parts:
            if part.start != at:
                raise StoreError(f"the parts written lack rows from {at:,} on; nothing was published", reason="damaged")
            at = part.stop
        if at != rows:
            raise StoreError(f"the parts written hold {at:,} of {rows:,} rows; nothing was published", reason="damaged")
        self._target.publish([part.name for part in parts], schema)

    def _usable(self, state: Mapping[str, Any], told: Sequence[FinishedPart]) -> list[FinishedPart]:
        """The parts of an earlier run that are what this one would write."""
        if state.get("version") != STATE_VERSION:
            self.notes.append("parts of an earlier run were written by another version of llmframe: made anew")
            return []
        if self._job.digest is None:
            self.notes.append("nobody can tell whether a function is the same as before: finished parts were made anew")
            return []
        if state.get("job") != self._job.digest:
            self.notes.append("parts of an earlier run had another prompt, schema, model or option: made anew")
            return []
        if state.get("source") != self._job.source:
            self.notes.append("the input has changed since an earlier run: its parts were made anew")
            return []
        there = self._target.parts()
        kept: list[FinishedPart] = []
        again = at = 0
        for part in told:
            if part.start < at or there.get(part.name) != part.bytes:
                continue
            if part.mendable:
                again += part.mendable
                continue
            kept.append(part)
            at = part.stop
        if kept:
            rows = sum(part.rows for part in kept)
            self.notes.append(f"{len(kept):,} parts with {rows:,} rows were finished by an earlier run")
        if again:
            self.notes.append(f"{again:,} rows that failed in an earlier run were asked again")
        return kept

    def _write_state(self) -> None:
        job = self._job
        self._target.write_state(
            {
                "version": STATE_VERSION,
                "job": job.digest,
                "source": job.source,
                "rows": job.rows,
                "parts": [self._parts[start].to_dict() for start in sorted(self._parts)],
            }
        )


def _parts_of(state: Mapping[str, Any] | None) -> list[FinishedPart]:
    """The parts that a state tells of, by their place; none where it isn't one of ours."""
    try:
        told = cast("list[dict[str, Any]]", (state or {}).get("parts", []))
        return sorted((FinishedPart(**part) for part in told), key=lambda part: part.start)
    except (TypeError, AttributeError):
        return []
