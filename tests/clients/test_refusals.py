"""What a refusal means for the requests after it."""

from __future__ import annotations

import pytest

from llmframe.clients.base import Dialect, RequestError
from llmframe.clients.faults import from_response
from llmframe.clients.refusals import NOT_REACHED, costs_nothing, dooms_run, next_dialects, transient

ALL = (Dialect("json_schema"), Dialect("tools"), Dialect("json"))


def refused(status: int, code: str | None = None, param: str | None = None) -> RequestError:
    return from_response(status, {"error": {"message": "no", "code": code, "param": param}})


@pytest.mark.parametrize(
    ("status", "code", "again", "fatal"),
    [
        *((status, None, True, False) for status in (408, 409, 425, 429, 500, 502, 503, 504, 529)),
        *((status, None, False, True) for status in (401, 402, 403, 404)),
        *((status, None, False, False) for status in (400, 413, 422, 501)),
        (429, "insufficient_quota", False, True),
        (429, "rate_limit_exceeded", True, False),
        (400, "context_length_exceeded", False, False),
        (400, "content_filter", False, False),
        (400, "unsupported_parameter", False, True),
        (400, "unsupported_value", False, True),
        (400, "invalid_json_schema", False, True),
        (400, "model_not_found", False, True),
    ],
)
def test_a_status_is_retried_or_stops_the_run_or_neither(status: int, code: str | None, *, again: bool, fatal: bool):
    error = refused(status, code)
    assert (transient(error), dooms_run(error)) == (again, fatal)


@pytest.mark.parametrize(
    "param", ["response_format", "response_format.json_schema.schema", "tools[0].function", "tool_choice"]
)
def test_a_refused_shape_is_followed_by_the_other_modes_and_dooms_the_last(param: str):
    error = refused(400, "invalid_value", param)
    assert next_dialects(ALL[0], error, ALL) == ALL[1:]
    assert next_dialects(ALL[1], error, ALL) == ALL[2:]
    assert next_dialects(ALL[2], error, ALL) == ()
    assert dooms_run(error)


@pytest.mark.parametrize("status", [400, 415, 422, 501])
def test_a_refusal_without_a_reason_is_worth_another_mode(status: int):
    assert next_dialects(ALL[0], refused(status), ALL) == ALL[1:]
    assert next_dialects(ALL[0], refused(status), ALL[:1]) == ()


@pytest.mark.parametrize(
    ("status", "code", "param"),
    [
        (400, "context_length_exceeded", "messages"),
        (400, "content_filter", "prompt"),
        (400, "string_above_max_length", "messages[0].content"),
        (400, "unsupported_value", "temperature"),
        (400, None, "temperature"),
        (404, "model_not_found", None),
        (404, None, None),
        (401, None, None),
        (403, None, None),
        (413, None, None),
        (429, None, None),
        (500, None, None),
    ],
)
def test_other_refusals_change_no_dialect(status: int, code: str | None, param: str | None):
    assert next_dialects(ALL[0], refused(status, code, param), ALL) == ()


def test_a_refused_max_tokens_goes_out_under_its_other_name_in_the_same_mode():
    error = refused(400, "unsupported_parameter", "max_tokens")
    renamed = Dialect("json_schema", "max_completion_tokens")
    assert next_dialects(ALL[0], error, ALL) == (renamed,)
    assert next_dialects(renamed, error, ALL) == (), "a name that wasn't sent can't be the reason"
    back = refused(400, "unknown_parameter", "max_completion_tokens")
    assert next_dialects(renamed, back, ALL) == (ALL[0],)


def test_the_name_of_the_limit_stays_when_the_mode_changes():
    now = Dialect("json_schema", "max_completion_tokens")
    assert next_dialects(now, refused(400, None, "response_format"), ALL) == (
        Dialect("tools", "max_completion_tokens"),
        Dialect("json", "max_completion_tokens"),
    )


def test_free_text_has_no_other_mode():
    assert next_dialects(Dialect("text"), refused(400), (Dialect("text"),)) == ()


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("stream_options", "no"),
        (None, "[{'loc': ('body', 'stream_options'), 'msg': 'not permitted'}]"),
    ],
)
def test_refused_stream_options_are_left_out_in_the_same_mode(param: str | None, message: str):
    error = from_response(422, {"error": {"message": message, "code": "unknown_parameter", "param": param}})
    current = Dialect("tools", "max_completion_tokens", asks_usage=True)
    assert next_dialects(current, error, ALL) == (Dialect("tools", "max_completion_tokens"),)
    assert next_dialects(Dialect("json"), error, ALL) == ()


def test_a_refusal_without_a_reason_is_tried_without_stream_options_first():
    current = Dialect("json_schema", asks_usage=True)
    others = (Dialect("tools", asks_usage=True), Dialect("json", asks_usage=True))
    assert next_dialects(current, refused(400), ALL) == (Dialect("json_schema"), *others)
    assert next_dialects(current, refused(400, "invalid_value", "response_format"), ALL) == others


@pytest.mark.parametrize(
    ("error", "free"),
    [
        *((refused(status), True) for status in (400, 401, 404, 409, 422, 429, 500, 503)),
        (refused(400, "content_filter"), True),
        (RequestError("connection", "refused", code=NOT_REACHED), True),
        (RequestError("encoding", "text that UTF-8 can't hold"), True),
        (RequestError("connection", "the server hung up"), False),
        (RequestError("connection", "the answer ended", status=200), False),
        (RequestError("server", "a piece isn't JSON", status=200), False),
        (RequestError("timeout", "no whole answer within 60 s"), False),
        (RequestError("truncated", "as the SDK says"), False),
        (refused(408), False),
    ],
    ids=str,
)
def test_what_was_refused_or_never_reached_costs_nothing(error: RequestError, *, free: bool):
    assert costs_nothing(error) == free


SCORED = (
    Dialect("json_schema", top_logprobs=20),
    Dialect("json", top_logprobs=20),
    Dialect("json_schema", ends_run=True),
    Dialect("json", ends_run=True),
)


@pytest.mark.parametrize(
    ("status", "param", "message"),
    [
        (400, "logprobs", "Unsupported parameter"),
        (422, None, "[{'loc': ('body', 'logprobs'), 'msg': 'not permitted'}]"),
        (403, None, "You are not allowed to request logprobs from this model"),
    ],
)
def test_refused_logprobs_are_left_out_in_the_same_mode(status: int, param: str | None, message: str):
    error = from_response(status, {"error": {"message": message, "param": param}})
    assert next_dialects(SCORED[1], error, SCORED) == SCORED[3:]
    assert next_dialects(SCORED[3], error, SCORED) == (), "what wasn't sent can't be the reason"


def test_refused_top_logprobs_are_tried_with_fewer_first():
    error = refused(400, "integer_above_max_value", "top_logprobs")
    fewer = Dialect("json_schema", top_logprobs=5)
    assert next_dialects(SCORED[0], error, SCORED) == (fewer, SCORED[2])
    assert next_dialects(fewer, error, SCORED) == (SCORED[2],)


def test_other_modes_are_tried_with_logprobs_before_any_goes_without():
    assert next_dialects(SCORED[0], refused(400), SCORED) == SCORED[1:]
    known = Dialect("json_schema", "max_completion_tokens", top_logprobs=5)
    assert next_dialects(known, refused(400, None, "response_format"), SCORED) == (
        Dialect("json", "max_completion_tokens", top_logprobs=5),
        Dialect("json_schema", "max_completion_tokens", ends_run=True),
        Dialect("json", "max_completion_tokens", ends_run=True),
    )


def test_a_lock_that_speaks_of_no_logprobs_is_a_wrong_key():
    assert next_dialects(SCORED[0], refused(403), SCORED) == ()
    assert next_dialects(SCORED[0], refused(429, None, "logprobs"), SCORED) == ()
