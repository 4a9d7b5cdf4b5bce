"""Few-shot examples, from a frame or a list, as template rows with the text that the model should have said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from llmframe.core.schema import Schema
from llmframe.errors import UsageError
from llmframe.frames import wrap

Example = tuple[object, str]


def examples_of(examples: object, schema: Schema, *, template: object, series: bool) -> list[Example]:
    """`(row, answer text)` pairs; the row is a dict of cells, or one cell for a Series.

    Raises
    ------
    UsageError
        If an example lacks a column or has an answer that the schema refuses.
    """
    if examples is None:
        return []
    native = examples
    pairs = cast("list[object]", examples) if isinstance(examples, list | tuple) else None
    if pairs is not None and not (pairs and all(isinstance(pair, Mapping) for pair in pairs)):
        return [_pair(number, pair, schema, series=series) for number, pair in enumerate(pairs, 1)]
    return _from_frame(native, schema, template=template, series=series)


def _pair(number: int, pair: object, schema: Schema, *, series: bool) -> Example:
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(cast("Sequence[object]", pair)) != 2:  # noqa: PLR2004 - a pair
        raise UsageError(f"`examples` must be (row, answer) pairs or a frame; example {number} is neither")
    row, answer = cast("Sequence[object]", pair)
    return _cell(row) if series else row, _answer_text(number, answer, schema)


def _cell(row: object) -> object:
    """What stands in for a Series' cell: the one value of a row that has a name for it, or the cell itself."""
    if not isinstance(row, Mapping):
        return row
    named = cast("Mapping[str, object]", row)
    return next(iter(named.values())) if len(named) == 1 else named


def _from_frame(examples: object, schema: Schema, *, template: object, series: bool) -> list[Example]:
    frame = wrap(examples)
    cells = frame.cells(range(len(frame.names)), 0, len(frame))
    columns = dict(zip(frame.names, cells, strict=True))
    wanted = [field.name for field in schema.fields]
    if schema.single and wanted[0] not in columns:
        wanted = _only_unused(list(columns), template) or wanted
    absent = [name for name in wanted if name not in columns]
    if absent:
        raise UsageError(f"`examples` lacks the answer column {absent[0]!r}; its columns: {', '.join(frame.names)}")
    pairs: list[Example] = []
    for number in range(len(frame)):
        row = {name: values[number] for name, values in columns.items()}
        answer = row[wanted[0]] if schema.single else {name: row[name] for name in wanted}
        inputs = {name: value for name, value in row.items() if name not in wanted}
        pairs.append((_cell(inputs) if series else inputs, _answer_text(number + 1, answer, schema)))
    return pairs


def _only_unused(names: list[str], template: object) -> list[str]:
    """The one column that the template doesn't name, when there is just one."""
    unused = [name for name in names if f"{{{name}" not in str(template)]
    return unused if len(unused) == 1 else []


def _answer_text(number: int, answer: object, schema: Schema) -> str:
    try:
        return schema.answer_text(answer)
    except UsageError as error:
        raise UsageError(f"answer of example {number}: {error}") from None
