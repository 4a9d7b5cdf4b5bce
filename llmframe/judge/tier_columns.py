"""The columns of a cascade: each tier's own for a time, and the answers that are left of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from llmframe.core.columns import ColumnType
from llmframe.frames.derived import RowFunction
from llmframe.judge.thresholds import UNASKED
from llmframe.judge.tiers import Tier

Types = tuple[tuple[str, ColumnType], ...]

HIDDEN: Final = "llm_cascade"
"""Before the temporary columns of a tier, with its number."""

GOES_ON: Final = "goes_on"
"""The temporary column that tells which rows the next tier is asked."""

META: Final = "llm_meta"

ERROR: Final = ("error", "llm_error")


def tier_prefix(at: int) -> str:
    """What stands before a tier's temporary columns, after the call's own prefix."""
    return f"{HIDDEN}{at}_"


@dataclass(frozen=True, slots=True, kw_only=True)
class TierColumns:
    """Names and types, without the call's prefix.

    Parameters
    ----------
    tiers
        The models in order.
    types
        What each tier's finished answer consists of, in order; of the last one confidences are missing.
    field
        The column whose confidence decides.
    plain
        Whether `tier` is plain text.
    meta
        Whether each tier's `llm_meta` stays, under the tier's name.
    """

    tiers: tuple[Tier, ...]
    types: tuple[Types, ...]
    field: str
    plain: bool = False
    meta: bool = False

    @property
    def tier(self) -> str:
        """Name of the column that tells the tier; it makes way for a field of its name."""
        return "llm_tier" if any(name == "tier" for name, _ in self.types[0]) else "tier"

    @property
    def error(self) -> str:
        """Name of the error column."""
        return next(name for name, _ in reversed(self._answer) if name in ERROR)

    @property
    def outputs(self) -> Types:
        """The cascade's columns: the first tier's, with the tier before the error."""
        word = (
            ColumnType("string") if self.plain else ColumnType("enum", labels=tuple(each.name for each in self.tiers))
        )
        found: list[tuple[str, ColumnType]] = []
        for name, type_ in self._answer:
            found += [(self.tier, word)] if name == self.error else []
            found.append((name, type_))
        return (*found, *((f"{self.tiers[at].short}_{name}", type_) for at, name, type_ in self._metas))

    @property
    def going(self) -> list[str]:
        """The temporary columns that tell which rows went on, tier by tier."""
        return [tier_prefix(at) + GOES_ON for at in range(len(self.tiers) - 1)]

    @property
    def inputs(self) -> list[str]:
        """The temporary columns that `merged` is made of."""
        return [*self.going, *(tier_prefix(at) + name for at, types in enumerate(self.types) for name, _ in types)]

    def merging(self) -> RowFunction:
        """From the inputs' cells to the outputs': each row's answer is that of the last tier that it was asked."""
        return self._merged

    def _merged(self, cells: list[list[object]]) -> list[list[object]]:
        rest = iter(cells)
        going = [next(rest) for _ in self.going]
        by_tier = [{name: next(rest) for name, _ in types} for types in self.types]
        last = [_steps(row) for row in zip(*going, strict=True)]
        made: list[list[object]] = []
        for name, _ in self._answer:
            if name == self.error:
                made.append(self._tier_cells(by_tier, last))
            columns = [of_tier.get(name) for of_tier in by_tier]
            made.append([None if (found := columns[at]) is None else found[row] for row, at in enumerate(last)])
        return [*made, *(by_tier[at][name] for at, name, _ in self._metas)]

    def _tier_cells(self, by_tier: list[dict[str, list[object]]], last: list[int]) -> list[object]:
        names: list[object] = []
        for row, at in enumerate(last):
            error = by_tier[at][self.error][row]
            told = any(cells[row] is not None for name, cells in by_tier[0].items() if not name.endswith(META))
            unasked = str(error).partition(":")[0] in UNASKED
            names.append(self.tiers[at].name if told and not unasked else None)
        return names

    @property
    def _answer(self) -> Types:
        return tuple((name, type_) for name, type_ in self.types[0] if not name.endswith(META))

    @property
    def _metas(self) -> Iterator[tuple[int, str, ColumnType]]:
        for at, types in enumerate(self.types if self.meta else ()):
            yield from ((at, name, type_) for name, type_ in types if name.endswith(META))


def _steps(going: tuple[object, ...]) -> int:
    """How many tiers a row went on from, the first one's on."""
    return next((at for at, goes in enumerate(going) if goes is not True), len(going))
