"""What the documents promise about the project: commands, versions, no one's own paths."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer.main

import llmframe
from llmframe.cli.main import app

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
PRIVATE = re.compile(r"(?<![\w.:/-])/(?:home|root|Users|work|srv|opt)/|file://")
"""Paths that exist on one machine only."""


def commands() -> list[Any]:
    """Every command of the command line, `llmframe` itself among them."""
    top = typer.main.get_command(app)
    return [top, *getattr(top, "commands", {}).values()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_names_no_private_path(path: Path):
    assert PRIVATE.findall(path.read_text()) == []


@pytest.mark.parametrize("command", commands(), ids=lambda command: command.name or "llmframe")
def test_a_command_has_help(command: Any):
    assert command.help
    assert [option.name for option in command.params if not getattr(option, "help", "")] == []


@pytest.mark.parametrize("name", [command.name for command in commands()[1:]])
def test_a_command_stands_in_the_docs(name: str):
    assert f"llmframe {name}" in (ROOT / "docs" / "cli.md").read_text()


def test_the_version_is_one_and_has_its_changelog_entry():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == llmframe.__version__ == version("llmframe")
    assert f"## [{llmframe.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
