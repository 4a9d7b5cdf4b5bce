"""Many systems in one order, by a judge's verdicts on pairs of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from llmframe.errors import UsageError
from llmframe.frames import Frame, wrap
from llmframe.frames.derived import position_of
from llmframe.judge.columns import comparable, read
from llmframe.judge.orders import TIE
from llmframe.report.ranked import Ranking
from llmframe.stats.bootstrap import DRAWS
from llmframe.stats.bradley_terry import LOST, TIED, WON, bradley_terry

PAIR: Final = 2


def rank(  # noqa: PLR0913 - the facts of a ranking
    frame: object,
    *,
    winner: str | Mapping[str, tuple[str, str]],
    a: str | None = None,
    b: str | None = None,
    item: str | None = None,
    sides: tuple[str, str] | None = None,
    prior: float = 0.0,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> Ranking:
    """Rank systems by who won in pairs, as `llmframe.pairwise` or people judged them.

    Parameters
    ----------
    frame
        A frame of any library. Either a row for each comparison, with the names of both systems in columns `a` and
        `b`; or a row for each item, with a column of verdicts for each pair of systems.
    winner
        Name of the column of verdicts: the name of one of the two systems, or `"tie"`; null where there is none. Of
        a row for each item: a dict from columns of verdicts to the two systems that each compared,
        `{"first_winner": ("gpt", "claude"), "second_winner": ("gpt", "llama")}`.
    a, b
        Names of the columns with the two systems' names.
    item
        Name of a column that tells which item a comparison is of; intervals are over items. `None`: each row is one.
    sides
        How verdicts call the systems of `a` and `b`, where not by their names: the two columns that
        `llmframe.pairwise` was asked about.
    prior
        Wins that are added each way to every pair that met; `0.5` keeps a system that always won in bounds.
    draws, seed, level
        Of the bootstrap.

    Returns
    -------
    Ranking
        Log-strengths and win rates with their intervals, and which neighbours' order stands.

    Raises
    ------
    UsageError
        If a column is missing, a verdict names neither system, or nothing compares some of the systems.

    Notes
    -----
    Bradley and Terry's model (1952, Biometrika 39, p. 324), a tie being half a win each way. It takes systems for
    being on one line: who beats whom in a circle has no place in it.
    """
    table = wrap(frame)
    if table.single:
        raise UsageError("`rank` takes a frame with the systems and the verdicts, not a Series")
    items = None if item is None else _cells(table, item)
    if items is not None and None in items:
        raise UsageError(
            f"`item` is null in row {items.index(None)} (counted from 0): every comparison is of an item; give those "
            "of no known item a name of their own, or leave `item` out"
        )
    if isinstance(winner, str):
        met = _long(table, winner, a, b, sides=sides, items=items)
    else:
        if a is not None or b is not None or sides is not None:
            raise UsageError("`winner` as a dict names the systems itself; leave `a`, `b` and `sides` out")
        met = _wide(table, winner, items)
    judged = [each for each in met if each.verdict is not None]
    strengths = bradley_terry(
        [each.a for each in judged],
        [each.b for each in judged],
        [_score(each) for each in judged],
        clusters=[each.item for each in judged],
        prior=prior,
        draws=draws,
        seed=seed,
        level=level,
    )
    return Ranking.of(strengths, unjudged=len(met) - len(judged))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meeting:
    """One comparison; `calls` are what verdicts call its two systems."""

    a: Hashable
    b: Hashable
    calls: tuple[Hashable, Hashable]
    verdict: Hashable
    item: Hashable
    column: str


def _long(  # noqa: PLR0913 - the facts of a ranking
    table: Frame,
    winner: str,
    a: str | None,
    b: str | None,
    *,
    sides: tuple[str, str] | None,
    items: list[Hashable] | None,
) -> list[_Meeting]:
    if a is None or b is None:
        raise UsageError(
            "`a` and `b` name the columns with the two systems' names; where each pair has a column of verdicts, say "
            '`winner={"column": ("system", "system"), ...}`'
        )
    if sides is not None and (isinstance(sides, str) or len(set(sides)) != PAIR):
        raise UsageError(f"`sides` are two different names, got {sides!r}")
    first, second, verdicts = _cells(table, a), _cells(table, b), _cells(table, winner)
    return [
        _Meeting(
            a=one,
            b=other,
            calls=sides or (one, other),
            verdict=verdict if None not in (one, other) else None,
            item=at if items is None else items[at],
            column=winner,
        )
        for at, (one, other, verdict) in enumerate(zip(first, second, verdicts, strict=True))
    ]


def _wide(table: Frame, winners: object, items: list[Hashable] | None) -> list[_Meeting]:
    if not isinstance(winners, Mapping) or not winners:
        raise UsageError(f"`winner` is a column's name, or a dict from such names to two systems, got {winners!r}")
    met: list[_Meeting] = []
    for column, said in cast("Mapping[str, object]", winners).items():
        pair = cast("Sequence[Hashable]", said) if isinstance(said, list | tuple) else ()
        if len(pair) != PAIR:
            raise UsageError(f"`winner[{column!r}]` are the two systems that it compared, got {said!r}")
        one, other = pair
        met += [
            _Meeting(
                a=one,
                b=other,
                calls=(one, other),
                verdict=verdict,
                item=at if items is None else items[at],
                column=column,
            )
            for at, verdict in enumerate(_cells(table, column))
        ]
    return met


def _score(met: _Meeting) -> float:
    if met.verdict == TIE:
        return TIED
    if met.verdict not in met.calls:
        raise UsageError(
            f"column {met.column!r} has a verdict {met.verdict!r}, which is neither of the systems "
            f'{met.calls[0]!r} and {met.calls[1]!r}, nor "{TIE}"; if verdicts name the two columns that were judged, '
            "say `sides=(first, second)`"
        )
    return WON if met.verdict == met.calls[0] else LOST


def _cells(table: Frame, name: str) -> list[Hashable]:
    position_of(name, table.names)
    return comparable(read(table, name))
