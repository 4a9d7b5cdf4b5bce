"""Jobs in a real kernel: cells go on, a handle tells, `await` and the stop button end only the waiting."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.kernel

BEGIN = """
import sys
import pandas as pd
import llmframe

df = pd.DataFrame({"t": [f"row-{i}" for i in range(20)]})

def of(model):
    return dict(schema=bool, model=model, base_url=URL, api_key="sk-secret", max_concurrency=4)

def answered(out):
    return (len(out), int(out["response"].notna().sum()), int(out["error"].isna().sum()))
"""


PRESS = """
import os, signal, threading

def press(waiting=("background.py", "wait")):
    main = threading.main_thread().ident
    while True:
        frame = sys._current_frames()[main]
        while frame is not None:
            if (os.path.basename(frame.f_code.co_filename), frame.f_code.co_name) == waiting:
                return os.kill(os.getpid(), signal.SIGINT)
            frame = frame.f_back
"""


def goes_on(kernel, provider) -> bool:
    """Whether the job that was waited for still does, and ends well."""
    running = kernel.run("print(job.status)").stdout
    provider.release()
    return running + kernel.run("print(answered(job.result()))").stdout == "running\n(20, 20, 20)\n"


@pytest.fixture(scope="module")
def kernel(new_kernel, module_provider):
    kernel = new_kernel()
    begun = kernel.run(f"URL = {module_provider.base_url!r}{BEGIN}")
    assert begun.error == ""
    return kernel


def test_a_cell_returns_at_once_and_others_run_meanwhile(kernel, provider):
    provider.hold()
    cell = kernel.run("job = df.llm.submit('A {t}', **of('A')); print(job.status)")
    assert (cell.stdout, cell.stderr, cell.error) == ("running\n", "", "")
    provider.wait_in_flight(4)
    provider.release(3)
    provider.wait_requests(7)
    cell = kernel.run("print(answered(job.frame()), job.progress().rows, job.progress().in_flight)")
    assert (cell.stdout, cell.error) == ("(20, 3, 20) 20 4\n", "")
    provider.release()
    cell = kernel.run("print(answered(job.result()), job.status)")
    assert (cell.stdout, cell.stderr, cell.error) == ("(20, 20, 20) done\n", "", "")


def test_a_job_is_awaited_at_the_top_of_a_cell(kernel, provider):
    cell = kernel.run("job = df.llm.submit('B {t}', **of('B'))\nprint(answered(await job))")
    assert (cell.stdout, cell.stderr, cell.error) == ("(20, 20, 20)\n", "", "")


def test_a_handle_is_shown_as_a_table_without_key_or_cell(kernel, provider):
    provider.hold()
    kernel.run("job = df.llm.submit('C {t}', **of('C'))")
    provider.wait_in_flight(4)
    [shown] = kernel.run("job").shown
    for form in ("text/html", "text/plain"):
        assert "llmframe job live-" in shown[form]
        assert "running" in shown[form]
        assert "sk-secret" not in shown[form]
        assert "row-" not in shown[form]
    [listed] = kernel.run("llmframe.jobs()").shown
    assert "<table>" in listed["text/html"]
    assert goes_on(kernel, provider)


def test_the_stop_button_ends_the_waiting_and_not_the_job(kernel, provider):
    kernel.run(PRESS)
    provider.hold()
    kernel.run("job = df.llm.submit('D {t}', **of('D'))")
    provider.wait_in_flight(4)
    cell = kernel.run("threading.Thread(target=press).start()\njob.result()")
    assert cell.error.startswith("KeyboardInterrupt: live-")
    assert "goes on" in cell.error
    assert goes_on(kernel, provider)
    assert provider.requests == 20


def test_the_stop_button_ends_an_await_and_not_the_job(kernel, provider):
    provider.hold()
    kernel.run("import asyncio\njob = df.llm.submit('E {t}', **of('E'))")
    provider.wait_in_flight(4)
    name = kernel.start("asyncio.get_running_loop().call_soon(print, 'waiting')\nawait job")
    kernel.until_told(name)  # the loop gets to it when the cell waits
    kernel.interrupt()
    assert kernel.end(name).error.startswith("CancelledError")
    assert goes_on(kernel, provider)
    assert provider.requests == 20
