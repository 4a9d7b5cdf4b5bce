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
        Those that were asked for and have their outcome.
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
        """One of them, that no kept answer was found for, has its outcome."""
        self.done += 1
        self.done_characters += characters

    def left(self, *, rows: int | None, kept: int, input_tokens: float, output_tokens: float) -> Left | None:
        """What is still to be asked for; `None` while that can't be told.

        Parameters
        ----------
        rows
            Rows of the whole run; `None` when unknown.
        kept
            Drawn requests that a kept answer was found for: they cost nothing.
        input_tokens, output_tokens
            Tokens of all requests that were asked for and are done, together.

        Notes
        -----
        Requests that are drawn are known by number and size: their input is taken to be as many tokens a character
        as it was so far. Rows that aren't drawn yet are taken to be like those that are.
        """
        if rows is None or not self.drawn_rows or not self.done:
            return None
        asked = max(self.done, self.drawn - kept)
        waiting = asked - self.done
        to_come = max(0, rows - self.drawn_rows) * asked / self.drawn_rows
        mean_in, mean_out = input_tokens / self.done, output_tokens / self.done
        size = 1.0
        if waiting and self.done_characters:
            characters = self.drawn_characters * asked / max(1, self.drawn) - self.done_characters
            size = max(0.0, characters / waiting) / (self.done_characters / self.done)
        tokens = waiting * (mean_in * size + mean_out) + to_come * (mean_in + mean_out)
        return Left(requests=waiting + to_come, tokens=tokens, done=self.done)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Requests and tokens that are left, after `done` requests that were asked for."""

    requests: float
    tokens: float
    done: int
