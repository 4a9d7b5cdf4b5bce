"""Processes of a measurement: servers that are told what to be, clients that start together."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from job import Job

HERE = Path(__file__).parent
PEERS = {"flexllm"}  # live in an environment of their own
LONGEST = 600.0  # s that one client may take

Told = dict[str, Any]


class Server:
    """The script `server` (fast, one kind of answer) or `provider` (limits and faults) in a process of its own."""

    def __init__(self, script: str, **options: object) -> None:
        command = [sys.executable, str(HERE / f"{script}.py"), json.dumps(options)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url: str = self._read()["url"]

    def stats(self) -> Told:
        return self._ask("stats")

    def reset(self) -> None:
        self._ask("reset")

    def close(self) -> None:
        self._process.communicate()  # its stdin ends, and so does it

    def _ask(self, word: str) -> Told:
        if self._process.stdin is None:
            raise RuntimeError(word)
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Told:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise RuntimeError("the server ended")
        told: Told = json.loads(line)
        return told


@dataclass(frozen=True)
class Run:
    """A job and the server that answers it."""

    job: Job
    server: Server


class Fleet:
    """Measures jobs in fresh processes; all of one call at the same time."""

    def __init__(self, *, peers_python: Path | None = None) -> None:
        self.peers_python = peers_python
        self._stack = ExitStack()
        self._practice: dict[str, Server] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def has(self, side: str) -> bool:
        return side not in PEERS or self.peers_python is not None

    def measure_many(self, job: Job, times: int, script: str, **options: object) -> list[Told]:
        """The same job `times` at once, each with a server of its own: for work that mostly waits."""
        with ExitStack() as stack:
            servers = [stack.enter_context(serving(script, **options)) for _ in range(times)]
            return self.measure(*(Run(job, server) for server in servers))

    def measure(self, *runs: Run) -> list[Told]:
        """One dict a run: what the client told, and under `server` what its server counted; `failed` says why not."""
        clients = [self._client(run) for run in runs]
        waiting = [client for client in clients if _line(client) == "ready"]
        for run in runs:
            run.server.reset()
        for client in waiting:
            if client.stdin is not None:
                client.stdin.write("go\n")
                client.stdin.flush()
        return [_ending(client, run.server) for client, run in zip(clients, runs, strict=True)]

    def _practice_for(self, job: Job) -> Server:
        script = "provider" if job.mode == "batch" else "embedder" if job.side.startswith("embed") else "server"
        if script not in self._practice:
            self._practice[script] = self._stack.enter_context(serving(script))
        return self._practice[script]

    def _client(self, run: Run) -> subprocess.Popen[str]:
        python = str(self.peers_python) if run.job.side in PEERS else sys.executable
        job = replace(run.job, url=run.server.url, warm_url=self._practice_for(run.job).url)
        command = [python, str(HERE / "client.py"), job.line()]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


@contextmanager
def serving(script: str, **options: object) -> Iterator[Server]:
    server = Server(script, **options)
    try:
        yield server
    finally:
        server.close()


def ended(runs: Sequence[Told]) -> list[Told]:
    """The runs that came to their end."""
    return [run for run in runs if "failed" not in run]


def why_not(runs: Sequence[Told]) -> str:
    """What the first run that didn't come to its end said; nothing if all did."""
    return next((str(run["failed"]) for run in runs if "failed" in run), "")


def _line(client: subprocess.Popen[str]) -> str:
    return client.stdout.readline().strip() if client.stdout else ""


def _ending(client: subprocess.Popen[str], server: Server) -> Told:
    try:
        out, err = client.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        client.kill()
        client.communicate()
        return {"failed": f"no end after {LONGEST:.0f} s"}
    if client.returncode != 0 or not out.strip():
        said = err.strip().splitlines()
        return {"failed": said[-1][:200] if said else f"ended with status {client.returncode}"}
    told: Told = json.loads(out.strip().splitlines()[-1])
    return told | {"server": server.stats()}
