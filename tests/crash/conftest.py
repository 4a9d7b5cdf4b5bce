"""The provider and the forked processes of the crash tests, started once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.crash.processes import Forker, Server

collect_ignore_glob = [] if hasattr(os, "fork") else ["test_*"]  # on Windows there is neither fork nor SIGKILL

LATENCY = 0.05
"""Seconds that the provider takes for a reply: so long that a run is killed between two of its commits, too."""


@pytest.fixture(scope="session")
def forker() -> Iterator[Forker]:
    forker = Forker()
    yield forker
    forker.end()


@pytest.fixture(scope="session")
def pair(forker: Forker) -> Iterator[tuple[Forker, Forker]]:
    """For two processes at once."""
    other = Forker()
    yield forker, other
    other.end()


@pytest.fixture(scope="session")
def session_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("served") / "log", LATENCY)
    yield server
    server.end()


@pytest.fixture
def server(session_server: Server) -> Server:
    """The provider, its events so far read, and batches ended that another test has left."""
    session_server.paid()
    return session_server
