"""The help of a command, laid out for 80 columns: an option and its value on the left, its meaning on the right.

typer's own table gives names, switches, types and meanings a column each, which leaves the meanings 25 characters here.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import typer.core
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

WIDEST: Final = 100
"""Columns of a help page on wider terminals: longer lines are hard to read."""

LEFT: Final = 29
"""Columns for an option with its value."""

THIS: Final = "This command"
"""The panel of options that say nothing about the work, `--help` among them; the last one."""


class HelpfulCommand(typer.core.TyperCommand):
    """A command whose help is `help_page`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the page; `formatter` isn't used, as in typer."""
        del formatter
        show_page(self, ctx)


class HelpfulGroup(typer.core.TyperGroup):
    """A group whose help is `help_page`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the page; `formatter` isn't used, as in typer."""
        del formatter
        show_page(self, ctx)


def show_page(command: Any, ctx: Any) -> None:
    """Print the help of `command` to stdout, no wider than `WIDEST`."""
    console = Console(highlight=False)
    console.print(help_page(command, ctx), width=min(console.width, WIDEST))


def help_page(command: Any, ctx: Any) -> RenderableType:
    """Usage, what it does, a panel of options for each subject, commands, closing words."""
    usage = Text.assemble(("Usage: ", "bold"), command.get_usage(ctx).partition(":")[2].strip())
    parts: list[RenderableType] = [usage, *_paragraphs(command.help or "")]
    panels: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for param in command.get_params(ctx):
        if not getattr(param, "hidden", False):
            panels[getattr(param, "rich_help_panel", None) or THIS].append((_left(param), param.help or ""))
    commands = [
        (name, command.commands[name].get_short_help_str(limit=WIDEST)) for name in getattr(command, "commands", ())
    ]
    last = panels.pop(THIS)
    for title, rows in (("Commands", commands), *panels.items(), (THIS if panels else "Options", last)):
        if rows:
            parts.append(_panel(title, rows))
    return Group(*parts, *_paragraphs(command.epilog or "")[:-1])


def _paragraphs(text: str) -> list[RenderableType]:
    """Paragraphs as they are parted by empty lines, an empty line around each; an indented one keeps its lines."""
    paragraphs: list[RenderableType] = [Text()]
    for paragraph in text.strip("\n").split("\n\n"):
        shown = paragraph.rstrip() if paragraph.startswith(" ") else " ".join(paragraph.split())
        if shown:
            paragraphs += [Text(shown), Text()]
    return paragraphs


def _left(param: Any) -> str:
    if param.param_type_name == "argument":
        return param.metavar or param.name.upper()
    names = ", ".join(sorted(param.opts, key=len))
    if param.is_flag:
        return names
    return f"{names} {param.metavar or param.name.upper()}"


def _panel(title: str, rows: list[tuple[str, str]]) -> Panel:
    table = Table(box=None, show_header=False, expand=True, pad_edge=False, padding=(0, 1))
    table.add_column(style="bold cyan", width=LEFT, overflow="fold")
    table.add_column(ratio=1)
    for left, meaning in rows:
        table.add_row(Text(left), Text(meaning))
    return Panel(table, title=title, title_align="left", border_style="dim")
