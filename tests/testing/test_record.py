from __future__ import annotations

import pytest


def test_what_was_asked_is_kept_in_order_of_arrival(make_provider, http_kit):
    provider = make_provider()
    http_kit.ask(provider, "first", temperature=0)
    http_kit.ask(provider, "second", key="sk-mine")
    assert provider.prompts == ["first", "second"]
    assert provider.bodies[0]["temperature"] == 0
    assert provider.headers[1]["authorization"] == "Bearer sk-mine"
    assert provider.statuses == {200: 2}


def test_tokens_are_the_sum_of_the_usage_that_was_told(make_provider, http_kit):
    provider = make_provider()
    usages = [http_kit.ask(provider, prompt).body["usage"] for prompt in ("a", "b" * 100)]
    assert provider.prompt_tokens == sum(usage["prompt_tokens"] for usage in usages)
    assert provider.completion_tokens == sum(usage["completion_tokens"] for usage in usages)
    assert all(usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] for usage in usages)


def test_nothing_is_kept_when_recording_is_off(make_provider, http_kit):
    provider = make_provider(record=False)
    http_kit.ask(provider)
    assert (provider.requests, provider.prompts, provider.bodies, provider.headers) == (1, [], [], [])


def test_a_wait_that_fails_tells_what_is_there(make_provider):
    provider = make_provider()
    for wait, goal in (
        (lambda: provider.wait_requests(2, timeout=0.01), "2 requests"),
        (lambda: provider.wait_in_flight(1, timeout=0.01), "1 in flight"),
        (lambda: provider.wait_closed(timeout=0.01), "1 closed in flight"),
    ):
        with pytest.raises(TimeoutError, match=f"waited 0.01 s for {goal}; now 0 requests, 0 in flight"):
            wait()
    provider.wait_idle(timeout=0.01)


def test_lists_and_counts_are_copies(make_provider, http_kit):
    provider = make_provider()
    http_kit.ask(provider)
    provider.prompts.clear()
    provider.bodies.clear()
    provider.statuses.clear()
    assert (provider.prompts, len(provider.bodies), provider.statuses) == (["row-1: fine"], 1, {200: 1})
