from __future__ import annotations

import asyncio
import copy
import json
import pickle
import socket
import subprocess
import sys
from concurrent.futures import as_completed

import openai
import pytest

from llmframe.testing import Hang, Provider, Status, Text


def test_it_starts_when_its_address_is_read_and_ends_with_the_block():
    provider = Provider()
    assert repr(provider) == "<Provider not started: 0 requests, 0 in flight>"
    with provider:
        url = provider.base_url
        assert url == provider.base_url
        assert repr(provider) == f"<Provider {url}: 0 requests, 0 in flight>"
        assert provider.api_key not in repr(provider)
    provider.close()
    assert "not started" in repr(provider)


def test_it_can_start_again_after_its_end(make_provider, http_kit):
    provider = make_provider()
    http_kit.ask(provider)
    provider.close()
    http_kit.ask(provider)
    assert provider.requests == 2


def test_each_row_gets_its_own_answer_whatever_the_order(make_provider, http_kit, crowd):
    provider = make_provider()
    form = http_kit.json_schema(http_kit.schema)
    got = list(crowd.map(lambda i: http_kit.ask(provider, f"About row-{i}", response_format=form), range(40)))
    assert [one.object["echo"] for one in got] == [f"row-{i}" for i in range(40)]
    assert {one.object["label"] for one in got} == {"positive", "negative"}
    assert sorted(provider.prompts) == sorted(f"About row-{i}" for i in range(40))


def test_equal_prompts_get_equal_answers_from_any_provider(make_provider, http_kit):
    form = http_kit.json_schema(http_kit.schema)
    answers = {http_kit.ask(make_provider(), "same", response_format=form).content for _ in range(3)}
    assert len(answers) == 1


def test_answers_are_withheld_until_released(make_provider, http_kit, crowd):
    provider = make_provider()
    provider.hold()
    futures = [crowd.submit(http_kit.ask, provider, f"row-{i}") for i in range(5)]
    provider.wait_in_flight(5)
    assert (provider.in_flight, provider.max_in_flight) == (5, 5)
    assert not any(future.done() for future in futures)
    provider.release(2)
    done = as_completed(futures, timeout=60)
    assert [next(done).result().status for _ in range(2)] == [200, 200]
    assert provider.in_flight == 3
    provider.release()
    assert {future.result().status for future in futures} == {200}
    provider.wait_idle()
    assert (provider.in_flight, provider.max_in_flight) == (0, 5)


def test_faults_are_withheld_too(make_provider, http_kit, crowd):
    provider = make_provider()
    provider.always(Status(500))
    provider.hold()
    future = crowd.submit(http_kit.ask, provider)
    provider.wait_requests(1)
    assert not future.done()
    provider.release()
    assert future.result().status == 500


def test_a_client_that_leaves_is_counted_and_its_answer_is_dropped(make_provider, http_kit):
    provider = make_provider()
    provider.hold()

    async def leave() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", provider.start())
        body = json.dumps({"messages": [{"role": "user", "content": "x"}]}).encode()
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        await asyncio.to_thread(provider.wait_in_flight, 1)
        writer.close()
        await writer.wait_closed()

    asyncio.run(leave())
    provider.wait_closed(1)
    provider.release()
    provider.wait_idle()
    assert (provider.closed_in_flight, provider.statuses, provider.connections) == (1, {}, 0)


def test_closing_the_provider_is_not_a_client_that_left(make_provider, http_kit, crowd):
    provider = make_provider()
    provider.hold()
    future = crowd.submit(http_kit.ask, provider)
    provider.wait_in_flight(1)
    provider.close()
    assert isinstance(future.exception(), OSError)
    assert (provider.in_flight, provider.closed_in_flight) == (0, 0)


def test_an_outage_has_reset_every_connection_when_it_begins(make_provider):
    provider = make_provider()
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", provider.start()), timeout=60) as client:
            client.sendall(b"GET /v1/models HTTP/1.1\r\n\r\n")
            assert client.recv(12) == b"HTTP/1.1 200"
            provider.down()
            assert provider.connections == 0
            with pytest.raises(ConnectionResetError):
                list(iter(lambda: client.recv(1 << 16), b""))
            provider.up()


def test_an_outage_behind_a_gateway_resets_what_is_under_way_and_keeps_idle_connections(make_provider, http_kit, crowd):
    provider = make_provider()
    provider.when("row-1", Hang())
    with socket.create_connection(("127.0.0.1", provider.start()), timeout=60) as idle:
        idle.sendall(b"GET /v1/models HTTP/1.1\r\n\r\n")
        while not idle.recv(1 << 16).endswith(b"]}"):
            pass
        future = crowd.submit(http_kit.ask, provider, "row-1")
        provider.wait_in_flight(1)
        provider.down(Status(503))
        assert isinstance(future.exception(), OSError)
        assert (provider.connections, provider.closed_in_flight) == (1, 0)
        body = b'{"model": "m", "messages": [{"role": "user", "content": "row-2"}]}'
        idle.sendall(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        assert idle.recv(12) == b"HTTP/1.1 503"


def test_reset_forgets_counts_and_steps_or_counts_alone(make_provider, http_kit):
    provider = make_provider()
    provider.always(Text("standing"))
    http_kit.ask(provider)
    provider.reset(script=False)
    assert (provider.requests, provider.prompts, provider.statuses) == (0, [], {})
    assert http_kit.ask(provider).content == "standing"
    provider.reset()
    assert http_kit.ask(provider).content != "standing"


def test_rules_and_the_standing_step_reach_the_wire(make_provider, http_kit):
    provider = make_provider()
    provider.when("row-2", Status(400, "context_length_exceeded"))
    provider.when("row", Status(503), times=1, per_prompt=True)
    statuses = [http_kit.ask(provider, f"row-{i}").status for i in (1, 1, 2, 2, 3, 3)]
    assert statuses == [503, 200, 400, 400, 503, 200]


def test_it_is_neither_pickled_nor_copied(make_provider):
    for refused in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="base_url and api_key"):
            refused(make_provider())


def test_a_provider_that_is_left_open_does_not_keep_the_process():
    code = "from llmframe.testing import Provider, Hang; p = Provider(); print(p.base_url)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.startswith("http://127.0.0.1:")


def test_the_openai_sdk_understands_its_answers_and_errors(make_provider, http_kit):
    provider = make_provider()
    with openai.OpenAI(base_url=provider.base_url, api_key=provider.api_key, max_retries=0) as client:
        completion = client.chat.completions.create(
            model="gpt-x",
            messages=[{"role": "user", "content": "row-3"}],
            tools=[http_kit.function("Answer", http_kit.schema)],  # type: ignore[list-item]
            tool_choice={"type": "function", "function": {"name": "Answer"}},
        )
        call = completion.choices[0].message.tool_calls[0]  # type: ignore[index]
        assert call.function.name == "Answer"  # type: ignore[union-attr]
        assert json.loads(call.function.arguments)["echo"] == "row-3"  # type: ignore[union-attr]
        assert completion.model == "gpt-x"
        assert completion.usage is not None
        assert completion.usage.total_tokens > 0
        assert [model.id for model in client.models.list()]
        provider.script(Status(429, "insufficient_quota", "You exceeded your quota"))
        with pytest.raises(openai.RateLimitError) as caught:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
        assert caught.value.code == "insufficient_quota"
