"""Whole processes: what scripts leave behind on stderr, in sockets and on asyncio; forks; Ctrl-C; callers' clients."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from llmframe.testing import Provider

BEGIN = """
import asyncio, gc, os, sys, warnings
import pandas as pd
import llmframe

df = pd.DataFrame({"t": [f"row-{i}" for i in range(40)]})
ask = dict(model="m", base_url=os.environ["URL"], api_key="k", cache=False)

def answered(out):
    return int(out["error"].isna().sum())

def sockets():
    gc.collect()
    return sum(os.readlink(f"/proc/self/fd/{fd}").startswith("socket:") for fd in os.listdir("/proc/self/fd")
               if os.path.islink(f"/proc/self/fd/{fd}"))
"""
OWN = """
import httpx2, openai

def client(**options):
    return openai.AsyncOpenAI(base_url=os.environ["URL"], api_key="k", **options)
"""
NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts the links of /proc/self/fd")
NEEDS_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@contextlib.contextmanager
def start(code: str, provider: Provider) -> Iterator[subprocess.Popen[str]]:
    """A Python process that tells of coroutines, tasks and sockets that are left over."""
    with subprocess.Popen(
        [sys.executable, "-W", "always::ResourceWarning", "-c", BEGIN + code],
        env={**os.environ, "URL": provider.base_url},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()  # nothing to end where all went well


def run(code: str, provider: Provider) -> tuple[str, str]:
    """What the process writes to stdout and stderr."""
    with start(code, provider) as process:
        return process.communicate(timeout=300)


def all_closed(provider: Provider) -> bool:
    """Whether the provider sees no open connection, once it had the time to hear of their ends."""
    until = time.monotonic() + 300
    while provider.connections and time.monotonic() < until:
        provider.release(0)  # a turn of its loop
    return provider.connections == 0


def test_a_script_writes_nothing_of_its_own_and_leaves_asyncio_alone(provider: Provider):
    code = """
before = asyncio.run, asyncio.Task, asyncio.get_event_loop_policy()
print(answered(df.llm.map("A {t}", **ask)), answered(asyncio.run(df.llm.amap("B {t}", **ask))))
print(before == (asyncio.run, asyncio.Task, asyncio.get_event_loop_policy()), hasattr(asyncio, "_nest_patched"))
print([name for name in ("nest_asyncio", "nest_asyncio2", "tqdm.auto") if name in sys.modules])
"""
    assert run(code, provider) == ("40 40\nTrue False\n[]\n", "")


def test_a_log_file_gets_no_bar_unless_it_is_asked_for(provider: Provider):
    assert run('df.llm.map("A {t}", **ask)', provider) == ("", "")
    stdout, stderr = run('df.llm.map("B {t}", progress=True, **ask)', provider)
    assert stdout == ""
    assert "40/40" in stderr


@NEEDS_PROC
def test_every_socket_is_closed_after_each_call(provider: Provider):
    code = """
df.llm.map("A {t}", **ask)
at_first = sockets()
for n in range(3):
    df.llm.map(f"B{n} {{t}}", **ask)
    asyncio.run(df.llm.amap(f"C{n} {{t}}", **ask))
print(sockets() - at_first, flush=True)
sys.stdin.read()
"""
    with start(code, provider) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "0\n"
        assert all_closed(provider)
        assert process.communicate(timeout=300) == ("", "")


@pytest.mark.parametrize("options", ["", "http_client=httpx2.AsyncClient()"], ids=["default", "own-transport"])
def test_a_callers_client_serves_call_after_call(options, provider: Provider):
    code = f"""{OWN}
async def main():
    own = client({options})
    ask = dict(client=own, model="m", cache=False)
    await own.models.list()
    for n in range(3):
        print(answered(await df.llm.amap(f"A{{n}} {{{{t}}}}", **ask)))
    await own.models.list()
    await own.close()

asyncio.run(main())
"""
    assert run(code, provider) == ("40\n40\n40\n", "")


def test_a_callers_global_client_serves_loop_after_loop(provider: Provider):
    code = f"""{OWN}
own = client()
ask = dict(client=own, model="m", cache=False)
for n in range(4):
    print(answered(df.llm.map(f"A{{n}} {{{{t}}}}", **ask)))
    print(answered(asyncio.run(df.llm.amap(f"B{{n}} {{{{t}}}}", **ask))))
"""
    assert run(code, provider) == ("40\n" * 8, "")


def test_a_client_with_its_own_transport_serves_synchronous_calls_one_after_the_other(provider: Provider):
    code = f"""{OWN}
own = client(http_client=httpx2.AsyncClient())
for n in range(3):
    print(answered(df.llm.map(f"A{{n}} {{{{t}}}}", client=own, model="m", cache=False)))
"""
    stdout, stderr = run(code, provider)
    assert stdout == "40\n" * 3
    # The connections are the caller's and open to the end of the process; nothing else is left over.
    assert "never" not in stderr


def test_a_client_of_the_running_loop_in_map_is_an_error_that_names_the_way(provider: Provider):
    code = f"""{OWN}
warnings.simplefilter("ignore")

async def main():
    own = client(http_client=httpx2.AsyncClient())
    await own.models.list()
    out = df.llm.map("A {{t}}", client=own, model="m", cache=False, max_concurrency=1)
    print(out["error"].str.contains("loop=\\"current\\"").sum() > 0, answered(out) < 40)
    print(answered(await df.llm.amap("A {{t}}", client=own, model="m", cache=False)))
    await own.close()

asyncio.run(main())
"""
    assert run(code, provider) == ("True True\n40\n", "")


@NEEDS_FORK
def test_a_forked_process_maps_on_a_loop_of_its_own_and_so_does_its_parent(provider: Provider):
    code = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

def work(name):
    return answered(df.llm.map(f"{name} {{t}}", **ask))

print(work("A"))
with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    print(list(pool.map(work, ["B", "C", "D"])))
print(work("E"))
"""
    # From 3.12 on Python itself warns of any fork beside a thread.
    stdout, stderr = run(f"warnings.simplefilter('ignore', DeprecationWarning){code}", provider)
    assert (stdout, stderr) == ("40\n[40, 40, 40]\n40\n", "")
    assert provider.requests == 5 * 40


@pytest.mark.parametrize(
    "call",
    [
        'df.llm.map("A {t}", **ask)',
        'df.llm.map("A {t}", loop="current", **ask)',
        'asyncio.run(df.llm.amap("A {t}", **ask))',
        'uvloop.run(df.llm.amap("A {t}", **ask))',
    ],
    ids=["map", "current", "amap", "uvloop"],
)
def test_ctrl_c_closes_every_request_in_flight_and_leaves_what_is_there(call, provider: Provider):
    code = f"""
import uvloop
import polars  # its own handler has the system restart waits for a lock
try:
    {call}
except KeyboardInterrupt:
    run = llmframe.last_run()
    print(run.state, len(run.frame), answered(run.frame))
"""
    provider.hold()
    with start(code, provider) as process:
        provider.wait_in_flight(8, timeout=300)
        provider.release(5)
        provider.wait_requests(5 + 13)  # every answer makes room for two
        process.send_signal(signal.SIGINT)
        provider.wait_closed(13)
        stdout, stderr = process.communicate(timeout=300)
    assert (stdout, stderr) == ("interrupted 40 5\n", "")
    assert provider.requests == 5 + 13


def test_ctrl_c_reaches_a_lazy_query_and_ends_the_script(provider: Provider):
    code = (
        'import polars as pl\npl.from_pandas(df).lazy().llm.map("A {t}", progress=False, **ask).collect()\nprint("on")'
    )
    provider.hold()
    with start(code, provider) as process:
        provider.wait_in_flight(8, timeout=300)
        process.send_signal(signal.SIGINT)
        provider.wait_closed(8)  # while the server still withholds the answers
        stdout, stderr = process.communicate(timeout=300)
    # polars interrupts a script twice, without llmframe too, so a second one may meet the handling of the first
    assert (stdout, "KeyboardInterrupt" in stderr) == ("", True)
    assert provider.requests == 8
