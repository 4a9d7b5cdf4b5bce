"""`submit` with `mode="batch"`, and the handles by which other processes come back to it."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest

import llmframe
from llmframe.api.batch_access import Access
from llmframe.api.storedjob import StoredJob
from llmframe.batch import waiting
from llmframe.errors import LlmframeError, UsageError
from llmframe.stores.ledger import ledger_of
from llmframe.stores.sqlite import SqliteStore
from llmframe.testing import Provider, Status
from tests.contracts.kinds import Kind

pytestmark = pytest.mark.filterwarnings("ignore:.*rows failed:llmframe.errors.LlmframeWarning")

Label = Literal["pos", "neg"]
ROWS = ["a", "b", None, "a", "c"]
"""Three distinct requests."""


@pytest.fixture
def held(provider: Provider) -> Iterator[Provider]:
    """A provider whose batches end when they are told to."""
    provider.batches.hold()
    yield provider
    llmframe.cancel()
    provider.batches.finish()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.sqlite"


@pytest.fixture
def left(held: Provider, store: Path) -> Callable[..., StoredJob]:
    """Begins a job and leaves it as a process does that ends; the handle is that of another process."""

    def leave(rows: list[Any] = ROWS, **options: Any) -> StoredJob:
        job = pd.DataFrame({"t": rows}).llm.submit(
            "J {t}", schema=Label, mode="batch", client=held, cache=store, **options
        )
        llmframe.cancel()
        assert job.wait(30)
        name = job.id
        del job
        gc.collect()
        found = llmframe.job(name, cache=store, client=held)
        assert isinstance(found, StoredJob)
        return found

    return leave


def mapped(provider: Provider, store: Path) -> Any:
    return pd.DataFrame({"t": ROWS}).llm.map("J {t}", schema=Label, mode="batch", client=provider, cache=store)


def test_it_returns_when_the_batch_is_at_the_provider_and_gives_what_map_gives(
    library: Kind, held: Provider, store: Path
):
    job = library.make({"t": ROWS}).llm.submit("J {t}", schema=Label, mode="batch", client=held, cache=store)
    assert (held.batches.created, job.status, job.mode, job.id[:4]) == (1, "running", "batch", "job-")
    assert [(shard.status, shard.lines) for shard in job.shards()] == [("validating", 3)] or job.shards()[0].lines == 3
    assert "job job-" in repr(job)
    held.batches.finish()
    out = job.result(60)
    assert (job.status, held.requests) == ("done", 0)
    again = library.make({"t": ROWS}).llm.map("J {t}", schema=Label, client=held, cache=store)
    assert library.to_dict(out) == library.to_dict(again)
    assert (library.dtypes(out), held.requests) == (library.dtypes(again), 0)
    assert [shard.status for shard in job.shards()] == ["completed"]


def test_rows_answered_before_are_in_the_frame_so_far(library: Kind, held: Provider, store: Path):
    options: dict[str, Any] = {"schema": Label, "client": held, "cache": store}
    library.make({"t": ["a"]}).llm.map("J {t}", **options)
    job = library.make({"t": ["a", "b", "a"]}).llm.submit("J {t}", mode="batch", **options)
    cells = library.to_dict(job.frame())
    assert [meta["source"] for meta in cells["llm_meta"]] == ["cache", "pending", "cache"]
    assert [value is None for value in cells["response"]] == [False, True, False]
    assert cells["error"] == [None, None, None]


def test_cancelled_the_provider_is_asked_to_stop(held: Provider, store: Path):
    pd.DataFrame({"t": ["b"]}).llm.map("J {t}", schema=Label, client=held, cache=store)
    job = pd.DataFrame({"t": ROWS}).llm.submit("J {t}", schema=Label, mode="batch", client=held, cache=store)
    assert job.cancel()
    assert (job.status, held.batches.calls["cancel"]) == ("cancelled", 1)
    errors = [str(error).partition(":")[0] for error in job.result()["error"]]
    assert ["" if error in ("nan", "<NA>") else error for error in errors] == [
        "cancelled",
        "",
        "null",
        *["cancelled"] * 2,
    ]


def test_both_modes_stand_in_the_list(held: Provider, store: Path):
    batch = pd.DataFrame({"t": ROWS}).llm.submit("J {t}", schema=Label, mode="batch", client=held, cache=store)
    live = pd.DataFrame({"t": ["z"]}).llm.submit("J {t}", schema=Label, client=held, cache=store)
    live.result()
    found = llmframe.jobs(cache=store)
    assert found[:2] == [live, batch]
    assert [job.id for job in found].count(batch.id) == 1
    assert llmframe.job(batch.id, cache=store) is batch
    shown = repr(found)
    assert shown.splitlines()[0].split() == ["job", "model", "status", "done", "of", "failed"]
    assert batch.id in shown
    assert f"<td style='text-align:left'>{live.id}</td>" in found._repr_html_()


def test_a_job_that_gets_a_batch_of_its_own_is_found_by_the_id_it_had_before(held: Provider, store: Path):
    frame = pd.DataFrame({"t": ROWS})
    first, second = (frame.llm.submit("J {t}", schema=Label, mode="batch", client=held, cache=store) for _ in range(2))
    name = second.id
    assert (held.batches.created, name.partition("-")[0]) == (1, "live")  # it waits for the other one's batch
    first.cancel()
    held.batches.finish("cancelled")
    assert second.result(60)["error"].isna().sum() == 4
    assert second.id.startswith("job-")
    assert llmframe.job(name, cache=store) is llmframe.job(second.id, cache=store) is second


def test_another_process_finds_the_job_waits_for_it_and_collects(
    left: Callable[..., StoredJob], held: Provider, store: Path
):
    job = left()
    assert (job.status, job.done(), job.mode) == ("running", False, "batch")
    assert [each.id for each in llmframe.jobs(cache=store) if isinstance(each, StoredJob)] == [job.id]
    assert not job.wait(0.01)
    held.batches.finish()
    assert job.wait(60)
    assert (job.status, job.done()) == ("done", True)
    progress = job.collect()
    assert (progress.rows, progress.done, progress.failed) == (3, 3, 0)
    assert job.record.requests in (0, 3)
    assert held.batches.created == 1
    out = mapped(held, store)
    assert out["error"].isna().sum() == 4
    assert (held.batches.created, held.requests) == (1, 0)


def test_answers_come_as_a_table_by_fingerprint(left: Callable[..., StoredJob], held: Provider, store: Path):
    held.when("J c", Status(400, "context_length_exceeded", "too long"))
    job = left()
    assert job.answers()["response"].to_pylist() == [None, None, None]
    held.batches.finish()
    job.wait(60)
    assert job.collect().failed == 1
    table = job.answers()
    assert table.column_names == ["fingerprint", "response", "error"]
    meta = pd.DataFrame({"t": ["a", "b", "c"]}).llm.map(
        "J {t}", schema=Label, client=held, cache=store, meta=True, mode="batch", fallback=None
    )["llm_meta"]
    assert table["fingerprint"].to_pylist()[:2] == [entry["fingerprint"] for entry in meta][:2]
    assert [text is None for text in table["response"].to_pylist()] == [False, False, True]
    assert [error and error.partition(":")[0] for error in table["error"].to_pylist()] == [None, None, "context_length"]


def test_what_was_cut_is_not_kept(left: Callable[..., StoredJob], held: Provider):
    from llmframe.testing import Truncated

    held.when("J c", Truncated())
    job = left()
    held.batches.finish()
    job.wait(60)
    job.collect()
    assert [error and error.partition(":")[0] for error in job.answers()["error"].to_pylist()] == [
        None,
        None,
        "truncated",
    ]


def test_another_process_cancels_and_what_was_done_is_collected(left: Callable[..., StoredJob], held: Provider):
    job = left()
    assert job.cancel()
    assert held.batches.calls["cancel"] == 1
    held.batches.finish("cancelled")
    job.wait(60)
    assert (job.status, job.cancel()) == ("cancelled", False)
    progress = job.collect()
    assert progress.done == 3
    assert progress.failed == sum(error is not None for error in job.answers()["error"].to_pylist())


@pytest.mark.parametrize("moment", ["before the end", "after the end"])
def test_a_batch_that_another_project_made_is_given_up_by_nobody_who_lacks_the_rows(
    left: Callable[..., StoredJob], held: Provider, store: Path, moment: str, monkeypatch: pytest.MonkeyPatch
):
    """A key of another project gets a 404 for it; whoever gave it up would have it paid again."""
    monkeypatch.setattr(waiting, "UNSEEN_SECONDS", 0.0)
    job = left()
    held.batches.finish()
    if moment == "after the end":
        job.wait(60)
    held.batches.fault("state", Status(404, message="No batch found"), times=None)
    for ask in (job.collect,) if moment == "after the end" else (job.wait, job.refresh, job.collect):
        with pytest.raises(LlmframeError, match=r"not_found: .*only keys of the project that made a batch know it"):
            ask()
    held.batches._book.forget()
    progress = job.collect()
    assert (progress.done, progress.failed, job.status) == (3, 0, "done")
    assert mapped(held, store)["error"].isna().sum() == 4
    assert (held.batches.created, held.requests) == (1, 0)


def test_a_job_that_another_process_cancels_says_so_where_it_runs(held: Provider, store: Path):
    job = pd.DataFrame({"t": ROWS}).llm.submit("J {t}", schema=Label, mode="batch", client=held, cache=store)
    with contextlib.closing(SqliteStore(store)) as answers:
        ledger = ledger_of(answers)
        assert ledger is not None
        record = ledger.job(job.id)
        assert record is not None
        assert StoredJob(record, ledger=ledger, store=answers, access=Access(client=held)).cancel()
    held.batches.finish("cancelled")
    out = job.result(60)
    assert "cancelled" in {str(error).partition(":")[0] for error in out["error"]}
    assert job.status == "cancelled"


def test_rows_need_the_call_that_has_them(left: Callable[..., StoredJob]):
    job = left()
    for ask in (job.result, job.frame):
        with pytest.raises(UsageError, match=r'df.llm.map\(..., mode="batch"\)'):
            ask()


def test_what_the_provider_refuses_is_told_in_words(left: Callable[..., StoredJob], held: Provider):
    job = left()
    held.batches.fault("state", Status(401, "invalid_api_key", "wrong key"), times=None)
    with pytest.raises(LlmframeError, match=f"the provider of {job.id} said no: auth") as raised:
        job.refresh()
    assert not isinstance(raised.value, UsageError)


def test_without_a_way_to_the_provider_it_says_what_to_name(left: Callable[..., StoredJob], store: Path):
    job = left()
    found = llmframe.job(job.id, cache=store)
    assert (found.status, found.progress().rows) == ("running", 3)
    with pytest.raises(UsageError, match="`client=`"):
        found.refresh()


def test_an_unknown_id_is_told_with_the_nearest(left: Callable[..., StoredJob], store: Path, tmp_path: Path):
    job = left()
    near = job.id[:-1] + ("0" if job.id[-1] != "0" else "1")
    with pytest.raises(UsageError, match=f"did you mean '{job.id}'"):
        llmframe.job(near, cache=store)
    with pytest.raises(UsageError, match="the process where it goes on"):
        llmframe.job("live-0000000000", cache=store)
    with pytest.raises(UsageError, match="`cache=`"):
        llmframe.job("job-0000000000", cache=tmp_path / "empty.sqlite")


def test_the_handle_shows_no_key_and_no_cell(left: Callable[..., StoredJob], held: Provider):
    job = left(["cell-1", "cell-2"])
    shown = repr(job) + job._repr_html_() + repr(job.shards()) + repr(job.record)
    assert f"llmframe job {job.id} · simulated · running" in shown
    assert "cell-" not in shown
    assert held.api_key not in shown


def test_a_batch_that_the_full_queue_refused_is_made_again_by_retry(held: Provider, store: Path):
    held.batches.refuses("token_limit_exceeded", times=1)
    job = pd.DataFrame({"t": ROWS}).llm.submit("J {t}", schema=Label, mode="batch", client=held, cache=store)
    while job.shards()[0].status != "failed":
        pass
    llmframe.cancel()
    assert job.wait(30)
    name = job.id
    del job
    gc.collect()
    found = llmframe.job(name, cache=store, client=held)
    assert isinstance(found, StoredJob)
    assert found.retry() == 1
    assert (found.status, found.retry()) == ("running", 0)
    held.batches.finish()
    found.wait(60)
    assert found.collect().failed == 0
    mapped(held, store)
    assert held.batches.lines == 3  # each paid for once


def test_lines_that_failed_need_the_call_that_has_the_rows(left: Callable[..., StoredJob], held: Provider):
    held.when("J c", Status(400, "context_length_exceeded", "too long"))
    job = left()
    held.batches.finish()
    job.wait(60)
    job.collect()
    with pytest.raises(UsageError, match="without its rows"):
        job.retry()
