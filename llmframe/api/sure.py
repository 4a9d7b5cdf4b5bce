"""The columns that tell how sure an answer is: confidence, its source, the labels' probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from llmframe.core.calibration import Calibration
from llmframe.core.columns import ColumnType
from llmframe.core.fields import Labels
from llmframe.core.outcome import Answer
from llmframe.core.schema import Schema
from llmframe.core.scores import SOURCES, Score
from llmframe.core.scoring import Scored, option_names
from llmframe.errors import UsageError

FLOAT: Final = ColumnType("float")


@dataclass(frozen=True, slots=True)
class SureColumn:
    """A column beside the schema's; `value` makes its cell of a row's answer (`None`: there is none)."""

    name: str
    type: ColumnType
    value: Callable[[Answer | None], object]


def sure_columns(
    schema: Schema, *, labels: Labels = "enum", distribution: bool = False, calibration: Calibration | None = None
) -> tuple[SureColumn, ...]:
    """What is told of confidences, in order; nothing where none is wanted.

    For each scored field: its confidence, the raw one where it's calibrated, its source, and when wanted its
    distribution and label mass. A confidence that the model states is a field of the schema; it's among these only
    when it's calibrated, and then stands in that field's place.

    Parameters
    ----------
    labels
        `"string"`: sources are plain text.

    Raises
    ------
    UsageError
        If there are no labels whose probabilities could be told, or the calibration is one of another column.
    """
    scoring = schema.scoring
    if scoring is None:
        return ()
    if distribution and not any(scored.cells for scored in scoring.scored):
        raise UsageError(
            "`distribution=True` tells the probabilities of labels, and this schema has none; pass a Literal, an Enum "
            "or bool, or leave it out"
        )
    names = schema.confidences
    if calibration is not None and len(names) > 1 and calibration.field not in (None, *names):
        raise UsageError(
            f"this calibration is one of the column {calibration.field!r}, and this call writes "
            f"{', '.join(map(repr, names))}; make one with `llmframe.calibrate(frame, gold, field=...)`"
        )
    source = ColumnType("enum", labels=SOURCES) if labels == "enum" else ColumnType("string")
    taken = {field.name for field in schema.fields}
    columns: list[SureColumn] = []

    def add(name: str, type_: ColumnType, value: Callable[[Answer | None], object]) -> None:
        columns.append(SureColumn(f"llm_{name}" if name in taken else name, type_, value))

    for number, (name, scored) in enumerate(zip(names, scoring.scored, strict=True)):
        mine = calibration if len(names) == 1 or (calibration and calibration.field in (None, name)) else None
        if mine is not None and scored.cells:
            mine.check(mine.question or "", labels=option_names(scored.target.options))
        if scoring.source != "stated" or mine is not None:
            columns.append(SureColumn(name, FLOAT, _confidence(number, scored, mine)))
        if mine is not None:
            add(f"{name}_raw", FLOAT, _confidence(number, scored, None))
        add(f"{name}_source", source, _of_score(number, lambda score: score.source))
        if distribution and scored.cells:
            before, (shares, value) = name.removesuffix("confidence"), _distribution(number, scored, mine)
            add(f"{before}distribution", shares, value)
            add(f"{before}label_mass", FLOAT, _of_score(number, lambda score: score.mass))
    return tuple(columns)


def _of_score(number: int, read: Callable[[Score], object]) -> Callable[[Answer | None], object]:
    def value(answer: Answer | None) -> object:
        return read(answer.scores[number]) if answer is not None and answer.scores else None

    return value


def _confidence(number: int, scored: Scored, calibration: Calibration | None) -> Callable[[Answer | None], object]:
    if calibration is None:
        return _of_score(number, lambda score: score.confidence)

    def value(answer: Answer | None) -> object:
        if answer is None or not answer.scores:
            return None
        score = answer.scores[number]
        return calibration.apply(score.confidence, score.probabilities, scored.option_of(answer.values[scored.place]))

    return value


def _distribution(
    number: int, scored: Scored, calibration: Calibration | None
) -> tuple[ColumnType, Callable[[Answer | None], object]]:
    """The dtype of a distribution, and its cells."""
    names = option_names(scored.target.options)

    def shares(answer: Answer | None) -> object:
        if answer is None or not answer.scores:
            return None
        found = answer.scores[number].probabilities
        if found and calibration is not None:
            found = calibration.apply_distribution(found, scored.option_of(answer.values[scored.place]))
        return dict(zip(names, found, strict=True)) if found else None

    return ColumnType("struct", fields=tuple((name, FLOAT) for name in names)), shares
