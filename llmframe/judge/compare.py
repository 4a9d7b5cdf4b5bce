"""Two runs over the same rows, compared: what flipped, which is better on gold, what it costs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from llmframe.errors import UsageError
from llmframe.frames import Frame, wrap
from llmframe.judge.columns import AnswerColumns, answer_columns, comparable, numbers, read, said_or_column
from llmframe.judge.rows import MOST_LABELS, check_rows, compared_columns, inputs_of
from llmframe.judge.spending import live_seconds, spending_of
from llmframe.report.compared import ColumnComparison, Flip
from llmframe.report.comparison import Comparison
from llmframe.stats.flips import cohen_kappa, flips_between, homogeneity, symmetry
from llmframe.stats.paired import Accuracies, Difference, accuracies, paired_difference
from llmframe.stats.proportions import wilson_interval


def compare_runs(  # noqa: PLR0913 - the facts of a comparison
    a: object,
    b: object,
    *,
    on: str | Sequence[str] | None = None,
    gold: object = None,
    inputs: Sequence[str] | None = None,
    runs: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """Compare the answers of two runs over the same rows, to decide on a prompt or a model.

    Parameters
    ----------
    a, b
        Two frames as `map` or a preset gives them, of any library each: the same rows in the same order. Ask with
        `meta=True` to have cost and latency compared.
    on
        The compared columns; `None`: the answers that both have, where they can be told from other columns.
    gold
        What is right: name of a column in either frame, or a value for each row; null where unknown. With several
        compared columns a dict from column to that.
    inputs
        Columns that must be equal; `None`: all that both have before the first compared one.
    runs
        What the two are called in the report.

    Returns
    -------
    Comparison
        Flips, agreement, tests, cost, latency, and a verdict. Rows that failed in a run are counted beside, never as
        flips.

    Raises
    ------
    UsageError
        If the rows aren't the same, or it can't be told what to compare.
    MissingExtraError
        Without scipy, scikit-learn, statsmodels: `pip install 'llmframe[judge]'`.

    Notes
    -----
    Without gold nothing says which run is better; Stuart and Maxwell's test tells whether labels shift. With gold the
    exact McNemar test decides at the 5 % level; what it leaves open comes with the least difference to be seen.
    """
    first, second = wrap(a), wrap(b)
    if first.single or second.single:
        raise UsageError("`compare_runs` takes frames, not Series: it looks at the columns beside the answers too")
    column = gold if isinstance(gold, str) else None
    if len(first) != len(second):
        check_rows(first, second, ())
    names = _names(on) if on is not None else compared_columns(first, second, inputs=inputs, but=column)
    told = [(answer_columns(first.names, name), answer_columns(second.names, name)) for name in names]
    known = _gold_by_column(gold, names)
    check_rows(first, second, inputs_of(first, second, names, column) if inputs is None else list(inputs))
    (of_a, of_b), *_ = told
    live = live_seconds(first, of_a.meta), live_seconds(second, of_b.meta)
    return Comparison(
        runs=runs,
        n=len(first),
        columns=tuple(
            _compared(
                _Side.of(first, one),
                _Side.of(second, two),
                runs=runs,
                gold=None
                if one.value not in known
                else said_or_column((first, second), known[one.value], argument="gold"),
            )
            for one, two in told
        ),
        spending_a=spending_of(first, of_a.meta, column=of_a.value),
        spending_b=spending_of(second, of_b.meta, column=of_b.value),
        seconds_a=_median(live[0]),
        seconds_b=_median(live[1]),
        latency=_difference(*live),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One run's cells of a compared column."""

    name: str
    values: list[Hashable]
    cells: list[object]
    errors: list[object]
    confidences: list[float | None] | None

    @classmethod
    def of(cls, frame: Frame, columns: AnswerColumns) -> _Side:
        cells, errors = read(frame, columns.value), read(frame, columns.error)
        values = [None if error is not None else value for value, error in zip(comparable(cells), errors, strict=True)]
        sure = None if columns.confidence is None else numbers(read(frame, columns.confidence))
        return cls(name=columns.value, values=values, cells=cells, errors=errors, confidences=sure)

    @property
    def failed(self) -> int:
        return sum(error is not None for error in self.errors)

    @property
    def missing(self) -> int:
        return sum(value is None and error is None for value, error in zip(self.values, self.errors, strict=True))


def _compared(a: _Side, b: _Side, *, runs: tuple[str, str], gold: list[object] | None) -> ColumnComparison:
    both = [at for at, pair in enumerate(zip(a.values, b.values, strict=True)) if None not in pair]
    left, right = [a.values[at] for at in both], [b.values[at] for at in both]
    rows = tuple(at for at in both if a.values[at] != b.values[at])
    flips = flips_between(left, right)
    different = len({*left, *right})
    countable = different <= MOST_LABELS
    notes = [f"{different:,} different values: no kappa and no table of flips"] if not countable else []
    kappa = cohen_kappa(left, right) if countable else math.nan
    if both and countable and math.isnan(kappa):
        notes.append("no kappa: both runs have the same value everywhere")
    found, known, told = _on_gold(a, b, gold)
    both_sure = a.confidences is not None and b.confidences is not None
    return ColumnComparison(
        name=a.name,
        runs=runs,
        both=len(both),
        failed_a=a.failed,
        failed_b=b.failed,
        missing_a=a.missing,
        missing_b=b.missing,
        flips=len(rows),
        flip_rate=len(rows) / len(both) if both else math.nan,
        flip_interval=wilson_interval(len(rows), len(both)),
        kappa=kappa,
        table=tuple(Flip(before=x, after=y, count=n) for (x, y), n in flips.items()) if countable else (),
        rows=rows,
        symmetry=symmetry(flips if countable else {}),
        shift=homogeneity(flips if countable else {}),
        numbers=_of_numbers(a, b, both),
        confidence=_difference(a.confidences or [], b.confidences or []) if both_sure else None,
        gold=found,
        gold_rows=known,
        notes=(*notes, *told),
    )


def _on_gold(a: _Side, b: _Side, gold: list[object] | None) -> tuple[Accuracies | None, int, list[str]]:
    """Accuracies on the rows that both answered, how many rows have gold, and what is to be said."""
    if gold is None:
        return None, 0, []
    right = comparable(gold)
    known = [at for at, value in enumerate(right) if value is not None]
    judged = [at for at in known if a.values[at] is not None and b.values[at] is not None]
    notes: list[str] = []
    said = {*a.values, *b.values}
    if judged and not any(right[at] in said for at in judged):
        notes.append("no value of the gold is among the answers: is it spelt otherwise?")
    found = accuracies([a.values[at] == right[at] for at in judged], [b.values[at] == right[at] for at in judged])
    return found, len(known), notes


def _of_numbers(a: _Side, b: _Side, both: Sequence[int]) -> Difference | None:
    """The difference where every answer of both runs is a number."""
    left, right = ([each for each in numbers([side.cells[at] for at in both]) if each is not None] for side in (a, b))
    if not both or len(left) < len(both) or len(right) < len(both):
        return None
    return paired_difference(left, right)


def _difference(a: Sequence[float | None], b: Sequence[float | None]) -> Difference:
    pairs = [(left, right) for left, right in zip(a, b, strict=True) if left is not None and right is not None]
    return paired_difference([left for left, _ in pairs], [right for _, right in pairs])


def _median(seconds: Sequence[float | None]) -> float | None:
    known = [each for each in seconds if each is not None]
    return statistics.median(known) if known else None


def _names(on: str | Sequence[str]) -> list[str]:
    names = [on] if isinstance(on, str) else list(on)
    if not names or not all(isinstance(name, str) for name in names):  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
        raise UsageError(f"`on` must be a column's name or a list of some, got {on!r}")
    return names


def _gold_by_column(gold: object, names: Sequence[str]) -> dict[str, object]:
    if gold is None:
        return {}
    if isinstance(gold, Mapping):
        said = cast("Mapping[str, object]", gold)
        unknown = [name for name in said if name not in names]
        if unknown:
            raise UsageError(f"`gold` has {unknown[0]!r}, which isn't compared; compared: {list(names)}")
        return dict(said)
    if len(names) > 1:
        raise UsageError(f"`gold` of several columns is a dict from column to gold; compared: {list(names)}")
    return {names[0]: gold}
