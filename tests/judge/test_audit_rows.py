"""An audit's rows: a seeded sample, gold as numbers, and which answers count."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pytest

from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.judge.audit_judges import Judge
from llmframe.judge.audit_rows import Beside, Sample, authors_of, beside_of, judged_pairs, sample_of
from llmframe.judge.rubric import Rubric
from tests.judge.simulated_judges import LABELS, PAIR, SCORE, answers, pair_judge

FRAME = pd.DataFrame(
    {
        "text": ["p", None, "q", "r", "q"],
        "gold": [1, 2, None, 5, 4],
        "who": ["me", "me", "you", "you", None],
        "set": ["s", "s", "s", "t", None],
    }
)
PAIRS = pd.DataFrame({"a": ["u", "v", "w"], "b": ["k", "l", "m"], "better": ["a", "tie", "b"]})


def drawn(frame: object, judge: Judge, *, rows: int | None = None, seed: int = 0, **said: Any) -> Sample:
    return sample_of(wrap(frame), judge, Beside(**said), rows=rows, seed=seed)


@pytest.mark.parametrize(
    "make", [lambda f: f, pl.from_pandas, lambda f: pl.from_pandas(f).to_dicts()], ids=["pd", "pl", "list"]
)
def test_rows_without_a_text_are_left_out_whatever_the_library(make: Any):
    found = drawn(make(FRAME), SCORE, gold="gold")
    assert [row["text"] for row in found.records] == ["p", "q", "r", "q"]
    assert found.gold == [1.0, None, 5.0, 4.0]


def test_a_sample_is_the_seeds_and_keeps_the_order():
    frame = pd.DataFrame({"text": [f"{at:03}" for at in range(200)]})
    first, again, other = (drawn(frame, SCORE, rows=20, seed=seed) for seed in (1, 1, 2))
    texts = [str(row["text"]) for row in first.records]
    assert len(texts) == 20
    assert texts == sorted(texts)
    assert first.records == again.records != other.records


def test_equal_texts_are_one_cluster_unless_a_group_is_named():
    assert len(set(drawn(FRAME, SCORE).clusters)) == 3
    by_set = drawn(FRAME, SCORE, group="set").clusters
    assert by_set[:3] == ["s", "s", "t"]
    assert by_set[3] not in ("s", "t")


def test_gold_of_a_pair_is_a_side_or_a_tie():
    assert drawn(PAIRS, PAIR, gold="better").gold == [1.0, 0.5, 0.0]
    with pytest.raises(UsageError, match=r"`gold` of a pair is one of \['a', 'b', 'tie'\], got 'c'"):
        drawn(PAIRS.assign(better="c"), PAIR, gold="better")


def test_gold_of_a_rubric_is_a_level_or_a_mean_of_levels():
    assert drawn(FRAME.assign(gold=3.4), SCORE, gold="gold").gold == [3.4] * 4
    words = Judge(kind="score", columns=("text",), rubric=Rubric("Clear?", ["no", "partly", "yes"]))
    assert drawn(FRAME.assign(gold="yes"), words, gold="gold").gold == [3.0] * 4
    with pytest.raises(UsageError, match="`gold` is a level of the rubric, got 'maybe'; levels:"):
        drawn(FRAME.assign(gold="maybe"), words, gold="gold")


@pytest.mark.parametrize(
    ("judge", "said", "message"),
    [
        (LABELS, {"gold": "gold"}, "`gold` has no use in the audit of a classification"),
        (SCORE, {"gold": "glod"}, "column 'glod' is absent; did you mean 'gold'"),
        (SCORE, {"group": "grp"}, "column 'grp' is absent"),
        (SCORE, {"authors": ("who",), "gold": "gold"}, "self-preference takes three arguments"),
        (SCORE, {"authors": ("who",), "own": "me"}, "self-preference takes three arguments"),
        (PAIR, {"authors": ("who",), "own": "me", "gold": "gold"}, "a column for each judged text: 2, got 1"),
        (
            Judge(kind="score", columns=("text",), rubric=Rubric("T?", ["x", "y"], scale="nominal")),
            {"gold": "gold"},
            "`gold` has no use for a nominal rubric",
        ),
    ],
    ids=["labels", "misspelt", "group", "no-own", "no-gold", "one-author", "nominal"],
)
def test_what_is_said_beside_has_to_fit(judge: Judge, said: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        beside_of(judge, list(FRAME.columns), Beside(**said))


def test_an_own_author_that_nobody_is_is_told():
    with pytest.raises(UsageError, match=r"nobody in \['who'\] is `own`='I'; authors: \['me', 'you'\]"):
        drawn(FRAME, SCORE, gold="gold", authors=("who",), own="I")
    assert drawn(FRAME, SCORE, gold="gold", authors=("who",), own="me").authors == [
        ("me",),
        ("you",),
        ("you",),
        (None,),
    ]


@pytest.mark.parametrize("rows", [0, -1, 1.5, True])
def test_a_sample_of_no_size_is_told(rows: Any):
    with pytest.raises(UsageError, match="`rows` is a whole number from 1 on, or None for all"):
        drawn(FRAME, SCORE, rows=rows)


def test_authors_are_one_column_or_several():
    assert (authors_of(None), authors_of("x"), authors_of(["x", "y"])) == ((), ("x",), ("x", "y"))
    with pytest.raises(UsageError, match="`authors` is the name of a column"):
        authors_of([1])


def test_a_repetition_is_the_other_vote_where_there_are_two():
    said = answers(PAIR, lambda chance, row, question: "AB"[chance.randrange(2)], rows=40, seed=3)
    plain, again = said.codes("plain"), said.again()
    assert {*again} == {"A", "B"}
    assert 5 < sum(one != other for one, other in zip(plain, again, strict=True)) < 35


def test_a_failed_answer_is_unknown_and_counted():
    said = answers(
        PAIR, lambda chance, row, question: None if row == 2 else pair_judge()(chance, row, question), rows=5
    )
    assert said.failed == 1
    assert said.first_picked("plain")[2] is said.again()[2] is None
    assert said.codes("turned") == [None] * 5


def test_a_pair_is_judged_by_both_orders():
    # both for the first text, both for the place, one tie, one failed
    assert judged_pairs([1.0, 1.0, 0.5, None], [0.0, 1.0, 0.0, 0.0]) == [1.0, 0.5, 0.75, None]
