"""Few-shot examples, from a frame or a list, as template rows with the text that the model should have said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from llmframe.core.schema import Schema
from llmframe.errors import UsageError, excerpt
from llmframe.frames import wrap

_FIELD: Final = re.compile(r"field '([^'.]+)")
"""The field that a refused answer's problem names."""

Example = tuple[object, str]


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples that have been read: all parts of a call see the same, whatever becomes of the frame they came from.

    Parameters
    ----------
    pairs
        Each a row, a dict of cells or one cell, and the answer's text.
    """

    pairs: tuple[Example, ...]


def read_examples(examples: object, schema: Schema, *, template: object) -> Examples | None:
    """Read `examples` once; `None` when there are none.

    Raises
    ------
    UsageError
        If an example lacks a column or has an answer that the schema refuses.
    """
    if examples is None or isinstance(examples, Examples):
        return examples
    native = examples
    pairs = cast("list[object]", examples) if isinstance(examples, list | tuple) else None
    if pairs is not None and not (pairs and all(isinstance(pair, Mapping) for pair in pairs)):
        return Examples(tuple(_pair(number, pair, schema) for number, pair in enumerate(pairs, 1)))
    return Examples(tuple(_from_frame(native, schema, template=template)))


def examples_of(examples: object, schema: Schema, *, template: object, series: bool) -> list[Example]:
    """`(row, answer text)` pairs; the row is a dict of cells, or one cell for a Series.

    Raises
    ------
    UsageError
        As `read_examples`.
    """
    found = read_examples(examples, schema, template=template)
    if found is None:
        return []
    return [(_cell(row), text) for row, text in found.pairs] if series else list(found.pairs)


def _pair(number: int, pair: object, schema: Schema) -> Example:
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(cast("Sequence[object]", pair)) != 2:  # noqa: PLR2004 - a pair
        raise UsageError(f"`examples` must be (row, answer) pairs or a frame; example {number} is neither")
    row, answer = cast("Sequence[object]", pair)
    kept = dict(cast("Mapping[object, object]", row)) if isinstance(row, Mapping) else row
    return kept, _answer_text(number, answer, schema)


def _cell(row: object) -> object:
    """What stands in for a Series' cell: the one value of a row that has a name for it, or the cell itself."""
    if not isinstance(row, Mapping):
        return row
    named = cast("Mapping[str, object]", row)
    return next(iter(named.values())) if len(named) == 1 else named


def _from_frame(examples: object, schema: Schema, *, template: object) -> list[Example]:
    frame = wrap(examples)
    cells = frame.cells(range(len(frame.names)), 0, len(frame))
    columns = dict(zip(frame.names, cells, strict=True))
    wanted = [field.name for field in schema.fields]
    lone = schema.single and len(wanted) == 1  # a stated confidence stands beside a value
    if lone and wanted[0] not in columns:
        wanted = _only_unused(list(columns), template) or wanted
    absent = [name for name in wanted if name not in columns]
    if absent:
        raise UsageError(f"`examples` lacks the answer column {absent[0]!r}; its columns: {', '.join(frame.names)}")
    column = wanted[0] if lone else None
    pairs: list[Example] = []
    for number in range(len(frame)):
        row = {name: values[number] for name, values in columns.items()}
        answer = row[wanted[0]] if lone else {name: row[name] for name in wanted}
        inputs = {name: value for name, value in row.items() if name not in wanted}
        pairs.append((inputs, _answer_text(number + 1, answer, schema, column=column)))
    return pairs


def _only_unused(names: list[str], template: object) -> list[str]:
    """The one column that the template doesn't name, when there is just one."""
    unused = [name for name in names if f"{{{name}" not in str(template)]
    return unused if len(unused) == 1 else []


def _answer_text(number: int, answer: object, schema: Schema, *, column: str | None = None) -> str:
    """The text of an answer; `column` is where it stands, when that isn't the field's name."""
    names = [field.name for field in schema.fields]
    try:
        return schema.answer_text(answer)
    except UsageError as error:
        if schema.single and len(names) > 1 and _is_value(answer):
            value, sure = names
            raise UsageError(
                f"answer of example {number} lacks {sure!r}: the model is to state how sure it is, so examples do, "
                f"too, as in {{{value!r}: ..., {sure!r}: 0.9}}"
            ) from None
        where = "" if column in (None, names[0]) else f" (column {column!r})"
        raise UsageError(f"answer of example {number}{where}: {error}{_given(str(error), answer, schema)}") from None


def _is_value(answer: object) -> bool:
    return not isinstance(answer, Mapping)


def _given(problem: str, answer: object, schema: Schema) -> str:
    """The value that a problem is about, for its end; empty where that can't be told."""
    named = _FIELD.findall(problem)
    if len(named) != 1:
        return ""
    given = answer
    if isinstance(answer, Mapping) and named[0] in answer:
        given = cast("Mapping[object, object]", answer)[named[0]]
    elif not schema.single:
        return ""
    return f", got {excerpt(repr(given))}"
