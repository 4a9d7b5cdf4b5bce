"""The notebook on retrieval, from the first cell to the last in a real kernel, with both embedded models."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

pytestmark = [pytest.mark.notebooks, pytest.mark.local_model]

CELLS = [
    cell
    for cell in nbformat.read(Path(__file__).parents[2] / "notebooks" / "retrieval.ipynb", 4).cells
    if cell.cell_type == "code"
]


def test_the_notebook_on_retrieval_is_kept_without_outputs():
    assert all(cell.outputs == [] and cell.execution_count is None for cell in CELLS)


def test_questions_find_their_row_and_answers_cite_it(new_kernel):
    kernel = new_kernel()
    text = ""
    for source in (cell.source for cell in CELLS):
        cell = kernel.run(source)
        assert cell.error == "", source
        text += "\n".join([cell.stdout, cell.stderr, *(bundle["text/plain"] for bundle in cell.shown)])
    assert "Array(Float32, shape=(384,))" in text
    assert "FLOAT[384]" in text
    hits = re.search(r"first: (\d) · among three: (\d) · of 8", text)
    assert hits is not None
    assert int(hits[1]) >= 5
    assert int(hits[2]) >= 7
    cited = kernel.run("cited.drop('text').to_dicts()").shown[0]["text/plain"]
    assert "'cites': '11 (The collection)'" in cited
    assert "rows failed" not in text
    # nothing is asked twice
    asked = next(cell.source for cell in CELLS if "answers = best" in cell.source)
    again = kernel.run(f"{asked}\nr = llmframe.last_run(); print(r.answered, r.requests)")
    assert again.error == ""
    assert again.stdout == "9 0\n"
