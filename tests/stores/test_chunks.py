"""Many keys in one statement."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmframe.stores.chunks import KEYS_PER_STATEMENT, chunks


@given(st.integers(0, 1700))
def test_every_key_is_asked_for_by_few_distinct_statements(count: int):
    lots = list(chunks(list(range(count))))
    assert [key for _, lot in lots for key in dict.fromkeys(lot)] == list(range(count))
    assert all(marks.count("?") == len(lot) <= KEYS_PER_STATEMENT for marks, lot in lots)


def test_ten_statements_serve_lots_of_any_size():
    # 1, 2, 4, ... 256 and 500: nine powers of two and the whole lot
    assert len({marks for count in range(1, 501) for marks, _ in chunks(list(range(count)))}) == 10
