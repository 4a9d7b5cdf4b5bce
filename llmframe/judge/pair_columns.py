"""From the verdicts of both orders to the columns of a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from llmframe.core.columns import ColumnType
from llmframe.frames.derived import RowFunction
from llmframe.judge.orders import TIE, Said, settled
from llmframe.judge.pair_asks import Sides

FLOAT: Final = ColumnType("float")


def pair_columns(
    sides: Sides, asked: Sequence[tuple[str, ColumnType]], *, keep: bool, shown: bool
) -> tuple[list[tuple[str, ColumnType]], RowFunction]:
    """Name and type of a pair's columns in order, and what makes them of both orders' columns.

    Parameters
    ----------
    asked
        The columns of one order.
    keep
        Whether each order's verdict stays.
    shown
        Whether the probabilities stay, under the sides' names.
    """
    types = dict(asked)
    verdict = ColumnType("enum", labels=(*sides, TIE))
    outputs = [("winner", verdict), ("consistent", ColumnType("bool"))]
    outputs += [("first_winner", verdict), ("second_winner", verdict)] if keep else []
    outputs += [(name, types[name]) for name in ("confidence", "confidence_source") if name in types]
    if shown and "distribution" in types:
        codes = [code for code, _ in types["distribution"].fields]
        outputs.append(
            ("distribution", ColumnType("struct", fields=tuple((name, FLOAT) for name in (*sides, TIE)[: len(codes)])))
        )
    outputs.append(("error", types["error"]))
    outputs += [(f"{place}_llm_meta", types["llm_meta"]) for place in ("first", "second") if "llm_meta" in types]
    return outputs, _making(sides, [name for name, _ in asked], [name for name, _ in outputs])


def _making(sides: Sides, asked: Sequence[str], outputs: Sequence[str]) -> RowFunction:
    def make(cells: list[list[object]]) -> list[list[object]]:
        half = len(asked)
        first = _said(sides, dict(zip(asked, cells[:half], strict=True)))
        second = _said((sides[1], sides[0]), dict(zip(asked, cells[half:], strict=True)))
        pairs = [settled(*both) for both in zip(first, second, strict=True)]
        made: dict[str, list[object]] = {
            "winner": [pair.winner for pair in pairs],
            "consistent": [pair.consistent for pair in pairs],
            "first_winner": [said.verdict for said in first],
            "second_winner": [said.verdict for said in second],
            "confidence": [pair.confidence for pair in pairs],
            "confidence_source": [pair.source for pair in pairs],
            "distribution": [pair.shares for pair in pairs],
            "error": [pair.error for pair in pairs],
        }
        if "llm_meta" in asked:
            place = asked.index("llm_meta")
            made |= {"first_llm_meta": cells[place], "second_llm_meta": cells[half + place]}
        return [made[name] for name in outputs]

    return make


def _said(order: Sides, given: Mapping[str, list[object]]) -> list[Said]:
    """What was said of every row in one order."""
    names = {"A": order[0], "B": order[1], TIE: TIE}
    rows = len(given["winner"])
    nothing: list[object] = [None] * rows
    columns = [
        given.get(name, nothing) for name in ("winner", "error", "distribution", "confidence", "confidence_source")
    ]
    return [
        Said(
            order=f"({order[0]}, {order[1]})",
            verdict=None if code is None else names[str(code)],
            error=cast("str | None", error),
            shares=None
            if not spread
            else {names[code]: share for code, share in cast("dict[str, float]", spread).items()},
            confidence=cast("float | None", confidence),
            source=cast("str | None", source),
        )
        for code, error, spread, confidence, source in zip(*columns, strict=True)
    ]
