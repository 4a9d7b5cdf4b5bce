"""The quickstarts, from the first cell to the last in a real kernel, with the embedded model."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

pytestmark = [pytest.mark.notebooks, pytest.mark.local_model]

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("quickstart_*.ipynb"))


def test_there_is_one_for_each_library():
    assert [path.stem for path in NOTEBOOKS] == ["quickstart_pandas", "quickstart_polars"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path):
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_says(path: Path, new_kernel):
    kernel = new_kernel()
    text = ""
    for source in (cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"):
        cell = kernel.run(source)
        assert cell.error == "", source
        text += "\n".join([cell.stdout, cell.stderr, *(bundle["text/plain"] for bundle in cell.shown)])
    assert "nothing sent" in text
    assert "rows failed: 1 null" in text
    assert "always the commoner label" in text
    assert "llmframe run · smollm2-135m · done" in text
    for kind in ("invalid", "truncated", "connection", "internal"):
        assert kind not in text
