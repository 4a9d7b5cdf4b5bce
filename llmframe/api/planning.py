"""What a map would do: rendered, deduplicated and priced without a request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from llmframe.api.arguments import Arguments
from llmframe.api.batch_service import WINDOW_SECONDS, BatchService, batch_service, line_bytes
from llmframe.api.examples import examples_of
from llmframe.api.keeping import ledgered_store, store_of
from llmframe.api.prepared import Prepared, asking, prepare
from llmframe.api.runs import price_of
from llmframe.api.voting import to_ask
from llmframe.budget import budget_of
from llmframe.clients.base import Client
from llmframe.core.distinct import Distinct
from llmframe.core.outcome import Answer
from llmframe.core.outlay import CHARACTERS_PER_TOKEN, Outlay, most_tokens
from llmframe.core.plan import Planned
from llmframe.core.prices import Price
from llmframe.core.request import canonical_json, text_digest
from llmframe.frames import wrap
from llmframe.report import PlanReport
from llmframe.report.plan_report import summed
from llmframe.stores.base import SharedStore, Stored

TOKENS_A_FIELD: Final = 12
"""Estimate of the output for one field when no example shows its length."""

SHOWN_PROMPTS: Final = 3


def run_plan(native: object, arguments: Arguments) -> PlanReport:
    """`plan` over an eager frame."""
    if _is_empty_list(native):
        return _without_rows(arguments)
    prepared = prepare(asking(arguments), wrap(native), verb="plan")
    return plan_parts(prepared, [prepared])


def run_plans(native: object, asks: Sequence[Arguments]) -> PlanReport:
    """The plan of several maps over the same rows: a request that several of them have is counted once."""
    if len(asks) == 1 or _is_empty_list(native):
        return summed([run_plan(native, arguments) for arguments in asks])
    frame, seen, reports = wrap(native), Distinct(), list[PlanReport]()
    for arguments in asks:
        prepared = prepare(asking(arguments), frame, verb="plan")
        count = _Count(prepared, seen=seen)
        count.add(prepared)
        reports.append(count.report())
    return summed(reports)


def plan_parts(whole: Prepared, parts: Iterable[Prepared]) -> PlanReport:
    """The plan of a map that comes in parts, each of them looked at once.

    Parameters
    ----------
    whole
        What all parts ask.
    parts
        Maps over the rows.
    """
    count = _Count(whole)
    for part in parts:
        count.add(part)
    return count.report()


class _Count:
    """What the parts of a plan have in all; requests that are `seen` count elsewhere."""

    def __init__(self, whole: Prepared, *, seen: Distinct | None = None) -> None:
        self._whole, self._schema = whole, whole.asking.schema
        self._service = _service(whole.client, whole.asking.arguments)
        self._store = store_of(whole.asking.arguments.sending.cache, whole.client)
        self._components = whole.asking.question(whole.client).components()
        self._seen = Distinct() if seen is None else seen
        self._changes: Counter[str] = Counter()
        self._rows = self._nulls = self._failed = self._not_asked = 0
        self._samples = whole.asking.arguments.votes
        self._least = self._to_send = self._cached = self._characters = self._bytes = 0
        wire, params = canonical_json(self._schema.wire), canonical_json(whole.asking.arguments.sending.params)
        self._schema_characters, self._shared_bytes = len(wire), len(wire) + len(params)
        self._prompts: list[list[dict[str, object]]] = []
        self._problems: dict[str, str] = {}

    def add(self, part: Prepared) -> None:
        """Count a part's rows, and those of its requests that no part before it has."""
        plans = [part.plan(sample=sample) for sample in range(self._samples)]
        for chunks in zip(*(plan.draw() for plan in plans), strict=True):
            self._requests([ballot for ballot in zip(*chunks, strict=True) if self._seen.add(ballot[0].key)])
        plan = plans[0]
        for failure, rows in plan.failed_rows.items():
            if failure.kind == "null":
                self._nulls += rows
                continue
            self._failed += rows
            self._problems.setdefault(failure.kind, str(failure))
        self._rows += plan.length
        self._not_asked += plan.not_asked

    def _requests(self, fresh: Sequence[tuple[Planned, ...]]) -> None:
        """Count distinct requests, each with all samples that it may get."""
        keys = [planned.key for ballot in fresh for planned in ballot]
        kept = self._store.get_many(keys) if keys else {}
        asked: list[Planned] = []
        for ballot in fresh:
            first = ballot[0]
            if len(self._prompts) < SHOWN_PROMPTS:
                self._prompts.append(first.messages)
            answers = [self._answer(kept.get(planned.key)) for planned in ballot]
            least, most = to_ask(self._schema.scoring, answers)
            self._cached += sum(answer is not None for answer in answers)
            self._least += least
            self._to_send += most
            if most and first.key not in kept:
                asked.append(first)
            elif most and answers[0] is None:
                self._changes["reply"] += 1
            self._characters += most * sum(len(str(message.get("content", ""))) for message in first.messages)
            self._bytes += most * line_bytes(first.messages, shared=self._shared_bytes)
        if isinstance(self._store, SharedStore) and asked:
            digests = [text_digest(planned.messages) for planned in asked]
            self._changes.update(self._store.changes(digests, self._components))

    def _answer(self, entry: Stored | None) -> Answer | None:
        """The answer that is kept, with its scores."""
        found = None if entry is None else self._schema.read(entry.text)
        if entry is None or not isinstance(found, Answer):
            return None
        scoring = self._schema.scoring
        return found if scoring is None else scoring.kept(found, entry.evidence)

    def report(self) -> PlanReport:
        """All of it."""
        whole, arguments = self._whole, self._whole.asking.arguments
        wire = cast("Mapping[str, object]", self._schema.wire)
        characters = self._characters + self._to_send * self._schema_characters
        outlay = _outlay(whole, self._to_send, characters, self._bytes)
        fewest = _outlay(whole, self._least, characters * self._least // max(self._to_send, 1), 0)
        sending = arguments.sending
        budget, price = _money(whole.client, arguments)
        changes = {**self._changes, "kept": self._cached}
        return PlanReport(
            model=whole.client.model,
            rows=self._rows,
            null_rows=self._nulls,
            failed_rows=self._failed,
            not_asked=self._not_asked,
            requests=self._to_send,
            least=self._least,
            cached=self._cached,
            changes={change: count for change, count in changes.items() if count},
            input_tokens=outlay.input_tokens,
            output_tokens=outlay.output_tokens,
            characters_per_token=CHARACTERS_PER_TOKEN,
            usd=outlay.usd(price),
            usd_range=_between(fewest.usd_range(price), outlay.usd_range(price)),
            seconds=outlay.seconds(
                requests_per_minute=sending.requests_per_minute, tokens_per_minute=sending.tokens_per_minute
            ),
            prompts=tuple(self._prompts),
            schema=wire,
            problems=tuple(self._problems.values()),
            budget=budget,
            mode=arguments.mode,
            **_in_batches(self._service, outlay, price, votes=arguments.confidence == "votes"),
        )


def _between(fewest: tuple[float, float] | None, most: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if fewest is None or most is None else (fewest[0], most[1])


def _is_empty_list(native: object) -> bool:
    return isinstance(native, list) and not cast("list[object]", native)


def _without_rows(arguments: Arguments) -> PlanReport:
    """A list without rows has no columns that a template could be held against; the rest is checked, as in `map`."""
    ask = asking(arguments)
    client = ask.client(sends=False)
    budget, price = _money(client, arguments)
    nothing = Outlay(requests=0, characters=0, answer_tokens=1)
    return PlanReport(
        model=client.model,
        rows=0,
        null_rows=0,
        failed_rows=0,
        not_asked=0,
        requests=0,
        cached=0,
        input_tokens=0,
        output_tokens=0,
        characters_per_token=CHARACTERS_PER_TOKEN,
        usd=nothing.usd(price),
        prompts=(),
        schema=cast("Mapping[str, object]", ask.schema.wire),
        budget=budget,
        mode=arguments.mode,
        **_in_batches(_service(client, arguments), nothing, price),
    )


def _money(client: Client, arguments: Arguments) -> tuple[Mapping[str, float], Price]:
    """The limits of the budget that was said, or what is left of a shared one, and the model's price."""
    budget, sending = budget_of(arguments.sending.budget), arguments.sending
    tier = sending.params.get("service_tier")
    price = price_of(client.provider, client.model, prices=sending.prices, tier=tier, budget=budget)
    return {} if budget is None else {**budget.limits, **budget.left}, price


def _service(client: Client, arguments: Arguments) -> BatchService | None:
    """The provider's Batch API; one that was asked for must be there, and its jobs must have a place."""
    if arguments.mode == "batch":
        ledgered_store(arguments.sending.cache, client)
    return batch_service(client, needed=arguments.mode == "batch")


def _in_batches(service: BatchService | None, outlay: Outlay, price: Price, *, votes: bool = False) -> dict[str, Any]:
    """What the same is in batches, by the report's names; nothing is told of them for votes, which they can't take."""
    if service is None:
        return {"batch_api": False}
    if votes:
        return {"batch_api": True if service.known else None}
    return {
        "batch_api": True if service.known else None,
        "usd_batch": outlay.usd(price, batch=True),
        "usd_batch_range": outlay.usd_range(price, batch=True),
        "batches": service.batches(outlay),
        "batch_seconds": WINDOW_SECONDS,
    }


def _outlay(prepared: Prepared, requests: int, characters: int, size: int) -> Outlay:
    """What so many requests take: an answer is as long as the examples' on average, else has a few tokens a field."""
    said, schema = prepared.asking.arguments, prepared.asking.schema
    shown = examples_of(said.examples, schema, template=said.prompt_template, series=prepared.frame.single)
    each = TOKENS_A_FIELD * len(schema.fields)
    if shown:
        each = max(1, round(sum(len(text) for _, text in shown) / len(shown) / CHARACTERS_PER_TOKEN))
    most = most_tokens(said.sending.params)
    return Outlay(
        requests=requests, characters=characters, answer_tokens=each, shown=bool(shown), most=most, bytes=size
    )
