"""The group of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from llmframe import __version__
from llmframe.cli import embed_command, exits, judge_command, map_command, plan_command
from llmframe.cli.cache_command import cache_app
from llmframe.cli.demo import demo
from llmframe.cli.help_pages import HelpfulCommand, HelpfulGroup
from llmframe.cli.jobs_command import jobs_app
from llmframe.cli.models_command import models_command

app = typer.Typer(
    name="llmframe",
    cls=HelpfulGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="`llmframe COMMAND --help` tells a command's options.",
)
app.command(
    "map", cls=HelpfulCommand, help=map_command.HELP, short_help=map_command.SHORT_HELP, epilog=exits.meanings()
)(map_command.map_command)
app.command(
    "embed",
    cls=HelpfulCommand,
    help=embed_command.HELP,
    short_help=embed_command.SHORT_HELP,
    epilog=exits.meanings(),
)(embed_command.embed_command)
app.command(
    "plan",
    cls=HelpfulCommand,
    help=plan_command.HELP,
    short_help=plan_command.SHORT_HELP,
    epilog=plan_command.EPILOG,
)(plan_command.plan_command)
app.command(
    "judge",
    cls=HelpfulCommand,
    help=judge_command.HELP,
    short_help=judge_command.SHORT_HELP,
    epilog=exits.meanings(exits.OF_JUDGE),
)(judge_command.judge_command)
app.add_typer(jobs_app, name="jobs", short_help="Look after batch jobs: wait for them, collect, cancel.")
app.add_typer(cache_app, name="cache")
app.command("models", cls=HelpfulCommand)(models_command)
app.command("demo", cls=HelpfulCommand)(demo)


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it with the option's value
    if wanted:
        typer.echo(f"llmframe {__version__}")
        raise typer.Exit


@app.callback()
def main(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Columns from a language model, on pandas and polars."""
    del version  # its callback has answered


def run() -> None:
    """Entry point of the `llmframe` command."""
    app()
