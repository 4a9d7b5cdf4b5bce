"""`submit`: a map in the background, and what its handle tells while it goes on and afterwards."""

from __future__ import annotations

import asyncio
import gc
import inspect
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any, Literal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import llmframe
from llmframe.api import jobs as api_jobs
from llmframe.engine.bridge import private_loop
from llmframe.errors import LlmframeWarning, RowError, UsageError
from llmframe.testing import Provider, Status
from tests.contracts.kinds import Kind

pytestmark = pytest.mark.filterwarnings("ignore:.*rows failed:llmframe.errors.LlmframeWarning")  # of rows with a null

Label = Literal["pos", "neg"]
ROWS = ["a", "b", None, "a", "c", "d"]
TWO: dict[str, Any] = {"schema": Label, "max_concurrency": 2}
"""Two requests in flight."""


@pytest.fixture
def held(provider: Provider) -> Iterator[Provider]:
    """A provider that withholds its answers; whatever it still withholds afterwards is sent."""
    provider.hold()
    yield provider
    provider.release()
    assert all(job.wait(60) for job in api_jobs.jobs_here())  # none goes on into the next test, without its provider


def sources(kind: Kind, frame: Any) -> list[str | None]:
    return [entry and entry["source"] for entry in kind.to_dict(frame)["llm_meta"]]


def two_answered(kind: Kind, held: Provider, **options: Any) -> Any:
    """A job of which two requests are answered, and two are in flight."""
    job = kind.make({"t": ROWS}).llm.submit("J {t}", client=held, **{**TWO, **options})
    held.wait_in_flight(2)
    held.release(2)
    held.wait_requests(4)
    return job


def test_it_returns_before_an_answer_is_there_and_gives_what_map_gives(any_kind: Kind, held: Provider):
    frame = any_kind.make({"t": ROWS})
    job = llmframe.submit(frame, "J {t}", client=held, **TWO)
    held.wait_in_flight(2)
    assert (job.status, job.done(), job.mode) == ("running", False, "live")
    held.release()
    out = job.result()
    assert (job.status, job.done(), job.exception()) == ("done", True, None)
    assert held.requests == 4  # a, b, c and d
    mapped = llmframe.map(any_kind.make({"t": ROWS}), "J {t}", Label, client=held)
    assert any_kind.to_dict(out) == any_kind.to_dict(mapped)
    assert any_kind.dtypes(out) == any_kind.dtypes(mapped)
    assert job.result() is out


def test_the_frame_so_far_has_finished_rows_and_marks_the_others(kind: Kind, held: Provider):
    job = two_answered(kind, held)
    cells = kind.to_dict(job.frame())
    assert list(cells) == ["t", "response", "error", "llm_meta"]
    # a and b are answered, the null is told, a is shared, c and d are in flight
    assert sources(kind, job.frame()) == ["live", "live", None, "shared", "pending", "pending"]
    assert [cell is None for cell in cells["response"]] == [False, False, True, False, True, True]
    assert [cell is None for cell in cells["error"]] == [True, True, False, True, True, True]
    dtypes = kind.dtypes(job.frame())
    held.release()
    assert dtypes[:3] == kind.dtypes(job.result())
    assert sources(kind, job.frame()) == ["live", "live", None, "shared", "live", "live"]


def test_a_series_job_gives_a_frame_so_far_and_a_series_in_the_end(library: Kind, held: Provider):
    assert library.make_series is not None
    series = library.make_series(["a", "b"], "t")
    job = series.llm.submit("J {}", client=held, **TWO)
    cells = library.to_dict(job.frame())
    assert (cells["response"], cells["error"]) == ([None, None], [None, None])
    held.release()
    assert type(job.result()) is type(series)


def test_in_one_struct_column_the_mark_is_a_field(library: Kind, held: Provider):
    job = two_answered(library, held, schema=list[str], into="answer")
    told = library.to_dict(job.frame())["answer"]
    assert told[0]["llm_meta"]["source"] == "live" if "llm_meta" in told[0] else True
    job.cancel()


def test_where_and_overwrite_hold_for_the_frame_so_far(library: Kind, held: Provider):
    frame = library.make({"t": ["a", "b", "c"], "answer": ["x", "y", "z"]})
    job = frame.llm.submit(
        "J {t}", into="answer", where=[True, False, False], overwrite=True, client=held, labels="string", **TWO
    )
    cells = library.to_dict(job.frame())
    assert cells["answer"] == [None, "y", "z"]
    assert sources(library, job.frame()) == ["pending", None, None]
    held.release()
    assert library.to_dict(job.result())["answer"][1:] == ["y", "z"]


def test_a_frame_with_a_mark_of_its_own_keeps_it(library: Kind, held: Provider):
    frame = library.make({"t": ["a"], "llm_meta": ["mine"]})
    job = frame.llm.submit("J {t}", client=held, **TWO)
    assert library.to_dict(job.frame()) == {"t": ["a"], "llm_meta": ["mine"], "response": [None], "error": [None]}


def test_what_is_done_to_the_frame_afterwards_does_not_reach_the_job(library: Kind, held: Provider):
    frame = library.make({"t": ["a", "b", "c"]})
    job = frame.llm.submit("J {t}", client=held, schema=Label, max_concurrency=1)
    held.wait_in_flight(1)
    if library.library == "pandas":
        frame.loc[2, "t"] = "changed"
        frame["more"] = 1
    else:
        frame[2, "t"] = "changed"
        frame.insert_column(1, pl.Series("more", [1, 1, 1]))
    held.release()
    assert library.to_dict(job.result()).keys() == {"t", "response", "error"}
    assert library.to_dict(job.result())["t"] == ["a", "b", "c"]


def test_cancelled_it_ends_and_what_was_answered_stays(library: Kind, held: Provider):
    job = two_answered(library, held)
    assert job.cancel()
    with pytest.warns(LlmframeWarning, match="3 of 6 rows failed"):
        out = job.result()
    held.wait_closed(2)
    kinds = [error and error.partition(":")[0] for error in library.to_dict(out)["error"]]
    assert kinds == [None, None, "null", None, "cancelled", "cancelled"]
    assert library.to_dict(job.frame())["error"] == library.to_dict(out)["error"]
    assert (job.status, job.cancel(), job.report().state) == ("cancelled", False, "interrupted")
    held.release()
    library.make({"t": ROWS}).llm.map("J {t}", client=held, **TWO)
    assert held.requests == 4 + 2  # c and d again


def test_cancelling_one_job_leaves_the_others(library: Kind, held: Provider):
    one = library.make({"t": ["a"]}).llm.submit("J {t}", client=held, **TWO)
    two = library.make({"t": ["b"]}).llm.submit("J {t}", client=held, **TWO)
    held.wait_in_flight(2)
    one.cancel()
    held.wait_closed(1)
    held.release()
    assert library.to_dict(two.result())["error"] == [None]
    assert (one.wait(), one.status, two.status) == (True, "cancelled", "done")


def test_cancel_of_all_runs_reaches_jobs(library: Kind, held: Provider):
    job = library.make({"t": ["a"]}).llm.submit("J {t}", client=held, **TWO)
    llmframe.cancel()
    assert (job.wait(), job.status) == (True, "cancelled")


def test_the_last_run_tells_of_a_job(library: Kind, held: Provider):
    job = two_answered(library, held)
    assert llmframe.last_run().state == "running"
    assert (job.progress().rows, job.progress().done, job.progress().in_flight) == (6, 4, 2)
    held.release()
    job.result()
    assert (llmframe.last_run().rows, job.report().answered, job.progress().done) == (6, 5, 6)


def test_a_timeout_leaves_the_job_going_on(library: Kind, held: Provider):
    job = library.make({"t": ["a"]}).llm.submit("J {t}", client=held, **TWO)
    for ask in (job.result, job.exception):
        with pytest.raises(TimeoutError, match="goes on"):
            ask(0)
    assert not job.wait(0.001)
    held.release()
    assert library.to_dict(job.result(30))["error"] == [None]


def test_a_row_error_is_the_results_and_the_exception(library: Kind, provider: Provider):
    provider.when("J a", Status(400))
    job = library.make({"t": ["a", "b"]}).llm.submit("J {t}", client=provider, on_error="raise", schema=Label)
    error = job.exception()
    assert isinstance(error, RowError)
    assert library.to_dict(error.frame)["error"][0].startswith("bad_request")
    with pytest.raises(RowError) as raised:
        job.result()
    assert raised.value is error
    assert (job.status, job.done()) == ("failed", True)


def test_failed_rows_are_told_once_and_by_the_callers_line(library: Kind, provider: Provider):
    job = library.make({"t": ["a", None]}).llm.submit("J {t}", client=provider, schema=Label)
    job.wait()
    with pytest.warns(LlmframeWarning, match="1 of 2 rows failed") as warned:
        job.result()
    assert [each.filename for each in warned] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        job.result()
        assert job.exception() is None
    assert job.status == "done"


async def test_it_is_awaited_on_any_loop(library: Kind, held: Provider):
    job = library.make({"t": ["a"]}).llm.submit("J {t}", client=held, **TWO)
    task = asyncio.ensure_future(asyncio.wait_for(job, 30))
    await asyncio.to_thread(held.wait_in_flight, 1)
    held.release()
    out = await task
    assert out is await job
    assert out is job.result()


async def test_who_is_cancelled_while_awaiting_leaves_it_going_on(library: Kind, held: Provider):
    job = library.make({"t": ["a"]}).llm.submit("J {t}", client=held, **TWO)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(job, 0.001)
    assert job.status == "running"
    held.release()
    assert library.to_dict(await job)["error"] == [None]


def test_threads_submit_and_wait_for_each_others_jobs(library: Kind, held: Provider):
    jobs: list[Any] = []
    outs: list[Any] = []

    def submit(name: str) -> None:
        jobs.append(library.make({"t": [name]}).llm.submit("J {t}", client=held, **TWO))

    threads = [threading.Thread(target=submit, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    waiters = [threading.Thread(target=lambda job=job: outs.append(job.result())) for job in jobs for _ in "12"]
    for waiter in waiters:
        waiter.start()
    held.release()
    for waiter in waiters:
        waiter.join(30)
    assert len(outs) == 6
    assert len({id(out) for out in outs}) == 3


def test_a_dropped_job_goes_on_and_its_answers_are_kept(library: Kind, held: Provider):
    others = api_jobs.jobs_here()
    library.make({"t": ["a", "b", "c"]}).llm.submit("J {t}", client=held, **TWO)
    gc.collect()
    held.wait_in_flight(2)
    (job,) = [each for each in api_jobs.jobs_here() if each not in others]
    assert job.status == "running"
    held.release()
    job.wait()
    del job
    gc.collect()
    assert [each for each in api_jobs.jobs_here() if each not in others] == []
    library.make({"t": ["a", "b", "c"]}).llm.map("J {t}", client=held, **TWO)
    assert held.requests == 3


def test_inside_llmframes_own_loop_it_is_awaited(library: Kind, held: Provider):
    job = library.make({"t": ["a"]}).llm.submit("J {t}", client=held, **TWO)

    async def inside() -> Any:
        with pytest.raises(UsageError, match="`await` it"):
            job.result()
        held.release()
        return await job

    out = asyncio.run_coroutine_threadsafe(inside(), private_loop()).result(30)
    assert out is job.result()


def test_progress_is_told_to_a_callable_in_a_thread_of_its_own(library: Kind, provider: Provider):
    told: list[Any] = []

    def tell(progress: llmframe.Progress) -> None:
        told.append((progress.done, threading.current_thread().name))

    job = library.make({"t": ["a", "b"]}).llm.submit("J {t}", client=provider, progress=tell, schema=Label)
    job.result()
    assert told[-1] == (2, "llmframe-progress")


def test_a_callable_that_raises_ends_the_job(library: Kind, held: Provider):
    def tell(progress: llmframe.Progress) -> None:
        raise ZeroDivisionError

    job = library.make({"t": ["a", "b"]}).llm.submit("J {t}", client=held, progress=tell, **TWO)
    with pytest.raises(ZeroDivisionError):
        job.result()
    assert (job.status, type(job.exception())) == ("failed", ZeroDivisionError)


def test_a_list_without_rows_is_done_at_once(provider: Provider):
    job = llmframe.submit([], "J {t}", Label, client=provider)
    assert (job.result(), job.frame(), job.progress().rows, job.status) == ([], [], 0, "done")
    assert asyncio.run(asyncio.wait_for(job, 30)) == []


def test_a_frame_without_rows_is_done_at_once(kind: Kind, provider: Provider):
    out = kind.make({"t": []}).llm.submit("J {t}", client=provider, schema=Label).result()
    assert kind.to_dict(out) == {"t": [], "response": [], "error": []}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"schema": Label, "loop": "current"}, "await df.llm.amap"),
        ({"schema": Label, "mod": "batch"}, "did you mean 'mode'"),
        ({"schema": Label, "temperature": 0}, 'params={"temperature": 0}'),
        ({"schema": Label, "prefix": ""}, r"\.llm\.submit\(\.\.\., prefix="),
        ({"schema": object()}, "schema"),
    ],
)
def test_wrong_use_is_told_by_the_call(library: Kind, provider: Provider, options: Any, told: str):
    frame = library.make({"t": ["a"], "error": ["x"]})
    with pytest.raises(UsageError, match=told):
        frame.llm.submit("J {t}", client=provider, **options)
    with pytest.raises(UsageError, match="did you mean 't'"):
        frame.llm.submit("J {tt}", client=provider, schema=Label, prefix="p_")
    assert provider.requests == 0


@pytest.mark.parametrize("lazy", [pl.LazyFrame({"t": ["a"]}), pl.col("t")])
def test_a_lazy_query_is_refused(lazy: Any, provider: Provider):
    with pytest.raises(UsageError, match="collect"):
        lazy.llm.submit("J {t}", client=provider)


def test_it_is_documented_and_written_out():
    method = pd.DataFrame().llm.submit
    assert method.__doc__ == llmframe.submit.__doc__
    assert list(inspect.signature(method).parameters) == list(inspect.signature(pd.DataFrame().llm.map).parameters)


def test_the_handle_shows_where_the_job_stands_without_key_or_cell(held: Provider):
    job = pd.DataFrame({"t": ["cell-1", "cell-2", "cell-3"]}).llm.submit(
        "J {t}", Label, model="m", base_url=held.base_url, api_key="sk-secret", max_concurrency=2
    )
    held.wait_in_flight(2)
    shown = repr(job)
    first, *lines = shown.splitlines()
    assert first == f"llmframe job {job.id} · m · running"
    assert [line.split()[:4] for line in lines][:2] == [["rows", "0", "of", "3"], ["in", "flight", "2"]]
    assert "<table>" in job._repr_html_()
    assert "running" in job._repr_html_()
    held.release()
    job.result()
    shown += repr(job) + job._repr_html_()
    assert "· done" in shown
    assert "cell-" not in shown
    assert "sk-secret" not in shown


def test_ids_are_the_jobs_own(provider: Provider):
    jobs = [llmframe.submit(pa.table({"t": ["a"]}), "J {t}", Label, client=provider) for _ in range(3)]
    assert all(job.wait(60) for job in jobs)
    assert len({job.id for job in jobs}) == 3
    assert all(job.id.startswith("live-") and len(job.id) == 15 for job in jobs)
    assert [each.id for each in api_jobs.jobs_here()][:3] == [job.id for job in reversed(jobs)]


ENDING = """
import os, sys
import pandas as pd, llmframe
job = pd.DataFrame({"t": [f"row {i}" for i in range(10)]}).llm.submit(
    "J {t}", bool, model="m", base_url=sys.argv[1], api_key="k", cache=sys.argv[2], max_concurrency=4
)
print("submitted", flush=True)
sys.stdin.readline()
"""


def test_at_the_processs_end_a_job_is_cancelled_and_what_came_back_is_kept(held: Provider, tmp_path: Any):
    store = tmp_path / "answers.db"
    command = [sys.executable, "-c", ENDING, held.base_url, str(store)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "submitted\n"
    held.wait_in_flight(4)
    held.release(3)
    held.wait_requests(7)
    _, errors = child.communicate("\n", timeout=300)
    assert (child.returncode, errors) == (0, "")
    held.wait_closed(4)
    held.release()
    frame = pd.DataFrame({"t": [f"row {i}" for i in range(10)]})
    out = frame.llm.map("J {t}", bool, model="m", base_url=held.base_url, api_key="k", cache=store)
    assert out["error"].isna().all()
    assert (held.requests, llmframe.last_run().cached) == (7 + 7, 3)
