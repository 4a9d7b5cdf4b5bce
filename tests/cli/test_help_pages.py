from __future__ import annotations

import re
from typing import Annotated, Any

import pytest
import typer
import typer.main
from typer.testing import CliRunner

from llmframe.cli.help_pages import HelpfulCommand, HelpfulGroup
from llmframe.cli.main import app


def paths(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    below = getattr(command, "commands", {})
    return [path, *(deeper for name in below for deeper in paths(below[name], (*path, name)))]


COMMANDS = paths(typer.main.get_command(app))


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(("llmframe", *path)))
def test_a_page_fits_80_columns_and_has_no_stray_blanks(path: tuple[str, ...]):
    result = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line.endswith("  ")]
    assert "\n\n\n" not in result.stdout
    assert "[default" not in result.stdout
    assert "None" not in result.stdout


def test_options_stand_in_the_panel_of_their_subject_and_help_in_the_last():
    tried = typer.Typer(cls=HelpfulGroup, add_completion=False)

    @tried.command(cls=HelpfulCommand, epilog="  Exit status\n      0  fine")
    def ask(
        source: Annotated[str, typer.Argument(metavar="IN", help="Rows.", rich_help_panel="Files")],
        *,
        budget: Annotated[
            str | None, typer.Option("--budget", "-b", metavar="$", help="Most.", rich_help_panel="Limits")
        ],
        loud: Annotated[bool, typer.Option("--loud/--no-loud", help="Not quiet.", rich_help_panel="Limits")] = False,
    ) -> None:
        """Ask something.

        At some length.
        """

    shown = CliRunner().invoke(tried, ["--help"], env={"COLUMNS": "60"}).stdout
    titles = re.findall(r"╭─ ([\w ]+) ─", shown)
    assert titles == ["Files", "Limits", "This command"]
    assert re.search(r"│ IN +Rows\. +│", shown)
    assert re.search(r"│ -b, --budget \$ +Most\. +│", shown)
    assert re.search(r"│ --loud +Not quiet\. +│", shown)
    assert shown.index("--help") > shown.index("--loud")
    assert shown.rstrip().endswith("Exit status\n      0  fine")


def test_a_wide_terminal_gets_no_wider_page_than_can_be_read():
    shown = CliRunner().invoke(app, ["demo", "--help"], env={"COLUMNS": "200", "TERM": "xterm"}).stdout
    assert max(map(len, shown.splitlines())) == 100
