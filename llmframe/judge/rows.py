"""Whether two frames have the same rows, and which column of theirs is compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from llmframe.errors import UsageError
from llmframe.frames import Frame
from llmframe.frames.row_labels import row_labels
from llmframe.judge.columns import comparable, is_own, read

MOST_LABELS: Final = 50
"""Most different texts of a column that is taken for one of labels."""

TOLD_ROWS: Final = 5
"""Rows that an error names."""

_BESIDE: Final = {
    "votes": "confidence_source",
    "tier": "confidence_source",
    "consistent": "winner",
    "score": "level",
    "score_sd": "score",
}
"""Columns that presets write beside a verdict, each behind another one of the same prefix."""


def check_rows(a: Frame, b: Frame, inputs: Sequence[str]) -> None:
    """Raise `UsageError` unless the frames have as many rows, the same index, and equal cells in `inputs`.

    Parameters
    ----------
    inputs
        Columns that both have.
    """
    if len(a) != len(b):
        raise UsageError(
            f"the first frame has {len(a)} rows, the second {len(b)}: rows are compared by their place, so pass runs "
            "over the same rows (failed ones stay in a run's frame)"
        )
    first, second = row_labels(a), row_labels(b)
    if first is not None and second is not None and first != second:
        rows = [at for at, (left, right) in enumerate(zip(first, second, strict=True)) if left != right]
        raise UsageError(
            f"the frames' indexes differ in {rows_text(rows)}: rows are compared by their place; bring them into the "
            "same order, or `.reset_index(drop=True)` on both if they are"
        )
    for name in inputs:
        rows = differing(a, b, name)
        if rows:
            raise UsageError(
                f"column {name!r} differs in {rows_text(rows)}, so these aren't two runs over the same rows; if it is "
                f"an answer itself, name the columns that were asked about: `inputs=[...]`"
            )


def inputs_of(a: Frame, b: Frame, on: Sequence[str], but: object) -> list[str]:
    """The columns that both have before the first compared one, without those that llmframe adds.

    Parameters
    ----------
    but
        Name of the column with gold, if it is one.
    """
    found = common(a, b)
    before = found[: min(found.index(name) for name in on if name in found)] if set(on) & set(found) else found
    return [name for name in before if not is_own(name) and name != but and name not in on]


def compared_columns(a: Frame, b: Frame, *, inputs: Sequence[str] | None, but: object) -> list[str]:
    """The answers that both runs wrote, where they can be told from other columns.

    These are the fields with a confidence of their own; else of the columns with labels or numbers, from the first
    that differs on, the only one. Where none differs, the last verdict.

    Raises
    ------
    UsageError
        If there is none, or several; it lists them. Or if none differs, and the answers have other names in each frame.
    """
    names = [name for name in common(a, b) if name != but]
    sure = [name for name in names if f"{name}_confidence" in names]
    if sure:
        return sure
    candidates = [name for name in names if not is_own(name) and name not in (inputs or ())]
    differ = [name for name in candidates if differing(a, b, name)]
    if inputs is None and differ:
        candidates = candidates[candidates.index(differ[0]) :]
    elif inputs is None:
        candidates = _last_answer(a, b, candidates)
    found = [name for name in candidates if _few(a, b, name)]
    if len(found) != 1:
        several = "several columns could be compared" if found else "no column with labels or numbers is in both frames"
        raise UsageError(f"{several}; name what to compare: `on=...`, one of {found or names}")
    return found


def common(a: Frame, b: Frame) -> list[str]:
    """Names that both frames have once, in the order of the first."""
    return [name for name in a.names if a.names.count(name) == b.names.count(name) == 1]


def differing(a: Frame, b: Frame, name: str) -> list[int]:
    """Positions of the rows in which a column's cells differ."""
    pairs = zip(comparable(read(a, name)), comparable(read(b, name)), strict=True)
    return [at for at, (left, right) in enumerate(pairs) if left != right]


def rows_text(rows: Sequence[int]) -> str:
    """`"rows 3, 7 and 12 more (counted from 0)"`."""
    told, more = rows[:TOLD_ROWS], len(rows) - TOLD_ROWS
    text = f"{'rows' if len(rows) > 1 else 'row'} {', '.join(map(str, told))}"
    return f"{text}{f' and {more:,} more' if more > 0 else ''} (counted from 0)"


def _last_answer(a: Frame, b: Frame, candidates: list[str]) -> list[str]:
    """The last verdict of runs that are alike; raises `UsageError` where columns that only one has stand behind it."""
    verdicts = [name for name in candidates if not _stands_beside(a, name)]
    if not verdicts:
        return candidates
    own = [_answers_behind(frame, verdicts[-1], but=other) for frame, other in ((a, b), (b, a))]
    if any(own):
        raise UsageError(
            f"no column that both frames have differs, and each has others behind them: {own[0]} and {own[1]}; if "
            f"these are the answers, give them one name; else say what to compare: `on=...`, one of {candidates}"
        )
    return verdicts[-1:]


def _stands_beside(frame: Frame, name: str) -> bool:
    before = frame.names[frame.names.index(name) - 1]
    return any(name.endswith(each) and before == name.removesuffix(each) + verdict for each, verdict in _BESIDE.items())


def _answers_behind(frame: Frame, name: str, *, but: Frame) -> list[str]:
    """Columns behind `name`, up to an error's, that `but` hasn't."""
    found: list[str] = []
    for each in frame.names[frame.names.index(name) + 1 :]:
        if is_own(each) and each.endswith("error"):
            break
        if not is_own(each) and each not in but.names:
            found.append(each)
    return found


def _few(a: Frame, b: Frame, name: str) -> bool:
    """Whether a column holds labels or numbers: no lists, and of texts at most `MOST_LABELS`, each twice on average."""
    cells = [cell for frame in (a, b) for cell in read(frame, name) if cell is not None]
    texts = [cell for cell in cells if isinstance(cell, str)]
    if any(isinstance(cell, list | dict) for cell in cells):
        return False
    return len(set(texts)) <= min(MOST_LABELS, max(2, len(texts) // 2))
