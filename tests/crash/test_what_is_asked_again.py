"""Whether a store still has the answers when one thing is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.crash.processes import Forker, Server
from tests.crash.rows import Work, columns, digests

Change = Callable[[dict[str, Any], Server], None]

NEW: dict[str, Change] = {
    "enum member": lambda job, server: job.update(schema={"labels": ["good", "bad", "so-so"]}),
    "one enum member more": lambda job, server: job.update(schema={"labels": ["good", "bad", "mixed", "none"]}),
    "field description": lambda job, server: job.update(schema={"describes": "How it ends"}),
    "model": lambda job, server: job["options"].update(model="n"),
    "base_url": lambda job, server: job["options"].update(base_url=server.url.replace("127.0.0.1", "localhost")),
    "system prompt": lambda job, server: job["options"].update(system="Be brief."),
    "temperature": lambda job, server: job["options"].update(params={"temperature": 0.5}),
    "template": lambda job, server: job.update(template="Judge {text}!"),
}
"""What changes the request: every row is asked again."""

SAME: dict[str, Change] = {
    "nothing": lambda job, server: None,
    "title": lambda job, server: job.update(schema={"title": "Another"}),
    "API key": lambda job, server: job["options"].update(api_key="another"),
    "timeout": lambda job, server: job["options"].update(timeout=30.0),
    "limits": lambda job, server: job["options"].update(
        max_concurrency=3, requests_per_minute=100_000, tokens_per_minute=10_000_000
    ),
    "attempts": lambda job, server: job["options"].update(max_attempts=2, reask=0, hedge=True),
    "instructor's version": lambda job, server: job.update(instructor="9.9.9"),
    "address with a slash": lambda job, server: job["options"].update(base_url=f"{server.url}/"),
    "output": lambda job, server: job["options"].update(prefix="p_", labels="string", meta=True),
    "pandas": lambda job, server: job.update(kind="pandas"),
    "polars": lambda job, server: job.update(kind="polars"),
    "pyarrow": lambda job, server: job.update(kind="pyarrow"),
    "records": lambda job, server: job.update(kind="records"),
}
"""What doesn't: nothing is asked, by another process, whatever its library."""


@pytest.fixture(scope="module")
def answered(session_server: Server, forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """A store that has the answers to ten rows of polars."""
    folder = tmp_path_factory.mktemp("answered") / "work"
    work = Work(columns(10, 9, "changed"), folder, base_url=session_server.url)
    session_server.events()
    assert forker.do(work.job("polars")) == 0
    assert session_server.asked() == dict.fromkeys(digests(work.prompts), 1)
    return work


@pytest.mark.parametrize("change", NEW.values(), ids=NEW.keys())
def test_another_request_is_asked(change: Change, answered: Work, server: Server, forker: Forker):
    job = answered.job("polars")
    change(job, server)
    assert forker.do(job) == 0
    assert server.asked().total() == len(answered.prompts)


@pytest.mark.parametrize("change", SAME.values(), ids=SAME.keys())
def test_the_same_request_is_not(change: Change, answered: Work, server: Server, forker: Forker):
    job = answered.job("polars")
    change(job, server)
    assert forker.do(job) == 0
    assert not server.asked()
