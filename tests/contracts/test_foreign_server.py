"""The same promises against a fault server by other people, llmock, whose verdict counts retries and ignored waits."""

from __future__ import annotations

from typing import Any, Literal

import pandas as pd
import pytest
from llmock.scenarios import Reply, ToolCall
from pydantic import BaseModel

import llmframe

pytestmark = pytest.mark.filterwarnings("ignore::llmframe.LlmframeWarning")


class Mood(BaseModel):
    mood: Literal["up", "down"]
    sure: float


def call(mood: str, sure: float) -> ToolCall:
    return ToolCall("Mood", {"mood": mood, "sure": sure})


def asked(rows: int | list[str], **options: Any) -> pd.DataFrame:
    texts = [f"text {row}" for row in range(rows)] if isinstance(rows, int) else rows
    frame = pd.DataFrame({"text": texts})
    return frame.llm.map(
        "Mood of {text}", schema=Mood, model="openai/gpt-4o-mini", output_mode="tools", cache=False, **options
    )


def sent(llmock: Any) -> int:
    return sum(request.path.endswith("/chat/completions") for request in llmock.requests)


def test_rows_wait_out_a_rate_limit(llmock: Any):
    llmock.rate_limit(times=3, retry_after=0.3)
    assert asked(10)["error"].isna().all()
    llmock.assert_resilient()


def test_a_limit_that_nobody_told_costs_no_row(llmock: Any):
    llmock.limits(rpm=600)
    assert asked(30)["error"].isna().all()
    llmock.assert_resilient()


def test_an_exhausted_quota_is_asked_once_a_place(llmock: Any):
    llmock.fail(429, code="insufficient_quota", message="used up", times=None)
    out = asked(50, max_concurrency=4)
    assert out["error"].str.startswith("quota: ").all()
    assert sent(llmock) <= 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_not_sent_again(llmock: Any, status: int):
    llmock.fail(status, times=None)
    assert asked(4)["error"].notna().all()
    assert sent(llmock) <= 4
    llmock.assert_resilient()


def test_an_outage_ends(llmock: Any):
    llmock.outage()
    assert asked(3, max_attempts=3)["error"].str.startswith("server: ").all()
    assert sent(llmock) == 9


def test_a_prompt_that_is_too_long_fails_alone(llmock: Any):
    llmock.limits(context_window=500)
    errors = asked(["short", "word " * 2000, "brief"])["error"]
    assert errors.isna().tolist() == [True, False, True]
    assert errors[1].startswith("context_length: ")


def test_broken_arguments_are_asked_for_again(llmock: Any):
    llmock.break_tool_call("malformed_arguments", times=2)
    assert asked(5, reask=2)["error"].isna().all()  # both may meet the same row


def test_an_answer_by_another_function_is_none(llmock: Any):
    llmock.break_tool_call("unknown_tool", times=None)
    assert asked(2)["error"].str.startswith("tool_call: ").all()


def test_two_answers_that_differ_are_none(llmock: Any):
    llmock.add(Reply(tool_calls=(call("up", 0.9), call("down", 0.2)), times=None))
    assert asked(2)["error"].str.startswith("tool_call: ").all()


def test_a_cut_answer_is_asked_once(llmock: Any):
    llmock.add(Reply(tool_calls=(call("up", 0.9),), finish_reason="length", times=None))
    assert asked(3)["error"].str.startswith("truncated: ").all()
    assert sent(llmock) == 3


def test_a_slow_answer_is_cut_and_asked_for_again(llmock: Any):
    llmock.delay(4, times=1)
    assert asked(4, timeout=1.0)["error"].isna().all()
    assert llmframe.last_run().retries >= 1
