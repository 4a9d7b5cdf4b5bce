"""A real Jupyter kernel, spoken to by messages as a notebook's page does."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from llmframe.testing import Provider

ANSWER_SECONDS = 600.0
"""Longest wait for one message; a cell that asks the embedded model on a busy machine needs some of it."""

SETTINGS = ("OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_", "LLMFRAME_")
"""Environment variables that would find an account or change a default begin so."""


@dataclass
class Cell:
    """What a kernel sent back for one cell.

    Attributes
    ----------
    stdout, stderr
        The streams.
    shown
        MIME bundles of what was displayed, the cell's value included.
    comms
        Contents of widget messages.
    error
        `"Name: message"` of the exception that ended the cell, else empty.
    """

    stdout: str = ""
    stderr: str = ""
    shown: list[dict[str, Any]] = field(default_factory=list)
    comms: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""
    ended: bool = False

    def take(self, message: dict[str, Any]) -> None:
        """Add a message."""
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            setattr(self, content["name"], getattr(self, content["name"]) + content["text"])
        elif kind in ("execute_result", "display_data"):
            self.shown.append(content["data"])
        elif kind in ("comm_open", "comm_msg"):
            self.comms.append(content["data"])
        elif kind == "error":
            self.error = f"{content['ename']}: {content['evalue']}"
        elif kind == "status":
            self.ended = content["execution_state"] == "idle"


class Kernel:
    """A kernel of the interpreter that runs the tests."""

    def __init__(self, folder: os.PathLike[str]) -> None:
        env = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        env |= {"IPYTHONDIR": str(folder), "XDG_CACHE_HOME": str(folder)}
        # Sockets in a folder with a short path: a port that is free now may be another's when the kernel begins.
        self._place = tempfile.TemporaryDirectory(prefix="llmframe-")
        # No folder of kernel specs: whoever runs this may have a "python3" that is another interpreter.
        self._manager = KernelManager(
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
            transport="ipc",
            connection_file=f"{self._place.name}/kernel.json",
        )
        self._manager.start_kernel(env=env, cwd=str(folder))
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=ANSWER_SECONDS)
        self._cells: dict[str, Cell] = {}

    def start(self, code: str) -> str:
        """Send a cell without waiting for it; the name under which `end` finds it."""
        name = self._client.execute(code)
        self._cells[name] = Cell()
        return name

    def end(self, name: str) -> Cell:
        """Wait until the kernel is idle after a cell."""
        while not self._cells[name].ended:
            self._take()
        return self._cells.pop(name)

    def until_told(self, name: str) -> None:
        """Wait until a cell has printed something."""
        while not self._cells[name].stdout:
            self._take()

    def run(self, code: str) -> Cell:
        """Run a cell to its end."""
        return self.end(self.start(code))

    def interrupt(self) -> None:
        """Press the stop button."""
        self._manager.interrupt_kernel()

    def restart(self) -> None:
        """Kill the kernel's process and begin another; its files stay."""
        self._manager.restart_kernel(now=True)
        self._client.wait_for_ready(timeout=ANSWER_SECONDS)

    def shut_down(self) -> None:
        """End the kernel's process."""
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()
        self._place.cleanup()

    def _take(self) -> None:
        message = self._client.get_iopub_msg(timeout=ANSWER_SECONDS)
        parent = message["parent_header"].get("msg_id")
        if parent in self._cells:
            self._cells[parent].take(message)


@pytest.fixture(scope="module")
def new_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Kernel]]:
    """Starts kernels that end with the module's tests."""
    started: list[Kernel] = []

    def start() -> Kernel:
        started.append(Kernel(tmp_path_factory.mktemp("kernel")))
        return started[-1]

    yield start
    for kernel in started:
        kernel.shut_down()


@pytest.fixture(scope="module")
def module_provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def provider(module_provider: Provider) -> Iterator[Provider]:
    """The module's provider with its counters at zero; whatever it still withholds afterwards is sent."""
    module_provider.reset()
    yield module_provider
    module_provider.release()
