"""What is left of a run that goes on, told from what it has drawn and done."""

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

    def left(self, *, rows: int | None, kept: int, input_tokens: float, output_tokens: float) -> Left | None:
        """What is still to be asked for; `None` while that can't be told.

        Parameters
        ----------
        rows
            Rows of the whole run; `None` when unknown.
        kept
            Settled requests that a kept answer was found for: they cost nothing.
        input_tokens, output_tokens
            Tokens of all requests that were asked for and settled, together.

        Notes
        -----
        Requests that are drawn are known by number and size: their input is taken to be as many tokens a character
        as it was so far. Rows that aren't drawn yet are taken to be like those that are.
        """
        asked = self.done - kept
        if rows is None or not self.drawn_rows or asked <= 0:
            return None
        waiting = max(0, self.drawn - self.done)
        to_come = max(0, rows - self.drawn_rows) * max(0, self.drawn - kept) / self.drawn_rows
        mean_in, mean_out = input_tokens / asked, output_tokens / asked
        characters = self.drawn_characters - self.done_characters
        size = (characters / waiting) / (self.done_characters / self.done) if waiting and self.done_characters else 1.0
        tokens = waiting * (mean_in * size + mean_out) + to_come * (mean_in + mean_out)
        return Left(requests=waiting + to_come, tokens=tokens, asked=asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Requests and tokens that are left, after `asked` requests that are done."""

    requests: float
    tokens: float
    asked: int
