"""A hundred thousand rows through every fault there is, each held against the policy worked out by hand."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from dataclasses import dataclass, field

import pytest

from llmframe.clients.base import Dialect, Message, RequestError
from llmframe.core.outcome import Answer
from llmframe.core.reply import Reply
from llmframe.engine import runner
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import USAGE, Client, names, part_of, refused, say

ROWS = 100_000
MAX_ATTEMPTS = 3
TIMEOUT = 5.0

SHARES = (
    ("server", 0.05),
    ("timeout", 0.02),
    ("connection", 0.01),
    ("rate_limit", 0.01),
    ("invalid", 0.03),
    ("content_filter", 0.002),
    ("bad_request", 0.002),
)
"""Of all requests: what they meet."""


def met(prompt: str, before: int) -> str:
    """What a row meets the next time, the same on every machine; a hundredth of the rows meet 500s for ever."""
    if int(prompt[4:]) % 100 == 7:
        return "server"
    number = int.from_bytes(hashlib.sha256(f"{prompt} {before}".encode()).digest()[:4], "big") / 2**32
    for kind, share in SHARES:
        if number < share:
            return kind
        number -= share
    return ""


def label(prompt: str) -> str:
    return "pos" if int(prompt[4:]) % 3 else "neg"


def expected(prompt: str) -> tuple[str, int]:
    """The row's error kind (`""` for an answer), and how many requests it takes."""
    requests = attempts = reasks = 0
    while True:
        kind = met(prompt, requests)
        requests += 1
        if kind in ("", "content_filter", "bad_request"):
            return kind, requests
        if kind == "invalid":
            if reasks:
                return kind, requests
            reasks = 1
        elif kind != "rate_limit":
            attempts += 1
            if attempts == MAX_ATTEMPTS:
                return kind, requests


@dataclass
class Faulty(Client):
    """Counts by prompt; answers, fails or hangs as `met` says."""

    came: Counter[str] = field(default_factory=Counter[str])
    paid: int = 0

    async def send(self, messages: list[Message], dialect: Dialect) -> Reply:
        prompt = str(messages[0]["content"])
        kind = met(prompt, self.came[prompt])
        self.came[prompt] += 1
        await asyncio.sleep(2 * TIMEOUT if kind == "timeout" else 0.5)
        if kind == "rate_limit":
            raise RequestError("rate_limit", "429", status=429, retry_after=0.1)
        if kind == "server":
            raise RequestError("server", "500", status=500)
        if kind == "connection":
            raise RequestError("connection", "cut")
        if kind == "content_filter":
            raise RequestError("content_filter", "filtered", status=400)
        if kind == "bad_request":
            raise refused(param="messages")
        self.paid += 1
        return say("neither" if kind == "invalid" else label(prompt))


@pytest.fixture(scope="module")
def soaked():
    runner.JITTER.seed(1)
    client = Faulty()
    rows = names(ROWS)

    async def main():
        part = part_of(rows, client, max_attempts=MAX_ATTEMPTS, timeout=TIMEOUT)
        return await part.work()

    return client, rows, run_in_fake_time(main())


def test_every_row_has_its_answer_or_its_own_kind_of_error(soaked):
    _, rows, part = soaked
    for row, result, kind in zip(rows, part.results, part.kinds, strict=True):
        assert kind == expected(row)[0], row
        if isinstance(result, Answer):
            assert result.values == (label(row),), row


def test_every_row_takes_the_requests_that_the_policy_says(soaked):
    client, rows, part = soaked
    assert client.came == {row: expected(row)[1] for row in rows}
    assert part.metrics.requests == client.came.total()
    assert [outcome.attempts for outcome in part.outcomes] == [client.came[row] for row in rows]


def test_the_tokens_are_those_that_the_provider_counted(soaked):
    client, rows, part = soaked
    hung = sum(met(row, before) == "timeout" for row in rows for before in range(client.came[row]))
    assert part.metrics.usage.input_tokens == client.paid * USAGE.input_tokens
    assert part.metrics.usage.output_tokens == client.paid * USAGE.output_tokens
    assert part.metrics.unknown_usage == hung
    assert sum(outcome.usage.input_tokens or 0 for outcome in part.outcomes) == client.paid * USAGE.input_tokens


def test_nothing_is_left_in_flight(soaked):
    client, _, part = soaked
    assert part.metrics.in_flight == 0
    assert client.in_flight == 0
