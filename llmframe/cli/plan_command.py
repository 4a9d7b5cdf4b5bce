"""`llmframe plan`: what a map would send and cost, found without a request."""

from __future__ import annotations

import dataclasses
import json
import unicodedata
from typing import Any, Final

import typer

from llmframe.api.files import plan_file
from llmframe.cli import choices, exits
from llmframe.cli.asked import asked
from llmframe.report import PlanReport

SHOWN_CHARACTERS: Final = 2000
"""Of a message; `--json` tells all of it."""

KEPT: Final = "\n\t\u200c\u200d"
"""Line ends, tabs, and the two joiners, without which some scripts and emoji can't be read."""

SHORT_HELP: Final = "Tell what a map would send and cost, without a request."

HELP: Final = f"""{SHORT_HELP}

It reads all rows, renders them, and looks up which are answered already; it needs no key. Tokens are estimated from \
characters, so the cost is a range. The same options and job files as for `map`; those about the output are left out.
"""

EPILOG: Final = "  Exit status\n      0  the plan is told\n      2  it can't work as called"


def plan_command(  # noqa: PLR0913 - the options, written out
    input: choices.Input = None,  # noqa: A002 - the option's name
    *,
    format: choices.Format = None,  # noqa: A002 - the option's name
    types: choices.Types = None,
    batch_rows: choices.BatchRows = None,
    prompt: choices.Prompt = None,
    prompt_file: choices.PromptFile = None,
    schema: choices.Schema = None,
    system: choices.System = None,
    system_file: choices.SystemFile = None,
    on_null: choices.OnNullOption = None,
    prefix: choices.Prefix = None,
    into: choices.Into = None,
    overwrite: choices.Overwrite = None,
    labels: choices.LabelsOption = None,
    nested: choices.NestedOption = None,
    confidence: choices.ConfidenceOption = None,
    samples: choices.Samples = None,
    distribution: choices.Distribution = None,
    calibration: choices.CalibrationOption = None,
    meta: choices.Meta = None,
    model: choices.Model = None,
    base_url: choices.BaseUrl = None,
    params: choices.Params = None,
    output_mode: choices.OutputModeOption = None,
    mode: choices.Mode = None,
    fallback: choices.Fallback = None,
    timeout: choices.Timeout = None,
    max_attempts: choices.MaxAttempts = None,
    reask: choices.Reask = None,
    hedge: choices.Hedge = None,
    priority: choices.PriorityOption = None,
    budget: choices.Budget = None,
    prices: choices.Prices = None,
    requests_per_minute: choices.RequestsPerMinute = None,
    tokens_per_minute: choices.TokensPerMinute = None,
    max_concurrency: choices.MaxConcurrency = None,
    cache: choices.Cache = None,
    config: choices.Config = None,
    roots: choices.Roots = None,
    as_json: choices.AsJson = False,
) -> None:
    """`llmframe plan`."""
    said = dict(locals())
    with exits.told(as_json=as_json):
        call = asked(said, writes=False)
        options: dict[str, Any] = dict(call.options)
        plan = plan_file(call.source, call.prompt, call.schema, **options)
        if as_json:
            typer.echo(json.dumps(plan_values(plan), default=str))
            return
        typer.echo(repr(plan))
        for line in prompt_lines(plan):
            typer.echo(line)


def plan_values(plan: PlanReport) -> dict[str, object]:
    """Everything that the plan knows, prompts and schema included, as plain values."""
    values: dict[str, object] = {field.name: getattr(plan, field.name) for field in dataclasses.fields(plan)}
    values |= {
        "prompts": list(plan.prompts),
        "schema": dict(plan.schema),
        "affordable": plan.affordable,
        "saving": plan.saving,
    }
    return values


def prompt_lines(plan: PlanReport) -> list[str]:
    """The first rendered prompts as they would be sent, for a terminal: what could steer it is shown, not done."""
    lines: list[str] = []
    for number, messages in enumerate(plan.prompts, start=1):
        lines += ["", f"prompt {number} of the first {len(plan.prompts)}"]
        for message in messages:
            text = str(message.get("content", ""))
            shown = visible(text[:SHOWN_CHARACTERS])
            if len(text) > SHOWN_CHARACTERS:
                shown += f"\n... {len(text) - SHOWN_CHARACTERS:,} more characters; --json tells them"
            lines.append(f"  {message.get('role', '')}:")
            lines += [f"    {line}" for line in shown.split("\n")]
    return lines


def visible(text: str) -> str:
    r"""`text` with its control and format characters written out, line ends and tabs apart.

    Examples
    --------
    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return "".join(_written(character) for character in text)


def _written(character: str) -> str:
    if character in KEPT or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    return ascii(character)[1:-1]
