"""Lines to be: what stands for a request in a batch, before it's known in which."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from llmframe.clients.base import Dialect
from llmframe.core.plan import Planned


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
