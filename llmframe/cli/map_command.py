"""`llmframe map`: a file in, the same rows with a model's answers out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import typer
from rich.console import Console

from llmframe.api.files import map_file
from llmframe.api.runs import last_run
from llmframe.cli import choices, exits
from llmframe.cli.asked import asked
from llmframe.cli.lines import ProgressLines
from llmframe.cli.summary import closing_lines, fitted, summary
from llmframe.engine.progress import ProgressOption
from llmframe.errors import UsageError
from llmframe.report import RunReport

SHORT_HELP: Final = "Ask a model about every row of a file, and write the rows with its answers."

HELP: Final = f"""{SHORT_HELP}

Equal prompts are asked once, and answers are kept: the same command again asks only for what is missing.

The API key comes from the environment (OPENAI_API_KEY, ...) and nowhere else: an option would stand in the shell's \
history and in the list of processes. An option said here goes before the job file (--config), and that before the \
environment (LLMFRAME_MODEL, ...).
"""


def map_command(  # noqa: PLR0913 - the options, written out
    *,
    input: choices.Input = None,  # noqa: A002 - the option's name
    output: choices.Output = None,
    format: choices.Format = None,  # noqa: A002 - the option's name
    output_format: choices.OutputFormat = None,
    exists: choices.ExistsOption = None,
    types: choices.Types = None,
    batch_rows: choices.BatchRows = None,
    spreadsheet_safe: choices.SpreadsheetSafe = None,
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
    quiet: choices.Quiet = False,
) -> None:
    """`llmframe map`."""
    said = dict(locals())
    with exits.told(as_json=as_json):
        call = asked(said, writes=True)
        options: dict[str, Any] = dict(call.options)
        run_and_tell(
            lambda progress: map_file(
                call.source, str(call.target), call.prompt, call.schema, progress=progress, **options
            ),
            as_json=as_json,
            quiet=quiet,
        )


def run_and_tell(run: Callable[[ProgressOption], RunReport], *, as_json: bool, quiet: bool) -> None:
    """Run, show how it goes, tell its end, and exit with its status.

    Parameters
    ----------
    run
        Takes the listener of the progress.
    """
    report, status = _ended(run, progress=_progress(quiet=quiet))
    if report is not None and not quiet:
        exits.say(fitted(repr(report), _width()))
    if not quiet:
        for line in closing_lines(status, written=report is not None and report.output is not None):
            exits.say(line)
    if as_json:
        typer.echo(json.dumps(summary(report, status=status)))
    if status:
        raise typer.Exit(status)


def _ended(run: Callable[[ProgressOption], RunReport], *, progress: ProgressOption) -> tuple[RunReport | None, int]:
    try:
        report = run(progress)
    except KeyboardInterrupt as interrupt:
        ended = exits.TERMINATED if isinstance(interrupt, exits.Terminated) else exits.INTERRUPTED
        return _begun(), ended
    return report, exits.status_of(report)


def _begun() -> RunReport | None:
    try:
        return last_run()
    except UsageError:  # interrupted before the run began
        return None


def _width() -> int | None:
    """Columns of the terminal on stderr; `None` when it's a file or a pipe."""
    console = Console(stderr=True)
    return console.width if console.is_terminal else None


def _progress(*, quiet: bool) -> ProgressOption:
    if quiet:
        return False
    return True if sys.stderr.isatty() else ProgressLines(exits.say, clock=time.monotonic)
