"""Every console block of the documentation runs, page by page, against a simulated provider.

`$ cat FILE` writes the file that the block shows, `$ echo $?` tells the last status, `$ export` is the reader's own.
What stands below a command is compared with its output, `...` fits anything. A command without lines below it may print
whatever it likes.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

from llmframe.cli.main import app
from llmframe.testing import Provider

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")] if "```console" in path.read_text()
)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
TERMINAL = {"COLUMNS": "80", "FORCE_COLOR": None, "TTY_COMPATIBLE": None}
"""What a reader's terminal has, whatever whoever runs this has set."""

NO_ERROR = {0, 3}
"""Statuses that a command may have whose status isn't shown."""


@dataclass
class Shell:
    """A page's session: its last command's status and output."""

    folder: Path
    status: int = 0
    commands: list[str] = field(default_factory=list)

    def run(self, line: str, shown: str) -> None:
        words = [os.path.expandvars(word) for word in shlex.split(line)]
        if words[0] == "cat":
            (self.folder / words[1]).write_text(shown)
        elif line == "echo $?":
            assert shown == f"{self.status}\n", f"{self.commands[-1]} ended with {self.status}"
        elif words[0] == "llmframe":
            result = CliRunner().invoke(app, words[1:], env=TERMINAL)
            self.status = result.exit_code
            self.commands.append(line)
            assert "Traceback" not in result.output
            assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
            told = (result.output, result.stdout)  # a block shows a terminal, or only what a pipe gets
            fits = any(doctest.OutputChecker().check_output(shown, text, FLAGS) for text in told)
            assert not shown or fits, f"{line} printed:\n{result.output}"
        else:
            assert words[0] == "export", f"a reader can't be shown {line!r} without its being run here"


def commands(page: Path) -> list[tuple[str, str]]:
    """Each command of the page's console blocks, with what is shown below it."""
    found: list[tuple[str, str]] = []
    for block in BLOCK.findall(page.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            found.append((line, shown))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_run_as_shown(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    session = commands(page)
    with Provider() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", provider.api_key)
        shell = Shell(tmp_path)
        for number, (line, shown) in enumerate(session):
            shell.run(line, shown)
            told = session[number + 1][0] == "echo $?" if number + 1 < len(session) else False
            if line.startswith("llmframe") and not told:
                assert shell.status in NO_ERROR, f"{line} ended with {shell.status}"
        assert provider.requests > 0


def test_every_command_of_the_line_is_among_them():
    shown = {line.split()[1] for line, _ in commands(ROOT / "docs" / "cli.md") if line.startswith("llmframe")}
    assert {"map", "plan", "cache", "models"} <= shown
