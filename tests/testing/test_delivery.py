"""How far an answer gets, and when its pieces come."""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import Any

import pytest

from llmframe.testing import Cut, Delay, Drip, Hang, Html, Provider, Reset, Stall, Status, Step, Text, run_in_fake_time

BODY: dict[str, Any] = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}


async def pieces(provider: Provider, *, whole_after: float = 60, **more: Any) -> list[tuple[float, bytes]]:
    """What a connection brings, and when, until its end or for `whole_after` seconds."""
    loop, seen = asyncio.get_running_loop(), list[tuple[float, bytes]]()
    reader, writer = await asyncio.open_connection("127.0.0.1", provider.start())
    data = json.dumps({**BODY, "messages": [{"role": "user", "content": "x"}], **more}).encode()
    began = loop.time()
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
    try:
        async with asyncio.timeout(whole_after):
            while data := await reader.read(1 << 16):
                seen.append((round(loop.time() - began, 6), data))
    except TimeoutError:
        pass
    except ConnectionResetError:
        seen.append((round(loop.time() - began, 6), b"reset"))
    writer.close()
    return seen


def collect(step: Step | None, *, until: float = 60, latency: float = 0.0, between: float = 0.0, **more: Any):
    """The pieces that come under a step, and the provider."""
    provider = Provider(latency=latency, piece_latency=between)
    provider.always(step)

    async def main() -> list[tuple[float, bytes]]:
        async with provider.serving():
            return await pieces(provider, whole_after=until, **more)

    return run_in_fake_time(main()), provider


def test_the_first_piece_has_the_latency_and_each_other_one_its_own():
    # Role, two pieces of 10 characters, reason, usage, [DONE]: five times 0.25 s after the first.
    seen, provider = collect(Text("0123456789"), latency=2, between=0.25)
    assert [at for at, _ in seen] == [2, 2.25, 2.5, 2.75, 3, 3.25]
    assert [b'"role"' in data for _, data in seen] == [True, *[False] * 5]
    assert seen[-1][1].endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    assert (provider.in_flight, provider.statuses) == (0, {200: 1})


def test_a_stream_is_in_flight_until_its_last_piece():
    provider = Provider(piece_latency=10)

    async def main() -> list[int]:
        async with provider.serving():
            job = asyncio.ensure_future(pieces(provider, whole_after=35))
            seen = []
            for _ in range(4):
                await asyncio.sleep(9)
                seen.append(provider.in_flight)
            await job
            await asyncio.sleep(1)
            return [*seen, provider.in_flight]

    # The client leaves after 35 s of a stream of 60.
    assert run_in_fake_time(main()) == [1, 1, 1, 0, 0]
    assert (provider.closed_in_flight, provider.prompt_tokens, provider.statuses) == (1, 0, {})


@pytest.mark.parametrize("between", [0.0, 1.0])
def test_a_stall_is_silence_after_some_pieces(between):
    seen, provider = collect(Stall(after=2), between=between)
    text = b"".join(data for _, data in seen)
    assert text.count(b"data: ") == 1 + 2
    assert b"[DONE]" not in text
    assert seen[-1][0] == 2 * between
    assert provider.closed_in_flight == 1


def test_a_stall_may_be_kept_alive_by_comments():
    seen, _ = collect(Stall(after=0, ping=15), until=50)
    assert [at for at, _ in seen] == [0, 15, 30, 45]
    assert seen[0][1].count(b"data: ") == 1
    assert {data for _, data in seen[1:]} == {b"8\r\n: ping\n\n\r\n"}


def test_a_drip_of_a_stream_is_comments_alone():
    seen, _ = collect(Drip(20), until=50)
    assert [at for at, _ in seen] == [0, 20, 40]
    assert b"data: " not in b"".join(data for _, data in seen)


def test_a_cut_breaks_off_within_a_piece_and_a_clean_one_between_two():
    broken, provider = collect(Cut())
    clean, tidy = collect(Cut(clean=True), until=1)
    for seen in (broken, clean):
        text = b"".join(data for _, data in seen)
        assert b"data: " in text
        assert b'finish_reason": "' not in text
        assert b"[DONE]" not in text
    assert not broken[-1][1].endswith(b"\r\n")
    assert clean[-1][1].endswith(b"0\r\n\r\n")
    assert (provider.statuses, tidy.statuses) == ({}, {200: 1})
    assert (provider.prompt_tokens, tidy.prompt_tokens) == (0, 0)


def test_what_goes_wrong_before_the_first_piece_is_plain_http():
    head, _ = collect(Status(503), until=1)
    assert head[0][1].startswith(b"HTTP/1.1 503 ")
    assert b"event-stream" not in head[0][1]
    assert b"text/html" in collect(Html(), until=1)[0][0][1]
    assert collect(Hang())[0] == []
    assert collect(Reset())[0] == [(0, b"reset")]
    assert [at for at, _ in collect(Delay(5, Text("x")), until=6)[0]] == [5]


def test_without_a_stream_a_stall_has_half_of_the_body_and_a_clean_cut_is_bad_json(make_provider, http_kit):
    seen, _ = collect(Stall(ping=20), until=50, stream=False, stream_options=None)
    length = int(seen[0][1].lower().partition(b"content-length: ")[2].partition(b"\r")[0])
    body = seen[0][1].partition(b"\r\n\r\n")[2]
    assert len(body) == length - length // 2
    assert [(at, data) for at, data in seen[1:]] == [(20, b" "), (40, b" ")]
    provider = make_provider()
    provider.script(Cut(clean=True), Cut())
    with pytest.raises(json.JSONDecodeError):
        http_kit.ask(provider).body  # noqa: B018 - parses
    with pytest.raises(http.client.IncompleteRead):
        http_kit.ask(provider)
    assert provider.statuses == {200: 1}
