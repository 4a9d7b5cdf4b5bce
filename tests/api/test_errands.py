from __future__ import annotations

import asyncio
from typing import Any

import pandas as pd
import pytest

from llmframe.api.arguments import arguments
from llmframe.api.errands import FrameErrand, NoErrand, errand_of
from llmframe.errors import UsageError


def errand(frame: object, **options: Any) -> Any:
    said = {"model": "m", "base_url": "http://localhost:1/v1", **options}
    return errand_of(frame, arguments("J {t}", bool, said, verb="submit"))


def test_a_list_without_rows_is_nothing_to_do():
    found = errand([])
    assert isinstance(found, NoErrand)
    asyncio.run(found.work(None)(lambda call: call()))
    assert (found.finish(), found.so_far(lambda ask: ask(), waiting=True), found.shards()) == ([], [], [])
    found.stop_batches()
    assert found.run.report().state == "done"


def test_before_anything_is_answered_all_rows_wait():
    found = errand(pd.DataFrame({"t": ["a", None]}))
    assert isinstance(found, FrameErrand)
    frame: Any = found.so_far(lambda ask: ask(), waiting=True)
    assert [meta["source"] for meta in frame["llm_meta"]] == ["pending", "pending"]
    assert frame["error"].isna().all()
    assert found.shards() == []


def test_by_batches_rows_that_nobody_can_ask_are_told_at_once():
    found = errand(pd.DataFrame({"t": ["a", None]}), mode="batch")
    frame: Any = found.so_far(lambda ask: ask(), waiting=True)
    assert [meta["source"] for meta in frame["llm_meta"]] == ["pending", None]
    assert frame["error"][1].startswith("null: ")


def test_what_can_not_go_into_a_batch_is_told_now():
    with pytest.raises(UsageError, match="stream"):
        errand(pd.DataFrame({"t": ["a"]}), mode="batch", params={"stream": True})
