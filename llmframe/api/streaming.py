"""A map that hands its rows over in parts, as soon as they are finished."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Generator
from typing import Any, Final

from llmframe.api.arguments import Arguments
from llmframe.api.eager import Part, begin_run, is_empty_list, without_rows
from llmframe.api.parts import Parts, nowhere
from llmframe.api.prepared import Prepared, asking, prepare
from llmframe.api.runs import warn_of_failures
from llmframe.api.supply import Slices
from llmframe.engine import bridge
from llmframe.engine.progress import listener
from llmframe.errors import UsageError, callers_place
from llmframe.frames import wrap

INTERRUPTED: Final = (
    "the parts that were handed over are whole; the same call again asks only for what wasn't answered yet"
)

_ending: set[asyncio.Task[None]] = set()


def run_stream(native: object, arguments: Arguments, *, rows: object, ordered: object) -> Generator[Any]:
    """`stream` over an eager frame; everything that can be wrong is told now, the run begins with the first part."""
    if arguments.loop == "current":
        raise UsageError("`loop='current'` needs async code: `async for part in df.llm.astream(...)`")
    stream = _stream(native, arguments, rows=rows, ordered=ordered, verb="stream")
    return _one(stream) if isinstance(stream, list) else stream.parts()


def run_astream(native: object, arguments: Arguments, *, rows: object, ordered: object) -> AsyncGenerator[Any]:
    """`astream` over an eager frame, as `run_stream`."""
    stream = _stream(native, arguments, rows=rows, ordered=ordered, verb="astream")
    return _aone(stream) if isinstance(stream, list) else stream.aparts()


class Stream:
    """One run from the caller's side: generators that take its parts; no reference to one that was taken stays."""

    def __init__(self, prepared: Prepared, *, rows: int, ordered: bool) -> None:
        self._prepared = prepared
        supply = Slices(prepared, rows=rows)
        self._parts = Parts(prepared.asking, prepared.client, supply, rows=rows, ordered=ordered)
        self._place = callers_place()

    def parts(self) -> Generator[Any]:
        """The parts, for synchronous code."""
        self._open(home=None)
        try:
            while (part := self._take()) is not None:
                taken = [self._result(part)]
                del part
                yield taken.pop()  # whoever takes it holds it, nobody else
            warn_of_failures(self._run, place=self._place)
        finally:
            self._close()

    async def aparts(self) -> AsyncGenerator[Any]:
        """The parts, for async code."""
        # the connections of a client with a transport of its own belong to the loop that it was made for: this one
        said, client = self._prepared.asking.arguments, self._prepared.client
        at_home = said.loop == "current" or getattr(client, "foreign_loop", False)
        self._open(home=asyncio.get_running_loop() if at_home else None)
        try:
            while (part := await bridge.arun(self._parts.take, interrupt=self._run.cancel)) is not None:
                taken = [self._result(part)]
                del part
                yield taken.pop()
            warn_of_failures(self._run, place=self._place)
        finally:
            try:
                await bridge.arun(self._parts.end, interrupt=_nothing)
            finally:
                self._close_bar(self._run.progress())

    def _open(self, *, home: asyncio.AbstractEventLoop | None) -> None:
        self._loop = bridge.private_loop()
        self._run = begin_run(self._prepared)
        show, self._close_bar = listener(self._prepared.asking.arguments.progress)
        self._parts.open(self._run, show=show, home=home)

    def _take(self) -> Part | None:
        try:
            return bridge.run(self._parts.take, interrupt=self._run.cancel, verb="stream")
        except KeyboardInterrupt as interrupt:
            interrupt.args = interrupt.args or (INTERRUPTED,)
            raise

    def _result(self, part: Part) -> object:
        result = part.result()
        if self._prepared.asking.arguments.on_error == "raise":
            part.raise_first(result)
        return result

    def _close(self) -> None:
        """End what still goes on and wait for it, wherever the generator is closed: it may be as garbage."""
        if _runs_here(self._loop):
            task = self._loop.create_task(self._parts.end(nowhere))
            _ending.add(task)
            task.add_done_callback(_ending.discard)
        elif sys.is_finalizing() or bridge.private_loop() is not self._loop:
            self._run.cancel()  # the loop has ended, with the process or by a fork: nobody would answer
        else:
            try:
                bridge.run(self._parts.end, interrupt=_nothing, verb="stream")
            finally:
                self._close_bar(self._run.progress())


def _stream(native: object, arguments: Arguments, *, rows: object, ordered: object, verb: str) -> Stream | list[object]:
    """A stream, checked to the last argument; of a list without rows the one part that it has."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise UsageError(f"`rows` must be a whole number of at least 1, got {rows!r}")
    if not isinstance(ordered, bool):
        raise UsageError(f"`ordered` must be True or False, got {ordered!r}")
    if is_empty_list(native):
        return without_rows(arguments)
    return Stream(prepare(asking(arguments), wrap(native), verb=verb), rows=rows, ordered=ordered)


def _one(part: list[object]) -> Generator[Any]:
    yield part


async def _aone(part: list[object]) -> AsyncGenerator[Any]:
    yield part


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _nothing() -> None:
    return None
