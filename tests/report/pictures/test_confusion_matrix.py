"""What a confusion matrix shows; its looks are for eyes."""

from __future__ import annotations

import pytest

from llmframe.report.pictures.canvas import png
from llmframe.report.pictures.confusion_matrix import MOST_LABELS, OTHERS, confusion_matrix, gathered


def test_cells_hold_counts_with_the_percentage_of_their_row():
    figure = confusion_matrix(["no", "yes"], [[3, 1], [0, 4]])
    [axes] = figure.axes
    assert [text.get_text() for text in axes.texts] == ["3\n75 %", "1\n25 %", "0", "4\n100 %"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["no (4)", "yes (4)"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("judge", "gold (rows)")


def test_the_rarest_of_many_labels_are_taken_together_and_no_row_is_lost():
    size = MOST_LABELS + 3
    counts = [[(gold + 1) if gold == judge else 0 for judge in range(size)] for gold in range(size)]
    names, table = gathered(list(range(size)), counts)
    assert len(names) == MOST_LABELS
    # the rarest four have 1, 2, 3 and 4 rows
    assert (names[0], names[-1], table[-1][-1]) == ("4", OTHERS, 10)
    assert sum(map(sum, table)) == sum(map(sum, counts))


@pytest.mark.parametrize("size", [1, 2, 9, 40])
def test_any_number_of_labels_can_be_drawn(size: int):
    labels = [f"a rather long label, number {number}" for number in range(size)]
    assert png(confusion_matrix(labels, [[1] * size for _ in range(size)]))


def test_without_rows_it_says_so():
    assert [text.get_text() for text in confusion_matrix([], []).texts] == ["no row has both gold and an answer"]
