"""The notebook on confidence, from the first cell to the last in a real kernel, with the embedded model."""

from __future__ import annotations

import base64
from pathlib import Path

import nbformat
import pytest

pytestmark = [pytest.mark.notebooks, pytest.mark.local_model]

CELLS = [
    cell
    for cell in nbformat.read(Path(__file__).parents[2] / "notebooks" / "confidence.ipynb", 4).cells
    if cell.cell_type == "code"
]
PNG = b"\x89PNG\r\n\x1a\n"


def test_the_notebook_on_confidence_is_kept_without_outputs():
    assert all(cell.outputs == [] and cell.execution_count is None for cell in CELLS)


def test_rows_are_labelled_sorted_drawn_and_half_of_them_sent_to_review(new_kernel):
    kernel = new_kernel()
    pictures: list[bytes] = []
    for source in (cell.source for cell in CELLS):
        cell = kernel.run(source)
        assert cell.error == "", source
        pictures += [base64.b64decode(bundle["image/png"]) for bundle in cell.shown if "image/png" in bundle]
        assert "rows failed" not in cell.stderr
    assert [picture[: len(PNG)] for picture in pictures] == [PNG]

    def shown(code: str) -> str:
        return kernel.run(code).shown[0]["text/plain"]

    # Whatever the model says: all rows have a distribution over both labels, and the label is the likelier one.
    assert shown("len(out), bool(out['error'].isna().all())") == "(100, True)"
    assert shown("bool(out['distribution'].map(lambda d: abs(sum(d.values()) - 1) < 1e-9).all())") == "True"
    assert (
        shown("bool(out.apply(lambda row: row.confidence == max(row.distribution.values()), axis=1).all())") == "True"
    )
    assert shown("len(pd.read_csv('to_review.csv')), doubtful['confidence'].max() <= out['confidence'][:50].min()") in (
        "(50, True)",
        "(50, np.True_)",
    )
    # The model's errors aren't spread evenly, on this table by far.
    assert shown("bool(out['right'][:50].mean() > out['right'][50:].mean())") == "True"
    # Nothing was asked twice for the calibrated labels.
    asked = next(cell.source for cell in CELLS if "again =" in cell.source)
    assert kernel.run(f"{asked}\nprint(llmframe.last_run().requests)").stdout == "0\n"
