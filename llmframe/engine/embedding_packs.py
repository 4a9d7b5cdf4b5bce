"""Texts that go in one request: a call's own, or of several calls together."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from llmframe.clients.base import RequestError
from llmframe.clients.refusals import dooms_run, transient
from llmframe.engine.packing import Bounds, Gathering, Halves, tokens_of
from llmframe.engine.sending import Job
from llmframe.engine.sharing import Flight, Shared

if TYPE_CHECKING:
    from llmframe.engine.embedding_results import Results

TOO_LARGE: Final = frozenset({"max_tokens_per_request", "request_too_large", "array_above_max_length"})
"""Codes of a refusal that is about how much one request holds."""

_TOO_LARGE_STATUS: Final = 413
_UNSPLITTABLE: Final = frozenset({"internal", "cancelled", "encoding", "batch_expired", "batch_missing"})

Party = tuple["Results", list[Job]]
"""A call's results, and texts of its that go in the same request."""


@dataclass(slots=True)
class Pack(Job):
    """Texts on their way in one request; each is a job of its own, for the store.

    `guests` are other calls' texts in the same request, `halves` is what it was split from, `flight` another call's
    request that asks its texts, and `gathering` the open pack that they wait in, of which the `host` sends it.
    """

    texts: list[Job] = field(default_factory=list[Job])
    guests: list[Party] = field(default_factory=list[Party])
    halves: Halves | None = None
    flight: Flight | None = None
    gathering: Gathering[Party] | None = None
    host: bool = False

    def load(self) -> None:
        """Make the texts, and those of guests, what is sent."""
        everything = [*self.texts, *(text for _, texts in self.guests for text in texts)]
        self.messages = [text.messages[0] for text in everything]
        self.characters = sum(text.characters for text in everything)


def pack_of(texts: list[Job], *, sent: int = 0, flight: Flight | None = None, halves: Halves | None = None) -> Pack:
    """Texts as a pack; `sent` counts the requests that they were in before."""
    return Pack(texts[0].planned, [], 0, sent=sent, texts=texts, flight=flight, halves=halves)


def gathered(  # noqa: PLR0913 - one argument a fact
    pack: Pack, results: Results, question: object, *, shared: Shared, bounds: Bounds, wait: float
) -> None:
    """Let a pack that isn't full wait for the texts of other calls that ask the same `question`, or join theirs."""
    standing = _standing.setdefault(shared, {})
    gathering = standing.get(question)
    if gathering is not None and _added(pack, results, gathering):
        pack.gathering = gathering
        return
    pack.gathering = standing[question] = Gathering(bounds, wait=wait)
    pack.host = True
    _added(pack, results, pack.gathering)


def _added(pack: Pack, results: Results, gathering: Gathering[Party]) -> bool:
    """Whether an open pack took the texts; those that are in it already aren't sent twice."""
    new = [text for text in pack.texts if text.planned.key not in gathering.keys]
    return gathering.add(
        (results, new), [text.planned.key for text in new], tokens=sum(tokens_of_text(text) for text in new)
    )


def splittable(error: RequestError) -> bool:
    """Whether some texts of a refused request may be taken without the others."""
    return not dooms_run(error) and not transient(error) and error.kind not in _UNSPLITTABLE


def too_large(error: RequestError) -> bool:
    """Whether a refusal is surely about how much the request held."""
    return error.status == _TOO_LARGE_STATUS or error.code in TOO_LARGE


def tokens_of_text(text: Job) -> int:
    """Tokens that a text has at most, as a rule."""
    return tokens_of(cast("str", text.messages[0]["content"]))


_standing: Final[weakref.WeakKeyDictionary[Shared, dict[object, Gathering[Party]]]] = weakref.WeakKeyDictionary()
