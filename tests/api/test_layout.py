"""Columns over what rows can get, against a reference that looks at every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from llmframe.api.layout import META_FIELDS, Layout
from llmframe.core.outcome import Answer, Failure, Outcome, Usage
from llmframe.core.plan import NOT_ASKED, Plan
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError
from tests.engine.doubles import plan_of


class Reply(BaseModel):
    label: Literal["pos", "neg"]
    tags: list[str]


STOPPED = Failure("cancelled", "stopped")
ANSWERS = st.sampled_from(
    [
        None,
        Outcome(result=Failure("timeout", "late"), usage=Usage(None, None, None), attempts=3, seconds=9.0),
        Outcome(
            result=Answer("{}", ("pos", ["a", "b"])),
            usage=Usage(7, 3, 1),
            usd=0.25,
            attempts=2,
            seconds=1.5,
            finish_reason="stop",
            model="m",
            fingerprint="f0",
        ),
        Outcome(result=Answer("{}", ("neg", [])), usage=Usage(0, 0, 0), usd=0.0, source="cache", fingerprint="f1"),
        Outcome(result=Answer("{}", ("neg", [])), usage=Usage(0, 0, 0), usd=0.0, source="shared", fingerprint="f2"),
        Outcome(
            result=Answer("{}", ("neg", ["c"])),
            usage=Usage(9, 1, 0),
            usd=0.5,
            attempts=1,
            source="batch",
            fingerprint="f3",
        ),
    ]
)
PRICES = {"live": "live", "batch": "batch", "cache": "cached", "shared": "cached"}


def layout_of(**options: Any) -> Layout:
    schema = schema_of(Reply, into=None, labels="enum", nested="native", confidence=None)
    return Layout(schema=schema, **options)


def drawn(rows: Sequence[object], *, asked: list[bool] | None = None, chunks: int = 99) -> Plan:
    plan = plan_of(rows, identity="x", asked=asked)
    for _, _ in zip(range(chunks), plan.draw(), strict=False):
        pass
    return plan


def one_by_one(plan: Plan, outcomes: Sequence[Outcome | None], *, meta: bool) -> list[dict[str, object] | None]:
    """What every row gets, found by looking at that row alone; `None` for a row that isn't asked."""
    rows: list[dict[str, object] | None] = []
    for row, number in enumerate(plan.requests):
        if number == NOT_ASKED:
            rows.append(None)
            continue
        outcome = outcomes[number] if 0 <= number < len(outcomes) else None
        result = plan.failures.get(row, STOPPED) if outcome is None else outcome.result
        label, tags = result.values if isinstance(result, Answer) else (None, None)
        found: dict[str, object] = {"label": label, "tags": tags}
        found["error"] = str(result) if isinstance(result, Failure) else None
        if meta:
            found["llm_meta"] = told(outcome, first=row in plan.first_rows)
        rows.append(found)
    return rows


def told(outcome: Outcome | None, *, first: bool) -> dict[str, object]:
    free = {"attempts": 0, "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "usd": 0.0, "seconds": 0.0}
    if outcome is None:
        return {"model": None, "finish_reason": None, "source": None, "price": None, "fingerprint": None} | free
    usage = outcome.usage
    tokens = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
    }
    paid = {"attempts": outcome.attempts, "usd": outcome.usd, "seconds": outcome.seconds, **tokens}
    source = outcome.source if first or outcome.source == "cache" else "shared"
    said = {"model": outcome.model, "finish_reason": outcome.finish_reason}
    said |= {"source": source, "price": PRICES[source], "fingerprint": outcome.fingerprint}
    return {**said, **(paid if first else free)}


@pytest.mark.parametrize("meta", [False, True])
@pytest.mark.parametrize("into", [None, "all"])
@given(
    rows=st.lists(st.sampled_from(["a", "b", "c", None, "\ud800"]), max_size=12),
    outcomes=st.lists(ANSWERS, min_size=3, max_size=3),
    data=st.data(),
)
def test_columns_are_what_every_row_gets_by_itself(meta, into, rows, outcomes, data):
    known, chunks = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 1))
    asked = data.draw(st.none() | st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    plan = drawn(rows, asked=asked, chunks=chunks)
    outcomes = outcomes[: min(known, len(plan.first_rows))]
    layout = layout_of(into=into, prefix="p_", meta=meta)
    columns = layout.columns(plan, outcomes, missing=STOPPED)
    assert [(column.name, column.type) for column in columns] == layout.types
    expected = one_by_one(plan, outcomes, meta=meta)
    if into is not None:
        assert [column.spread() for column in columns] == [expected]
        return
    for column in columns:
        name = column.name.removeprefix("p_")
        assert column.spread() == [None if row is None else row[name] for row in expected]


def test_every_different_value_is_built_once():
    outcomes: list[Outcome | None] = [Outcome(result=Answer("{}", ("pos", [])))]
    label, _, error = layout_of().columns(drawn(["a"] * 1000), outcomes, missing=STOPPED)
    assert len(label.values) == 3  # the answer, a row outside the mask, a row without an outcome
    assert label.rows is not None
    assert set(label.rows) == {0}
    assert error.spread() == [None] * 1000


def test_rows_that_all_differ_take_nothing():
    outcomes: list[Outcome | None] = [Outcome(result=Answer("{}", ("pos", []))), None]
    label, _, error, meta = layout_of(meta=True).columns(drawn(["a", "b"]), outcomes, missing=STOPPED)
    assert label.rows is None
    assert label.values == ["pos", None]
    assert error.values == [None, "cancelled: stopped"]
    assert [list(entry) for entry in meta.values if isinstance(entry, dict)] == [[name for name, _ in META_FIELDS]] * 2


def test_each_row_tells_the_price_at_which_it_was_asked():
    late = Failure("timeout", "late")
    outcomes: list[Outcome | None] = [
        Outcome(result=late, attempts=2),
        Outcome(result=Failure("budget", "all of it is spent")),
        Outcome(result=Failure("batch_expired", "not done in time"), attempts=1, source="batch"),
        Outcome(result=Answer("{}", ("pos", [])), attempts=1, source="batch"),
        Outcome(result=Answer("{}", ("pos", [])), source="cache"),
        None,
    ]
    rows = ["late", "unsent", "expired", "good", "kept", "stopped", "good", "late"]
    *_, meta = layout_of(meta=True).columns(drawn(rows), outcomes, missing=STOPPED)
    told: list[Any] = meta.spread()
    assert [entry["price"] for entry in told] == ["live", None, "batch", "batch", "cached", None, "cached", "cached"]


@pytest.mark.parametrize("into", [None, "all"])
def test_a_row_that_waits_has_neither_values_nor_an_error_and_says_so(into: str | None):
    outcomes: list[Outcome | None] = [Outcome(result=Answer("{}", ("pos", ["a"])), attempts=1), None]
    rows = ["done", "waits", None, "waits", "outside"]
    plan = drawn(rows, asked=[True, True, True, True, False])
    columns = layout_of(into=into, meta=True).columns(plan, outcomes, missing=None)
    spread: list[Any] = columns[0].spread()
    if into is None:
        names = [column.name for column in columns]
        spread = [dict(zip(names, row, strict=True)) for row in zip(*(c.spread() for c in columns), strict=True)]
    done, waits, null, again, outside = spread
    assert (done["label"], done["error"], done["llm_meta"]["source"]) == ("pos", None, "live")
    for row in (waits, again):
        assert (row["label"], row["tags"], row["error"]) == (None, None, None)
        assert (row["llm_meta"]["source"], row["llm_meta"]["price"]) == ("pending", None)
    assert null["error"].startswith("null: ")
    assert null["llm_meta"]["source"] is None
    assert outside is None if into else outside["llm_meta"] is None


def test_rows_that_are_not_drawn_yet_wait_as_well():
    plan = drawn(["a", "b"], chunks=0)
    label, _, error, meta = layout_of(meta=True).columns(plan, [], missing=None)
    told: list[Any] = meta.spread()
    assert (label.spread(), error.spread()) == ([None, None], [None, None])
    assert [entry["source"] for entry in told] == ["pending", "pending"]


def test_a_schema_with_a_column_of_ours_twice_is_told():
    class Both(BaseModel):
        error: str
        llm_error: str

    schema = schema_of(Both, into=None, labels="enum", nested="native", confidence=None)
    with pytest.raises(UsageError, match=r"both write a column 'llm_error'"):
        Layout(schema=schema)
