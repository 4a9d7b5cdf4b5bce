from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

from typer.testing import CliRunner

import llmframe
from llmframe.cli.main import app


def test_without_a_command_it_shows_its_help():
    result = CliRunner().invoke(app, [])
    assert "demo" in result.output
    assert "Columns from a language model" in result.output


def test_it_tells_its_version():
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == f"llmframe {llmframe.__version__}"


def test_the_installed_command_is_this_one():
    (command,) = entry_points(group="console_scripts", name="llmframe")
    assert command.value == "llmframe.cli.main:run"


def test_it_runs_as_a_module():
    shown = subprocess.run(
        [sys.executable, "-c", "from llmframe.cli.main import run; run()", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert llmframe.__version__ in shown.stdout
