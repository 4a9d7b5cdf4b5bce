"""Few-shot examples: a prompt's own turns, rendered for other rows than the one that is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from llmframe.core.braces import BraceTemplate, listed
from llmframe.core.callables import CallablePrompt, tail_messages
from llmframe.core.cells import OnNull
from llmframe.core.jinja import JinjaTemplate
from llmframe.core.messages import SYSTEM_ROLES, Turn, read_messages
from llmframe.core.outcome import Failure
from llmframe.errors import UsageError

Slot = BraceTemplate | JinjaTemplate
"""A template that uses columns."""

SlotText = str | int
"""A text of a turn: constant, or the number of a slot."""

Rendered = str | tuple[str, ...]
"""What differs between rows: the text of a prompt's one slot, or of its several (or no) slots."""

Asked = Rendered | tuple[Turn[SlotText], ...]
"""What a row or an example asks, system messages apart: the texts of its slots; of a callable its turns."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Rendered examples, of which a row doesn't see those that ask what it asks: it would read its own answer.

    Parameters
    ----------
    start
        How many of the prompt's turns stand before the examples.
    turns
        The turns of each example, the answer last.
    asked
        The examples by what they ask. Empty where all rows ask the same: then all see all examples.
    slots
        The slots in a row's own turns, where other turns have slots, too.
    tail
        Where in a rendered row the texts of a callable begin.
    """

    start: int
    turns: tuple[tuple[Turn[SlotText], ...], ...]
    asked: Mapping[Asked, frozenset[int]]
    slots: tuple[int, ...] | None = None
    tail: int | None = None

    def asked_by(self, rendered: Rendered) -> Asked:
        """What a rendered row asks, to be looked for in `asked`."""
        if self.tail is not None:
            return own_turns((rendered,) if isinstance(rendered, str) else rendered[self.tail :])
        return rendered if self.slots is None else tuple([rendered[slot] for slot in self.slots])

    def seen_by(self, rendered: Rendered, turns: Sequence[Turn[SlotText]]) -> Sequence[Turn[SlotText]]:
        """`turns`, those of the whole prompt, as a rendered row sees them."""
        if not self.asked or (same := self.asked.get(self.asked_by(rendered))) is None:
            return turns
        stop = self.start + sum(map(len, self.turns))
        others = [turn for number, each in enumerate(self.turns) if number not in same for turn in each]
        return [*turns[: self.start], *others, *turns[stop:]]


NONE_SHOWN: Final = Shown(0, (), {})
"""No examples."""


@dataclass(frozen=True, slots=True)
class Shots:
    """Renders examples by the prompt's own turns.

    Parameters
    ----------
    body
        The prompt's turns without system messages; their numbers are places in `slots`.
    function
        The prompt, where it is a callable.
    name
        The name of a Series, whose examples are cells; None for a frame, whose examples are dicts.
    """

    body: Sequence[Turn[SlotText]]
    slots: Sequence[Slot]
    function: CallablePrompt | None
    on_null: OnNull
    name: str | None

    def turns(self, pair: object, number: int) -> list[Turn[SlotText]]:
        """The turns of one `(row, answer)`, the assistant's answer last.

        Raises
        ------
        UsageError
            If it isn't such a pair, or the prompt can't be rendered for its row.
        """
        what = f"example {number}"
        items = cast("Sequence[object]", pair) if isinstance(pair, tuple | list) else ()
        if len(items) != 2:  # noqa: PLR2004 - a pair
            raise UsageError(f"{what} is no pair (row, answer)")
        row, answer = items
        if not isinstance(answer, str):
            raise UsageError(f"{what} has an answer of type {type(answer).__name__!r}; its text is expected")
        if self.name is not None:
            row = {self.name: row}
        if not isinstance(row, Mapping):
            raise UsageError(f"{what} has a row of type {type(row).__name__!r}; a dict of columns is expected")
        return [*self._asked(cast("Mapping[str, object]", row), what), Turn("assistant", (answer,))]

    def shown(self, pairs: Sequence[object], *, start: int) -> Shown:
        """The examples of a prompt, which stand behind `start` turns.

        Raises
        ------
        UsageError
            As `turns`.
        """
        if not pairs:
            return NONE_SHOWN
        turns = tuple(tuple(self.turns(pair, number)) for number, pair in enumerate(pairs, 1))
        own = [it for turn in self.body for it in turn.texts if isinstance(it, int)]
        lone = len(self.slots) == 1 and self.function is None
        asked: dict[Asked, frozenset[int]] = {}
        for number, (*question, _) in enumerate(turns):
            key: Asked = tuple(question)
            if self.function is None:
                texts = self._slot_texts(question)
                key = texts[0] if lone and texts else texts
            if key != ():
                asked[key] = asked.get(key, frozenset()) | {number}
        whole = self.function is not None or len(own) == len(self.slots)
        return Shown(
            start,
            turns,
            asked,
            slots=None if whole else tuple(own),
            tail=None if self.function is None else len(self.slots),
        )

    def _slot_texts(self, question: Sequence[Turn[SlotText]]) -> tuple[str, ...]:
        return tuple(
            cast("str", text)
            for own, told in zip(self.body, question, strict=True)
            for it, text in zip(own.texts, told.texts, strict=True)
            if isinstance(it, int)
        )

    def _asked(self, row: Mapping[str, object], what: str) -> Sequence[Turn[SlotText]]:
        if self.function is not None:
            tail = self.function.tail(row)
            if isinstance(tail, Failure):
                raise UsageError(f"{what} can't be rendered: {tail.detail}")
            return own_turns(tail)
        return [turn.map(lambda text: self._text(text, row, what)) for turn in self.body]

    def _text(self, text: SlotText, row: Mapping[str, object], what: str) -> SlotText:
        if isinstance(text, str):
            return text
        slot = self.slots[text]
        for name in slot.columns:
            if name not in row:
                # The template's name is right, for it fits the frame: a near one in the example is the misspelt one.
                raise UsageError(f"{what} lacks column {name!r}, which the prompt uses; {listed(list(row))}")
            if row[name] is None and self.on_null != "render":
                raise UsageError(f'{what}: missing value in {name!r}; leave it out, or on_null="render"')
        filled = slot.fill({name: [row[name]] for name in slot.columns}, 1)
        if filled.failures:
            raise UsageError(f"{what} can't be rendered: {filled.failures[0].detail}")
        return filled.texts[0]


def own_turns(tail: Sequence[str]) -> tuple[Turn[SlotText], ...]:
    """The turns of what a callable gave for a row, without system messages."""
    if len(tail) == 1:
        return (Turn("user", (tail[0],)),)
    told = cast("list[Turn[SlotText]]", read_messages(tail_messages(tail)))
    return tuple(turn for turn in told if turn.role not in SYSTEM_ROLES)
