"""Texts to embed in batches: many a line, and a line's vectors read as a live answer's are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

from llmframe.batch.collecting import outcome_of_error
from llmframe.batch.drafts import Draft
from llmframe.clients.base import Dialect, RequestError
from llmframe.clients.batch import Batches, Vectors
from llmframe.clients.embeddings import BASE64, FLOATS, refuses_base64
from llmframe.core.embeddings import NO_VECTOR, Width, kept_text, shared_out
from llmframe.core.outcome import Usage
from llmframe.core.plan import Planned
from llmframe.core.reply import Reply
from llmframe.core.request import Components, text_digest
from llmframe.engine.embedding_packs import splittable, too_large
from llmframe.engine.estimate import Estimate
from llmframe.engine.packing import Bounds, Packer, tokens_of
from llmframe.stores.base import Stored
from llmframe.stores.jobs import LineOutcome, LineRecord

SMALLER: Final = 8
"""What the texts of a line are divided by when it was too large: a round of batches may take hours, halves too many."""

NO_TEXT: Final = LineOutcome(state="failed", kind="invalid", detail="an answer of another kind")


class EmbeddingDrafts:
    """Texts packed into lines; what doesn't fill one waits for the next list.

    A line that was refused for what it holds is taken apart: its texts go alone, or where it was surely too large, in
    smaller lines. In a batch a line costs nothing by itself, while a further round may take hours.

    Parameters
    ----------
    bounds
        Of one line, as of one live request.
    """

    tool = None

    def __init__(self, batches: Batches, *, bounds: Bounds) -> None:
        self.dialect: Dialect = BASE64
        self._batches, self._bounds = batches, bounds
        self._packer = Packer[Planned](bounds)
        self._waiting: set[bytes] = set()
        self._alone: set[bytes] = set()
        self._long: set[bytes] = set()
        self._floats: set[bytes] = set()
        self._estimate = Estimate()

    def add(self, requests: list[Planned]) -> Iterator[Draft]:
        """The lines that are full now."""
        for planned in requests:
            if planned.key in self._waiting:
                continue
            tokens = tokens_of(_text(planned))
            if self._bounds.alone is not None and tokens > self._bounds.alone:
                self._long.add(planned.key)
            if planned.key in self._alone:
                yield self._draft([planned])
                continue
            self._waiting.add(planned.key)
            if full := self._packer.add(planned, tokens):
                yield self._draft(full)

    def flush(self) -> Iterator[Draft]:
        """The texts that don't fill a line."""
        if rest := self._packer.take():
            yield self._draft(rest)

    def refused(self, keys: list[bytes], error: RequestError) -> bool:
        """Whether the texts of a refused line may be taken in another one: without the others, or as numbers."""
        if refuses_base64(error) and not self._floats.issuperset(keys):
            self._floats.update(keys)
            if error.param is not None:  # it says so
                self.dialect = FLOATS
                return True
            if len(keys) == 1:
                return True
        if not splittable(error):
            return False
        if len(keys) == 1:
            if keys[0] in self._long:
                error.kind = "context_length"  # servers say no more than that it's a bad request
            return False
        if too_large(error) and len(keys) > SMALLER:
            self._bounds.inputs = max(1, min(self._bounds.inputs, len(keys) // SMALLER))
        else:
            self._alone.update(keys)
        return True

    def _draft(self, pack: list[Planned]) -> Draft:
        keys, texts = [planned.key for planned in pack], [_text(planned) for planned in pack]
        self._waiting.difference_update(keys)
        dialect = self.dialect if self._floats.isdisjoint(keys) else FLOATS
        return Draft(
            keys,
            self._estimate.input(sum(map(len, texts))),
            0,
            [text_digest(planned.messages) for planned in pack],
            lambda custom_id: self._batches.embedding_line(custom_id, texts, dialect),
        )


class EmbeddingReading:
    """Reads the vectors of lines as the live path does: of the run's width, else they are `invalid`.

    Parameters
    ----------
    width
        Of the run's vectors.
    components
        Digests of what all requests share, kept beside the vectors.
    """

    def __init__(self, width: Width, *, components: Components | None, clock: Callable[[], float]) -> None:
        self._width, self._components, self._clock = width, components, clock

    def read(self, records: list[LineRecord], answer: Reply | Vectors) -> Sequence[tuple[LineOutcome, Stored | None]]:
        """The outcome of each fingerprint of a line, and what is kept."""
        return read_vectors(records, answer, width=self._width, components=self._components, now=self._clock())


def read_vectors(
    records: list[LineRecord],
    answer: Reply | Vectors,
    *,
    width: Width,
    components: Components | None,
    now: float,
) -> list[tuple[LineOutcome, Stored | None]]:
    """What an answer is to the texts of its line; they share its tokens evenly, for how long they are isn't known.

    Parameters
    ----------
    width
        Of all vectors; unless it's known the first one decides.
    now
        Seconds since 1970.
    """
    if not isinstance(answer, Vectors):
        return [(NO_TEXT, None)] * len(records)
    values = answer.values
    if answer.in_order and len(values) != len(records):
        values = ()  # nobody can tell which is whose
    shares = shared_out(answer.usage.input_tokens, [1] * len(records))
    told: list[tuple[LineOutcome, Stored | None]] = []
    for record, share in zip(records, shares, strict=True):
        vector = values[record.place] if record.place < len(values) else NO_VECTOR
        usage = Usage() if share is None else Usage(share, 0, 0)
        problem = width.problem(vector)
        if problem is not None:
            told.append((LineOutcome(state="failed", kind="invalid", detail=problem, usage=usage), None))
            continue
        entry = Stored(
            kept_text(vector), usage, answer.model, created=now, components=components, prompt_digest=record.digest
        )
        told.append((LineOutcome(state="kept", usage=usage), entry))
    return told


def failed_line(records: list[LineRecord], error: RequestError) -> LineOutcome:
    """What an error says of a line whose texts aren't at hand: of several, any may be to blame, so none is."""
    if len(records) > 1 and splittable(error):
        return LineOutcome(state="missing", kind=error.kind, detail=error.detail, usage=Usage(0, 0, 0))
    return outcome_of_error(error)


def _text(planned: Planned) -> str:
    return cast("str", planned.messages[0]["content"])
