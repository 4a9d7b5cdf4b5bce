"""What a panel promises of rows: every judge's columns, one verdict, and the requests that its plan announces."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd
import polars as pl
import pytest

from llmframe.errors import LlmframeWarning, UsageError
from llmframe.judge.asks import run
from llmframe.judge.panel import panelled
from llmframe.judge.task import Ask, Task
from llmframe.stats.panels import majority
from llmframe.testing import Provider, Text
from tests.contracts.kinds import Kind

LABELS = ["pos", "neg", "mixed"]
JUDGES = ["acme/First-1", "acme/second", "third"]

Says = Callable[[str, str], object]
"""What a judge answers: `(model, text of the row)` to a label, or `None` for an invalid reply."""


@contextmanager
def judges(says: Says) -> Iterator[Provider]:
    def answer(prompt: str, request: dict[str, Any]) -> object:
        said = says(request["model"], prompt.rpartition("of ")[2])
        return Text("I'd rather not say") if said is None else {"response": said}

    with Provider(answer=answer) as provider:
        yield provider


def task(schema: object = LABELS, into: str = "label") -> Task:
    return Task(asks=(Ask(template="Label of {t}", schema=schema, options={"into": into}),), verdict=into)


def judged(frame: Any, provider: Provider, *, models: Any = JUDGES, asked: Task | None = None, **said: Any) -> Any:
    own = {name: said.pop(name) for name in ("vote", "gold") if name in said}
    options = {"client": provider, "cache": False, "reask": 0, **said}
    put = panelled(asked or task(), models, frame=frame, options=options, **own)
    return run(frame, put, options)


def first_differs(model: str, text: str) -> object:
    return "neg" if model == "acme/First-1" else "pos"


def test_every_judge_keeps_its_columns_and_the_panels_follow(any_kind: Kind):
    with judges(first_differs) as provider:
        out = judged(any_kind.make({"t": ["a", "b", "a"]}), provider)
        assert any_kind.to_dict(out) == {
            "t": ["a", "b", "a"],
            "first_1_label": ["neg"] * 3,
            "first_1_error": [None] * 3,
            "second_label": ["pos"] * 3,
            "second_error": [None] * 3,
            "third_label": ["pos"] * 3,
            "third_error": [None] * 3,
            "label": ["pos"] * 3,
            "confidence": [2 / 3] * 3,
            "confidence_source": ["panel"] * 3,
            "votes": [3] * 3,
            "error": [None] * 3,
        }
        assert provider.requests == 6


def test_the_verdict_has_the_judges_dtype(library: Kind):
    with judges(first_differs) as provider:
        out = judged(library.make({"t": ["a"]}), provider)
    dtypes = dict(zip(out.columns, library.dtypes(out), strict=True))
    assert dtypes["label"] == dtypes["second_label"]
    assert out["label"].dtype == out["second_label"].dtype
    assert dtypes["votes"].casefold() == "int64"
    assert dtypes["confidence"].casefold() == "float64"


def test_a_tie_is_no_label_and_says_so(any_kind: Kind):
    def says(model: str, text: str) -> object:
        return LABELS[JUDGES.index(model)] if text == "split" else "pos"

    with judges(says) as provider:
        out = any_kind.to_dict(judged(any_kind.make({"t": ["split", "clear"]}), provider))
    assert out["label"] == [None, "pos"]
    assert out["confidence"] == [None, 1.0]
    assert out["confidence_source"] == ["tie", "panel"]
    assert out["votes"] == [3, 3]
    assert out["error"] == [None, None]


def test_a_judge_that_fails_has_no_vote(library: Kind):
    frame = library.make({"t": ["a"]})
    with (
        judges(lambda model, text: None if model == "acme/second" else "pos") as provider,
        pytest.warns(LlmframeWarning, match="1 of 1 rows failed"),
    ):
        out = library.to_dict(judged(frame, provider))
    assert out["second_label"] == [None]
    assert out["second_error"][0].startswith("invalid: ")
    assert (out["label"], out["confidence"], out["votes"], out["error"]) == (["pos"], [1.0], [2], [None])


def test_where_all_judges_fail_the_first_ones_error_is_told_by_name(library: Kind):
    frame = library.make({"t": ["bad", "good"]})
    with (
        judges(lambda model, text: None if text == "bad" else "pos") as provider,
        pytest.warns(LlmframeWarning, match="1 of 2 rows failed"),
    ):
        out = library.to_dict(judged(frame, provider))
    assert out["label"] == [None, "pos"]
    assert out["confidence"] == [None, 1.0]
    assert out["confidence_source"] == ["no_valid_votes", "panel"]
    assert out["votes"] == [0, 3]
    assert out["error"][0].startswith("invalid: first_1: ")
    assert out["error"][1] is None


def test_rows_outside_where_have_nulls_throughout(library: Kind):
    frame = library.make({"t": ["a", "b"]})
    with judges(first_differs) as provider:
        out = library.to_dict(judged(frame, provider, where=[True, False]))
        assert provider.requests == 3
    assert {name: values[1] for name, values in out.items() if values[1] is not None} == {"t": "b"}
    assert out["votes"] == [3, None]


def test_a_null_row_costs_nothing_and_has_the_judges_error(library: Kind):
    with judges(first_differs) as provider:
        with pytest.warns(LlmframeWarning, match="1 null"):
            out = library.to_dict(judged(library.make({"t": [None, "b"]}), provider))
        assert provider.requests == 3
    assert out["error"][0] == "null: first_1: missing value in 't'"
    assert out["confidence_source"] == ["no_valid_votes", "panel"]


def test_a_lazy_query_takes_the_majority_and_stays_lazy():
    with judges(first_differs) as provider:
        lazy = judged(pl.LazyFrame({"t": ["a", "b", "a"]}), provider)
        assert isinstance(lazy, pl.LazyFrame)
        assert provider.requests == 0
        schema = lazy.collect_schema()
        out = lazy.collect()
        assert out.schema == schema
        assert out["label"].to_list() == ["pos"] * 3
        assert provider.requests == 6


@pytest.mark.parametrize("vote", ["weighted", "dawid_skene"])
def test_votes_that_need_all_rows_ask_to_collect_first(vote: str, provider: Provider):
    frame = pl.LazyFrame({"t": ["a"], "known": ["pos"]})
    with pytest.raises(UsageError, match=r"all rows at once: `\.collect\(\)` first"):
        judged(frame, provider, vote=vote, **({"gold": "known"} if vote == "weighted" else {}))


def test_a_plan_announces_the_requests_of_all_judges(library: Kind):
    frame = library.make({"t": ["a", "b", "a", None]})
    with judges(first_differs) as provider:
        options = {"client": provider, "cache": False}
        put = panelled(task(), JUDGES, frame=frame, options=options)
        plan = run(frame, put, options, plan=True)
        assert provider.requests == 0
        with pytest.warns(LlmframeWarning, match="1 null"):
            run(frame, put, options)
        assert provider.requests == plan.requests == 6


def test_a_better_judge_is_worth_more_than_two_that_guess(library: Kind):
    # The first is always right; the others say "neg" of everything, right of every second row. Known are the first ten.
    texts = [f"{'pos' if number % 2 else 'neg'} {number}" for number in range(12)]
    truth = [text.partition(" ")[0] for text in texts]
    frame = library.make({"t": texts, "known": [*truth[:10], None, None]})

    def says(model: str, text: str) -> object:
        return text.partition(" ")[0] if model == "acme/First-1" else "neg"

    with judges(says) as provider:
        out = library.to_dict(judged(frame, provider, vote="weighted", gold="known"))
    assert out["label"] == truth
    assert set(out["confidence_source"]) == {"panel"}
    # Of ten known labels, K = 3: q = 11 / 13, so w = log 11; the others' q = 6 / 13, w = log(12 / 7) each. A row of
    # unknown label that is "pos": 11 against (12 / 7)^2 for "neg" and 1 for "mixed".
    assert out["confidence"][11] == pytest.approx(11 / (11 + (12 / 7) ** 2 + 1))


def test_dawid_and_skene_find_the_good_judges_by_themselves(library: Kind):
    chance = random.Random(4)
    truth = [chance.choice(LABELS) for _ in range(60)]
    accuracy = dict(zip("abcde", (0.95, 0.9, 0.5, 0.4, 0.4), strict=True))
    said = {
        (model, str(row)): label
        if chance.random() < share
        else chance.choice([other for other in LABELS if other != label])
        for model, share in accuracy.items()
        for row, label in enumerate(truth)
    }
    frame = library.make({"t": [str(row) for row in range(60)]})
    with judges(lambda model, text: said[model, text]) as provider:
        out = library.to_dict(judged(frame, provider, models=list("abcde"), vote="dawid_skene"))
    counted = majority(list(zip(*(out[f"{judge}_label"] for judge in "abcde"), strict=True)))
    right = sum(map(str.__eq__, truth, map(str, out["label"])))
    assert right > 50
    assert right > sum(map(str.__eq__, truth, map(str, counted.winners)))
    assert all(0 <= sure <= 1 for sure in out["confidence"])


def test_judges_may_have_endpoints_and_params_of_their_own(library: Kind):
    with judges(first_differs) as one, judges(lambda model, text: "mixed") as other:
        models = {
            "home": {"model": "acme/First-1", "params": {"temperature": 0.0}},
            "away": {"model": "acme/First-1", "client": other},
            "plain": "x",
        }
        out = library.to_dict(judged(library.make({"t": ["a"]}), one, models=models, params={"max_tokens": 9}))
        assert (one.requests, other.requests) == (2, 1)
        assert {body.get("temperature") for body in one.bodies} == {0.0, None}
        assert {body["max_tokens"] for body in (*one.bodies, *other.bodies)} == {9}
    assert (out["home_label"], out["away_label"], out["plain_label"]) == (["neg"], ["mixed"], ["pos"])
    assert out["confidence_source"] == ["tie"]


def test_a_prefix_stands_before_the_judges_names(library: Kind):
    with judges(first_differs) as provider:
        out = judged(library.make({"t": ["a"], "label": ["mine"]}), provider, prefix="p_")
    assert library.to_dict(out)["label"] == ["mine"]
    assert {"p_third_label", "p_label", "p_votes", "p_error"} < set(out.columns)


@pytest.mark.parametrize("taken", ["label", "votes", "third_label", "second_error"])
def test_a_column_that_is_taken_is_refused_before_anything_is_asked(taken: str, provider: Provider):
    with pytest.raises(UsageError, match=f"already has a column '{taken}'"):
        judged(pd.DataFrame({"t": ["a"], taken: ["mine"]}), provider)
    assert provider.requests == 0


def test_overwrite_replaces_a_panels_columns(library: Kind):
    with judges(first_differs) as provider:
        once = judged(library.make({"t": ["a"]}), provider)
        again = judged(once, provider, overwrite=True)
    assert library.to_dict(again) == library.to_dict(once)


def test_a_frame_without_rows_comes_back_with_its_columns(library: Kind):
    known = library.make({"t": [], "known": []})
    with judges(first_differs) as provider:
        for said in ({}, {"vote": "weighted", "gold": "known"}, {"vote": "dawid_skene"}):
            out = judged(known, provider, **said)
            assert list(out.columns)[-5:] == ["label", "confidence", "confidence_source", "votes", "error"]
            assert len(out) == 0


def test_numbers_are_voted_on_and_their_scores_averaged(library: Kind):
    scores = dict(zip(JUDGES, (1, 4, 4), strict=True))

    def finish(out: Any, prefix: str) -> Any:
        from llmframe.core.columns import ColumnType
        from llmframe.frames.derived import derive

        halves = [(f"{prefix}score", ColumnType("float"))]
        return derive(out, [f"{prefix}level"], halves, lambda cells: [[cell and cell / 2 for cell in cells[0]]])

    asked = Task(
        asks=(Ask(template="Level of {t}", schema=int, options={"into": "level"}),),
        verdict="level",
        columns=("score",),
        finish=finish,
    )
    with judges(lambda model, text: scores[model]) as provider:
        out = library.to_dict(judged(library.make({"t": ["a"]}), provider, asked=asked))
    assert (out["level"], out["score"], out["confidence"]) == ([4], [1.5], [2 / 3])


def test_every_field_is_voted_on_where_a_task_names_no_verdict(library: Kind):
    from pydantic import BaseModel

    class Found(BaseModel):
        name: str | None
        tags: list[str]

    said = {
        "acme/First-1": {"name": "Ann", "tags": ["x", "y"]},
        "acme/second": {"name": None, "tags": ["x"]},
        "third": {"name": None, "tags": ["x", "z"]},
    }
    with Provider(answer=lambda prompt, request: said[request["model"]]) as provider:
        asked = Task(asks=(Ask(template="Find in {t}", schema=Found),), verdict="")
        out = library.to_dict(judged(library.make({"t": ["a"]}), provider, asked=asked))
    # Two of three say that there is no name; a tag counts when more than half named it, x 3 of 3, y and z 1 of 3 each.
    assert (out["name"], out["name_confidence"]) == ([None], [2 / 3])
    assert [list(tags) for tags in out["tags"]] == [["x"]]
    assert out["tags_confidence"] == pytest.approx([2 / 3])
    assert (out["votes"], out["error"]) == ([3], [None])
