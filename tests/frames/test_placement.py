from __future__ import annotations

import pytest

from llmframe.core.columns import Column, ColumnType
from llmframe.errors import UsageError
from llmframe.frames.placement import placement


def _columns(*names):
    return [Column(name, ColumnType("string"), []) for name in names]


def test_new_names_go_to_the_end_and_known_ones_where_they_stand():
    assert placement(["a", "b"], _columns("x", "b", "a"), replace=True) == [None, 1, 0]


def test_a_known_name_needs_consent():
    with pytest.raises(UsageError, match=r"column 'b' exists; replace it with `overwrite=True`"):
        placement(["a", "b"], _columns("b"), replace=False)


def test_a_name_of_several_columns_is_ambiguous():
    with pytest.raises(UsageError, match="which of the 2 columns named 'a'"):
        placement(["a", "b", "a"], _columns("a"), replace=True)
    assert placement(["a", "b", "a"], _columns("c"), replace=False) == [None]


def test_two_new_columns_never_share_a_name():
    with pytest.raises(UsageError, match="two new columns are named 'x'"):
        placement([], _columns("x", "x"), replace=True)
