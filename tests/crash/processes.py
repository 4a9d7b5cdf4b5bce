"""A provider that outlives whoever asks it, and processes that are killed while they ask."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class Spoken:
    """A process that is spoken to by lines of JSON."""

    def __init__(self, *command: str) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", *command], stdin=pipe, stdout=pipe, text=True, env=environment()
        )

    def say(self, value: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()

    def told(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process has ended"
        return json.loads(line)

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


class Server(Spoken):
    """The provider; its log of events outlives everybody."""

    def __init__(self, log: Path, seconds: float) -> None:
        super().__init__(str(HERE / "served_child.py"), str(log), str(seconds))
        self.url: str = self.told()
        self._log = log
        self._read = 0

    def tell(self, name: str, *arguments: object) -> None:
        """Have `served_child` do something."""
        self.say([name, *arguments])
        assert self.told() == name

    def events(self) -> list[tuple[str, str]]:
        """Kinds and prompts' digests of the events since the last look, once no client is connected any more.

        A call of the Batch API has the id of its file or batch in place of a digest.
        """
        self.tell("settle")
        lines = self._log.read_text().splitlines()
        new, self._read = lines[self._read :], len(lines)
        return [(kind, prompt) for kind, prompt in (line.split() for line in new)]

    def asked(self) -> Counter[str]:
        """How often each prompt was asked since the last look."""
        return Counter(prompt for kind, prompt in self.events() if kind == "asked")

    def batches(self, **settings: object) -> None:
        """Set attributes of the Batch API, such as `polls=3`."""
        self.tell("batches", settings)

    def paid(self) -> Counter[str]:
        """How often each prompt was paid in a batch since the last look, once every batch that was made has ended."""
        before = self.events()
        self.tell("finish")
        return Counter(prompt for kind, prompt in before + self.events() if kind == "paid")


class Forker(Spoken):
    """Forks processes that do a job each, one at a time."""

    def __init__(self) -> None:
        super().__init__(str(HERE / "forked_child.py"))

    def fork(self, job: dict[str, Any]) -> int:
        """The pid of a process that waits for `begin`."""
        self.say(job)
        return self.told()

    def begin(self) -> None:
        self.say(None)

    def ended(self) -> int:
        """Wait for the process; its exit status, negative when a signal ended it."""
        return self.told()

    def do(self, job: dict[str, Any]) -> int:
        """A whole process."""
        self.fork(job)
        self.begin()
        return self.ended()


def environment() -> dict[str, str]:
    """What a child may know: no key, no setting, and this copy of the package before any other."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "LLMFRAME_"))}
    return kept | {"PYTHONPATH": str(HERE.parents[1])}
