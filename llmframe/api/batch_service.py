"""What is known of a provider's Batch API before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from llmframe.clients.base import Client
from llmframe.clients.batch import SAFE_SHARE, BatchLimits
from llmframe.clients.instructor import InstructorClient
from llmframe.core.outlay import Outlay
from llmframe.core.prices import EMBEDDED

WINDOW_SECONDS: Final = 86_400.0
"""What providers promise: most batches are done within it, and what isn't done then expires."""

LINE_BYTES: Final = 250
"""Of a line beside its messages, the schema and the parameters: ids, address, names."""

OPENAI_LIMITS: Final = BatchLimits(lines=50_000, bytes=200_000_000, inputs=50_000)
ANTHROPIC_LIMITS: Final = BatchLimits(lines=100_000, bytes=256_000_000)


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


def batch_service(client: Client) -> BatchService | None:
    """The Batch API that a client's provider has, or may have; `None` when it surely has none that we speak."""
    if client.provider == EMBEDDED:
        return None
    if isinstance(client, InstructorClient):
        return BatchService(ANTHROPIC_LIMITS, known=True) if client.provider == "anthropic" else None
    return BatchService(OPENAI_LIMITS, known=client.provider == "openai")


def line_bytes(messages: Sequence[Mapping[str, object]], *, shared: int) -> int:
    """About the bytes of a request's line; `shared` are those of what all of them have, such as the schema."""
    texts = (str(message.get("content", "")) for message in messages)
    return LINE_BYTES + shared + sum(len(text.encode(errors="replace")) for text in texts)
