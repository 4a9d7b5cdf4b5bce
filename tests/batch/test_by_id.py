from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llmframe.batch import by_id
from llmframe.batch.desk import Desk
from llmframe.clients.batch import Vectors
from llmframe.core.embeddings import unwrapped
from llmframe.core.outcome import Usage
from llmframe.core.reply import Reply, ToolCall
from llmframe.stores.base import MemoryStore
from llmframe.stores.jobs import JobRecord, LineRecord, Shard
from llmframe.stores.ledger import ledger_of

SHARD = Shard(intent="00000000000000aa", job="job-1", number=0, execution="planned", tool="Answer", lines=2)
KEYS = [bytes([number]) * 32 for number in range(2)]


def read(answer: Any, records: int = 1) -> list[Any]:
    lines = [LineRecord(0, place, KEYS[place]) for place in range(records)]
    return list(by_id.reader_of(SHARD, lambda: 7.0).read(lines, answer))


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply(text='{"label": "pos"}'), '{"label": "pos"}'),
        (Reply(text=" any text "), " any text "),
        (Reply(text=None, tool_calls=(ToolCall("Answer", '{"label": 1}'),)), '{"label": 1}'),
    ],
)
def test_a_reply_is_kept_as_it_came(reply: Reply, text: str):
    ((outcome, entry),) = read(reply)
    assert (outcome.state, entry.text, entry.created) == ("kept", text, 7.0)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(text="cut", finish_reason="length"), "truncated"),
        (Reply(text="", finish_reason="stop"), "empty"),
        (Reply(text=None, refusal="no"), "refusal"),
        (Reply(text="x", finish_reason="content_filter"), "content_filter"),
        (Reply(text=None, tool_calls=(ToolCall("Other", "{}"),)), "tool_call"),
    ],
)
def test_what_is_no_answer_is_not_kept(reply: Reply, kind: str):
    ((outcome, entry),) = read(reply)
    assert (outcome.state, outcome.kind, entry) == ("failed", kind, None)


def test_each_text_of_a_line_has_its_vector_and_its_share_of_the_tokens():
    one, two = b"\0\0\x80?", b"\0\0\0@"
    (first, second) = read(Vectors(values=(one, two), usage=Usage(9, 0, 0)), records=2)
    assert [unwrapped(entry.text) for _, entry in (first, second)] == [one, two]
    assert [outcome.usage.input_tokens for outcome, _ in (first, second)] == [4, 5]


def test_a_text_without_a_vector_has_failed():
    (_, (outcome, entry)) = read(Vectors(values=(b"\0\0\x80?",)), records=2)
    assert (outcome.state, outcome.kind, entry) == ("failed", "invalid", None)


class Nobody:
    """A provider that must not be asked."""


def desk() -> Desk:
    ledger = ledger_of(MemoryStore())
    assert ledger is not None
    ledger.open_job(
        JobRecord(id="job-1", created=0.0, provider="openai", identity="https://x/v1", model="m", question="q")
    )
    ledger.plan_shard(SHARD, [LineRecord(0, 0, KEYS[0]), LineRecord(1, 0, KEYS[1])])
    return Desk(ledger=ledger, batches=Nobody())  # type: ignore[arg-type]


def test_a_batch_that_was_never_made_is_cancelled_without_the_provider():
    here = desk()
    assert asyncio.run(by_id.cancel(here, "job-1")) == 1
    (shard,) = here.ledger.shards(job="job-1")
    job = here.ledger.job("job-1")
    assert (shard.execution, job is not None and job.cancelled) == ("abandoned", True)
    here.ledger.leave()
    assert asyncio.run(by_id.cancel(here, "job-1")) == 0


def test_a_job_whose_batches_are_all_given_up_is_waited_for_and_collected_at_once():
    here = desk()
    here.ledger.update_shard(SHARD.intent, execution="abandoned")
    here.ledger.leave()
    assert asyncio.run(by_id.wait_for_end(here, "job-1", timeout=0.0)) in (True, False)
    assert asyncio.run(by_id.wait_for_end(here, "job-1")) is True
    assert asyncio.run(by_id.collect_ended(here, "job-1")) == 0
    job = here.ledger.job("job-1")
    assert job is not None
    assert job.finished
    assert asyncio.run(by_id.retry(here, "job-1")) == 0


def test_as_long_as_a_process_sends_batches_the_wait_goes_on():
    here = desk()
    assert asyncio.run(by_id.wait_for_end(here, "job-1", timeout=0.01)) is False
