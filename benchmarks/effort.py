"""How much is measured: rounds of everything, and the share of the rows."""

from __future__ import annotations

from dataclasses import dataclass

FEWEST_ROWS = 16


@dataclass(frozen=True, kw_only=True)
class Effort:
    """`scale` 1 is what the targets are stated for; less is a trial of the harness."""

    rounds: int = 5
    scale: float = 1.0

    def rows(self, whole: int) -> int:
        return max(FEWEST_ROWS, int(whole * self.scale))

    @property
    def name(self) -> str:
        return "full" if self.scale == 1 else "quick"
