"""What is known of a provider's Batch API before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from llmframe.clients.base import Client
from llmframe.clients.batch import SAFE_SHARE, BatchLimits
from llmframe.clients.opening_batch import open_batches
from llmframe.core.outlay import Outlay
from llmframe.errors import UsageError

WINDOW_SECONDS: Final = 86_400.0
"""What providers promise: most batches are done within it, and what isn't done then expires."""

LINE_BYTES: Final = 250
"""Of a line beside its messages, the schema and the parameters: ids, address, names."""

SURE_OF: Final = ("openai", "azure", "anthropic")
"""Providers, by their names for prices, that have a Batch API; other endpoints may have none."""


@dataclass(frozen=True, slots=True)
class BatchService:
    """A provider's Batch API.

    Parameters
    ----------
    limits
        What one batch may hold.
    known
        Whether it surely is there: an endpoint of one's own may have none.
    """

    limits: BatchLimits
    known: bool

    def batches(self, outlay: Outlay) -> int:
        """About how many batches so much would be."""
        return outlay.batches(lines=self.limits.lines, bytes=SAFE_SHARE * self.limits.bytes)


def batch_service(client: Client, *, needed: bool = False) -> BatchService | None:
    """The Batch API that a client's provider has, or may have.

    Parameters
    ----------
    needed
        Raise rather than return `None` where it surely has none that is spoken here.

    Raises
    ------
    UsageError
        If it's `needed`, and can't be used; with the remedy.
    """
    try:
        limits = open_batches(client).limits
    except UsageError:
        if needed:
            raise
        return None
    return BatchService(limits, known=client.provider in SURE_OF)


def line_bytes(messages: Sequence[Mapping[str, object]], *, shared: int) -> int:
    """About the bytes of a request's line; `shared` are those of what all of them have, such as the schema."""
    texts = (str(message.get("content", "")) for message in messages)
    return LINE_BYTES + shared + sum(len(text.encode(errors="replace")) for text in texts)
