"""`llmframe models`: names that `--model` takes, with what they cost."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import typer
from rich.console import Console
from rich.table import Column, Table

from llmframe.cli import exits
from llmframe.clients.endpoints import ENDPOINTS, FOREIGN, PREFIXES
from llmframe.clients.local_weights import PACKAGED
from llmframe.errors import UsageError, did_you_mean

SKIPPED: Final = frozenset({"generative-ai", "gemini", "vertexai"})
"""Second names of a provider whose models are listed under the first."""

Query = Annotated[
    str | None,
    typer.Argument(
        metavar="QUERY",
        show_default=False,
        help="Part of a name, such as gpt-4o or anthropic/. Without it: providers, and the embedded models.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, with every model that fits.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A model with its price: dollars per million tokens, `None` when it depends on more than their number."""

    name: str
    context: int | None
    input: float | None
    output: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """A model that runs in this process's own child, and whether its weights are here."""

    name: str
    makes: Literal["answers", "vectors"]
    found: bool
    install: str


def models_command(query: Query = None, *, as_json: AsJson = False) -> None:
    """List models with what a million tokens cost, named as --model takes them.

    Prices are those of the installed genai-prices; a server of your own, or a name that isn't listed, works too.
    """
    with exits.told(as_json=as_json):
        embedded = [each for each in embedded_models() if _fits(each.name, query)]
        priced = [each for each in priced_models() if _fits(each.name, query)]
        if query is not None and not embedded and not priced:
            near = did_you_mean(query, (*ENDPOINTS, *FOREIGN, *(each.name for each in priced_models())))
            raise UsageError(f"no known model has {query!r} in its name{near}")
        if as_json:
            known = {"models": [*map(dataclasses.asdict, priced)], "embedded": [*map(dataclasses.asdict, embedded)]}
            typer.echo(json.dumps(known))
            return
        console = Console(highlight=False)
        if embedded:
            console.print(_embedded_table(embedded))
        if query is None:
            console.print(_providers_table(priced))
            console.print("\nNext: `llmframe models anthropic/`, or `llmframe models 4o-mini`")
        elif priced:
            console.print(_models_table(priced))


def priced_models() -> Iterator[Listed]:
    """Models of genai-prices whose provider `--model` can name, by that name."""
    from genai_prices.data import providers  # noqa: PLC0415 - its tables take 30 ms to load

    known = {provider.id: provider for provider in providers}
    now = datetime.now(UTC)
    for prefix, price_name in _prefixes().items():
        if price_name not in known:
            continue
        for model in sorted(known[price_name].models, key=lambda model: model.id):
            price = model.get_prices(now)
            listed = Listed(
                name=f"{prefix}/{model.id}",
                context=model.context_window,
                input=_rate(price.input_mtok),
                output=_rate(price.output_mtok),
            )
            if price.input_mtok is not None and price.output_mtok is not None:
                yield listed


def embedded_models() -> list[Embedded]:
    """The models that run here, by the names that `--model` takes."""
    return [
        Embedded(
            name=f"local/{name}",
            makes="answers" if packaged.embeds is None else "vectors",
            found=packaged.installed(),
            install=packaged.install.partition("#")[0].strip(),
        )
        for name, packaged in PACKAGED.items()
    ]


def _prefixes() -> dict[str, str]:
    prefixes = {name: endpoint.price_name for name, endpoint in ENDPOINTS.items()}
    prefixes |= {name: foreign.price_name for name, foreign in FOREIGN.items() if name not in SKIPPED}
    return prefixes


def _rate(price: Any) -> float | None:
    """Dollars per million tokens; of a price with tiers the first."""
    base = getattr(price, "base", price)
    return None if base is None else float(base)


def _fits(name: str, query: str | None) -> bool:
    """Whether `query` is part of `name`; a provider with its slash has to begin it."""
    if query is None:
        return True
    folded, wanted = name.casefold(), query.casefold()
    return folded.startswith(wanted) if wanted.partition("/")[0] in PREFIXES and "/" in wanted else wanted in folded


def _embedded_table(models: list[Embedded]) -> Table:
    table = Table(
        "embedded model", "makes", "weights", Column("install with", overflow="fold"), box=None, pad_edge=False
    )
    for model in models:
        table.add_row(model.name, model.makes, "found" if model.found else "not found", model.install)
    return table


def _providers_table(models: list[Listed]) -> Table:
    prefixes: Mapping[str, int] = Counter(model.name.partition("/")[0] for model in models)
    table = Table("provider", Column("models with a price", justify="right"), "key from", box=None, pad_edge=False)
    for prefix in (*ENDPOINTS, *FOREIGN):
        if prefix not in SKIPPED:
            table.add_row(f"{prefix}/", f"{prefixes.get(prefix, 0):,}", " or ".join(_key_variables(prefix)))
    return table


def _key_variables(prefix: str) -> tuple[str, ...]:
    found = ENDPOINTS.get(prefix) or FOREIGN[prefix]
    return found.key_variables


def _models_table(models: list[Listed]) -> Table:
    numbers = [Column(name, justify="right", no_wrap=True) for name in ("context", "$/M in", "$/M out")]
    table = Table(Column("model", overflow="fold"), *numbers, box=None, pad_edge=False)
    for model in models:
        context = "" if model.context is None else f"{model.context:,}"
        table.add_row(model.name, context, _dollars(model.input), _dollars(model.output))
    return table


def _dollars(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.4g}"
