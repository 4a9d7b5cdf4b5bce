"""What a `map` would do, as a small table. No key, no cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from llmframe.budget import limit_text
from llmframe.report.wording import change_counts, dollars, duration, html_table, text_table


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """What a `map` would do, found without a request.

    Attributes
    ----------
    rows, null_rows, failed_rows, not_asked
        Rows of the frame, rows skipped for a null, rows that can't be rendered, rows outside `where`.
    requests, cached
        Distinct requests that would be sent, and distinct ones that are answered already.
    changes
        Of the distinct requests, why the store has no answer, as in `RunReport.changes`.
    input_tokens, output_tokens
        Estimates: characters divided by `characters_per_token`; the output from examples or the schema's size.
    usd
        Estimated dollars for `requests`; `None` when the model has no known price.
    usd_range
        Dollars that it may be: 5 to 3 characters a token, and half to twice the output where no example shows it.
    seconds
        How long the given rates alone make it last; `None` when none was said.
    budget
        Limits of the budget that was said, by name.
    prompts
        The first rendered prompts, as chat messages.
    schema
        What is asked for, as the JSON schema that would be sent.
    problems
        Of the rows that can't be rendered, the first entry of the error column for each kind.
    """

    model: str
    rows: int
    null_rows: int
    failed_rows: int
    not_asked: int
    requests: int
    cached: int
    input_tokens: int
    output_tokens: int
    characters_per_token: float
    usd: float | None
    prompts: tuple[list[dict[str, object]], ...] = field(repr=False)
    schema: Mapping[str, object] = field(repr=False)
    problems: tuple[str, ...] = ()
    changes: Mapping[str, int] = field(default_factory=dict[str, int])
    budget: Mapping[str, float] = field(default_factory=dict[str, float])
    usd_range: tuple[float, float] | None = None
    seconds: float | None = None

    @property
    def affordable(self) -> int:
        """Of `requests`, how many the budget is about enough for; seconds aren't counted."""
        needs = {"usd": self.usd or 0.0, "tokens": self.input_tokens + self.output_tokens, "calls": self.requests}
        shares = [self.budget[name] / need for name, need in needs.items() if name in self.budget and need]
        return int(self.requests * min(1.0, *shares)) if shares else self.requests

    def __repr__(self) -> str:
        """A small table; the prompts are in `.prompts`."""
        return text_table(self._title, self._lines())

    def _repr_html_(self) -> str:
        """The same table for notebooks."""
        return html_table(self._title, self._lines())

    @property
    def _title(self) -> str:
        return f"llmframe plan · {self.model} · nothing sent"

    def _lines(self) -> list[tuple[str, str]]:
        skipped = [
            f"{count:,} {word}"
            for count, word in (
                (self.not_asked, "not asked"),
                (self.null_rows, "with a null"),
                (self.failed_rows, "that can't be rendered"),
            )
            if count
        ]
        return [
            ("rows", f"{self.rows:,}" + (f" ({', '.join(skipped)})" if skipped else "")),
            *(("problem", problem) for problem in self.problems),
            ("requests", f"{self.requests:,} to send, {self.cached:,} answered already"),
            *([("distinct", changed)] if (changed := change_counts(self.changes)) else []),
            ("tokens", f"about {self.input_tokens:,} in, {self.output_tokens:,} out"),
            ("cost", self._cost()),
            *([("time", f"at least {duration(self.seconds)} by the given rates")] if self.seconds else []),
            *([("budget", self._enough())] if self.budget else []),
        ]

    def _cost(self) -> str:
        if not self.usd or self.usd_range is None:
            return "about " + dollars(self.usd) if self.usd else dollars(self.usd)
        return f"about {dollars(self.usd)}, between {' and '.join(map(dollars, self.usd_range))}"

    def _enough(self) -> str:
        limits = ", ".join(limit_text(name, limit) for name, limit in self.budget.items())
        enough = self.affordable == self.requests
        return f"{limits}: " + ("enough" if enough else f"enough for about {self.affordable:,} requests")
