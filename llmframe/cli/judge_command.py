"""`llmframe judge`: a judge's report card from a file, held against gates."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from llmframe.cli import choices, exits
from llmframe.cli.judged_file import as_numbers, judged_rows
from llmframe.cli.plan_command import visible
from llmframe.cli.values import read_types
from llmframe.errors import UsageError, did_you_mean
from llmframe.judge.card import card
from llmframe.report.agreement import Scale
from llmframe.report.card import ReportCard

SHORT_HELP: Final = "Hold a judge's answers in a file against gold: its report card, and gates for CI."

HELP: Final = f"""{SHORT_HELP}

It asks nobody: the file has the answers already, and what is right for some rows or all. It tells agreement with \
intervals, what confidences are worth, and what became of the rows.
"""

WRITERS: Final[Mapping[str, Callable[[ReportCard], str]]] = {
    ".html": ReportCard.to_html,
    ".md": ReportCard.to_markdown,
    ".json": ReportCard.to_json,
}
"""How a card is written, by the end of its file's name."""

JUDGED: Final = "Judge and gold"
GATES: Final = "Gates"

Input = Annotated[
    str | None,
    typer.Argument(
        metavar="IN",
        show_default=False,
        help="Parquet, CSV, JSONL or Arrow file; a folder or glob of them; a Delta table; any fsspec address.",
        rich_help_panel=choices.FILES,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Where the card goes: a name that ends in .html (with pictures), .md or .json.",
        rich_help_panel=choices.FILES,
    ),
]
ExistsOption = Annotated[
    Literal["error", "replace"],
    typer.Option(
        metavar="error|replace",
        show_default=False,
        help="What an OUT that is there means.",
        rich_help_panel=choices.FILES,
    ),
]
Pred = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column with the judge's answers.", rich_help_panel=JUDGED)
]
Gold = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="The column with what is right, empty where unknown; repeat it for several people's.",
        rich_help_panel=JUDGED,
    ),
]
ConfidenceColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column of confidences; without it the one beside the answers.",
        rich_help_panel=JUDGED,
    ),
]
ScaleOption = Annotated[
    Scale | None,
    typer.Option(
        metavar="nominal|ordinal|interval",
        help="Labels, levels or numbers; without it, what the cells look like.",
        rich_help_panel=JUDGED,
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="LABEL",
        help="All labels, of levels from low to high; repeat it for each.",
        rich_help_panel=JUDGED,
    ),
]
By = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Agreement for each of its values, too.", rich_help_panel=JUDGED),
]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="What rows belong to, such as a document: intervals draw its rows together.",
        rich_help_panel=JUDGED,
    ),
]
Seed = Annotated[
    int, typer.Option(metavar="N", show_default=False, help="Decides the draws; 0.", rich_help_panel=JUDGED)
]
Least = Annotated[
    list[str] | None,
    typer.Option(
        "--min",
        metavar="KEY=NUMBER",
        help="What a number of the card is at least, such as kappa.low=0.6; repeatable. --json shows all keys.",
        rich_help_panel=GATES,
    ),
]
Most = Annotated[
    list[str] | None,
    typer.Option(
        "--max",
        metavar="KEY=NUMBER",
        help="What it is at most, such as ece=0.1; repeatable.",
        rich_help_panel=GATES,
    ),
]


def judge_command(  # noqa: PLR0913 - the options, written out
    input: Input = None,  # noqa: A002 - the option's name
    *,
    output: Output = None,
    exists: ExistsOption = "error",
    format: choices.Format = None,  # noqa: A002 - the option's name
    types: choices.Types = None,
    pred: Pred = None,
    gold: Gold = None,
    confidence: ConfidenceColumn = None,
    scale: ScaleOption = None,
    labels: Labels = None,
    by: By = None,
    group: Group = None,
    seed: Seed = 0,
    least: Least = None,
    most: Most = None,
    as_json: choices.AsJson = False,
    quiet: choices.Quiet = False,
) -> None:
    """`llmframe judge`."""
    with exits.told(as_json=as_json):
        if input is None or pred is None or not gold:
            lacking = "input" if input is None else "--pred" if pred is None else "--gold"
            raise UsageError(f"{lacking} wasn't named: `llmframe judge answers.parquet --pred label --gold human`")
        gates = read_gates(least or (), "--min"), read_gates(most or (), "--max")
        writer = None if output is None else _writer(output, replace=exists == "replace")
        rows = judged_rows(
            input,
            pred=pred,
            gold=gold,
            confidence=confidence,
            beside=[name for name in (by, group) if name is not None],
            format=format,
            types=read_types(types or ()) or None,
        )
        numeric = any(isinstance(row[pred], int | float) for row in rows)
        found = card(
            rows,
            pred,
            gold[0] if len(gold) == 1 else gold,
            confidence=confidence,
            scale=scale,
            labels=_levels(labels) if labels is not None and numeric else labels,
            by=by,
            group=group,
            seed=seed,
        )
        broken = found.check(min=gates[0], max=gates[1])
        if output is not None and writer is not None:
            output.write_text(writer(found), encoding="utf-8")
        status = exits.GATE_BROKEN if broken else exits.ALL_ROWS
        if as_json:
            told = {**found.to_dict(), "broken": list(map(str, broken))}
            typer.echo(json.dumps(told | {"output": output and str(output), "exit_code": status}))
        elif not quiet:
            typer.echo(visible(repr(found)))
        for gate in broken:
            exits.say(f"gate: {gate}")
        if output is not None and not quiet:
            exits.say(f"wrote {output}")
        if broken:
            raise typer.Exit(status)


def read_gates(texts: Sequence[str], option: str) -> dict[str, float]:
    """`kappa.low=0.6` and its like; a key may hold an equals sign, as labels do.

    Raises
    ------
    UsageError
        If there is no `=`, no number, or a key comes twice.

    Examples
    --------
    >>> read_gates(["kappa.low=0.6", "recall.a=b=.5"], "--min")
    {'kappa.low': 0.6, 'recall.a=b': 0.5}
    """
    gates: dict[str, float] = {}
    for text in texts:
        key, equals, number = (part.strip() for part in text.rpartition("="))
        bound = as_numbers([number])
        if not equals or not key or bound is None or bound[0] is None:
            raise UsageError(f"{option} must be a key of the card and a number, such as kappa.low=0.6, got {text!r}")
        if key in gates:
            raise UsageError(f"{option} gives {key!r} twice: {gates[key]:g} and {number}")
        gates[key] = bound[0]
    return gates


def _levels(labels: Sequence[str]) -> Sequence[Any]:
    """Labels as the numbers that answers are, whole where they are; as they stand where any is none."""
    found = as_numbers(labels)
    return (
        labels if found is None else [int(each) if each is not None and each.is_integer() else each for each in found]
    )


def _writer(output: Path, *, replace: bool) -> Callable[[ReportCard], str]:
    suffix = output.suffix.lower()
    if suffix not in WRITERS:
        near = did_you_mean(suffix, WRITERS)
        raise UsageError(f"{str(output)!r} ends in none of {', '.join(WRITERS)}{near}; its end tells how it's written")
    if output.exists() and not replace:
        raise UsageError(f"{str(output)!r} is there already; say --exists replace, or name another file")
    return WRITERS[suffix]
