from __future__ import annotations

from pathlib import Path

import pytest

import llmframe
from llmframe.api.joblist import JobList, job_row
from llmframe.api.storedjob import StoredJob
from llmframe.errors import UsageError
from llmframe.stores.jobs import JobRecord
from llmframe.stores.ledger import ledger_of
from llmframe.stores.sqlite import SqliteStore


def opened(path: Path, *ids: str) -> None:
    store = SqliteStore(path)
    ledger = ledger_of(store)
    assert ledger is not None
    for number, name in enumerate(ids):
        ledger.open_job(
            JobRecord(
                id=name, created=float(number), provider="openai", identity="https://x/v1", model="m-1", question=name
            )
        )
    ledger.leave()
    store.close()


def test_jobs_of_a_store_come_the_latest_first(tmp_path: Path):
    path = tmp_path / "answers.sqlite"
    opened(path, "job-a", "job-b")
    found = [job for job in llmframe.jobs(cache=path) if job.id.startswith("job-")]
    assert [job.id for job in found] == ["job-b", "job-a"]
    assert job_row(found[0]) == ("job-b", "m-1", "done", "0", "0", "0")
    assert llmframe.job("job-a", cache=path).id == "job-a"


def test_the_usual_store_is_looked_into_unless_another_is_said(tmp_path: Path):
    from llmframe.stores.sqlite import default_path

    opened(default_path(), "job-c")
    assert "job-c" in [job.id for job in llmframe.jobs()]
    with llmframe.use(cache=tmp_path / "other.sqlite"):
        assert "job-c" not in [job.id for job in llmframe.jobs()]


def test_looking_for_jobs_makes_no_file(tmp_path: Path):
    path = tmp_path / "none.sqlite"
    assert not any(isinstance(job, StoredJob) for job in llmframe.jobs(cache=path))
    with pytest.raises(UsageError, match="no such store: `cache=` names the file"):
        llmframe.job("job-0000000000", cache=path)
    assert not path.exists()


def test_a_list_without_jobs_says_so():
    assert (repr(JobList()), JobList()._repr_html_()) == ("no jobs", "no jobs")
