"""Cells of a real kernel: plain, queued, awaited, interrupted."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.kernel

ROWS = 50
IN_FLIGHT = 8
"""Held at once: by a model of its own, for what answers taught about another's limits depends on the machine."""

BEGIN = """
import asyncio
before = asyncio.run, asyncio.Task, type(asyncio.get_running_loop()).run_until_complete
import sys
from typing import Literal
import pandas as pd, polars as pl
import llmframe
from pydantic import BaseModel

class Answer(BaseModel):
    label: Literal["pos", "neg"]

df = pd.DataFrame({"t": [f"row-{i}" for i in range(50)]})
ask = dict(
    schema=Answer, model="m", base_url=URL, api_key="sk-secret", progress=False, max_concurrency=8
)

def of(model):
    return {**ask, "model": model}

def answered(out):
    return (len(out), int(out["label"].notna().sum()), int(out["error"].isna().sum()))
"""


@pytest.fixture(scope="module")
def kernel(new_kernel, module_provider):
    kernel = new_kernel()
    begun = kernel.run(f"URL = {module_provider.base_url!r}{BEGIN}")
    assert begun.error == ""
    return kernel


def test_a_cell_asks_every_row(kernel, provider):
    cell = kernel.run("print(answered(df.llm.map('A {t}', **ask)))")
    assert (cell.stdout, cell.stderr, cell.error) == ("(50, 50, 50)\n", "", "")
    assert provider.requests == ROWS


def test_run_all_executes_every_queued_cell(kernel, provider):
    names = [
        kernel.start("one = df.llm.map('B1 {t}', **ask); print('one')"),
        kernel.start("print('two')"),
        kernel.start("print(answered(df.llm.map('B2 {t}', **ask)))"),
    ]
    cells = [kernel.end(name) for name in names]
    assert [(cell.stdout, cell.error) for cell in cells] == [("one\n", ""), ("two\n", ""), ("(50, 50, 50)\n", "")]


def test_map_works_inside_an_awaited_coroutine(kernel, provider):
    cell = kernel.run("async def inner():\n    return df.llm.map('C {t}', **ask)\nprint(answered(await inner()))")
    assert (cell.stdout, cell.stderr, cell.error) == ("(50, 50, 50)\n", "", "")


def test_amap_is_awaited_at_the_top_of_a_cell(kernel, provider):
    cell = kernel.run("print(answered(await df.llm.amap('D {t}', **ask)))")
    assert (cell.stdout, cell.stderr, cell.error) == ("(50, 50, 50)\n", "", "")


def test_the_stop_button_closes_every_request_in_flight(kernel, provider):
    provider.hold()
    name = kernel.start("df.llm.map('E {t}', **of('E'))")
    provider.wait_in_flight(IN_FLIGHT)
    kernel.interrupt()
    provider.wait_closed(IN_FLIGHT)  # while the server still withholds every answer
    cell = kernel.end(name)
    assert cell.error.startswith("KeyboardInterrupt")
    assert (provider.requests, provider.in_flight) == (IN_FLIGHT, 0)


def test_what_was_answered_before_the_stop_button_is_in_the_frame_and_kept(kernel, provider):
    provider.hold()
    name = kernel.start("df.llm.map('F {t}', **of('F'))")
    provider.wait_in_flight(IN_FLIGHT)
    provider.release(8)
    provider.wait_requests(IN_FLIGHT + 8)  # eight answers have made room for eight more
    kernel.interrupt()
    provider.wait_closed(IN_FLIGHT)
    assert kernel.end(name).error.startswith("KeyboardInterrupt")
    partial = kernel.run("print(answered(sys.last_value.frame), sys.last_value.frame is llmframe.last_run().frame)")
    assert (partial.stdout, partial.error) == ("(50, 8, 8) True\n", "")
    kinds = kernel.run("print(sorted({str(e).split(':')[0] for e in llmframe.last_run().frame['error'].dropna()}))")
    assert kinds.stdout == "['cancelled']\n"
    provider.release()
    again = kernel.run("print(answered(df.llm.map('F {t}', **of('F'))))")
    assert (again.stdout, again.error) == ("(50, 50, 50)\n", "")
    assert provider.requests == IN_FLIGHT + 8 + (ROWS - 8)


def test_the_stop_button_cancels_an_awaited_call(kernel, provider):
    provider.hold()
    name = kernel.start("await df.llm.amap('G {t}', **of('G'))")
    provider.wait_in_flight(IN_FLIGHT)
    kernel.interrupt()
    provider.wait_closed(IN_FLIGHT)
    assert kernel.end(name).error.startswith("CancelledError")  # what a kernel makes of its stop button in `await`
    assert kernel.run("print(answered(llmframe.last_run().frame))").stdout == "(50, 0, 0)\n"


def test_the_stop_button_reaches_a_lazy_query_and_keeps_its_answers(kernel, provider):
    collect = "out = pl.from_pandas(df).lazy().llm.map('H {t}', **of('H')).collect()"
    provider.hold()
    name = kernel.start(collect)
    provider.wait_in_flight(IN_FLIGHT)
    provider.release(8)
    provider.wait_requests(IN_FLIGHT + 8)
    kernel.interrupt()
    provider.wait_closed(IN_FLIGHT)
    assert kernel.end(name).error.startswith("KeyboardInterrupt")
    provider.release()
    again = kernel.run(f"{collect}\nprint(len(out), out['error'].null_count())")
    assert (again.stdout, again.error) == ("50 50\n", "")
    assert provider.requests == IN_FLIGHT + 8 + (ROWS - 8)


def test_a_query_collected_in_another_cell_is_another_run(kernel, provider):
    kernel.run("q = pl.from_pandas(df).lazy().llm.map('M {t}', **ask)\nout = q.collect()")
    assert kernel.run("run = llmframe.last_run()\nprint(run.rows, run.cached)").stdout == "50 0\n"
    kernel.run("out = q.collect()")
    assert kernel.run("run = llmframe.last_run()\nprint(run.rows, run.cached)").stdout == "50 50\n"
    assert provider.requests == ROWS


def test_the_last_run_is_shown_as_a_table_without_key_or_cell(kernel, provider):
    [shown] = kernel.run("out = df.llm.map('I {t}', **ask)\nllmframe.last_run()").shown
    assert "<table>" in shown["text/html"]
    assert "50 (" not in shown["text/html"].split("requests")[0]  # nothing cached, shared or left out
    for form in ("text/html", "text/plain"):
        assert "llmframe run · m · done" in shown[form]
        assert "sk-secret" not in shown[form]
        assert "row-" not in shown[form]


def test_the_last_run_still_tells_of_an_interrupt_in_the_next_cell(kernel, provider):
    provider.hold()
    name = kernel.start("df.llm.map('J {t}', **of('J'))")
    provider.wait_in_flight(IN_FLIGHT)
    kernel.interrupt()
    kernel.end(name)
    [shown] = kernel.run("llmframe.last_run()").shown
    assert "interrupted" in shown["text/html"]
    assert "50 cancelled" in shown["text/html"]


def test_a_plan_is_shown_as_a_table_and_asks_nothing(kernel, provider):
    [shown] = kernel.run("df.llm.plan('K {t}', **ask)").shown
    assert "nothing sent" in shown["text/html"]
    assert "sk-secret" not in shown["text/html"]
    assert provider.requests == 0


def test_asyncio_is_as_it_was(kernel, provider):
    kernel.run("out = df.llm.map('L {t}', **ask)\nout = await df.llm.amap('L2 {t}', **ask)")
    now = "asyncio.run, asyncio.Task, type(asyncio.get_running_loop()).run_until_complete"
    assert kernel.run(f"print(before == ({now}), 'nest_asyncio' in sys.modules)").stdout == "True False\n"
