"""`llmframe demo`: real reviews through a real model, beside what people said of them."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final, Literal

import typer
from pydantic import BaseModel
from rich.console import Console
from rich.table import Column, Table

from llmframe import datasets
from llmframe.api.runs import last_run
from llmframe.api.verbs import map as llm_map
from llmframe.cli import exits
from llmframe.errors import excerpt

DEFAULT_MODEL: Final = "local/smollm2-135m"
SYSTEM: Final = "Decide whether the customer is happy (positive) or unhappy (negative)."
TEMPLATE: Final = "{text}"
HEAD_ROWS: Final = 8


class Sentiment(BaseModel):
    """What the demo asks of every review."""

    label: Literal["positive", "negative"]


def demo(
    rows: Annotated[int, typer.Option(metavar="N", help="How many reviews to label; 60.", min=2)] = 60,
    model: Annotated[str, typer.Option(metavar="NAME", help=f"Any that `map` takes; {DEFAULT_MODEL}.")] = DEFAULT_MODEL,
) -> None:
    """Label shipped reviews with the embedded model and compare with their human ratings."""
    console = Console()
    reviews = datasets.reviews(rows, source="amazon")
    frame = [{"text": text, "human": label} for text, label in zip(reviews["text"], reviews["label"], strict=True)]
    examples = [(row, {"label": label}) for row, label in datasets.few_shot()]
    console.print(f"Asking {model} about {rows} review sentences ...")
    with exits.told():
        labelled = llm_map(
            frame,
            TEMPLATE,
            schema=Sentiment,
            system=SYSTEM,
            examples=examples,
            model=model,
            params={"temperature": 0},
            max_concurrency=4,
        )
    console.print(_head(labelled))
    for line in accuracy_lines(labelled):
        console.print(line, highlight=False)
    console.print(repr(last_run()), highlight=False)
    if any(row["error"] for row in labelled):
        raise typer.Exit(exits.SOME_FAILED)


def accuracy_lines(labelled: list[dict[str, object]]) -> list[str]:
    """The share of rows labelled as people did, beside what always saying the commoner label would reach."""
    answered = [row for row in labelled if row["error"] is None]
    right = sum(row["label"] == row["human"] for row in answered)
    commonest, most = Counter(str(row["human"]) for row in labelled).most_common(1)[0]
    lines = [f"always {commonest!r}: {most} of {len(labelled)} rows right ({most / len(labelled):.0%})"]
    if answered:
        lines.insert(0, f"the model: {right} of {len(answered)} answered rows right ({right / len(answered):.0%})")
    return lines


def _head(labelled: list[dict[str, object]]) -> Table:
    text = Column("text", no_wrap=True, overflow="ellipsis", ratio=1)
    table = Table(text, *(Column(name, no_wrap=True) for name in ("human", "label", "error")), expand=True)
    for row in labelled[:HEAD_ROWS]:
        shown = (str(row[name] or "") for name in ("text", "human", "label", "error"))
        table.add_row(*(excerpt(cell) for cell in shown))
    return table
