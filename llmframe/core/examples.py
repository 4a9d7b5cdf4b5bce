"""Few-shot examples: a prompt's own turns, rendered for a row that isn't in the frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

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

    def _asked(self, row: Mapping[str, object], what: str) -> list[Turn[SlotText]]:
        if self.function is not None:
            tail = self.function.tail(row)
            if isinstance(tail, Failure):
                raise UsageError(f"{what} can't be rendered: {tail.detail}")
            told = [cast("Turn[str]", turn) for turn in read_messages(tail_messages(tail))]
            return [turn.map(_constant) for turn in told if turn.role not in SYSTEM_ROLES]
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


def _constant(text: str) -> SlotText:
    return text
