"""The prompt of a call: a constant skeleton of messages with slots that columns fill."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

from llmframe.core.braces import BraceTemplate, Field, absent_column, listed, parse_braces
from llmframe.core.callables import CallablePrompt, Tail, tail_messages
from llmframe.core.cells import CellError, OnNull, checked_text
from llmframe.core.examples import NONE_SHOWN, Rendered, Shots, Shown, Slot, SlotText
from llmframe.core.jinja import compile_jinja
from llmframe.core.messages import (
    SYSTEM_ROLES,
    Message,
    Turn,
    canonical_pieces,
    json_text,
    message,
    read_messages,
)
from llmframe.core.outcome import Failure
from llmframe.core.request import Fingerprints
from llmframe.errors import UsageError, did_you_mean

__all__ = ["Message", "OnNull", "Prompt", "PromptSpec", "Rendered", "Syntax", "Template", "compile_prompt"]

Syntax = Literal["auto", "braces", "jinja2"]

_JINJA_MARK = re.compile(r"\{%.*?%\}|\{\{[-+]?[ \t].*?\}\}", re.DOTALL)
_JINJA_PART = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
_OPEN_BRACE = re.compile(r"\{[^{}]*$")


@dataclass(frozen=True, slots=True)
class Template:
    """A template whose reading is said by hand.

    Parameters
    ----------
    text
        The template.
    syntax
        `"braces"`, `"jinja2"`, or `"auto"`: Jinja2 when there is `{% %}` or a blank after `{{`, braces otherwise.
    literal
        True: the text is sent as it is, its braces too, and needs no column.
    fenced
        True: every cell stands between two lines of backticks, more of them than any cell of the row has side by side,
        so that no cell can end itself and be taken for the prompt's own words. Braces only.

    Raises
    ------
    UsageError
        If `text` is empty or can't be sent, or `syntax` isn't known or stands beside `literal` or `fenced`.
    """

    text: str
    syntax: Syntax = field(default="auto", kw_only=True)
    literal: bool = field(default=False, kw_only=True)
    fenced: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check the values."""
        if not isinstance(self.text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise UsageError(f"a template is a text, not {type(self.text).__name__!r}")
        if not self.text.strip():
            raise UsageError("a template is empty; name a column in braces: {column}")
        if self.syntax not in get_args(Syntax):
            close = did_you_mean(str(self.syntax), get_args(Syntax))
            raise UsageError(f"syntax={self.syntax!r} isn't known{close or ';'} it is one of {get_args(Syntax)!r}")
        if self.literal and self.syntax != "auto":
            raise UsageError(f"literal=True sends the text as it is; leave out syntax={self.syntax!r}")
        if self.fenced and (self.literal or self.syntax == "jinja2"):
            other = "literal=True" if self.literal else f"syntax={self.syntax!r}"
            raise UsageError(f"fenced=True fences the cells of a template in braces; leave out {other}")
        try:
            checked_text(self.text)
        except CellError as error:
            raise UsageError(f"a template can't be sent as UTF-8: {error.detail}") from None


PromptSpec = str | Template | Sequence[Mapping[str, object]] | Callable[[dict[str, object]], object]
"""A template, chat messages whose contents are templates, or a function `row -> str or messages`."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A compiled prompt.

    Attributes
    ----------
    positions
        Positions of the columns it uses, ascending.
    columns
        Their names.
    """

    positions: tuple[int, ...]
    columns: tuple[str, ...]
    _turns: tuple[Turn[SlotText], ...]
    _slots: tuple[Slot, ...]
    _function: CallablePrompt | None
    _on_null: OnNull
    _shown: Shown = NONE_SHOWN

    def render(self, cells: Sequence[Sequence[object]], *, rows: int | None = None) -> list[Rendered | Failure]:
        """Render a chunk of rows.

        Parameters
        ----------
        cells
            One list of values for each of `columns`, all of the same length; None is null.
        rows
            Number of rows; needed when the prompt uses no column.

        Returns
        -------
        list of str, tuple of str or Failure
            One entry a row, whatever the chunk: kinds `null`, `render` and `encoding` fail.
        """
        count = len(cells[0]) if cells else rows or 0
        by_name = dict(zip(self.columns, cells, strict=True))
        failures = self._nulls(by_name)
        columns: list[list[str]] = []
        for slot in self._slots:
            filled = slot.fill(by_name, count)
            columns.append(filled.texts)
            failures = filled.failures | failures
        results: list[Rendered | Failure]
        if self._function is not None:
            tails = [self._function.tail({n: c[row] for n, c in by_name.items()}) for row in range(count)]
            heads = zip(*columns, strict=True) if columns else [()] * count
            results = [_joined(head, tail) for head, tail in zip(heads, tails, strict=True)]
        elif len(columns) == 1:
            results = list(columns[0])
        else:
            results = list(zip(*columns, strict=True)) if columns else [()] * count
        for row, failure in failures.items():
            results[row] = failure
        return results

    @property
    def pure(self) -> bool:
        """Whether equal cells of equal types always have equal messages; a callable may do as it likes."""
        return self._function is None

    def keys(self, fingerprints: Fingerprints) -> Callable[[Rendered], bytes]:
        """A function from a rendered row to the key of its messages, as `fingerprints.key(self.messages(rendered))`.

        What is constant in the messages is written once, and hashed once as far as it stands in front.
        """
        if self._function is not None:
            return lambda rendered: fingerprints.key(self.messages(rendered))
        key, shown = self._keys_of_all_turns(fingerprints), self._shown
        if not shown.asked:
            return key
        return lambda rendered: (
            fingerprints.key(self.messages(rendered)) if shown.asked_by(rendered) in shown.asked else key(rendered)
        )

    def _keys_of_all_turns(self, fingerprints: Fingerprints) -> Callable[[Rendered], bytes]:
        constants, slots = canonical_pieces(self._turns)
        start, tail = fingerprints.after(constants[0]), constants[-1]
        if slots == [0]:
            return lambda rendered: start.key_of(json_text(cast("str", rendered)) + tail)
        ends = list(zip(slots, constants[1:], strict=True))

        def key(rendered: Rendered) -> bytes:
            texts = [*map(json_text, (rendered,) if isinstance(rendered, str) else rendered)]
            return start.key_of("".join([texts[slot] + constant for slot, constant in ends]))

        return key

    def messages(self, rendered: Rendered) -> list[Message]:
        """The messages of one rendered row, fresh at each call."""
        texts = (rendered,) if isinstance(rendered, str) else rendered
        told: list[Message] = [
            message(turn.role, [texts[it] if isinstance(it, int) else it for it in turn.texts], parts=True)
            if turn.parts
            else {"role": turn.role, "content": texts[it] if isinstance(it := turn.texts[0], int) else it}
            for turn in self._shown.seen_by(rendered, self._turns)
        ]
        return told if self._function is None else told + tail_messages(texts[len(self._slots) :])

    def _nulls(self, cells: Mapping[str, Sequence[object]]) -> dict[int, Failure]:
        """Rows with a null where a template needs a cell; a callable tells by itself which it read."""
        failures: dict[int, Failure] = {}
        if self._on_null == "render":
            return failures
        for name in dict.fromkeys(name for slot in self._slots for name in slot.columns):
            if None in cells[name]:
                for row, value in enumerate(cells[name]):
                    if value is None:
                        failures.setdefault(row, Failure("null", f"missing value in {name!r}"))
        return failures


def compile_prompt(  # noqa: PLR0913 - one argument a thing that the verb is told about its prompt
    prompt: object,
    names: Sequence[str],
    *,
    system: str | Template | None = None,
    examples: Sequence[tuple[object, str]] = (),
    on_null: OnNull = "skip",
    series: bool = False,
) -> Prompt:
    """Read a prompt once, before anything is sent.

    Parameters
    ----------
    prompt
        A `PromptSpec`.
    names
        The frame's columns in order; of a Series its one name.
    system
        A system template, which may use columns too.
    examples
        Pairs of a row (a mapping from column to value; of a Series the cell) and the assistant's answer. The prompt
        is rendered for each; they stand between system messages and the row's own. A row that asks the same as an
        example doesn't see that one.
    on_null
        A null in a used column: `"skip"` fails the row, `"render"` is empty text, `"raise"` is the caller's to
        check beforehand and skips here.
    series
        Whether `names` is a Series: the prompt then has exactly one `{}`.

    Raises
    ------
    UsageError
        If the prompt can't be read, names a column that is absent or there twice, or uses none.
    """
    if on_null not in get_args(OnNull):
        close = did_you_mean(str(on_null), get_args(OnNull))
        raise UsageError(f"on_null={on_null!r} isn't known{close or ';'} it is one of {get_args(OnNull)!r}")
    reader = _Reader(tuple(names), series=series, on_null=on_null)
    head = [] if system is None else [Turn("system", (reader.read(system, "system"),))]
    function: CallablePrompt | None = None
    body: list[Turn[SlotText]] = []
    if isinstance(prompt, str | Template):
        body = [Turn("user", (reader.read(prompt, "prompt"),))]
    elif isinstance(prompt, list | tuple):
        turns = read_messages(cast("Sequence[object]", prompt))
        body = [turn.map(lambda text: reader.read(text, "prompt")) for turn in turns]
    elif callable(prompt):
        function = CallablePrompt(prompt, on_null=on_null, own_system=system is not None)
    else:
        raise UsageError(
            f"prompt is of type {type(prompt).__name__!r}; it is a template, llmframe.Template, a list of messages or "
            "a callable row -> str or messages"
        )
    if head and any(turn.role in SYSTEM_ROLES for turn in body):
        raise UsageError("the prompt's messages have a system message of their own; leave out `system=` or that one")
    if function is None:
        reader.check_columns()
        used = {name for slot in reader.slots for name in slot.columns}
    else:
        used = set(names)
    reader.check_once(used)
    while body and body[0].role in SYSTEM_ROLES:
        head.append(body.pop(0))
    asked = [turn for turn in body if turn.role not in SYSTEM_ROLES]
    shown = Shots(asked, reader.slots, function, on_null, names[0] if series else None).shown(examples, start=len(head))
    positions = tuple(position for position, name in enumerate(names) if name in used)
    return Prompt(
        positions,
        tuple(names[position] for position in positions),
        (*head, *(turn for turns in shown.turns for turn in turns), *body),
        tuple(reader.slots),
        function,
        on_null,
        shown,
    )


def _joined(head: tuple[str, ...], tail: Tail | Failure) -> Rendered | Failure:
    if isinstance(tail, Failure):
        return tail
    return tail[0] if not head and len(tail) == 1 else (*head, *tail)


class _Reader:
    """Turns templates into constant texts and slots, and remembers what the prompt uses."""

    def __init__(self, names: tuple[str, ...], *, series: bool, on_null: OnNull) -> None:
        self.names = names
        self.series = series
        self.on_null: OnNull = on_null
        self.slots: list[Slot] = []
        self.texts: list[str] = []
        self.uses = 0
        self.literal = False

    def read(self, template: object, what: str) -> SlotText:
        """A constant text, or the number of the slot that `template` became."""
        if not isinstance(template, str | Template):
            raise UsageError(f"{what} holds {type(template).__name__!r} where a template is expected")
        spec = Template(template) if isinstance(template, str) else template
        if spec.literal:
            self.literal = self.literal or what == "prompt"
            return spec.text
        self.texts.append(spec.text)
        if spec.syntax == "jinja2" or (spec.syntax == "auto" and not spec.fenced and self._is_jinja(spec.text, what)):
            return self._read_jinja(spec.text, what)
        pieces = parse_braces(spec.text, self.names, series=self.series, what=what)
        fields = sum(isinstance(piece, Field) for piece in pieces)
        if not fields:
            return "".join(cast("tuple[str, ...]", pieces))
        self.uses += fields
        self.slots.append(BraceTemplate(pieces, self.on_null, spec.fenced))
        return len(self.slots) - 1

    def check_columns(self) -> None:
        """Raise when the prompt uses no column, or a Series not exactly once."""
        lone = next((found.start() + 1 for found in map(_OPEN_BRACE.search, self.texts) if found), None)
        closing = f"the brace at character {lone} stays open, close it as in "
        if self.series and self.uses != 1 and not (self.literal and not self.uses):
            hint = "braces that are text are doubled: `{{}}`" if self.uses or lone is None else closing + "`{}`"
            raise UsageError(f"the prompt of a Series has exactly one `{{}}`, this one has {self.uses}; {hint}")
        if not self.uses and not self.literal:
            text = "\n".join(self.texts)
            doubled = next((name for name in self.names if "{{" + name + "}}" in text), None)
            hint = f"`{{}}` is the cell of a Series; on a frame name the column, {self._example()}"
            if doubled is not None:
                single = repr("{" + doubled + "}")
                hint = f'doubled braces are text: write {single}, or llmframe.Template(..., syntax="jinja2")'
            elif lone is not None:
                hint = closing + self._example()
            elif "{}" not in text:
                hint = f"name one in braces, {self._example()}, or say llmframe.Template(..., literal=True)"
            raise UsageError(f"prompt uses no column, so every row would ask the same; {hint}; {listed(self.names)}")

    def check_once(self, used: set[str]) -> None:
        """Raise when a used column's name stands for several."""
        for name, count in Counter(self.names).items():
            if count > 1 and name in used:
                raise UsageError(f"prompt uses column {name!r}, of which there are {count}; rename one of them")

    def _example(self) -> str:
        return repr("{" + (self.names[0] if self.names else "column") + "}")

    def _is_jinja(self, text: str, what: str) -> bool:
        mark = _JINJA_MARK.search(text)
        if mark is None:
            return False
        try:
            pieces = parse_braces(_JINJA_PART.sub(" ", text), self.names, series=self.series, what=what)
            found = next((f"the column {piece.label!r}" for piece in pieces if isinstance(piece, Field)), None)
        except UsageError:
            found = "what looks like a column"
        if found is None:
            return True
        raise UsageError(
            f"{what} has {found} in single braces and Jinja2's {mark[0][:2]!r} (character {mark.start() + 1}); "
            f'say which it is: llmframe.Template(text, syntax="braces") or llmframe.Template(text, syntax="jinja2")'
        )

    def _read_jinja(self, text: str, what: str) -> SlotText:
        template = compile_jinja(text, self.names, on_null=self.on_null, what=what)
        for name in template.columns:
            if name not in self.names:
                raise absent_column(name, self.names, what=what)
        if template.columns:
            self.uses += 1
            self.slots.append(template)
            return len(self.slots) - 1
        filled = template.fill({}, 1)
        if filled.failures:
            raise UsageError(f"{what} can't be rendered: {filled.failures[0].detail}")
        return filled.texts[0]
