"""What of an output is finished: parts that a run has written, and what a later one may make of them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from llmframe.errors import ErrorKind

if TYPE_CHECKING:
    from llmframe.frames.files import Target

STATE_VERSION: Final = 1
"""Raised whenever a state that was written before means something else."""

LASTING: Final[frozenset[ErrorKind]] = frozenset({"null", "render", "encoding"})
"""Failures that lie in the rows themselves: to ask again can't mend them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedPart:
    """A part that is written.

    Parameters
    ----------
    start, rows
        Its place among the input's rows.
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

    def mendable(self, lasting: frozenset[ErrorKind]) -> int:
        """Failed rows that another attempt may answer: those that failed otherwise than by a `lasting` kind."""
        return sum(rows for kind, rows in self.failed.items() if kind not in lasting)

    def to_dict(self) -> dict[str, object]:
        """As it stands in the state."""
        values: dict[str, object] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {"failed": dict(self.failed)}


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


@dataclass(frozen=True, slots=True)
class Gap:
    """Rows that have to be asked: those of one part, or without `stop` all to the end."""

    start: int
    stop: int | None


class Ledger:
    """The parts of one output, written in order as they are finished, and found again by the next run.

    Parameters
    ----------
    lasting
        Failures that no other attempt can mend.

    Attributes
    ----------
    recognised
        Parts of an earlier run that stay as they are.
    notes
        Why others are made anew.
    """

    def __init__(self, target: Target, job: Job, *, lasting: frozenset[ErrorKind] = LASTING) -> None:
        self._target, self._job, self._lasting = target, job, lasting
        self._parts: dict[int, FinishedPart] = {}
        self._again: set[int] = set()  # starts of parts that are there and are asked again
        self._useless: list[str] = []  # names of another job's parts; they go when there is something to put there
        self._run = uuid.uuid4().hex
        self.recognised: tuple[FinishedPart, ...] = ()
        self.notes: list[str] = []

    @property
    def gaps(self) -> list[Gap]:
        """What has to be read, in order; parts that are made again have the rows that they had."""
        again = [Gap(start, self._parts[start].stop) for start in sorted(self._again)]
        return [*again, Gap(self._rows(), None)]

    def open(self) -> None:
        """Find out what an earlier run has finished."""
        state = self._target.read_state()
        told = parts_of(state)
        reason = None if state is None or not told else self._other(state)
        if reason is None:
            self._recognise(told)
        else:
            self.notes.append(reason)
            self._useless = [part.name for part in told]
        if self._parts and state is not None:
            self._run = str(state.get("run", self._run))

    def add(self, table: Any, *, start: int, answered: int, not_asked: int, failed: Mapping[str, int]) -> None:
        """Write a finished part and record it; parts come in the order of the gaps."""
        if not self._parts:
            self._begin()
        before = self._parts.get(start)
        name = before.name if before is not None else self._target.part_name(len(self._parts))
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
        self._again.discard(start)
        self._write_state()

    def has_all(self, rows: int) -> bool:
        """Whether each of the input's `rows` is in a finished part."""
        return not self._again and self._rows() == rows

    def rows_finished(self) -> int:
        """Rows of finished parts."""
        return sum(part.rows for part in self._parts.values() if part.start not in self._again)

    def publish(self, schema: Any, *, mode: str) -> None:
        """Have the parts appear as the output, and remove what only the run needed."""
        if not self._parts:
            self._begin()
        names = [self._parts[start].name for start in sorted(self._parts)]
        self._target.publish(names, schema, mode=mode, token=self._run)
        self._write_state(done=True)  # of a folder it stays, and tells its parts from others' files
        self._target.clean()

    def _begin(self) -> None:
        """Have the state tell of this job, before a part is written whose name and size may be those of another's."""
        for name in self._useless:
            self._target.remove_part(name)
        self._write_state()

    def _rows(self) -> int:
        return max((part.stop for part in self._parts.values()), default=0)

    def _other(self, state: Mapping[str, Any]) -> str | None:
        """Why the parts of an earlier run aren't this job's; `None` when they are."""
        job = self._job
        if state.get("version") != STATE_VERSION:
            return "parts of an earlier run were written by another version of llmframe: made anew"
        if job.digest is None:
            return "nobody can tell whether a function is the same as before: finished parts were made anew"
        if state.get("job") != job.digest:
            return "parts of an earlier run had another prompt, schema, model or option: made anew"
        if state.get("source") != job.source:
            return "the input has changed since an earlier run: its parts were made anew"
        return None

    def _recognise(self, told: Sequence[FinishedPart]) -> None:
        there = self._target.parts() if told else {}
        self._parts = {part.start: part for part in told}
        mendable = {part.start: part.mendable(self._lasting) for part in told}
        self._again = {part.start for part in told if mendable[part.start] or there.get(part.name) != part.bytes}
        self.recognised = tuple(part for part in told if part.start not in self._again)
        if self.recognised:
            rows = sum(part.rows for part in self.recognised)
            self.notes.append(f"{len(self.recognised):,} parts with {rows:,} rows were finished by an earlier run")
        if again := sum(mendable[start] for start in self._again):
            self.notes.append(f"{again:,} rows that failed in an earlier run were asked again")

    def _write_state(self, *, done: bool = False) -> None:
        job = self._job
        self._target.write_state(
            {
                "version": STATE_VERSION,
                "job": job.digest,
                "source": job.source,
                "rows": job.rows,
                "run": self._run,
                "done": done,
                "parts": [self._parts[start].to_dict() for start in sorted(self._parts)],
            }
        )


def parts_of(state: Mapping[str, Any] | None) -> list[FinishedPart]:
    """The parts that a state tells of, as far as each begins where the one before it ends."""
    try:
        told = [FinishedPart(**part) for part in cast("list[dict[str, Any]]", (state or {}).get("parts", []))]
        ends = [0, *(part.stop for part in told)]
    except (TypeError, AttributeError):
        return []  # not of this version
    return [part for part, end in zip(told, ends, strict=False) if part.start == end]
