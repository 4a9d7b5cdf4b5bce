"""Calls of the batch service: how lines go up and results come down."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmframe.clients import open_client
from llmframe.clients.anthropic_calls import PIECE_BYTES, AnthropicCalls, _body
from llmframe.clients.base import RequestError
from llmframe.clients.instructor import InstructorClient
from llmframe.core.schema import schema_of
from llmframe.errors import StoreError
from llmframe.testing import AnthropicProvider


def request(custom_id: str, text: str = "fine") -> bytes:
    params = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}
    return json.dumps({"custom_id": custom_id, "params": params}).encode()


@pytest.fixture
def provider() -> Iterator[AnthropicProvider]:
    with AnthropicProvider() as made:
        yield made


@pytest.fixture
async def calls(provider: AnthropicProvider, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AnthropicCalls]:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
    options: dict[str, Any] = {"base_url": None, "client": None, "params": {}, "output_mode": "auto"}
    client = open_client(**options, model="anthropic/claude-test", api_key=provider.api_key, schema=schema_of(None))
    assert isinstance(client, InstructorClient)
    await client.start()
    yield AnthropicCalls(client)
    await client.close()


@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=5),
    blank=st.sampled_from([b"", b"\n", b"  \n", b"\r\n"]),
    last=st.booleans(),
)
def test_a_body_holds_every_line_once_in_order(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], blank: bytes, *, last: bool
):
    path = tmp_path_factory.mktemp("lines") / "lines.jsonl"
    lines = [request(f"a-{at}", text) for at, text in enumerate(texts)]
    path.write_bytes(blank + (b"\n" + blank).join(lines) + (b"\n" if last else b""))
    body = json.loads(b"".join(_body(path)))
    assert body == {"requests": [json.loads(line) for line in lines]}


async def test_a_large_body_goes_out_in_pieces(provider: AnthropicProvider, calls: AnthropicCalls, tmp_path: Path):
    path = tmp_path / "lines.jsonl"
    text = "ü" * 10_000
    path.write_bytes(b"\n".join(request(f"a-{at}", text) for at in range(500)))  # 500 × 60 kB of escapes: 30 MB
    assert path.stat().st_size > 25 * PIECE_BYTES
    largest = max(len(piece) for piece in _body(path))
    assert largest < 2 * PIECE_BYTES
    provider._desk.shelf.create = lambda body: taken.append(len(body)) or provider._desk.shelf.get("none")  # type: ignore[method-assign, func-returns-value]
    taken: list[int] = []
    with pytest.raises(RequestError):
        await calls.create(path)
    assert taken == [sum(len(piece) for piece in _body(path))], "its length was announced, and it arrived whole"


def test_a_body_never_stands_in_memory(tmp_path: Path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"\n".join([request("a", "x" * 100_000)] * 200))
    tracemalloc.start()
    size = sum(map(len, _body(path)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 20_000_000
    assert peak < 6 * PIECE_BYTES


async def test_a_file_that_isnt_there_is_told_before_anything_is_sent(
    provider: AnthropicProvider, calls: AnthropicCalls, tmp_path: Path
):
    with pytest.raises(StoreError, match=r"file 'lines\.jsonl' of a batch can't be used: No such file"):
        await calls.create(tmp_path / "lines.jsonl")
    assert provider.calls.total() == 0


async def test_results_that_cant_be_written_are_the_places_fault(calls: AnthropicCalls, tmp_path: Path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(request("a"))
    made = await calls.create(path)
    await calls.get(f"/{made['id']}")
    with pytest.raises(StoreError, match="No such file"):
        await calls.download(f"/{made['id']}/results", tmp_path / "absent" / "results.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux' disk that is always full")
async def test_results_that_have_no_room_are_told_however_few_they_are(calls: AnthropicCalls, tmp_path: Path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(request("a"))
    made = await calls.create(path)
    await calls.get(f"/{made['id']}")
    (tmp_path / "results.jsonl.part").symlink_to("/dev/full")
    with pytest.raises(StoreError) as caught:
        await calls.download(f"/{made['id']}/results", tmp_path / "results.jsonl")
    assert caught.value.reason == "full"


async def test_the_first_line_is_read_alone(provider: AnthropicProvider, calls: AnthropicCalls, tmp_path: Path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(request("a") + b"\n" + request("b"))
    made = await calls.create(path)
    await calls.get(f"/{made['id']}")
    provider.mangle(lambda lines: [b"\n", *lines])
    assert json.loads(await calls.first_line(f"/{made['id']}/results"))["custom_id"] == "a"
    provider.mangle(lambda lines: [lines[1].rstrip()])
    assert json.loads(await calls.first_line(f"/{made['id']}/results"))["custom_id"] == "b", "without a line end, too"
    provider.mangle(lambda _lines: [])
    assert await calls.first_line(f"/{made['id']}/results") == b""


async def test_what_the_service_says_of_a_wrong_batch_is_told(calls: AnthropicCalls, tmp_path: Path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(request("a b"))
    with pytest.raises(RequestError, match=r"bad_request: BadRequestError 400.*custom_id: String should match"):
        await calls.create(path)
    path.write_bytes(b"\n")
    with pytest.raises(RequestError, match="at least 1 item"):
        await calls.create(path)
