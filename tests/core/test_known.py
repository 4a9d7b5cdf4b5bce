"""What a plan has drawn so far."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest

from llmframe.core.known import Known, exact_types


class Word(str):
    """A text of another class, whose text may be anything."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("cells", "types"),
    [
        ([["a", "b"]], (str,)),
        ([["a", None]], (str,)),
        ([[None, None]], (type(None),)),
        ([["a", None], [1, 2]], (str, int)),
        ([[True, False]], (bool,)),
        ([[]], (type(None),)),
        ([[1, True]], None),
        ([[1, "1"]], None),
        ([["a"], [1.0]], None),
        ([[Decimal("1.0")]], None),
        ([[datetime(2024, 1, 1)]], None),  # noqa: DTZ001 - one moment in two zones is equal, its texts aren't
        ([[["a"]]], None),
        ([["a", Word("a")]], None),
    ],
)
def test_only_cells_whose_equal_values_have_one_text_tell_rows_apart(cells, types):
    assert exact_types(cells) == types


def test_equal_cells_of_two_types_are_known_apart():
    known = Known()
    known.remember(known.by_cells((int,)), (1,), 7)
    assert known.by_cells((int,)) == {(1,): 7}
    assert known.by_cells((bool,)) == {}


def test_what_has_no_more_room_is_not_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("llmframe.core.known.REMEMBERED_BYTES", 300)
    known = Known()
    texts = known.by_cells((str,))
    for number, text in enumerate(["a" * 100, "b", "c"]):  # 49 bytes and 100 an entry beside the characters
        known.remember(texts, text, number)
    known.remember(known.by_text, "d", 3)
    assert list(texts) == ["a" * 100, "b"]
    assert known.by_text == {}
