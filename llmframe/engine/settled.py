"""What was done for one request before its part began, mostly by a batch, as the runner that reads the store sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from llmframe.core.outcome import Failure, Usage
from llmframe.core.reply import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What this run has done for a request before, in batches unless said.

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
    source
        By what it was answered.
    """

    usage: Usage = Usage(0, 0, 0)
    usd: float | None = 0.0
    attempts: int = 1
    failure: Failure | None = None
    invalid: tuple[Reply, str] | None = None
    source: Literal["batch", "live"] = "batch"


class Settled(Protocol):
    """Tells what this run's batches have done."""

    @property
    def left(self) -> Failure | None:
        """The failure of a request without an answer that no batch tells of; `None` where it's asked live."""
        ...

    def of(self, keys: list[bytes]) -> dict[bytes, Settlement]:
        """What is known of fingerprints; those that no batch of this run was about are left out."""
        ...

    def told(self, keys: list[bytes]) -> None:
        """What these took stands on a row now."""
        ...
