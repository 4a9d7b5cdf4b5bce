"""What a map would do: rendered, deduplicated and priced without a request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, cast

from llmframe.api.arguments import Arguments
from llmframe.api.examples import examples_of
from llmframe.api.keeping import store_of
from llmframe.api.prepared import Prepared, asking, prepare
from llmframe.api.runs import price_of
from llmframe.budget import budget_of
from llmframe.clients.base import Client
from llmframe.core.outcome import Answer
from llmframe.core.outlay import CHARACTERS_PER_TOKEN, Outlay, most_tokens
from llmframe.core.plan import NOT_ASKED, Planned
from llmframe.core.prices import Price
from llmframe.core.request import canonical_json, text_digest
from llmframe.frames import wrap
from llmframe.report import PlanReport
from llmframe.stores.base import SharedStore

TOKENS_A_FIELD: Final = 12
"""Estimate of the output for one field when no example shows its length."""

SHOWN_PROMPTS: Final = 3


def run_plan(native: object, arguments: Arguments) -> PlanReport:
    """`plan` over an eager frame."""
    if _is_empty_list(native):
        return _without_rows(arguments)
    prepared = prepare(asking(arguments), wrap(native), verb="plan")
    plan, schema = prepared.plan(), prepared.asking.schema
    store = store_of(arguments.sending.cache, prepared.client)
    components = prepared.asking.question(prepared.client).components()
    changes: Counter[str] = Counter()
    to_send = cached = characters = 0
    prompts: list[list[dict[str, object]]] = []
    for chunk in plan.draw():
        kept = store.get_many([planned.key for planned in chunk]) if chunk else {}
        asked: list[Planned] = []
        for planned in chunk:
            if len(prompts) < SHOWN_PROMPTS:
                prompts.append(planned.messages)
            entry = kept.get(planned.key)
            if entry is not None and isinstance(schema.read(entry.text), Answer):
                cached += 1
                continue
            to_send += 1
            if entry is None:
                asked.append(planned)
            else:
                changes["reply"] += 1
            characters += sum(len(str(message.get("content", ""))) for message in planned.messages)
        if isinstance(store, SharedStore) and asked:
            changes.update(store.changes([text_digest(planned.messages) for planned in asked], components))
    changes["kept"] = cached
    wire = cast("Mapping[str, object]", schema.wire)
    outlay = _outlay(prepared, to_send, characters + to_send * len(canonical_json(wire)))
    sending = arguments.sending
    budget, price = _money(prepared.client, arguments)
    nulls = sum(failure.kind == "null" for failure in plan.failures.values())
    problems: dict[str, str] = {}
    for failure in plan.failures.values():
        if failure.kind != "null":
            problems.setdefault(failure.kind, str(failure))
    return PlanReport(
        model=prepared.client.model,
        rows=plan.length,
        null_rows=nulls,
        failed_rows=len(plan.failures) - nulls,
        not_asked=plan.requests.count(NOT_ASKED),
        requests=to_send,
        cached=cached,
        changes={change: count for change, count in changes.items() if count},
        input_tokens=outlay.input_tokens,
        output_tokens=outlay.output_tokens,
        characters_per_token=CHARACTERS_PER_TOKEN,
        usd=outlay.usd(price),
        usd_range=outlay.usd_range(price),
        seconds=outlay.seconds(
            requests_per_minute=sending.requests_per_minute, tokens_per_minute=sending.tokens_per_minute
        ),
        prompts=tuple(prompts),
        schema=wire,
        problems=tuple(problems.values()),
        budget=budget,
    )


def _is_empty_list(native: object) -> bool:
    return isinstance(native, list) and not cast("list[object]", native)


def _without_rows(arguments: Arguments) -> PlanReport:
    """A list without rows has no columns that a template could be held against; the rest is checked, as in `map`."""
    ask = asking(arguments)
    client = ask.client(sends=False)
    budget, price = _money(client, arguments)
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
        usd=Outlay(requests=0, characters=0, answer_tokens=1).usd(price),
        prompts=(),
        schema=cast("Mapping[str, object]", ask.schema.wire),
        budget=budget,
    )


def _money(client: Client, arguments: Arguments) -> tuple[Mapping[str, float], Price]:
    """The limits of the budget that was said, or what is left of a shared one, and the model's price."""
    budget, sending = budget_of(arguments.sending.budget), arguments.sending
    price = price_of(client.provider, client.model, prices=sending.prices, budget=budget)
    return {} if budget is None else {**budget.limits, **budget.left}, price


def _outlay(prepared: Prepared, requests: int, characters: int) -> Outlay:
    """What so many requests take: an answer is as long as the examples' on average, else has a few tokens a field."""
    said, schema = prepared.asking.arguments, prepared.asking.schema
    shown = examples_of(said.examples, schema, template=said.prompt_template, series=prepared.frame.single)
    each = TOKENS_A_FIELD * len(schema.fields)
    if shown:
        each = max(1, round(sum(len(text) for _, text in shown) / len(shown) / CHARACTERS_PER_TOKEN))
    most = most_tokens(said.sending.params)
    return Outlay(requests=requests, characters=characters, answer_tokens=each, shown=bool(shown), most=most)
