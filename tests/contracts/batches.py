"""What batch tests share: what a provider was paid, and laws that hold however a run by batches went."""

from __future__ import annotations

import functools
import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import llmframe
from llmframe.batch import collecting, submitting, waiting, ways
from llmframe.clients import openai_batch
from llmframe.clients.batch import BatchLimits
from llmframe.engine import patience, retry
from llmframe.report import RunReport
from llmframe.testing import Provider

PRICES = {"m": {"input": 2.0, "output": 8.0}}
"""Dollars for a million tokens; a batch costs half."""

IN, OUT = 2e-6, 8e-6


@dataclass(frozen=True)
class Charged:
    """Tokens that a provider has counted, in batches and live."""

    batch_in: int
    batch_out: int
    live_in: int
    live_out: int

    @property
    def tokens(self) -> tuple[int, int]:
        """In and out."""
        return self.batch_in + self.live_in, self.batch_out + self.live_out

    @property
    def usd(self) -> float:
        """By `PRICES`."""
        return (self.batch_in / 2 + self.live_in) * IN + (self.batch_out / 2 + self.live_out) * OUT


def charged(provider: Provider) -> Charged:
    """What a provider was paid since its start, by what its batches say of themselves."""
    usages = [batch.object()["usage"] or {} for batch in provider.batches._book.batches.values()]
    batch_in, batch_out = (sum(each.get(name, 0) for each in usages) for name in ("input_tokens", "output_tokens"))
    return Charged(batch_in, batch_out, provider.prompt_tokens, provider.completion_tokens)


def told(meta: list[dict[str, Any]]) -> tuple[tuple[int, int], float]:
    """Tokens and dollars that rows tell, in all."""
    tokens = [tuple(row[name] or 0 for row in meta) for name in ("input_tokens", "output_tokens")]
    return (sum(tokens[0]), sum(tokens[1])), sum(row["usd"] or 0.0 for row in meta)


def balanced(provider: Provider, meta: list[dict[str, Any]], run: RunReport | None = None) -> None:
    """Rows, report and provider agree on tokens and dollars."""
    run = run or llmframe.last_run()
    assert run is not None
    paid = charged(provider)
    assert (run.input_tokens, run.output_tokens) == paid.tokens
    assert told(meta)[0] == paid.tokens
    assert run.usd == pytest.approx(paid.usd)
    assert told(meta)[1] == pytest.approx(paid.usd)


def often(provider: Provider) -> Counter[int]:
    """How many prompts were paid once, twice and so on in batches."""
    return Counter(provider.batches.paid_prompts.values())


_context = functools.cache(ssl.create_default_context)


def hurry(patch: pytest.MonkeyPatch) -> None:
    """What takes seconds for a provider's sake takes moments."""
    patch.setattr(ssl, "create_default_context", _context)  # each takes longer than a batch here, and none is used
    patch.setattr(submitting, "SETTLE_SECONDS", 0.1)
    patch.setattr(ways, "QUEUE_FIRST_SECONDS", 0.02)
    patch.setattr(patience, "FIRST_SECONDS", 0.02)
    patch.setattr(patience, "ATTEMPTS", 4)
    patch.setattr(collecting, "TRIES", 4)
    patch.setattr(collecting, "GONE_SECONDS", 0.0)
    patch.setattr(waiting, "LOST_SECONDS", 0.0)
    patch.setattr(retry, "BASE_DELAY", 0.01)


@contextmanager
def limits(patch: pytest.MonkeyPatch, *, lines: int = 50_000, bytes: int = 200_000_000) -> Iterator[None]:  # noqa: A002
    """OpenAI's batches hold no more than this."""
    with patch.context() as within:
        within.setattr(openai_batch, "CHAT_LIMITS", BatchLimits(lines=lines, bytes=bytes))
        yield
