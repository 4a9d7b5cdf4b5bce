"""What `test_interrupted_processes` interrupts: runs a verb for every line of stdin, and tells what is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

import pandas as pd
import polars as pl

from llmframe.api import answering
from llmframe.engine import bridge, interrupts, rounds, sharing

OPTIONS: dict[str, Any] = {"schema": bool, "model": "m", "api_key": "k"}
"""Of every call; address, rows and places in flight come from the parent."""


def errors(parts: list[Any]) -> list[str | None]:
    return [error if isinstance(error, str) else None for part in parts for error in part["error"].to_list()]


def pandas(name: str) -> list[Any]:
    return [pd.DataFrame(texts(name)).llm.map("J {t}", **OPTIONS)]


def polars(name: str) -> list[Any]:
    return [pl.DataFrame(texts(name)).llm.map("J {t}", **OPTIONS)]


def lazy(name: str) -> list[Any]:
    return [pl.LazyFrame(texts(name)).llm.map("J {t}", **OPTIONS).collect()]


def expression(name: str) -> list[Any]:
    return [pl.DataFrame(texts(name)).with_columns(pl.col("t").llm.map("J {}", **OPTIONS)).unnest("llm")]


def stream(name: str) -> list[Any]:
    return list(pd.DataFrame(texts(name)).llm.stream("J {t}", rows=5, **OPTIONS))


def amap(name: str) -> list[Any]:
    async def main() -> Any:
        return await pd.DataFrame(texts(name)).llm.amap("J {t}", **OPTIONS)

    return [asyncio.run(main())]


def astream(name: str) -> list[Any]:
    async def main() -> list[Any]:
        return [part async for part in pd.DataFrame(texts(name)).llm.astream("J {t}", rows=5, **OPTIONS)]

    return asyncio.run(main())


def texts(name: str) -> dict[str, list[str]]:
    return {"t": [f"{name} {row}" for row in range(int(sys.argv[1]))]}


async def left() -> dict[str, Any]:
    """What an interrupted run should have cleared away, where it hasn't."""
    shared = sharing.shared_here()
    gates = shared._gates.values()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    found = {
        "tasks": [repr(task) for task in tasks],
        "in flight": sum(gate.in_flight for gate in gates),
        "waiting": sum(bool(gate._line) for gate in gates),
        "calls": sum(len(gate._flows) for gate in gates),
        "timers": sum(gate._alarm is not None for gate in gates),
        "turns": sum(gate._turns is not None for gate in gates),
        "flights": len(shared._flights),
        "watched": len(interrupts._watched),
        "closing": len(answering._closing),
        "slow": [(gate.limit, gate.limits.pace.rate) for gate in gates if gate.limit < 8 or gate.limits.pace.rate],
    }
    return {name: value for name, value in found.items() if value}


def look() -> dict[str, Any]:
    return asyncio.run_coroutine_threadsafe(left(), bridge.private_loop()).result(30)


def answered(parts: list[Any]) -> int:
    return sum(error is None or error != error for error in errors(parts))  # noqa: PLR0124 - NaN


VERBS: dict[str, Callable[[str], list[Any]]] = {
    each.__name__: each for each in (pandas, polars, lazy, expression, stream, amap, astream)
}


def once(number: int, frame: object) -> NoReturn:
    """For queries of polars, which raises of itself what Python's own handler raises once more."""
    raise KeyboardInterrupt


def main() -> None:
    vars(rounds).update(OWN_SECONDS=60.0)  # a machine that gets slower mustn't look like a server that does
    OPTIONS.update(base_url=os.environ["URL"], max_concurrency=int(sys.argv[2]))
    begun: set[str] = set()
    for line in sys.stdin:
        verb, name = json.loads(line)
        parts: list[Any] = []
        told: dict[str, Any] = {}
        if name in begun:
            parts = VERBS[verb](name)
        else:
            begun.add(name)
            signal.signal(signal.SIGINT, once if verb in ("lazy", "expression") else signal.default_int_handler)
            try:
                parts = VERBS[verb](name)
                while True:  # it was faster; a signal just before one long wait would go by unheard
                    time.sleep(0.01)
            except KeyboardInterrupt as interrupt:
                frame = getattr(interrupt, "frame", None)
                told = {"interrupted": True, "frame": frame is not None}
                parts = parts or ([] if frame is None else [frame])
        if parts:
            told["answered"] = answered(parts)
        print(json.dumps({**told, "left": look()}), flush=True)  # noqa: T201 - how it tells


if __name__ == "__main__":
    main()
