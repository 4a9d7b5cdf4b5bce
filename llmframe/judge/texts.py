"""What a preset shows of each row: always last in the prompt, after a mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from llmframe.core.braces import Field, parse_braces
from llmframe.core.template import Template
from llmframe.errors import UsageError
from llmframe.frames.derived import names_of, position_of

_PAIR: Final = 2

_ACCEPTED: Final = "the name of a column, a list of names, or a template with {column} fields"


@dataclass(frozen=True, slots=True)
class Shown:
    """The user message of a preset.

    Parameters
    ----------
    template
        A mark, then the cells: what stands in them can't end its own quotation, for nothing follows.
    columns
        The columns it shows; empty where a Jinja2 template says so itself.
    """

    template: Template
    columns: tuple[str, ...] = ()


def shown(column: object, frame: object, *, mark: str = "Text") -> Shown:
    """The message that shows `column` of each row under `mark`.

    Parameters
    ----------
    column
        The name of a column; several names, each of which then heads its cell; or a template.
    frame
        A frame with named columns, lazy or not.

    Raises
    ------
    UsageError
        If a column is absent, or `column` is nothing of the kind.
    """
    names = names_of(frame)
    head = f"{mark}:\n"
    if isinstance(column, Template):
        return Shown(Template(head + column.text, syntax=column.syntax, literal=column.literal))
    if isinstance(column, str):
        if column in names or not names:
            return Shown(Template(f"{head}{{{column}}}", syntax="braces"), (column,))
        if "{" not in column:
            position_of(column, names)
        fields = [piece for piece in _pieces(column, names) if isinstance(piece, Field)]
        return Shown(Template(head + column), tuple(dict.fromkeys(field.column for field in fields)))
    found = cast("Sequence[object]", column) if isinstance(column, list | tuple) else ()
    several = [name for name in found if isinstance(name, str)]
    if not several or len(several) != len(found):
        raise UsageError(f"`column` is {_ACCEPTED}, got {column!r}")
    for name in several if names else ():
        position_of(name, names)
    if len(several) == 1:
        return shown(several[0], frame, mark=mark)
    return _several([Field(name) for name in several], head)


def named(text: str, frame: object, *, what: str) -> tuple[str, Shown]:
    """`text` with the names of its `{column}` fields in their place, and the message that shows these columns.

    So the text is the same for every row, and no cell stands in the middle of it.

    Raises
    ------
    UsageError
        If a field names no column, or there is none.
    """
    names = names_of(frame)
    if not names:  # a list without rows: nothing is asked
        return text, Shown(Template(text, literal=True))
    pieces = parse_braces(text, names, what=what)
    fields = list(dict.fromkeys(piece for piece in pieces if isinstance(piece, Field)))
    if not fields:
        raise UsageError(
            f"{what} names no column; write one in braces, as in {'{' + names[0] + '}'!r}, or say `column=`"
        )
    said = "".join(f'"{piece.label}"' if isinstance(piece, Field) else piece for piece in pieces)
    return said, _several(fields)


def _several(fields: Sequence[Field], head: str = "") -> Shown:
    """Each field under its name, which is text whatever braces it has; among others a cell is fenced."""
    parts = [f"{_doubled(field.label)}:\n{{{field.label}{':' if field.spec else ''}{field.spec}}}" for field in fields]
    columns = tuple(dict.fromkeys(field.column for field in fields))
    return Shown(Template(head + "\n\n".join(parts), syntax="braces", fenced=len(fields) > 1), columns)


def _doubled(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _pieces(text: str, names: Sequence[str]) -> Sequence[str | Field]:
    """The pieces of a brace template; none of one that is Jinja2, or wrong, which `map` tells."""
    try:
        return parse_braces(text, names)
    except UsageError:
        return ()


def told(*parts: object) -> Template:
    """The system message of these parts, the same for every row; `None` for a part that wasn't said.

    Raises
    ------
    UsageError
        If `instructions`, the only part that a caller says, is no text.
    """
    texts: list[str] = []
    for part in parts:
        if part is None:
            continue
        if not isinstance(part, str) or not part.strip():
            raise UsageError(f"`instructions` must be a text, got {part!r}; leave it out for none")
        texts.append(part.strip())
    return Template("\n".join(texts), literal=True)


def with_rows(examples: object, source: Shown) -> object:
    """Examples of which pairs may have the text itself in place of a row."""
    pairs = cast("Sequence[Any]", examples)
    if not isinstance(examples, list | tuple) or len(source.columns) != 1:
        return cast("object", examples)
    [column] = source.columns
    return [({column: pair[0]}, pair[1]) if _is_of_text(pair) else pair for pair in pairs]


def _is_of_text(pair: Any) -> bool:
    return isinstance(pair, tuple | list) and len(cast("Sequence[object]", pair)) == _PAIR and isinstance(pair[0], str)
