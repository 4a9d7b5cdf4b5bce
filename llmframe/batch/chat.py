"""Chat requests in batches: a line each, and its answer read as a live one is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from llmframe.batch.drafts import Draft, Invalid
from llmframe.clients.base import Dialect, RequestError
from llmframe.clients.batch import Batches, Vectors
from llmframe.core.outcome import Answer, Usage
from llmframe.core.plan import Planned
from llmframe.core.reply import Reply, read_reply
from llmframe.core.request import Components, text_digest
from llmframe.core.schema import Schema
from llmframe.core.scoring import evidence_of
from llmframe.engine.dialects import known_dialect
from llmframe.engine.estimate import Estimate
from llmframe.engine.sending import characters
from llmframe.stores.base import Stored
from llmframe.stores.jobs import LineOutcome, LineRecord


class ChatDrafts:
    """A line a request; where an earlier reply was invalid, it's shown to the model with what was wrong with it.

    Parameters
    ----------
    max_tokens
        Most tokens of an answer; `None` where nothing limits them.
    invalid
        Replies to show.
    """

    def __init__(self, batches: Batches, schema: Schema, *, max_tokens: int | None, invalid: Invalid) -> None:
        self.dialect: Dialect = known_dialect(batches)
        self._batches, self._schema, self._max_tokens, self._invalid = batches, schema, max_tokens, invalid
        self._estimate = Estimate()
        self._shape = len(schema.canonical)

    def learn(self, usage: Usage) -> None:
        """An answer took this much: later drafts are estimated by it."""
        self._estimate.learn(0, usage)

    @property
    def tool(self) -> str | None:
        """The function that is forced, in the mode that has one."""
        return self._schema.name if self.dialect.mode == "tools" else None

    def add(self, requests: list[Planned]) -> Iterator[Draft]:
        """One a request."""
        for planned in requests:
            dialect, messages = self.dialect, planned.messages
            digest = text_digest(messages)
            shown = self._invalid.get(planned.key)
            if shown is not None:
                messages = self._batches.reask(messages, *shown, dialect)
            tokens = self._estimate.input(characters(messages) + self._shape)
            output = self._estimate.output(self._max_tokens)
            yield Draft(
                [planned.key],
                tokens,
                output,
                [digest],
                lambda custom_id, m=messages, d=dialect: self._batches.line(custom_id, m, d),
            )

    def flush(self) -> Iterator[Draft]:
        """Nothing: no line waits for another request."""
        return iter(())

    def refused(self, keys: list[bytes], error: RequestError) -> bool:
        """No: a line of its own is all there is."""
        del keys, error
        return False


class ChatReading:
    """Reads the answers of lines as the live path does: today's schema decides.

    Parameters
    ----------
    schema
        What was asked for.
    components
        Digests of what all requests share, kept beside the answers.
    invalid
        Gets the replies that a further ask can show.
    learn
        Told what each answer took.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        components: Components | None,
        clock: Callable[[], float],
        invalid: Invalid,
        learn: Callable[[Usage], None] = lambda _: None,
    ) -> None:
        self._schema, self._components, self._clock, self._invalid = schema, components, clock, invalid
        self._learn = learn

    def read(self, records: list[LineRecord], answer: Reply | Vectors) -> Sequence[tuple[LineOutcome, Stored | None]]:
        """The outcome of the one fingerprint of a line, and what is kept."""
        (record,) = records
        if isinstance(answer, Vectors):
            return [(LineOutcome(state="failed", kind="invalid", detail="an answer of another kind"), None)]
        self._learn(answer.usage)
        reading = read_reply(answer, self._schema, tool_name=self._schema.name)
        if isinstance(reading.result, Answer):
            entry = Stored(
                reading.result.text,
                answer.usage,
                answer.model,
                answer.finish_reason,
                created=self._clock(),
                components=self._components,
                prompt_digest=record.digest,
                evidence=evidence_of(self._schema.scoring, reading.result, answer.text, answer.tokens),
            )
            self._invalid.pop(record.key, None)
            return [(LineOutcome(state="kept", usage=answer.usage), entry)]
        if reading.reask:
            self._invalid[record.key] = (answer, reading.result.detail)
        failure = reading.result
        return [(LineOutcome(state="failed", kind=failure.kind, detail=failure.detail, usage=answer.usage), None)]
