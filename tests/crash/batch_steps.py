"""What a child of the crash tests changes of batch mode: small batches, and its own end at a step of the ledger."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from llmframe.batch import submitting
from llmframe.clients import openai_batch
from llmframe.stores.ledger import SqlLedger

WRITES = (
    "open_job",
    "adopt_job",
    "plan_shard",
    "move_shard",
    "update_shard",
    "settle",
    "settle_rest",
    "update_job",
    "leave",
)
"""Steps of the ledger that a process dies at: those that write."""

SETTLE_SECONDS = 0.2
"""The provider here has read all that a killed process sent before the next one begins; the internet takes longer."""


def make_small(*, lines: int | None = None, size: int | None = None) -> None:
    """Let a batch hold so many lines, or bytes."""
    limits = openai_batch.CHAT_LIMITS
    changed = replace(limits, lines=lines or limits.lines, bytes=size or limits.bytes)
    vars(openai_batch).update(CHAT_LIMITS=changed)
    vars(submitting).update(SETTLE_SECONDS=SETTLE_SECONDS)


def forget_peak() -> None:
    """Begin anew with the most memory that this process has had."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """The most memory that this process has had at once."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def die_at(moment: int) -> None:
    """Kill this process just before or just after a step: moments 0 and 1 are those of the first one."""
    moments = itertools.count()

    def deadly(step: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*arguments: Any, **named: Any) -> Any:
            die(next(moments))
            result = step(*arguments, **named)
            die(next(moments))
            return result

        return stepped

    def die(now: int) -> None:
        if now == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in WRITES:
        setattr(SqlLedger, name, deadly(getattr(SqlLedger, name)))
