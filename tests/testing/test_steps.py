from __future__ import annotations

import http.client
import json

import pytest

from llmframe.errors import UsageError
from llmframe.testing import (
    BadBody,
    Cut,
    Delay,
    Drip,
    Empty,
    Filtered,
    Hang,
    Html,
    NoChoices,
    Object,
    Refusal,
    Reset,
    Status,
    Text,
    ToolCalls,
    Truncated,
    Without,
)


def test_a_status_carries_openais_error_body_and_raw_headers(make_provider, http_kit):
    provider = make_provider()
    provider.script(Status(429, "slow_down", "easy", "model", retry_after="soon", headers={"x-more": "1"}), Status(503))
    got = http_kit.ask(provider)
    assert got.status == 429
    assert got.error == {"message": "easy", "type": "requests", "param": "model", "code": "slow_down"}
    assert (got.headers["retry-after"], got.headers["x-more"]) == ("soon", "1")
    assert http_kit.ask(provider).error["message"] == "Service Unavailable"


def test_a_status_outside_the_standard_goes_out(make_provider, http_kit):
    provider = make_provider()
    provider.script(Status(529))
    assert http_kit.ask(provider).status == 529


def test_text_goes_out_as_it_is_even_where_a_tool_was_asked_for(make_provider, http_kit):
    provider = make_provider()
    provider.script(Text("```json\n{}\n```", finish_reason="length"))
    got = http_kit.ask(provider, tools=[http_kit.function("Answer", http_kit.schema)])
    assert (got.content, got.choice["finish_reason"]) == ("```json\n{}\n```", "length")


def test_tool_calls_may_be_several_unknown_and_broken(make_provider, http_kit):
    provider = make_provider()
    provider.script(ToolCalls([("Answer", {"a": 1}), ("Nobody", "{broken")]))
    calls = http_kit.ask(provider).choice["message"]["tool_calls"]
    assert [(call["function"]["name"], call["function"]["arguments"]) for call in calls] == [
        ("Answer", '{"a": 1}'),
        ("Nobody", "{broken"),
    ]
    assert len({call["id"] for call in calls}) == 2


def test_truncated_is_a_part_of_the_usual_answer_with_length(make_provider, http_kit):
    provider = make_provider()
    form = http_kit.json_schema(http_kit.schema)
    whole = http_kit.ask(provider, response_format=form).content
    provider.script(Truncated(), Truncated(share=1.0), Truncated(share=0))
    half, all_of_it, nothing = (http_kit.ask(provider, response_format=form) for _ in range(3))
    assert half.content == whole[: len(whole) // 2]
    assert (all_of_it.content, nothing.content) == (whole, "")
    assert {got.choice["finish_reason"] for got in (half, all_of_it, nothing)} == {"length"}


def test_refusal_filter_and_emptiness_have_their_own_marks(make_provider, http_kit):
    provider = make_provider()
    provider.script(Refusal("no"), Filtered(), Empty(), NoChoices())
    refused, filtered, empty, without = (http_kit.ask(provider) for _ in range(4))
    assert refused.choice["message"] == {"role": "assistant", "content": None, "refusal": "no"}
    assert (filtered.choice["finish_reason"], filtered.content) == ("content_filter", None)
    assert (empty.choice["finish_reason"], empty.content) == ("stop", "")
    assert without.body["choices"] == []


def test_keys_can_be_left_out_wherever_they_stand(make_provider, http_kit):
    provider = make_provider()
    provider.script(Without("usage", "refusal", "finish_reason"))
    got = http_kit.ask(provider)
    assert "usage" not in got.body
    assert "finish_reason" not in got.choice
    assert "refusal" not in got.choice["message"]
    assert got.content


def test_a_bad_body_is_a_200_that_is_no_json(make_provider, http_kit):
    provider = make_provider()
    provider.script(BadBody())
    got = http_kit.ask(provider)
    assert got.status == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(got.text)


def test_html_is_a_page(make_provider, http_kit):
    provider = make_provider()
    provider.script(Html(), Html(502))
    page, gateway = http_kit.ask(provider), http_kit.ask(provider)
    assert (page.status, gateway.status) == (200, 502)
    assert page.headers["content-type"].startswith("text/html")


def test_a_cut_ends_within_the_body_and_a_reset_before_it(make_provider, http_kit):
    provider = make_provider()
    provider.script(Cut(), Reset())
    with pytest.raises(http.client.IncompleteRead):
        http_kit.ask(provider)
    with pytest.raises(ConnectionResetError):
        http_kit.ask(provider)
    provider.wait_idle()
    assert (provider.requests, provider.closed_in_flight, provider.statuses) == (2, 0, {})


@pytest.mark.parametrize("step", [Hang(), Drip(0.01), Delay(3600), Delay(0.01, Hang())], ids=repr)
def test_who_never_answers_is_in_flight_until_the_client_leaves(make_provider, step):
    provider = make_provider()
    provider.script(step)
    port = provider.start()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/v1/chat/completions", '{"messages": [{"role": "user", "content": "x"}]}')
    provider.wait_in_flight(1)
    if isinstance(step, Drip):
        assert connection.getresponse().read(2) == b"  "
    connection.close()
    provider.wait_closed(1)
    assert (provider.in_flight, provider.closed_in_flight) == (0, 1)


def test_a_delay_holds_its_own_answer_back_and_no_other(make_provider, http_kit, crowd):
    provider = make_provider()
    provider.when("slow", Delay(3600, Text("late")))
    late = crowd.submit(http_kit.ask, provider, "slow")
    provider.wait_in_flight(1)
    assert http_kit.ask(provider, "quick").status == 200
    assert not late.done()
    provider.close()
    assert isinstance(late.exception(), OSError)


def test_an_object_and_a_rule_without_steps(make_provider, http_kit):
    provider = make_provider()
    provider.always(Object([1, 2]))
    assert http_kit.ask(provider).object == [1, 2]
    with pytest.raises(UsageError, match="has no step"):
        provider.when("x")
