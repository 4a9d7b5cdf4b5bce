"""The notebook of a backfill: half of it, a restart of its kernel, all of it."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

pytestmark = [pytest.mark.notebooks, pytest.mark.kernel]

CELLS = [
    cell
    for cell in nbformat.read(Path(__file__).parents[2] / "notebooks" / "backfill.ipynb", 4).cells
    if cell.cell_type == "code"
]
MAPPED = next(cell.source for cell in CELLS if "map_file" in cell.source)
DISTINCT, A_NIGHT = 60, 40
"""As the notebook says: 66 rows, six of them twice; what its budget allows."""


def shown(cell):
    return cell.stdout + "".join(bundle["text/plain"] for bundle in cell.shown)


def run_through(kernel, provider, *, half_way=False):
    """The cells from the first, to the marked one or to the last, as a reader without the embedded model runs them."""
    told = f"{{'LLMFRAME_MODEL': 'm', 'LLMFRAME_BASE_URL': {provider.base_url!r}, 'LLMFRAME_API_KEY': 'k'}}"
    assert kernel.run(f"import os; os.environ |= {told}").error == ""
    text = ""
    for cell in CELLS:
        found = kernel.run(cell.source)
        assert found.error == "", cell.source
        text += shown(found)
        if half_way and "half-way" in cell.metadata.get("tags", ()):
            break
    return text


def test_it_is_kept_without_outputs():
    assert all(cell.outputs == [] and cell.execution_count is None for cell in CELLS)


def test_a_restart_half_way_costs_nothing(new_kernel, provider):
    kernel = new_kernel()
    half = run_through(kernel, provider, half_way=True)
    assert provider.requests == A_NIGHT
    assert "half-way: restart the kernel and run all cells" in half
    assert "60 to send" in half

    kernel.restart()
    assert kernel.run("print(job)").error.startswith("NameError")
    whole = run_through(kernel, provider)
    assert provider.requests == DISTINCT
    assert "complete: 66 rows" in whole
    assert f"{DISTINCT - A_NIGHT} to send, {A_NIGHT} answered already" in whole
    assert kernel.run(MAPPED).error == ""
    assert provider.requests == DISTINCT
