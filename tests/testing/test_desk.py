from __future__ import annotations

from llmframe.testing import Status, Text


def test_routes_beside_the_chat_are_few(make_provider, http_kit):
    provider = make_provider()
    listed = http_kit.call(provider, "GET", "/models").body
    assert listed["object"] == "list"
    assert {model["object"] for model in listed["data"]} == {"model"}
    assert http_kit.call(provider, "GET", "/models/some/name").body["id"] == "some/name"
    assert http_kit.call(provider, "POST", "/moderations", "{}").status == 404
    assert provider.requests == 0


def test_the_answer_function_gives_text_objects_steps_or_the_usual(make_provider, http_kit):
    given = {"text": "plain", "object": {"label": "x"}, "step": Status(418), "usual": None, "list": [1]}
    provider = make_provider(answer=lambda prompt, request: given[prompt])
    assert http_kit.ask(provider, "text").content == "plain"
    assert http_kit.ask(provider, "object").object == {"label": "x"}
    assert http_kit.ask(provider, "list").object == [1]
    assert http_kit.ask(provider, "step").status == 418
    assert http_kit.ask(provider, "usual").content.startswith("answer ")


def test_the_answer_function_sees_the_request_and_comes_after_scripted_steps(make_provider, http_kit):
    provider = make_provider(answer=lambda prompt, request: request["model"])
    provider.script(Text("scripted"))
    assert [http_kit.ask(provider).content for _ in range(2)] == ["scripted", "m"]


def test_a_fault_in_the_tests_own_function_is_an_answer_that_is_not_retried(make_provider, http_kit):
    provider = make_provider(answer=lambda prompt, request: 1 / 0)
    got = http_kit.ask(provider)
    assert (got.status, got.error["code"]) == (400, "testing")
    assert "ZeroDivisionError" in got.error["message"]


def test_a_schema_without_a_finite_value_is_a_400(make_provider, http_kit):
    form = http_kit.json_schema({"$ref": "#/nowhere"})
    assert http_kit.ask(make_provider(), response_format=form).status == 400


def test_a_body_that_is_no_json_is_a_400(make_provider, http_kit):
    provider = make_provider()
    assert http_kit.call(provider, "POST", "/chat/completions", "{").status == 400
    assert (provider.requests, provider.bodies, provider.prompts) == (1, [{}], [""])


def test_the_limit_answers_429_with_headers_and_takes_no_scripted_step(make_provider, http_kit):
    provider = make_provider(requests_per_minute=0.001)  # one, and the next after 60,000 s
    provider.script(Text("one"), Text("two"))
    first, second = http_kit.ask(provider), http_kit.ask(provider)
    assert (first.content, first.headers["x-ratelimit-remaining-requests"]) == ("one", "0")
    assert (second.status, second.error["code"]) == (429, "rate_limit_exceeded")
    assert 59_000 < float(second.headers["retry-after"]) <= 60_000  # less what has passed since the first
    provider.reset(script=False)
    assert http_kit.ask(provider).content == "two"


def test_a_token_limit_charges_prompt_and_output_limit(make_provider, http_kit):
    # 60 tokens a minute hold 1; the request costs 4 + 1 + 5,000 and leaves a debt of 5,004 for 5,005 s.
    provider = make_provider(tokens_per_minute=60)
    assert http_kit.ask(provider, "four", max_tokens=5_000).status == 200
    got = http_kit.ask(provider, "four", max_tokens=5_000)
    assert got.status == 429
    assert 4_900 < float(got.headers["retry-after"]) <= 5_005  # less what has passed since the first


def test_the_latency_may_depend_on_the_prompt(make_provider, http_kit, crowd):
    provider = make_provider(latency=lambda prompt: 3600.0 if prompt == "slow" else 0.0)
    slow = crowd.submit(http_kit.ask, provider, "slow")
    provider.wait_in_flight(1)
    assert http_kit.ask(provider, "quick").status == 200
    assert (provider.prompts, provider.in_flight, slow.done()) == (["slow", "quick"], 1, False)
    provider.close()
    assert isinstance(slow.exception(), OSError)
