"""The progress bar in a cell of a real kernel, with ipywidgets and without."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.kernel

BEGIN = """
import pandas as pd
import llmframe
df = pd.DataFrame({"t": [f"row-{i}" for i in range(50)]})
ask = dict(model="m", base_url=URL, api_key="k", max_concurrency=8)
"""
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def plain(new_kernel, module_provider):
    """A kernel that finds no ipywidgets."""
    kernel = new_kernel()
    hidden = "import sys\nsys.modules['ipywidgets'] = None\n"
    assert kernel.run(f"{hidden}URL = {module_provider.base_url!r}{BEGIN}").error == ""
    return kernel


@pytest.fixture(scope="module")
def widgets(new_kernel, module_provider):
    kernel = new_kernel()
    assert kernel.run(f"URL = {module_provider.base_url!r}{BEGIN}").error == ""
    return kernel


def test_without_ipywidgets_the_bar_is_text_and_nothing_warns(plain, provider):
    cell = plain.run("out = df.llm.map('A {t}', **ask)")
    assert cell.error == ""
    assert "50/50" in cell.stderr
    assert "llm: 100%" in cell.stderr
    assert "arning" not in cell.stderr
    assert "ipywidgets" not in cell.stderr
    assert (cell.stdout, cell.shown, cell.comms) == ("", [], [])


def test_with_ipywidgets_the_bar_is_a_widget_and_nothing_is_written(widgets, provider):
    cell = widgets.run("out = df.llm.map('C {t}', **ask)")
    assert (cell.stdout, cell.stderr, cell.error) == ("", "", "")
    assert any(WIDGET in bundle for bundle in cell.shown)
    states = [comm.get("state", {}) for comm in cell.comms]
    assert 50 in [state.get("value") for state in states]
    assert "success" in [state.get("bar_style") for state in states]


def test_an_awaited_call_shows_its_bar_in_its_own_cell(widgets, provider):
    cell = widgets.run("out = await df.llm.amap('D {t}', **ask)")
    assert (cell.stderr, cell.error) == ("", "")
    assert any(WIDGET in bundle for bundle in cell.shown)
    assert 50 in [comm.get("state", {}).get("value") for comm in cell.comms]


def test_a_lazy_query_shows_its_bar_too(widgets, provider):
    cell = widgets.run("import polars as pl\nout = pl.from_pandas(df).lazy().llm.map('E {t}', **ask).collect()")
    assert (cell.stderr, cell.error) == ("", "")
    assert any(WIDGET in bundle for bundle in cell.shown)


def test_the_stop_button_closes_the_bar(widgets, provider):
    provider.hold()
    name = widgets.start("df.llm.map('F {t}', **{**ask, 'model': 'F'})")
    provider.wait_in_flight(8)
    widgets.interrupt()
    provider.wait_closed(8)
    cell = widgets.end(name)
    assert cell.error.startswith("KeyboardInterrupt")
    assert "danger" in [comm.get("state", {}).get("bar_style") for comm in cell.comms]


@pytest.mark.parametrize("kernel", ["plain", "widgets"])
def test_no_bar_when_it_is_switched_off(kernel, provider, request):
    cell = request.getfixturevalue(kernel).run("out = df.llm.map('G {t}', progress=False, **ask)")
    assert (cell.stdout, cell.stderr, cell.shown, cell.comms, cell.error) == ("", "", [], [], "")
