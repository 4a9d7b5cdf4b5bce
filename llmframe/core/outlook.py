"""What is left of a run that goes on: requests, tokens, seconds, dollars."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Outlook:
    """Distinct requests drawn and settled so far, with their size in characters.

    Attributes
    ----------
    drawn, drawn_characters, drawn_rows
        Distinct requests drawn so far, their characters, and the rows they were drawn from.
    done, done_characters
        Those that have their outcome.
    """

    drawn: int = 0
    drawn_characters: int = 0
    drawn_rows: int = 0
    done: int = 0
    done_characters: int = 0

    def planned(self, requests: int, characters: int, *, rows: int) -> None:
        """So many more were drawn, from so many rows."""
        self.drawn += requests
        self.drawn_characters += characters
        self.drawn_rows += rows

    def settled(self, characters: int) -> None:
        """One of them has its outcome."""
        self.done += 1
        self.done_characters += characters
