"""`loop="current"` in a real kernel: on the notebook's own loop, nested by nest-asyncio's fork."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.kernel

IN_FLIGHT = 8
"""Held at once: by a model of its own, for what answers taught about another's limits depends on the machine."""

BEGIN = """
import asyncio, sys
import httpx2, openai
import pandas as pd
import llmframe

def patched():
    return [name for name in ("run", "Task") if getattr(asyncio, name) is not before[name]]

before = {"run": asyncio.run, "Task": asyncio.Task}
df = pd.DataFrame({"t": [f"row-{i}" for i in range(50)]})
ask = dict(model="m", base_url=URL, api_key="k", progress=False, loop="current", max_concurrency=8)
own = dict(model="m", client=openai.AsyncOpenAI(base_url=URL, api_key="k", http_client=httpx2.AsyncClient()))

def of(model):
    return {**ask, "model": model}

def answered(out):
    return (len(out), int(out["error"].isna().sum()))
"""


@pytest.fixture(scope="module")
def kernel(new_kernel, module_provider):
    kernel = new_kernel()
    begun = kernel.run(f"URL = {module_provider.base_url!r}{BEGIN}")
    assert begun.error == ""
    # amap first: once map has nested into the loop, asyncio stays patched
    cell = kernel.run("print(answered(await df.llm.amap('A {t}', **ask)), patched(), 'nest_asyncio2' in sys.modules)")
    assert (cell.stdout, cell.error) == ("(50, 50) [] False\n", ""), "amap patches nothing"
    return kernel


def test_run_all_executes_every_queued_cell(kernel, provider):
    names = [
        kernel.start("print(answered(df.llm.map('B1 {t}', **ask)))"),
        kernel.start("print('two')"),
        kernel.start("print(answered(df.llm.map('B2 {t}', **ask)))"),
    ]
    cells = [kernel.end(name) for name in names]
    assert [(cell.stdout, cell.error) for cell in cells] == [("(50, 50)\n", ""), ("two\n", ""), ("(50, 50)\n", "")]


def test_map_works_inside_an_awaited_coroutine(kernel, provider):
    cell = kernel.run("async def inner():\n    return df.llm.map('C {t}', **ask)\nprint(answered(await inner()))")
    assert (cell.stdout, cell.stderr, cell.error) == ("(50, 50)\n", "", "")


def test_a_client_whose_connections_belong_to_the_notebook_keeps_working(kernel, provider):
    cell = kernel.run("""
await own["client"].models.list()
mapped = df.llm.map("D {t}", loop="current", progress=False, **own)
awaited = await df.llm.amap("E {t}", progress=False, **own)
await own["client"].models.list()
print(answered(mapped), answered(awaited))
""")
    assert (cell.stdout, cell.stderr, cell.error) == ("(50, 50) (50, 50)\n", "", "")


def test_the_stop_button_closes_every_request_in_flight_and_leaves_the_frame(kernel, provider):
    provider.hold()
    name = kernel.start("df.llm.map('F {t}', **of('F'))")
    provider.wait_in_flight(IN_FLIGHT)
    provider.release(8)
    provider.wait_requests(IN_FLIGHT + 8)
    kernel.interrupt()
    provider.wait_closed(IN_FLIGHT)  # while the server still withholds the answers
    assert kernel.end(name).error.startswith("KeyboardInterrupt")
    partial = kernel.run("print(answered(sys.last_value.frame), sys.last_value.frame is llmframe.last_run().frame)")
    assert (partial.stdout, partial.error) == ("(50, 8) True\n", "")
    provider.release()
    again = kernel.run("print(answered(df.llm.map('F {t}', **of('F'))))")
    assert (again.stdout, again.stderr, again.error) == ("(50, 50)\n", "", "")
    assert provider.requests == IN_FLIGHT + 8 + 42


def test_the_stop_button_cancels_an_awaited_call(kernel, provider):
    provider.hold()
    name = kernel.start("await df.llm.amap('G {t}', **of('G'))")
    provider.wait_in_flight(IN_FLIGHT)
    kernel.interrupt()
    provider.wait_closed(IN_FLIGHT)
    assert kernel.end(name).error
    assert kernel.run("print('next')").stdout == "next\n"
