"""What a ledger makes of the parts that are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from llmframe.api.publishing import STATE_VERSION, Gap, Job, Ledger, parts_of

JOB = Job(digest="j", source="s", rows=4)


@dataclass
class Memory:
    """A target in memory; `log` tells what was done in which order."""

    state: dict[str, Any] | None = None
    held: dict[str, int] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    published: tuple[Sequence[str], str, str | None] | None = None

    format = "parquet"
    address = "out"
    single = True

    def check(self, schema: Any) -> None:
        del schema

    def occupied(self) -> str | None:
        return None

    def part_name(self, number: int) -> str:
        return f"part-{number:05d}"

    def write_part(self, name: str, table: Any) -> int:
        self.log.append(f"part {name}")
        self.held[name] = table.num_rows * 10
        return self.held[name]

    def parts(self) -> dict[str, int]:
        return dict(self.held)

    def remove_part(self, name: str) -> None:
        self.log.append(f"remove {name}")
        self.held.pop(name, None)

    def read_state(self) -> dict[str, Any] | None:
        return self.state

    def write_state(self, state: dict[str, Any]) -> None:
        self.log.append(f"state of {len(state['parts'])}")
        self.state = state

    def publish(self, names: Sequence[str], schema: Any, *, mode: str = "error", token: str | None = None) -> None:
        del schema
        self.published = (names, mode, token)

    def clean(self) -> None:
        self.log.append("clean")


def table(rows: int) -> pa.Table:
    return pa.table({"n": list(range(rows))})


def ledger(target: Memory, job: Job = JOB) -> Ledger:
    found = Ledger(target, job)
    found.open()
    return found


def add(found: Ledger, start: int, rows: int, **failed: int) -> None:
    answered = rows - sum(failed.values())
    found.add(table(rows), start=start, answered=answered, not_asked=0, failed=failed)


@pytest.fixture
def after_three() -> Memory:
    """Three parts of four rows were written; in the second one a row failed that may be mended."""
    target = Memory()
    first = ledger(target)
    add(first, 0, 4, null=1)
    add(first, 4, 4, server=1)
    add(first, 8, 4)
    target.log.clear()
    return target


def test_without_an_earlier_run_everything_is_read():
    found = ledger(Memory())
    assert (found.gaps, found.recognised, found.notes) == ([Gap(0, None)], (), [])


def test_the_state_tells_of_the_job_before_its_first_part_is_written_and_of_every_part_after_it():
    target = Memory()
    add(ledger(target), 0, 4)
    assert target.log == ["state of 0", "part part-00000", "state of 1"]


def test_parts_with_rows_to_mend_and_all_rows_to_come_are_read(after_three: Memory):
    found = ledger(after_three)
    assert found.gaps == [Gap(4, 8), Gap(12, None)]
    assert [part.start for part in found.recognised] == [0, 8]
    assert found.rows_finished() == 8
    assert found.notes == [
        "2 parts with 8 rows were finished by an earlier run",
        "1 rows that failed in an earlier run were asked again",
    ]


def test_a_part_that_is_made_again_keeps_its_name_and_place(after_three: Memory):
    found = ledger(after_three)
    add(found, 4, 4)
    add(found, 12, 2)
    found.publish(None, mode="error")
    assert after_three.published is not None
    assert after_three.published[0] == ["part-00000", "part-00001", "part-00002", "part-00003"]
    assert found.has_all(14)


def test_a_part_of_another_size_than_told_is_read_again(after_three: Memory):
    after_three.held["part-00002"] -= 1
    del after_three.held["part-00000"]
    assert ledger(after_three).gaps == [Gap(0, 4), Gap(4, 8), Gap(8, 12), Gap(12, None)]


def test_not_all_is_there_while_a_part_is_to_be_made_again(after_three: Memory):
    found = ledger(after_three)
    assert not found.has_all(12)
    add(found, 4, 4)
    assert found.has_all(12)
    assert not found.has_all(13)


@pytest.mark.parametrize(
    ("job", "note"),
    [
        (Job(digest="k", source="s", rows=4), "parts of an earlier run had another prompt, schema, model or option"),
        (Job(digest="j", source="t", rows=4), "the input has changed since an earlier run"),
        (Job(digest=None, source="s", rows=4), "nobody can tell whether a function is the same as before"),
    ],
)
def test_parts_of_another_job_go_when_the_first_new_one_is_there(after_three: Memory, job: Job, note: str):
    found = ledger(after_three, job)
    assert found.gaps == [Gap(0, None)]
    assert found.notes[0].startswith(note)
    assert len(after_three.held) == 3
    add(found, 0, 4)
    assert after_three.log == [
        "remove part-00000",
        "remove part-00001",
        "remove part-00002",
        "state of 0",
        "part part-00000",
        "state of 1",
    ]


def test_a_state_of_another_version_is_none_of_this_job(after_three: Memory):
    assert after_three.state is not None
    after_three.state["version"] = STATE_VERSION + 1
    assert ledger(after_three).notes == [
        "parts of an earlier run were written by another version of llmframe: made anew"
    ]


@pytest.mark.parametrize("state", [None, {}, {"parts": 3}, {"parts": [3]}, {"parts": [{"name": "x"}]}])
def test_a_state_that_cant_be_read_tells_of_no_parts(state: dict[str, Any] | None):
    assert parts_of(state) == []


def test_of_a_state_with_a_hole_what_is_before_it_counts(after_three: Memory):
    assert after_three.state is not None
    del after_three.state["parts"][1]
    assert [part.start for part in parts_of(after_three.state)] == [0]


def test_a_commit_is_told_by_the_run_that_began_it(after_three: Memory):
    again, other = Ledger(after_three, JOB), Ledger(after_three, Job(digest="k", source="s", rows=4))
    tokens: list[str | None] = []
    for found in (again, other):
        found.open()
        found.publish(None, mode="append")
        assert after_three.published is not None
        tokens.append(after_three.published[2])
    assert tokens[0] != tokens[1]
    assert after_three.log[-1] == "clean"


def test_a_run_that_goes_on_has_the_name_of_the_one_before(after_three: Memory):
    assert after_three.state is not None
    name = after_three.state["run"]
    add(ledger(after_three), 4, 4)
    assert after_three.state["run"] == name
