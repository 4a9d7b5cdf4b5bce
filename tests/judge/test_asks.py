"""A preset's questions, put to `map` one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import pandas as pd
import polars as pl
import pytest

import llmframe
from llmframe.api import keeping
from llmframe.core.columns import ColumnType
from llmframe.errors import RowError, UsageError
from llmframe.frames import wrap
from llmframe.frames.derived import derive
from llmframe.judge.asks import arun, columns_of, run
from llmframe.judge.spending import spending_of
from llmframe.judge.task import Ask, Task
from llmframe.testing import Provider, Status

Label = Literal["x", "y"]
FRAME = pd.DataFrame({"a": ["u", "v", "w"], "b": ["u", "k", "w"]})
TASK = Task(
    asks=(
        Ask(template="Q {a} {b}", schema=Label, prefix="one_", options={"into": "label"}),
        Ask(template="Q {b} {a}", schema=Label, prefix="two_", options={"into": "label"}),
    ),
    verdict="label",
)
"""Of three rows two have the same prompt in both asks: 2 + 2 distinct requests."""

CACHES: Any = pytest.mark.parametrize("cache", [True, False, "refresh", "file"])


@pytest.fixture
def provider() -> Iterator[Provider]:
    keeping._process_store.clear()
    with Provider() as provider:
        yield provider


def said(cache: object, tmp_path: Any, **options: Any) -> dict[str, Any]:
    return {"cache": tmp_path / "answers.sqlite" if cache == "file" else cache, **options}


@CACHES
def test_asks_share_their_answers_whatever_the_cache(provider: Provider, tmp_path: Any, cache: object):
    options = said(cache, tmp_path, client=provider)
    plan = run(FRAME, TASK, options, plan=True)
    out = run(FRAME, TASK, options)
    assert list(out.columns) == ["a", "b", "one_label", "one_error", "two_label", "two_error"]
    assert provider.requests == plan.requests == 4
    assert plan.rows == 3
    assert out["one_label"].tolist()[::2] == out["two_label"].tolist()[::2]


@CACHES
def test_asks_of_a_lazy_query_share_them_too(provider: Provider, tmp_path: Any, cache: object):
    query = run(pl.from_pandas(FRAME).lazy(), TASK, said(cache, tmp_path, client=provider))
    assert provider.requests == 0
    out = query.collect()
    assert provider.requests == 4
    assert out.columns == ["a", "b", "one_label", "one_error", "two_label", "two_error"]


async def test_asks_of_async_code_share_them_too(provider: Provider):
    out = await arun(FRAME, TASK, {"client": provider, "cache": False, "prefix": "p_"})
    assert provider.requests == 4
    assert list(out.columns)[2:4] == ["p_one_label", "p_one_error"]


def test_refreshed_answers_are_new_and_kept(provider: Provider):
    run(FRAME, TASK, {"client": provider})
    run(FRAME, TASK, {"client": provider, "cache": "refresh"})
    assert provider.requests == 8
    run(FRAME, TASK, {"client": provider})
    assert provider.requests == 8


def test_the_cache_may_be_said_anywhere(provider: Provider):
    with llmframe.use(cache=False):
        run(FRAME, TASK, {"client": provider})
        assert provider.requests == 4
        run(FRAME, TASK, {"client": provider})
        assert provider.requests == 8


@pytest.mark.parametrize("budget", [{"calls": 3}, llmframe.Budget(calls=3)])
def test_all_asks_have_one_budget(provider: Provider, budget: Any):
    with pytest.warns(llmframe.LlmframeWarning, match="1 budget"):
        out = run(FRAME, TASK, {"client": provider, "budget": budget, "max_concurrency": 1})
    assert provider.requests == 3
    assert out["one_error"].isna().all()
    [failed] = out["two_error"].dropna()
    assert failed.startswith("budget: ")


def test_answers_that_are_kept_are_told_once(provider: Provider):
    llmframe.map(FRAME, "Q {a} {b}", Label, client=provider)
    plan = run(FRAME, TASK, {"client": provider}, plan=True)
    assert (plan.requests, plan.cached) == (1, 3)
    assert len(plan.prompts) == 3


def test_a_plan_adds_what_all_asks_take(provider: Provider):
    prices = {"simulated": {"input": 4.0, "output": 8.0}}
    whole = run(FRAME, TASK, {"client": provider, "prices": prices}, plan=True)
    one = Task(asks=TASK.asks[:1], verdict="label")
    half = run(FRAME, one, {"client": provider, "prices": prices}, plan=True)
    assert (half.requests, whole.requests) == (3, 4)
    assert whole.usd is not None
    assert half.usd is not None
    assert whole.usd_range is not None
    assert whole.usd_range[0] < whole.usd < whole.usd_range[1]
    assert whole.usd == pytest.approx((whole.input_tokens * 4 + whole.output_tokens * 8) / 1e6)
    # prompts of equal length: four requests take four thirds of three
    assert whole.output_tokens * 3 == half.output_tokens * 4


def test_votes_are_planned_from_the_fewest_to_the_most(provider: Provider):
    options = {"client": provider, "confidence": "votes", "samples": 5}
    plan = run(FRAME, TASK, options, plan=True)
    # four distinct requests; three equal votes of five settle one
    assert (plan.least, plan.requests) == (12, 20)
    assert "12 to 20 to send, 0 answered already; votes end when they're settled" in repr(plan)
    run(FRAME, TASK, options)
    assert 12 <= provider.requests <= 20
    again = run(FRAME, TASK, options, plan=True)
    assert (again.least, again.requests, again.cached) == (0, 0, provider.requests)


def test_finish_gets_all_columns_and_the_calls_prefix(provider: Provider):
    def finish(frame: Any, prefix: str) -> Any:
        names = [f"{prefix}{ask}_label" for ask in ("one", "two")]
        same = [(f"{prefix}same", ColumnType("bool"))]
        return derive(frame, names, same, lambda cells: [[a == b for a, b in zip(*cells, strict=True)]])

    task = Task(asks=TASK.asks, verdict="same", columns=("same",), finish=finish)
    out = run(FRAME, task, {"client": provider, "prefix": "p_"})
    assert out["p_same"].tolist()[::2] == [True, True]
    with pytest.raises(UsageError, match="already has a column 'p_same'"):
        run(out, task, {"client": provider, "prefix": "p_"})
    assert provider.requests == 4


def narrowed() -> Task:
    """Two asks, the second one of the rows that the first one's `after` left."""

    def after(frame: Any, prefix: str) -> Any:
        assert f"{prefix}one_response" in frame.columns
        return derive(
            frame, ["t"], [(prefix + "long", ColumnType("bool"))], lambda cells: [[len(str(t)) > 1 for t in cells[0]]]
        )

    first = Ask(template="{t}?", schema=str, prefix="one_", after=after)
    return Task(asks=(first, Ask(template="{t}!", schema=str, prefix="two_", rows="long")), verdict="")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_later_ask_may_be_of_the_rows_that_an_earlier_one_left(provider: Provider, make: Any):
    out = run(make({"t": ["a", "bb", "cc"]}), narrowed(), {"client": provider, "cache": False, "prefix": "p_"})
    assert provider.requests == 5
    assert wrap(out).cells([list(out.columns).index("p_two_response")], 0, 3)[0][0] is None


async def test_so_it_may_in_async_code(provider: Provider):
    await arun(pd.DataFrame({"t": ["a", "bb"]}), narrowed(), {"client": provider, "cache": False})
    assert provider.requests == 3


def test_a_plan_counts_such_an_ask_from_none_to_all(provider: Provider):
    plan = run(pd.DataFrame({"t": ["a", "bb", "cc"]}), narrowed(), {"client": provider, "cache": False}, plan=True)
    assert (plan.least, plan.requests) == (3, 6)


def test_what_an_ask_decides_is_not_the_calls_to_say(provider: Provider):
    for name, value in {"into": "other", "schema": Label, "prompt_template": "{a}"}.items():
        with pytest.raises(UsageError, match=f"`{name}` is decided by the preset"):
            run(FRAME, TASK, {"client": provider, name: value})
    unsaid: Mapping[str, object] = {"into": None, "schema": None}
    assert len(run(FRAME, TASK, {"client": provider, **unsaid})) == 3


def test_wrong_use_of_the_last_ask_is_told_before_the_first(provider: Provider):
    asks = (TASK.asks[0], Ask(template="Q {a}", schema=Label, options={"client": None, "model": "no/such"}))
    with pytest.raises(UsageError):
        run(FRAME, Task(asks=asks, verdict="label"), {"client": provider})
    assert provider.requests == 0


def test_columns_of_an_ask_are_known_beforehand(provider: Provider):
    assert columns_of(TASK.asks[0], {"client": provider, "prefix": "p_"}) == [
        ("label", ColumnType("enum", labels=("x", "y"))),
        ("error", ColumnType("string")),
    ]


def test_a_failure_that_is_to_be_raised_ends_with_its_ask(provider: Provider):
    provider.always(Status(400))
    with pytest.raises(RowError):
        run(FRAME, TASK, {"client": provider, "on_error": "raise", "max_concurrency": 1})
    assert provider.requests <= 3


def test_neither_an_expression_nor_a_plan_of_a_query_can_be(provider: Provider):
    with pytest.raises(UsageError, match="needs a frame, not an expression"):
        run(pl.col("a"), TASK, {"client": provider})
    with pytest.raises(UsageError, match="`plan` needs rows that are there"):
        run(pl.LazyFrame({"a": ["x"], "b": ["y"]}), TASK, {"client": provider}, plan=True)


def test_a_list_without_rows_asks_nothing(provider: Provider):
    assert run([], TASK, {"client": provider}) == []
    assert run([], TASK, {"client": provider}, plan=True).requests == 0


PRICED: Any = {"cache": False, "prices": {"simulated": {"input": 4.0, "output": 8.0}}}


def all_told(out: Any, provider: Provider) -> None:
    told = spending_of(wrap(out), None)
    assert provider.requests == 4
    assert (told.asked, told.cached) == (3, 0)
    assert (told.input_tokens, told.output_tokens) == (provider.prompt_tokens, provider.completion_tokens)
    assert told.usd == pytest.approx((provider.prompt_tokens * 4 + provider.completion_tokens * 8) / 1e6)


def test_what_all_asks_took_stands_with_pandas_frame(provider: Provider):
    all_told(run(FRAME, TASK, {"client": provider, **PRICED}), provider)


async def test_what_all_asks_of_async_code_took_stands_there_too(provider: Provider):
    all_told(await arun(FRAME, TASK, {"client": provider, **PRICED}), provider)


def test_asks_without_a_price_have_no_price_together(provider: Provider):
    told = spending_of(wrap(run(FRAME, TASK, {"client": provider, "cache": False})), None)
    assert told.usd is None
    assert told.input_tokens == provider.prompt_tokens


PRESET_CALLS: Any = pytest.mark.parametrize(
    ("preset", "arguments", "typo", "meant"),
    [
        ("classify", ("a", ["x", "y"]), "descripton", "descriptions"),
        ("extract", ("a", dict[str, int]), "explod", "explode"),
        ("filter", ("{a} is x",), "keep_error", "keep_errors"),
        ("score", ("a", llmframe.Rubric("Good?", ["no", "yes"])), "modle", "model"),
        ("pairwise", ("a", "b", "Which is better?"), "keep_order", "keep_orders"),
    ],
)


@PRESET_CALLS
async def test_an_unknown_argument_is_told_of_the_preset_with_its_nearest(
    preset: str, arguments: tuple[Any, ...], typo: str, meant: str
):
    for name in (preset, f"a{preset}"):
        said = f"`{name}` has no argument {typo!r}; did you mean {meant!r}"
        with pytest.raises(UsageError, match=said) as caught:
            await getattr(llmframe, name)(FRAME, *arguments, **{typo: 1})
        known = str(caught.value).split("arguments: ")[1].split(", ")
        assert len(known) == len(set(known))
        assert not {"prompt_template", "system"} & set(known)
    with pytest.raises(UsageError, match="word of the provider"):
        getattr(llmframe, preset)(FRAME, *arguments, temperature=0)
