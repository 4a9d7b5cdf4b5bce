"""Lines to be: what stands for a request in a batch, before it's known in which."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from llmframe.clients.base import Dialect, RequestError
from llmframe.core.plan import Planned
from llmframe.core.reply import Reply
from llmframe.stores.jobs import Kind

if TYPE_CHECKING:
    from llmframe.batch.collecting import Read

Invalid = dict[bytes, tuple[Reply, str]]
"""Replies that didn't fit, with what was wrong with them."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One line to be.

    Parameters
    ----------
    keys
        Fingerprints that it asks for: one, or those of all texts that it embeds.
    tokens, output
        Estimated tokens of what is sent, and of the answer.
    digests
        Of the texts alone, one a fingerprint.
    render
        Makes the line for a custom id: JSON in UTF-8, with its line end.
    """

    keys: list[bytes]
    tokens: int
    output: int
    digests: list[bytes]
    render: Callable[[str], bytes]


class Drafts(Protocol):
    """Makes drafts of requests.

    Attributes
    ----------
    dialect
        In which form they ask.
    """

    dialect: Dialect

    @property
    def tool(self) -> str | None:
        """The function that they force; `None` without one."""
        ...

    def add(self, requests: list[Planned]) -> Iterator[Draft]:
        """The lines that are full now."""
        ...

    def flush(self) -> Iterator[Draft]:
        """What is left over."""
        ...

    def refused(self, keys: list[bytes], error: RequestError) -> bool:
        """Whether the requests of a refused line may be taken in another line: from now on they go in such."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """What a call's requests are in batches.

    Parameters
    ----------
    drafts, read
        How they become lines, and how answers are read.
    dialects
        The forms that are tried one after the other; with none, `drafts` alone knows other ones.
    reask
        Further asks after an invalid reply.
    invalid
        Replies that the next ask shows to the model.
    """

    kind: Kind
    drafts: Drafts
    read: Read
    dialects: tuple[Dialect, ...]
    reask: int
    invalid: Invalid
