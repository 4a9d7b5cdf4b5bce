"""`map_file` after a run that ended before its last row: what is finished stays, what is missing is asked."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.api.backfill import GOES_ON
from llmframe.engine.progress import Progress
from llmframe.errors import LlmframeWarning, RowError, StoreError, UsageError
from llmframe.testing import Delay, Provider, Status

ROWS = 20


class Echo(BaseModel):
    echo: str


class Sick:
    """A provider's answers: these rows get a fault."""

    def __init__(self) -> None:
        self.rows: dict[int, object] = {}

    def __call__(self, prompt: str, request: object) -> Any:
        return next((fault for row, fault in self.rows.items() if f"row-{row} " in prompt), None)


@pytest.fixture
def sick() -> Sick:
    return Sick()


@pytest.fixture
def provider(sick: Sick) -> Iterator[Provider]:
    with Provider(answer=sick) as provider:
        yield provider


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    write(path, ROWS)
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "out.parquet"


@pytest.fixture
def ask(source: Path, target: Path, provider: Provider) -> dict[str, Any]:
    """Parts of four rows, and nothing kept but parts: what is asked again shows at the provider."""
    return {
        "source": source,
        "target": target,
        "prompt_template": "J {t}",
        "schema": Echo,
        "client": provider,
        "rows": 4,
        "cache": False,
        "max_attempts": 1,
    }


def write(path: Path, count: int, *, name: str = "row") -> None:
    pq.write_table(pa.table({"id": range(count), "t": [f"{name}-{row} " for row in range(count)]}), path)


def asked(provider: Provider) -> list[int]:
    """The rows that were asked for since the last reset."""
    return sorted(int(prompt.split("-")[1]) for prompt in provider.prompts)


def echoes(target: Path) -> list[str | None]:
    return pq.read_table(target)["echo"].to_pylist()


ALL = [f"row-{row}" for row in range(ROWS)]


def stop_at(row: int, sick: Sick, ask: dict[str, Any]) -> RowError:
    """A run whose `row` fails, and ends it."""
    sick.rows = {row: Status(400)}
    with pytest.raises(RowError) as caught:
        llmframe.map_file(**ask, on_error="raise", max_concurrency=1)
    sick.rows = {}
    return caught.value


def test_finished_parts_are_recognised_and_not_asked_again(ask, provider: Provider, sick: Sick, target: Path):
    error = stop_at(9, sick, ask)
    assert str(error).startswith("row 9 failed: bad_request (`error` in this exception's `.frame` says why)")
    assert error.frame["id"].to_pylist() == [8, 9, 10, 11]
    assert not target.exists()
    provider.reset()
    report = llmframe.map_file(**ask)
    assert asked(provider) == list(range(8, ROWS))
    assert echoes(target) == ALL
    assert report.notes == ("2 parts with 8 rows were finished by an earlier run",)
    assert (report.rows, report.answered, report.cached, report.requests) == (20, 20, 8, 12)


def test_the_bar_counts_what_is_left(ask, sick: Sick):
    stop_at(9, sick, ask)
    seen: list[Progress] = []
    llmframe.map_file(**ask, progress=seen.append)
    assert (seen[-1].done, seen[-1].rows) == (12, 12)


def test_a_part_that_is_cut_short_or_gone_is_made_again(ask, provider: Provider, sick: Sick, target: Path):
    stop_at(13, sick, ask)
    parts = sorted(work(target).glob("part-*"))
    parts[0].write_bytes(parts[0].read_bytes()[:-1])
    parts[1].unlink()
    provider.reset()
    llmframe.map_file(**ask)
    assert asked(provider) == [*range(8), *range(12, ROWS)]
    assert echoes(target) == ALL


def test_rows_that_failed_are_asked_again_and_those_that_cant_be_mended_are_not(
    ask, provider: Provider, sick: Sick, source: Path, target: Path
):
    pq.write_table(pa.table({"t": [None if row == 0 else f"row-{row} " for row in range(ROWS)]}), source)
    sick.rows = {5: Status(400), 17: Status(401)}
    with pytest.warns(LlmframeWarning, match="sending stopped after: auth"):
        stopped = llmframe.map_file(**ask, max_concurrency=1)
    assert (stopped.state, stopped.output) == ("stopped", None)
    sick.rows = {}
    provider.reset()
    with pytest.warns(LlmframeWarning, match="1 of 20 rows failed"):
        report = llmframe.map_file(**ask)
    assert asked(provider) == [4, 5, 6, 7, 16, 17, 18, 19]
    assert echoes(target) == [None, *ALL[1:]]
    assert dict(report.failed) == {"null": 1}
    assert "1 rows that failed in an earlier run were asked again" in report.notes


def test_parts_of_another_size_before_stay_as_they_are(ask, provider: Provider, sick: Sick, target: Path):
    sick.rows = {5: Status(400), 13: Status(401)}
    with pytest.warns(LlmframeWarning):
        llmframe.map_file(**ask, max_concurrency=1)
    sick.rows = {}
    provider.reset()
    llmframe.map_file(**{**ask, "rows": 3})
    assert asked(provider) == [4, 5, 6, 7, *range(12, ROWS)]
    assert echoes(target) == ALL


def test_a_stopped_run_keeps_an_older_output_and_says_how_to_go_on(ask, provider: Provider, sick: Sick, target: Path):
    target.write_text("older")
    sick.rows = {0: Status(401)}
    with pytest.warns(LlmframeWarning):
        report = llmframe.map_file(**ask, exists="replace")
    assert target.read_text() == "older"
    assert report.notes == (f"{str(target)!r} isn't written yet: {GOES_ON}",)
    sick.rows = {}
    llmframe.map_file(**ask, exists="replace")
    assert echoes(target) == ALL


def test_a_budget_lets_every_run_go_on_until_all_is_there(ask, provider: Provider, target: Path, tmp_path: Path):
    ask |= {"cache": tmp_path / "answers.sqlite", "max_concurrency": 2}
    for answered in (7, 14):
        with pytest.warns(LlmframeWarning, match="budget"):
            report = llmframe.map_file(**ask, budget={"calls": 7})
        assert (provider.requests, report.output, target.exists()) == (answered, None, False)
        assert report.failed["budget"] > 0
    assert llmframe.map_file(**ask, budget={"calls": 7}).output == str(target)
    assert provider.requests == ROWS
    assert echoes(target) == ALL


@pytest.mark.parametrize(
    "change_and_note",
    [
        ({"prompt_template": "Well? {t}"}, "parts of an earlier run had another prompt, schema, model or option"),
        ({"schema": str, "into": "echo"}, "parts of an earlier run had another prompt, schema, model or option"),
        ({"params": {"seed": 1}}, "parts of an earlier run had another prompt, schema, model or option"),
        ({"meta": True}, "parts of an earlier run had another prompt, schema, model or option"),
        ({"where": lambda table: [True] * table.num_rows}, "nobody can tell whether a function is the same as before"),
    ],
)
def test_another_job_is_done_anew(
    ask, provider: Provider, sick: Sick, target: Path, change_and_note: tuple[dict[str, object], str]
):
    change, note = change_and_note
    stop_at(9, sick, ask)
    provider.reset()
    report = llmframe.map_file(**ask | change)
    assert len(provider.prompts) == ROWS
    assert report.notes[0].startswith(note)
    assert len(echoes(target)) == ROWS


def test_a_changed_input_is_done_anew(ask, provider: Provider, sick: Sick, source: Path, target: Path):
    stop_at(9, sick, ask)
    provider.reset()
    write(source, ROWS + 1, name="line")
    report = llmframe.map_file(**ask)
    assert len(provider.prompts) == ROWS + 1
    assert report.notes == ("the input has changed since an earlier run: its parts were made anew",)
    assert pq.read_table(target).num_rows == ROWS + 1


def test_a_wrong_key_leaves_the_parts_of_another_job(ask, provider: Provider, sick: Sick):
    stop_at(9, sick, ask)
    sick.rows = {row: Status(401) for row in range(ROWS)}
    with pytest.warns(LlmframeWarning):
        llmframe.map_file(**ask | {"prompt_template": "Well? {t}"})
    sick.rows = {}
    provider.reset()
    llmframe.map_file(**ask)
    assert asked(provider) == list(range(8, ROWS))


def test_an_input_that_changes_while_it_is_read_isnt_published(ask, source: Path, target: Path):
    def touch(table: pa.Table) -> list[bool]:
        if table.num_rows:
            os.utime(source, (1, 1))
        return [True] * table.num_rows

    with pytest.raises(StoreError, match="the input has changed while it was read"):
        llmframe.map_file(**ask, where=touch)
    assert not target.exists()


def test_an_interrupt_keeps_whole_parts_and_says_how_to_go_on(ask, provider: Provider, target: Path):
    provider.hold()

    def answer_six() -> None:
        for number in range(6):
            provider.wait_requests(number + 1)
            provider.release(1)

    def interrupt(progress: Progress) -> None:
        if progress.done == 6 and list(work(target).glob("part-*")):
            raise KeyboardInterrupt

    thread = threading.Thread(target=answer_six)
    thread.start()
    with pytest.raises(KeyboardInterrupt, match="the same call again goes on where this one stopped"):
        llmframe.map_file(**ask, progress=interrupt, max_concurrency=2)
    thread.join()
    assert llmframe.last_run().state == "interrupted"
    assert not target.exists()
    provider.release()
    provider.reset()
    llmframe.map_file(**ask)
    assert asked(provider) == list(range(4, ROWS))
    assert echoes(target) == ALL


def test_an_interrupt_at_the_very_end_is_one_too(ask, provider: Provider, target: Path):
    def interrupt(progress: Progress) -> None:  # called while a part is waited for, too
        if progress.done == ROWS and len(list(work(target).glob("part-*"))) == ROWS / ask["rows"]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="goes on where this one stopped"):
        llmframe.map_file(**ask, progress=interrupt)
    assert llmframe.last_run().state == "interrupted"
    assert not target.exists()
    provider.reset()
    llmframe.map_file(**ask)
    assert asked(provider) == []
    assert echoes(target) == ALL


async def test_cancelling_keeps_what_is_finished(ask, provider: Provider, sick: Sick, target: Path):
    import asyncio

    provider.hold()
    task = asyncio.create_task(llmframe.amap_file(**ask))
    await asyncio.to_thread(provider.wait_in_flight, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    provider.release()
    with pytest.raises(FileNotFoundError):
        echoes(target)
    await llmframe.amap_file(**ask)
    assert echoes(target) == ALL


def test_a_fault_while_reading_keeps_the_parts_before_it(ask, provider: Provider, target: Path):
    calls: list[int] = []

    def broken(table: pa.Table) -> list[bool]:
        calls.append(table.num_rows)
        if len(calls) == 4:  # a table without rows, then two parts
            raise ZeroDivisionError
        return [True] * table.num_rows

    with pytest.raises(ZeroDivisionError):
        llmframe.map_file(**ask, where=broken)
    assert len(list(work(target).glob("part-*"))) == 2
    assert llmframe.last_run().state == "stopped"


def test_an_output_that_cant_be_written_stops_the_run(ask, provider: Provider, sick: Sick, target: Path):
    """A file stands where the parts' folder was: the writing fails like that on a full disk."""
    sick.rows = {row: Delay(3600) for row in range(8, ROWS)}  # the second part is written before the third is there
    calls: list[int] = []

    def spoil(table: pa.Table) -> list[bool]:
        calls.append(table.num_rows)
        if len(calls) == 3:
            shutil.rmtree(work(target), ignore_errors=True)
            work(target).write_text("in the way")
        return [True] * table.num_rows

    with pytest.raises(StoreError, match="can't be written") as caught:
        llmframe.map_file(**ask, where=spoil, max_concurrency=1)
    assert isinstance(caught.value.__cause__, OSError)
    assert len(provider.prompts) < ROWS
    assert not target.exists()


def test_two_runs_on_one_output_are_refused(ask, provider: Provider, target: Path):
    provider.hold()
    thread = threading.Thread(target=lambda: llmframe.map_file(**ask))
    thread.start()
    provider.wait_in_flight(1)
    with pytest.raises(UsageError, match=f"is being written by another run \\(process {os.getpid()}\\)"):
        llmframe.map_file(**ask)
    provider.release()
    thread.join()
    assert echoes(target) == ALL
    assert [path.name for path in target.parent.iterdir() if path.name.startswith(".")] == []


def test_a_folder_of_an_earlier_run_is_an_output_like_any_other(ask, provider: Provider, sick: Sick, tmp_path: Path):
    ask |= {"target": tmp_path / "out"}
    sick.rows = {5: Status(400)}
    with pytest.warns(LlmframeWarning):
        llmframe.map_file(**ask)
    sick.rows = {}
    provider.reset()
    with pytest.raises(UsageError, match=r'already \(the output of an earlier run\); say `exists="replace"`'):
        llmframe.map_file(**ask)
    llmframe.map_file(**ask, exists="replace")
    assert asked(provider) == [4, 5, 6, 7]
    assert pq.read_table(tmp_path / "out")["echo"].to_pylist() == ALL
    write(ask["source"], 3)
    llmframe.map_file(**ask, exists="replace")
    assert pq.read_table(tmp_path / "out")["echo"].to_pylist() == ALL[:3]


def test_rows_are_appended_to_a_delta_table(ask, provider: Provider, tmp_path: Path):
    import deltalake

    ask |= {"target": tmp_path / "table", "target_format": "delta"}
    llmframe.map_file(**ask)
    with pytest.raises(UsageError, match='`exists="append"` to add rows'):
        llmframe.map_file(**ask)
    llmframe.map_file(**ask, exists="append")
    assert deltalake.DeltaTable(str(tmp_path / "table")).to_pyarrow_table().num_rows == 2 * ROWS
    for _ in range(2):
        llmframe.map_file(**ask, exists="replace")
        assert deltalake.DeltaTable(str(tmp_path / "table")).to_pyarrow_table().num_rows == ROWS


def test_the_state_holds_digests_and_counts_but_no_text(ask, sick: Sick, target: Path):
    stop_at(9, sick, ask)
    text = (work(target) / "_llmframe.json").read_text()
    state = json.loads(text)
    assert sorted(state) == ["done", "job", "parts", "rows", "run", "source", "version"]
    assert [(part["start"], part["rows"], part["answered"]) for part in state["parts"]] == [(0, 4, 4), (4, 4, 4)]
    assert "J " not in text
    assert "row-" not in text


def work(target: Path) -> Path:
    return target.with_name(f".{target.name}.llmframe")
