"""The notebooks on human labels, cascades and audits, from the first cell to the last in a real kernel."""

from __future__ import annotations

import base64
from pathlib import Path

import nbformat
import pytest

pytestmark = [pytest.mark.notebooks, pytest.mark.local_model]

FOLDER = Path(__file__).parents[2] / "notebooks"
PNG = b"\x89PNG\r\n\x1a\n"


def sources(name: str) -> list[str]:
    return [cell.source for cell in nbformat.read(FOLDER / f"{name}.ipynb", 4).cells if cell.cell_type == "code"]


def pictures_of(kernel, name: str) -> int:
    """Run all cells; how many pictures they drew."""
    drawn: list[bytes] = []
    for source in sources(name):
        cell = kernel.run(source)
        assert cell.error == "", source
        assert "rows failed" not in cell.stderr
        drawn += [base64.b64decode(bundle["image/png"]) for bundle in cell.shown if "image/png" in bundle]
    assert all(picture.startswith(PNG) for picture in drawn)
    return len(drawn)


def told(kernel, code: str) -> str:
    cell = kernel.run(f"print({code})")
    assert cell.error == "", code
    return cell.stdout.strip()


@pytest.mark.parametrize("name", ["human_labels", "cascade", "audit"])
def test_a_notebook_on_decisions_is_kept_without_outputs(name: str):
    cells = [cell for cell in nbformat.read(FOLDER / f"{name}.ipynb", 4).cells if cell.cell_type == "code"]
    assert cells
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)


def test_human_labels_are_saved_by_a_judge_that_is_no_good_alone(new_kernel):
    kernel = new_kernel()
    assert pictures_of(kernel, "human_labels") == 4
    # Whatever the small model says.
    assert told(kernel, "of_rubric.n, of_words.n, of_rating.n") == "60 100 100"
    assert told(kernel, "found.estimate.high - found.low < found.found.gold.high - found.found.gold.low") == "True"
    assert told(kernel, "found.effective_n > 100") == "True"
    assert told(kernel, "not found.found.naive.low < truth < found.found.naive.high") == "True"
    assert told(kernel, "all(best <= one <= worst <= rows for _, rows, one, best, worst in sizes)") == "True"
    assert told(kernel, "missed[1] < missed[2] < missed[5] < missed[20]") == "True"


def test_a_cascade_keeps_its_promise_where_the_naive_threshold_breaks_it(new_kernel):
    kernel = new_kernel()
    assert pictures_of(kernel, "cascade") == 1
    assert told(kernel, "broken['certified'] <= 0.1 < 0.3 < broken['naive']") == "True"
    assert told(kernel, "list(table.index), table['rows'].loc['together']") == "['strong', 'cheap', 'together'] 1100"
    # The embedded model's rows end with it or with the strong one, all with an answer.
    assert told(kernel, "answered['error'].isna().all()") == "True"
    assert told(kernel, "[tier.asked for tier in llmframe.last_cascade().tiers][0]") == "200"


def test_an_audit_finds_what_was_planted_and_nothing_in_the_honest_judge(new_kernel):
    kernel = new_kernel()
    assert pictures_of(kernel, "audit") == 1
    assert told(kernel, "biased.biased") == "('position', 'verbosity', 'injection')"
    assert told(kernel, "honest.biased") == "()"
    assert told(kernel, "[each.probe for each in embedded.findings], embedded.rows") == "['order', 'injection'] 60"
