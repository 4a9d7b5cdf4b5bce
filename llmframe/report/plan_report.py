"""What a `map` would do, as a small table. No key, no cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from llmframe.budget import limit_text
from llmframe.report.wording import HOUR, batch_count, change_counts, dollars, duration, html_table, text_table


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """What a `map` would do, found without a request.

    Attributes
    ----------
    rows, null_rows, failed_rows, not_asked
        Rows of the frame, rows skipped for a null, rows that can't be rendered, rows outside `where`.
    requests, cached
        Distinct requests that would be sent, and distinct ones that are answered already. By votes each sample is one,
        and `requests` are the most that there may be.
    least
        The fewest: votes end when they're settled, and with `confidence="auto"` there are none where the endpoint tells
        probabilities. `None`: as many as `requests`.
    changes
        Of the distinct requests, why the store has no answer, as in `RunReport.changes`.
    input_tokens, output_tokens
        Estimates: characters divided by `characters_per_token`; the output from examples or the schema's size.
    mode
        `"live"` or `"batch"`, as it was said.
    usd
        Estimated dollars for `requests` asked live; `None` when the model has no known price.
    usd_range
        Dollars that it may be: 5 to 3 characters a token, and half to twice the output where no example shows it.
    seconds
        How long the given rates alone make it last live; `None` when none was said.
    batch_api
        Whether the provider has a Batch API that is spoken here; `None` when nobody knows: an endpoint of one's own.
    usd_batch, usd_batch_range
        The same dollars in batches; `None` without a Batch API or a known price.
    batches
        How many batches it would be, by the provider's limits of lines and bytes; `None` without a Batch API, and by
        votes, which batches can't take.
    batch_seconds
        Within which they are usually done, and after which the provider gives up; `None` without a Batch API.
    open_by
        What decides where between `least` and `requests` it will be.
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
    least: int | None = None
    open_by: str = "votes end when they're settled"
    changes: Mapping[str, int] = field(default_factory=dict[str, int])
    budget: Mapping[str, float] = field(default_factory=dict[str, float])
    usd_range: tuple[float, float] | None = None
    seconds: float | None = None
    mode: Literal["live", "batch"] = "live"
    batch_api: bool | None = None
    usd_batch: float | None = None
    usd_batch_range: tuple[float, float] | None = None
    batches: int | None = None
    batch_seconds: float | None = None

    @property
    def saving(self) -> float | None:
        """Dollars by which batches are about cheaper than asking live; `None` when that is unknown."""
        return None if self.usd is None or self.usd_batch is None else self.usd - self.usd_batch

    @property
    def affordable(self) -> int:
        """Of `requests`, how many the budget is about enough for in this mode; seconds aren't counted."""
        usd = self.usd_batch if self.mode == "batch" else self.usd
        needs = {"usd": usd or 0.0, "tokens": self.input_tokens + self.output_tokens, "calls": self.requests}
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
            ("requests", self._requests()),
            *([("distinct", changed)] if (changed := change_counts(self.changes)) else []),
            ("tokens", f"{self._about} {self.input_tokens:,} in, {self.output_tokens:,} out"),
            *(self._by_batch() if self.mode == "batch" and self.batches else self._by_live()),
            *([("budget", self._enough())] if self.budget else []),
        ]

    @property
    def _open(self) -> bool:
        """Whether it's decided later how many requests there will be."""
        return self.least is not None and self.least < self.requests

    @property
    def _about(self) -> str:
        return "up to about" if self._open else "about"

    def _requests(self) -> str:
        sent = f"{self.requests:,} to send, {self.cached:,} answered already"
        return f"{self.least:,} to {sent}; {self.open_by}" if self._open else sent

    def _by_live(self) -> list[tuple[str, str]]:
        lines = [("cost", self._cost(self.usd, self.usd_range))]
        if self.seconds:
            lines.append(("time", self._live_time(self.seconds)))
        if self.batch_api is False:
            lines.append(("batch", "none for this provider: OpenAI's Batch API and Anthropic's are spoken"))
        elif self.batches:
            saving = f", {dollars(self.saving)} less" if self.saving else ""
            cost = f"about {dollars(self.usd_batch)} in " if self.usd_batch else ""
            rule = ", half the price as a rule" if self.usd_batch is None else ""
            text = f"{cost}{batch_count(self.batches)}{saving}{rule}; {self._batch_time()}"
            lines.append(("batch", text if self.batch_api else f"{text} (if the endpoint has a Batch API)"))
        return lines

    def _by_batch(self) -> list[tuple[str, str]]:
        live = f"about {dollars(self.usd)}" if self.usd else dollars(self.usd)
        if self.saving:
            live += f", {dollars(self.saving)} more"
        if self.seconds:
            live += f"; {self._live_time(self.seconds)}"
        return [
            ("batches", f"{self.batches:,}" + ("" if self.batch_api else ", if the endpoint has a Batch API")),
            ("cost", self._cost(self.usd_batch, self.usd_batch_range)),
            ("time", self._batch_time()),
            ("live", live),
        ]

    def _batch_time(self) -> str:
        if self.batch_seconds is None:
            return "within hours"
        return f"usually within {self.batch_seconds / HOUR:.0f} h, then the provider gives up"

    @staticmethod
    def _live_time(seconds: float) -> str:
        return f"at least {duration(seconds)} by the given rates"

    def _cost(self, usd: float | None, between: tuple[float, float] | None) -> str:
        if not usd:
            return dollars(usd)
        most = f"{self._about} {dollars(usd)}"
        return most if between is None else f"{most}, between {' and '.join(map(dollars, between))}"

    def _enough(self) -> str:
        limits = ", ".join(limit_text(name, limit) for name, limit in self.budget.items())
        enough = self.affordable == self.requests
        return f"{limits}: " + ("enough" if enough else f"enough for about {self.affordable:,} requests")


def summed(reports: Sequence[PlanReport]) -> PlanReport:
    """The plan of several maps over the same rows, none of whose requests counts twice; `schema` is the first one's."""
    if len(reports) == 1:
        return reports[0]
    models = dict.fromkeys(report.model for report in reports)
    changes: Counter[str] = Counter()
    for report in reports:
        changes.update(report.changes)
    known = [report.batch_api for report in reports]
    first = reports[0]
    prompts = [prompt for report in reports for prompt in report.prompts]
    return PlanReport(
        model=", ".join(models),
        rows=first.rows,
        null_rows=max(report.null_rows for report in reports),
        failed_rows=max(report.failed_rows for report in reports),
        not_asked=first.not_asked,
        requests=sum(report.requests for report in reports),
        least=sum(report.requests if report.least is None else report.least for report in reports),
        cached=sum(report.cached for report in reports),
        changes=dict(changes),
        input_tokens=sum(report.input_tokens for report in reports),
        output_tokens=sum(report.output_tokens for report in reports),
        characters_per_token=first.characters_per_token,
        usd=_total(report.usd for report in reports),
        usd_range=_range(report.usd_range for report in reports),
        seconds=_total(report.seconds for report in reports if report.seconds is not None),
        prompts=tuple(prompts[: max(len(report.prompts) for report in reports)]),
        schema=first.schema,
        problems=tuple(dict.fromkeys(problem for report in reports for problem in report.problems)),
        budget=first.budget,
        mode=first.mode,
        batch_api=False if False in known else None if None in known else True,
        usd_batch=_total(report.usd_batch for report in reports),
        usd_batch_range=_range(report.usd_batch_range for report in reports),
        batches=_batches(reports),
        batch_seconds=first.batch_seconds,
    )


def bounded(fewest: PlanReport, most: PlanReport) -> PlanReport:
    """The plan of maps of which the later ones ask only rows that the earlier ones leave open, at most all."""
    low, high = fewest.usd_range or (fewest.usd, None), most.usd_range or (None, most.usd)
    between = None if low[0] is None or high[1] is None else (low[0], high[1])
    return replace(
        most,
        least=fewest.requests if fewest.least is None else fewest.least,
        open_by="rows that an earlier tier is sure of end there",
        usd_range=between,
    )


def _batches(reports: Sequence[PlanReport]) -> int | None:
    each = [report.batches for report in reports if report.batches is not None]
    return sum(each) if len(each) == len(reports) else None


def _total(amounts: Iterable[float | None]) -> float | None:
    """Their sum; `None` when one of them is unknown, or there is none."""
    found = list(amounts)
    known = [amount for amount in found if amount is not None]
    return sum(known) if found and len(known) == len(found) else None


def _range(ranges: Iterable[tuple[float, float] | None]) -> tuple[float, float] | None:
    found = list(ranges)
    lows, highs = (_total(None if one is None else one[end] for one in found) for end in (0, 1))
    return None if lows is None or highs is None else (lows, highs)
