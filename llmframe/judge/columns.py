"""Which columns of a frame belong to an answer: its error, its confidence, what it took."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, cast

from llmframe.core.request import canonical_json
from llmframe.errors import UsageError, did_you_mean
from llmframe.frames import Frame, wrap

_ERROR: Final = re.compile(r"(.*?)(?:llm_)?error", re.DOTALL)
_OWN: Final = re.compile(r"(.*_)?(error|confidence(_source|_raw)?|distribution|label_mass|llm_meta)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerColumns:
    """Names of the columns beside an answer's; `None` where there is none.

    Attributes
    ----------
    value
        The answer itself.
    prefix
        What its call put before all names, as far as the error column tells.
    confidence
        The raw confidence: of a calibrated run the one that stands beside.
    shown
        The confidence that is shown, calibrated or not.
    distribution
        The probabilities of all labels; of a calibrated run they are calibrated, too.
    """

    value: str
    prefix: str = ""
    error: str | None = None
    confidence: str | None = None
    shown: str | None = None
    distribution: str | None = None
    meta: str | None = None


def is_own(name: str) -> bool:
    """Whether llmframe gives such a name to what stands beside answers."""
    return _OWN.fullmatch(name) is not None


def answer_columns(names: Sequence[str], value: str) -> AnswerColumns:
    """What belongs to the answer in column `value`, by the names that `map` gives.

    Raises
    ------
    UsageError
        If there is no such column, or several.
    """
    if names.count(value) != 1:
        how = f"there are {names.count(value)} columns" if value in names else "there is no column"
        hint = "; rename them" if value in names else did_you_mean(value, names)
        raise UsageError(f"{how} {value!r}{hint}; columns: {list(names)}")
    prefix, error = _error_of(names[names.index(value) + 1 :], value)
    field = value.removeprefix(prefix)
    tried = [f"llm_{field}_confidence", f"{field}_confidence", "llm_confidence", "confidence"]
    shown = next((prefix + name for name in tried if prefix + name in names), None)
    raw = f"{shown}_raw"
    distribution = f"{(shown or '').removesuffix('confidence')}distribution"
    return AnswerColumns(
        value=value,
        prefix=prefix,
        error=error,
        confidence=raw if raw in names else shown,
        shown=shown,
        distribution=distribution if shown and distribution in names else None,
        meta=f"{prefix}llm_meta" if f"{prefix}llm_meta" in names else None,
    )


def read(frame: Frame, name: str | None) -> list[object]:
    """A column's cells as Python values; nulls when `name` is `None`."""
    if name is None:
        return [None] * len(frame)
    [cells] = frame.cells([frame.names.index(name)], 0, len(frame))
    return cells


def comparable(cells: Sequence[object]) -> list[Hashable]:
    """Cells by which rows are compared: NaN is missing, lists and dicts are their JSON text."""
    return [_comparable(cell) for cell in cells]


def numbers(cells: Sequence[object]) -> list[float | None]:
    """The numbers among cells, a database's decimal ones too; NaN, a bool and everything else is missing."""
    return [
        float(cell) if isinstance(cell, int | float | Decimal) and not isinstance(cell, bool) and cell == cell else None  # noqa: PLR0124 - NaN differs from itself
        for cell in cells
    ]


def confidences(cells: Sequence[object], name: object) -> list[float | None]:
    """As `numbers`; raises `UsageError` where they are text, as a CSV file's are."""
    found = numbers(cells)
    if found and all(each is None for each in found) and any(isinstance(cell, str) for cell in cells):
        told = f"in {name!r} " if isinstance(name, str) else ""
        raise UsageError(
            f"the confidences {told}must be numbers in [0, 1], and are text; convert them, or name another column"
        )
    return found


def said_or_column(frames: Sequence[Frame], said: object, *, argument: str) -> list[object]:
    """The cells that `said` names in the first frame that has the column, or its own values, one a row.

    Raises
    ------
    UsageError
        If no frame has the column, or there is not one value for each row.
    """
    if isinstance(said, str):
        found = next((frame for frame in frames if said in frame.names), None)
        if found is None:
            names = list(dict.fromkeys(name for frame in frames for name in frame.names))
            raise UsageError(f"`{argument}` names no column: {said!r}{did_you_mean(said, names)}; columns: {names}")
        return read(found, said)
    cells = _values_of(said)
    if cells is None:
        raise UsageError(
            f"`{argument}` must be the name of a column or a sequence with a value for each row, got "
            f"{type(said).__name__}"
        )
    if len(cells) != len(frames[0]):
        raise UsageError(
            f"`{argument}` has {len(cells)} values, the frame {len(frames[0])} rows; give one for each row"
        )
    if _in_another_order(frames[0], said):
        raise UsageError(
            f"`{argument}` has the frame's index in another order, and values are taken by place; put it in the "
            "frame's order: `.reindex(frame.index)`"
        )
    return cells


def _in_another_order(frame: Frame, said: object) -> bool:
    """Whether a pandas Series has the index of a pandas frame, but not in its order."""
    theirs, ours = getattr(said, "index", None), getattr(frame.native, "index", None)
    if not hasattr(theirs, "equals") or not hasattr(ours, "equals"):
        return False
    there, here = list(cast("Sequence[Hashable]", theirs)), list(cast("Sequence[Hashable]", ours))
    return there != here and set(there) == set(here)


def _values_of(said: object) -> list[object] | None:
    if hasattr(said, "to_list"):  # a Series: its missing values have as many forms as there are dtypes
        series = wrap(said)
        return read(series, series.names[0]) if series.single else None
    convert = getattr(said, "tolist", getattr(said, "to_pylist", None))
    cells: object = convert() if callable(convert) else said
    return list(cast("Sequence[object]", cells)) if isinstance(cells, list | tuple) else None


def _error_of(after: Sequence[str], value: str) -> tuple[str, str | None]:
    """Prefix and name of the first error column after an answer that can be its own."""
    for name in after:
        found = _ERROR.fullmatch(name)
        if found is None:
            continue
        for prefix in (name.removesuffix("error"), found[1]):
            if value.startswith(prefix):
                return prefix, name
    return "", None


def _comparable(cell: object) -> Hashable:
    if isinstance(cell, float) and cell != cell:  # noqa: PLR0124 - NaN differs from itself
        return None
    if isinstance(cell, list | dict):
        return canonical_json(cast("object", cell))
    return cast("Hashable", cell)
