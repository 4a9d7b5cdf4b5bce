"""The embedded model, started for real and asked through the OpenAI client."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from llmframe.clients import local, open_client
from llmframe.clients.local import Embedded, embedded
from llmframe.core.reply import Reply
from llmframe.core.schema import schema_of
from llmframe.errors import LlmframeWarning, UsageError

# Without the extra or its weights these tests fail: a skip would hide an install step that is missing.
pytestmark = pytest.mark.local_model

LABELS = ["positive", "negative"]
FORMAT: Any = {
    "type": "json_schema",
    "json_schema": {
        "name": "row",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"label": {"type": "string", "enum": LABELS}},
            "required": ["label"],
            "additionalProperties": False,
        },
    },
}
EXAMPLES: list[Any] = [
    {"role": "user", "content": "Great sound and it lasts all day."},
    {"role": "assistant", "content": '{"label": "positive"}'},
    {"role": "user", "content": "The food was cold and the waiter was rude."},
    {"role": "assistant", "content": '{"label": "negative"}'},
]


@pytest.fixture(scope="module")
def model() -> Iterator[Embedded]:
    found = embedded("smollm2-135m")
    yield found
    found.close()


def ask(model: Embedded, *contents: Any, api_key: str | None = None, **request: Any) -> list[Any]:
    """One answer a content, all asked at once."""
    base_url, key = model.start()

    async def all_of_them() -> list[Any]:
        async with openai.AsyncOpenAI(base_url=base_url, api_key=api_key or key, max_retries=0) as client:
            return await asyncio.gather(
                *(
                    client.chat.completions.create(
                        model=model.alias,
                        messages=[*request.get("before", []), {"role": "user", "content": content}],
                        temperature=0,
                        **{name: value for name, value in request.items() if name != "before"},
                    )
                    for content in contents
                )
            )

    return asyncio.run(all_of_them())


def run_python(code: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False, **options
    )


def test_labels_are_enforced_and_usage_is_told(model: Embedded):
    texts = ["I love this phone.", "Is it Tuesday?", "{"]
    for answer in ask(model, *texts, before=EXAMPLES, response_format=FORMAT, max_tokens=60):
        assert json.loads(answer.choices[0].message.content)["label"] in LABELS
        assert answer.choices[0].finish_reason == "stop"
        assert answer.usage.prompt_tokens > 0
        assert answer.usage.completion_tokens > 0
        assert answer.model == "smollm2-135m"


def test_plain_reviews_get_their_label(model: Embedded):
    good, bad = ask(
        model, "Excellent, I love it.", "Terrible, a waste of money.", before=EXAMPLES, response_format=FORMAT
    )
    assert json.loads(good.choices[0].message.content) == {"label": "positive"}
    assert json.loads(bad.choices[0].message.content) == {"label": "negative"}


def test_free_text_has_an_end_with_and_without_examples(model: Embedded):
    capitals: list[Any] = [
        message
        for country, city in (("France", "Paris"), ("Spain", "Madrid"), ("Norway", "Oslo"))
        for message in (
            {"role": "user", "content": f"What is the capital of {country}?"},
            {"role": "assistant", "content": city},
        )
    ]
    (shown,) = ask(model, "What is the capital of Italy?", before=capitals)
    assert shown.choices[0].message.content.strip() == "Rome"
    (bare,) = ask(model, "What is the capital of Italy?")
    assert "Rome" in bare.choices[0].message.content
    assert bare.choices[0].finish_reason == "stop"


def test_an_answer_cut_by_max_tokens_says_length_and_is_no_json(model: Embedded):
    (cut,) = ask(model, "I love it.", before=EXAMPLES, response_format=FORMAT, max_tokens=3)
    assert cut.choices[0].finish_reason == "length"
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut.choices[0].message.content)


def test_tools_are_ignored_in_silence_even_when_required(model: Embedded):
    tool = {"type": "function", "function": {"name": "row", "parameters": FORMAT["json_schema"]["schema"]}}
    (answer,) = ask(model, "I love it.", tools=[tool], tool_choice="required", max_tokens=12)
    assert not answer.choices[0].message.tool_calls


async def test_a_streamed_answer_is_the_answer_in_one_piece(model: Embedded):
    replies: list[Reply] = []
    for stream in (True, False):
        client = open_client(
            model=f"local/{model.alias}",
            base_url=None,
            api_key=None,
            client=None,
            params={"stream": stream, "max_tokens": 20, "temperature": 0, "seed": 1},
            schema=schema_of(bool),
            output_mode="json_schema",
        )
        await client.start()
        replies.append(await client.send([{"role": "user", "content": "Praise? I love it"}], client.dialects[0]))
        await client.close()
    streamed, whole = replies
    assert streamed.text == whole.text
    assert streamed.usage.output_tokens == whole.usage.output_tokens
    assert streamed.finish_reason == whole.finish_reason


def test_a_prompt_beyond_the_context_is_refused_with_its_code(model: Embedded):
    with pytest.raises(openai.BadRequestError, match="exceed_context_size_error"):
        ask(model, "word " * (local.CONTEXT + 100), max_tokens=1)


def test_a_wrong_key_is_refused(model: Embedded):
    with pytest.raises(openai.AuthenticationError):
        ask(model, "I love it.", api_key="another")


def test_pages_of_a_browser_get_neither_a_page_nor_a_cross_origin_answer(model: Embedded):
    base_url, key = model.start()
    root = base_url.removesuffix("/v1")
    headers = {"Authorization": f"Bearer {key}", "Origin": "http://elsewhere.example"}
    assert base_url.startswith("http://127.0.0.1:")
    assert httpx2.get(root + "/", headers=headers).status_code == 404
    assert httpx2.get(root + "/slots", headers=headers).status_code != 200
    assert not httpx2.get(base_url + "/models", headers=headers).headers.get("access-control-allow-origin")


def test_starts_at_once_from_many_threads_share_one_server(model: Embedded):
    model.close()
    starts: list[tuple[str, str]] = []
    threads = [threading.Thread(target=lambda: starts.append(embedded("smollm2-135m").start())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(starts) == 4
    assert len(set(starts)) == 1


def test_closing_ends_a_request_in_flight_and_the_next_start_has_another_key(model: Embedded):
    before = model.start()
    with openai.OpenAI(base_url=before[0], api_key=before[1], max_retries=0) as client:
        story = client.chat.completions.create(
            model=model.alias,
            messages=[{"role": "user", "content": "Write a long story."}],
            max_tokens=1500,
            stream=True,
            extra_body={"ignore_eos": True},  # however the story is drawn, it doesn't end by itself
        )
        next(story)  # on its way
        model.close()
        with pytest.raises((openai.APIError, httpx2.HTTPError)):
            list(story)
    model.close()
    assert model.start()[1] != before[1]


def test_a_server_that_died_is_replaced(model: Embedded):
    before = model.start()
    server = local._running.servers[model.source, model.chat_template]
    server.process.kill()
    server.process.wait()
    assert model.start() != before


def test_identity_is_the_same_in_every_process_and_changes_with_the_chat_template(model: Embedded):
    code = "from llmframe.clients.local import embedded; print(embedded('smollm2-135m').identity)"
    assert run_python(code).stdout.strip() == model.identity
    assert model.identity.startswith("embedded:")
    assert len(model.identity) == len("embedded:") + 64
    assert replace(model, chat_template="{{ messages[0].content }}").identity != model.identity


def test_identity_follows_the_file(tmp_path: Path):
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF one")
    first = embedded(str(path)).identity
    path.write_bytes(b"GGUF three")
    assert embedded(str(path)).identity != first


def test_finding_a_model_imports_no_llama_and_starts_nothing():
    code = (
        "import sys; from llmframe.clients import local; local.embedded('smollm2-135m')\n"
        "print('xllamacpp' in sys.modules, len(local._running.servers))"
    )
    assert run_python(code).stdout.split() == ["False", "0"]


def test_nothing_is_printed_and_the_server_ends_with_a_process_that_leaves_a_request_in_flight(tmp_path: Path):
    code = """
import json, os, urllib.request
from llmframe.clients import local
model = local.embedded("smollm2-135m")
url, key = model.start()
with open(os.environ["NOTE"], "w") as note:
    note.write(str(local._running.servers[model.source, model.chat_template].process.pid))
story = {"messages": [{"role": "user", "content": "Write a long story."}], "max_tokens": 1500, "stream": True}
headers = {"Content-Type": "application/json", "Authorization": "Bearer " + key}
answer = urllib.request.urlopen(urllib.request.Request(url + "/chat/completions", json.dumps(story).encode(), headers))
assert answer.readline()
"""
    note = tmp_path / "pid"
    done = run_python(code, env={**os.environ, "NOTE": str(note)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_starts_its_own_server_and_leaves_its_parents_alone():
    code = """
import os, sys
from llmframe.clients.local import embedded
model = embedded("smollm2-135m")
parent = model.start()
pid = os.fork()
if pid == 0:
    child = model.start()
    sys.exit(0 if child != parent else 3)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
import urllib.request
assert model.start() == parent
print(urllib.request.urlopen(parent[0].removesuffix("/v1") + "/health").status)
"""
    done = run_python(code)
    assert done.stderr == ""
    assert done.stdout.split() == ["200"]


def test_weights_that_llama_cannot_load_are_told_with_its_reason(tmp_path: Path):
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 40)
    with pytest.raises(UsageError, match=r"can't serve '.*broken\.gguf': .*(load|read|version|bad)"):
        embedded(str(path)).start()


def test_terms_of_use_are_named_once_a_process(model: Embedded):
    bound = replace(model, terms="Provided under the terms of this test.")
    with pytest.warns(LlmframeWarning, match="smollm2-135m: Provided under the terms of this test"):
        bound.start()
    bound.start()  # warnings are errors here: a second one would fail
