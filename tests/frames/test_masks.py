from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from llmframe.errors import UsageError
from llmframe.frames.masks import mask_of


def test_null_of_any_kind_is_no():
    assert mask_of([True, None, pd.NA, float("nan"), np.True_, np.False_], rows=6) == [
        True, False, False, False, True, False,
    ]  # fmt: skip


def test_the_entries_are_pythons_own_booleans():
    assert all(type(entry) is bool for entry in mask_of(np.array([True, False]), rows=2))


@pytest.mark.parametrize("where", ["abc", {"a": True}, {True}, 3, None, iter([True]), object()])
def test_what_is_no_mask_is_named(where):
    with pytest.raises(UsageError, match=rf"got a {type(where).__name__}"):
        mask_of(where, rows=3)


def test_ones_and_zeros_are_not_taken_for_truth():
    with pytest.raises(UsageError, match=r"got a list of int; compare first, for instance `where=lambda df"):
        mask_of([1, 0], rows=2)
