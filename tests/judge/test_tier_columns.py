"""One answer a row is left of the tiers' columns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmframe.core.columns import ColumnType
from llmframe.judge.tier_columns import TierColumns, Types
from llmframe.judge.tiers import Cascade, tiers_of

WORD, NUMBER = ColumnType("string"), ColumnType("float")
FIRST: Types = (("label", WORD), ("confidence", NUMBER), ("error", WORD), ("llm_meta", WORD))
LAST: Types = (("label", WORD), ("error", WORD), ("llm_meta", WORD))


def columns(first: Types = FIRST, last: Types = LAST, *, plain: bool = True, meta: bool = False) -> TierColumns:
    tiers = tiers_of(Cascade(["m/cheap", "strong"]))
    return TierColumns(tiers=tiers, types=(first, last), field=first[0][0], plain=plain, meta=meta)


def test_the_tier_stands_before_the_error():
    assert [name for name, _ in columns().outputs] == ["label", "confidence", "tier", "error"]
    assert columns(plain=False).outputs[2] == ("tier", ColumnType("enum", labels=("m/cheap", "strong")))


def test_metas_stay_under_the_tiers_names_when_asked_for():
    assert [name for name, _ in columns(meta=True).outputs][4:] == ["cheap_llm_meta", "strong_llm_meta"]


def test_a_field_keeps_its_name_where_ours_is_the_same():
    odd = (("tier", WORD), ("error", WORD), ("confidence", NUMBER), ("llm_error", WORD))
    found = columns(odd, (("tier", WORD), ("error", WORD), ("llm_error", WORD)))
    assert [name for name, _ in found.outputs] == ["tier", "error", "confidence", "llm_tier", "llm_error"]


def test_each_row_has_the_answer_of_the_last_tier_that_it_was_asked():
    #       stays  goes on  failed twice   null cell          outside `where`
    going = [False, True, True, False, False]
    first = [["a", "b", None, None, None], [0.9, 0.5, None, None, None]]
    errors = [None, None, "timeout: x", "null: t", None]
    last = [[None, "c", None, None, None], [None, None, "invalid: y", None, None]]
    meta: list[list[object]] = [[{}] * 5, [{}] * 5]
    labels, sure, tiers, told = columns().merging()([going, *first, errors, meta[0], *last, meta[1]])
    assert labels == ["a", "c", None, None, None]
    assert sure == [0.9, None, None, None, None]
    assert tiers == ["m/cheap", "strong", "strong", None, None]
    assert told == [None, None, "invalid: y", "null: t", None]


@given(st.lists(st.tuples(st.booleans(), st.text(max_size=2), st.text(max_size=2)), max_size=20))
def test_answers_are_taken_from_their_own_tier_and_row(rows: list[tuple[bool, str, str]]):
    nothing: list[object] = [None] * len(rows)
    cells = [
        [goes for goes, _, _ in rows],
        *([one for _, one, _ in rows], nothing, nothing, nothing),
        *([other for *_, other in rows], nothing, nothing),
    ]
    labels, *_ = columns().merging()(cells)
    assert labels == [other if goes else one for goes, one, other in rows]
