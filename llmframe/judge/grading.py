"""From the codes that a judge gave to levels and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from llmframe.api.arguments import calibration_of
from llmframe.core.calibration import Calibration
from llmframe.core.columns import ColumnType
from llmframe.core.votes import expected
from llmframe.frames.derived import RowFunction
from llmframe.judge.levels import Level
from llmframe.judge.rubric import Rubric

FLOAT: Final = ColumnType("float")

Shares = Mapping[str, float]
"""Probabilities by code."""


def graded_columns(
    rubric: Rubric, asked: Sequence[tuple[str, ColumnType]], *, known: bool, shown: bool
) -> list[tuple[str, ColumnType]]:
    """Name and type of the columns that a score has, in order.

    Parameters
    ----------
    asked
        Those of the codes that a judge gave.
    known
        Whether the codes' probabilities are among them.
    shown
        Whether they stay, under the levels' names.
    """
    types = dict(asked)
    scale = [] if rubric.scale == "nominal" else [("score", FLOAT), *([("score_sd", FLOAT)] if known else [])]
    if known:
        levels = tuple((str(step.value), FLOAT) for step in rubric.steps)
        types["distribution"] = ColumnType("struct", fields=levels)
    first = [("level", rubric.type), *scale, *((name, types[name]) for name in types if name == "reason")]
    dropped = {"level", "reason", *(() if shown else ("distribution", "label_mass"))}
    return first + [(name, type_) for name, type_ in types.items() if name not in dropped]


def in_codes(said: Any, rubric: Rubric) -> Calibration | None:
    """The calibration that a call says, its labels as the judge says them: one of scored rows names the levels.

    Raises
    ------
    UsageError
        If its labels are no levels of the rubric, or it can't be read.
    """
    calibration = calibration_of(said)
    if calibration is None or not calibration.labels:
        return calibration
    calibration.check(calibration.question or "", labels=[str(step.value) for step in rubric.steps])
    return replace(calibration, labels=tuple(step.code for step in rubric.steps))


def grading(rubric: Rubric, asked: Sequence[str], outputs: Sequence[str]) -> RowFunction:
    """What makes the columns `outputs` of the columns `asked`."""
    by_code = {step.code: step for step in rubric.steps}

    def make(cells: list[list[object]]) -> list[list[object]]:
        given = dict(zip(asked, cells, strict=True))
        levels = [by_code[code] if isinstance(code, str) else None for code in given["level"]]
        spreads = [cast("Shares | None", cell) for cell in given.get("distribution", [None] * len(levels))]
        made: dict[str, list[object]] = {**given, "level": [level and level.value for level in levels]}
        numbers = [_expected(rubric, level, spread) for level, spread in zip(levels, spreads, strict=True)]
        made["score"], made["score_sd"] = [mean for mean, _ in numbers], [sd for _, sd in numbers]
        made["distribution"] = [
            spread and {str(step.value): spread[step.code] for step in rubric.steps} for spread in spreads
        ]
        return [made[name] for name in outputs]

    return make


def _expected(rubric: Rubric, level: Level | None, spread: Shares | None) -> tuple[float | None, float | None]:
    """Mean and standard deviation by the probabilities; without them the level's number alone."""
    if rubric.scale == "nominal" or not spread:
        return (level.number if level else None), None
    numbers = [cast("float", step.number) for step in rubric.steps]
    return expected(numbers, [spread[step.code] for step in rubric.steps])
