"""What a batch has come to for one request, as the runner that reads the store afterwards sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from llmframe.core.outcome import Failure, Usage
from llmframe.core.reply import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What this run's batches have done for a request.

    Parameters
    ----------
    usage, usd
        What it took in all of them, to be told on the first row that asked.
    attempts
        How often it stood in a batch.
    failure
        Why it stays without an answer; `None` when it has one, or is to be asked live.
    invalid
        A reply that didn't fit, and what was wrong with it: the next ask shows both.
    """

    usage: Usage = Usage(0, 0, 0)
    usd: float | None = 0.0
    attempts: int = 1
    failure: Failure | None = None
    invalid: tuple[Reply, str] | None = None


class Settled(Protocol):
    """Tells what this run's batches have done."""

    def of(self, keys: list[bytes]) -> dict[bytes, Settlement]:
        """What is known of fingerprints; those that no batch of this run was about are left out."""
        ...

    def told(self, keys: list[bytes]) -> None:
        """What these took stands on a row now."""
        ...
