"""One suite over every provider's batches: whoever runs them, the port's promises are the same."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from pydantic import BaseModel

from llmframe.clients import open_client
from llmframe.clients.base import Client, RequestError
from llmframe.clients.batch import Batches, BatchState, LineResult, UndecidedError
from llmframe.clients.opening_batch import open_batches
from llmframe.clients.refusals import transient
from llmframe.core.reply import Reply
from llmframe.core.schema import schema_of
from llmframe.errors import UsageError
from llmframe.testing import (
    AnthropicProvider,
    BadBody,
    Cut,
    Html,
    Provider,
    Refusal,
    Reset,
    Results,
    Status,
    Step,
    Text,
    Truncated,
)

LONGEST_WAIT = 20
"""Looks at a batch until it must have ended."""


class Label(BaseModel):
    echo: str
    label: Literal["pos", "neg"]


LABEL = schema_of(Label)
Call = Literal["upload", "create", "state", "list", "results", "cancel"]


class OpenAIStage:
    """OpenAI's batches on the simulated provider."""

    name = "openai"
    steps: ClassVar[dict[Call, str]] = {"results": "output"}

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.provider = Provider()
        self.key = self.provider.api_key

    def client(self, **options: Any) -> Client:
        return opened(client=self.provider, model="m", **options)

    def asked(self, line: bytes) -> Any:
        return json.loads(line)["body"]

    def fault(self, call: Call, step: Step, *, lost: bool = False) -> None:
        self.provider.batches.fault(self.steps.get(call, call), step, lost=lost)  # type: ignore[arg-type]

    def hold(self) -> None:
        self.provider.batches.hold(0.5)

    def finish(self) -> None:
        self.provider.batches.finish()

    def expires(self) -> None:
        """The next batch runs out of time when half of it is done."""
        self.provider.batches.ends("expired", done=0.5)

    def writes(self, results: Results) -> None:
        self.provider.batches.returns(results)

    def forgets(self, state: BatchState) -> None:
        self.provider.batches.lose_files()

    @property
    def made(self) -> int:
        return self.provider.batches.created


class AnthropicStage:
    """Anthropic's on its double."""

    name = "anthropic"
    steps: ClassVar[dict[Call, str]] = {"state": "retrieve"}

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.provider = AnthropicProvider(done_before_cancel=2)
        self.key = self.provider.api_key
        monkeypatch.setenv("ANTHROPIC_BASE_URL", self.provider.url)

    def client(self, **options: Any) -> Client:
        return opened(model="anthropic/claude-test", api_key=self.key, **options)

    def asked(self, line: bytes) -> Any:
        return json.loads(line)["params"]

    def fault(self, call: Call, step: Step, *, lost: bool = False) -> None:
        self.provider.fail(self.steps.get(call, call), step, after=lost)  # type: ignore[arg-type]

    def hold(self) -> None:
        self.provider.batch_seconds = math.inf

    def finish(self) -> None:
        self.provider.finish()

    def expires(self) -> None:
        self.provider.expires(lambda prompt: int(prompt.partition("row-")[2].split()[0]) >= 2)

    def writes(self, results: Results) -> None:
        stranger = {"custom_id": "unknown-1", "result": {"type": "expired"}}
        strangers = [json.dumps(stranger).encode()] * results.unknown
        self.provider.mangle(lambda lines: [results.written([each.rstrip() for each in lines] + strangers)])

    def forgets(self, state: BatchState) -> None:
        self.provider.archive(state.id)

    @property
    def made(self) -> int:
        return len(self.provider.batches)


Stage = OpenAIStage | AnthropicStage


@pytest.fixture(params=[OpenAIStage, AnthropicStage], ids=lambda kind: kind.name)
def stage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = request.param(monkeypatch)
    with made.provider:
        yield made


@pytest.fixture
async def client(stage: Stage) -> AsyncIterator[Client]:
    made = stage.client()
    await made.start()
    yield made
    await made.close()


@pytest.fixture
async def batches(stage: Stage) -> AsyncIterator[Batches]:
    made = open_batches(stage.client())
    await made.start()
    yield made
    await made.close()


def opened(**options: Any) -> Client:
    plain = {"model": None, "base_url": None, "api_key": None, "client": None, "params": {}, "output_mode": "auto"}
    return open_client(**{**plain, "schema": LABEL, **options})


def messages(row: int, text: str = "fine") -> list[dict[str, object]]:
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"row-{row} {text}"}]


async def make(
    batches: Batches, folder: Path, *, rows: int = 4, intent: str = "job-a-0", text: str = "fine"
) -> BatchState:
    """A batch of so many lines, with `custom_id` `"<intent>-<row>-x"`."""
    dialect = batches.dialects[0]
    lines = folder / f"{intent}.jsonl"
    lines.write_bytes(b"".join(batches.line(f"{intent}-{row}-x", messages(row, text), dialect) for row in range(rows)))
    source = await batches.upload(lines, intent=intent) if batches.uploads else lines
    return await batches.create(source, intent=intent)


async def ended(batches: Batches, batch_id: str) -> BatchState:
    for _ in range(LONGEST_WAIT):
        state = await batches.state(batch_id)
        if state.phase != "running":
            return state
    raise AssertionError(f"still {state.status}")


async def come(batches: Batches, state: BatchState, folder: Path) -> list[LineResult]:
    place = folder / "results"
    place.mkdir(exist_ok=True)
    return [result async for some in batches.results(state, place) for result in some]


async def outcome(batches: Batches, folder: Path, **options: Any) -> dict[str, Any]:
    """What each row of a new batch came to."""
    state = await ended(batches, (await make(batches, folder, **options)).id)
    return by_row(await come(batches, state, folder))


def by_row(results: list[LineResult]) -> dict[str, Any]:
    return {result.custom_id.removeprefix("job-a-0-").removesuffix("-x"): result.answer for result in results}


def told(answer: Any) -> Any:
    """A reply without what only an answer's own headers tell."""
    return replace(answer, limits=None) if isinstance(answer, Reply) else (answer.kind, answer.status)


async def live(client: Client, row: int, text: str = "fine") -> Any:
    try:
        return told(await client.send(messages(row, text), client.dialects[0]))
    except RequestError as error:
        return told(error)


async def fails(work: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        await work
    return caught.value


def test_batches_are_of_the_same_identity_account_and_model_as_the_live_client(stage: Stage):
    client = stage.client()
    batches = open_batches(client)
    names = ("identity", "account", "model", "provider", "dialects")
    assert [getattr(batches, name) for name in names] == [getattr(client, name) for name in names]
    assert batches.name == stage.name
    assert batches.limits.lines >= 50_000
    assert stage.provider.calls.total() == 0 if stage.name == "anthropic" else stage.provider.requests == 0


async def test_every_line_comes_back_as_it_would_live(batches: Batches, client: Client, tmp_path: Path):
    found = await outcome(batches, tmp_path)
    assert {row: told(answer) for row, answer in found.items()} == {
        str(row): await live(client, row) for row in range(4)
    }


@pytest.mark.parametrize("schema", [LABEL, schema_of(None)], ids=["schema", "text"])
async def test_a_line_asks_what_the_live_client_sends(stage: Stage, schema: Any):
    params = {"temperature": 0.5, "max_tokens": 77}
    client = stage.client(params=params, schema=schema)
    batches = open_batches(stage.client(params=params, schema=schema))
    await client.start()
    await batches.start()
    talks = [messages(1), messages(2)[1:], [*messages(3), {"role": "assistant", "content": "{}"}, *messages(4)[1:]]]
    for dialect in batches.dialects:
        for talk in talks:
            line = batches.line("a-0", talk, dialect)
            await client.send(talk, dialect)
            assert stage.asked(line) == stage.provider.bodies[-1]
            assert json.loads(line)["custom_id"] == "a-0"
            assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    await client.close()
    await batches.close()


async def test_a_batch_tells_where_it_stands(stage: Stage, batches: Batches, tmp_path: Path):
    stage.hold()
    before = time.time()
    made = await make(batches, tmp_path)
    assert (made.phase, made.id != "") == ("running", True)
    assert made.created is not None
    assert before - 2 <= made.created <= time.time() + 2, "whole seconds at some"
    assert made.expires == pytest.approx(made.created + 86_400, abs=2)
    running = await batches.state(made.id)
    assert (running.phase, running.total) == ("running", 4)
    stage.finish()
    state = await ended(batches, made.id)
    assert (state.phase, state.total, state.done, state.failed) == ("ended", 4, 4, 0)


async def test_lines_in_any_order_twice_or_of_strangers_are_told_by_their_ids(
    stage: Stage, batches: Batches, client: Client, tmp_path: Path
):
    alone = [Results(reverse=True), Results(double=True), Results(unknown=1), Results(blank_line=True)]
    wanted = {str(row): await live(client, row) for row in range(4)}
    for results in (*alone, Results(reverse=True, double=True, unknown=1, blank_line=True)):
        stage.writes(results)
        state = await ended(batches, (await make(batches, tmp_path)).id)
        lines = await come(batches, state, tmp_path)
        ours = [line for line in lines if line.custom_id.startswith("job-a-0-")]
        assert len(ours) == (8 if results.double else 4)
        assert all("unknown" in line.custom_id for line in lines if line not in ours)
        assert {row: told(answer) for row, answer in by_row(ours).items()} == wanted


STEPS: tuple[Step, ...] = (
    Status(400, message="no"),
    Status(404, message="no such model"),
    Status(413),
    Status(429),
    Status(500),
    Status(529),
    Refusal("I can't."),
    Truncated(0.5),
    Text("Übergröße 😀"),
    Text("broken { json"),
)


async def test_a_failed_line_has_the_kind_that_it_has_live(
    stage: Stage, batches: Batches, client: Client, tmp_path: Path
):
    for row, step in enumerate(STEPS):
        stage.provider.when(f"row-{row} ", step)
    found = await outcome(batches, tmp_path, rows=len(STEPS) + 1)
    assert {row: told(answer) for row, answer in found.items()} == {
        str(row): await live(client, row) for row in range(len(STEPS) + 1)
    }
    assert isinstance(found[str(len(STEPS))], Reply)


async def test_what_was_done_before_a_batch_expired_is_kept(stage: Stage, batches: Batches, tmp_path: Path):
    stage.expires()
    found = await outcome(batches, tmp_path)
    assert [isinstance(found[row], Reply) for row in ("0", "1")] == [True, True]
    assert [found[row].kind for row in ("2", "3")] == ["batch_expired"] * 2


async def test_what_was_done_before_a_cancel_is_kept(stage: Stage, batches: Batches, tmp_path: Path):
    stage.hold()
    made = await make(batches, tmp_path)
    await batches.state(made.id)
    assert (await batches.cancel(made.id)).id == made.id
    found = by_row(await come(batches, await ended(batches, made.id), tmp_path))
    assert [isinstance(found[row], Reply) for row in ("0", "1")] == [True, True]
    assert [found[row].kind for row in ("2", "3")] == ["cancelled"] * 2


async def test_cancelling_what_has_ended_changes_nothing(batches: Batches, tmp_path: Path):
    state = await ended(batches, (await make(batches, tmp_path)).id)
    assert await batches.cancel(state.id) == state


async def test_results_can_be_read_again(batches: Batches, tmp_path: Path):
    state = await ended(batches, (await make(batches, tmp_path)).id)
    first = await come(batches, state, tmp_path)
    assert await come(batches, state, tmp_path) == first


async def test_large_results_come_some_lines_at_a_time(batches: Batches, tmp_path: Path):
    state = await ended(batches, (await make(batches, tmp_path, rows=1100)).id)
    sizes = [len(some) async for some in batches.results(state, tmp_path)]
    assert sum(sizes) == 1100
    assert max(sizes) <= 500


async def test_a_reader_may_stop_early(batches: Batches, tmp_path: Path):
    state = await ended(batches, (await make(batches, tmp_path, rows=600)).id)
    reading = batches.results(state, tmp_path)
    assert len(await anext(reading)) <= 500
    await reading.aclose()  # type: ignore[attr-defined]


async def test_text_of_any_language_arrives(batches: Batches, client: Client, tmp_path: Path):
    text = 'Größe 日本語 😀 \u2028 \u0085 \\ " \x7f'
    found = await outcome(batches, tmp_path, rows=1, text=text)
    assert told(found["0"]) == await live(client, 0, text)


async def test_text_that_utf8_cant_hold_is_refused_where_the_line_is_made(batches: Batches):
    with pytest.raises(UnicodeEncodeError):
        batches.line("a-0", [{"role": "user", "content": "half \ud83d"}], batches.dialects[0])


async def test_an_invalid_reply_is_shown_again_as_live(batches: Batches, client: Client):
    reply = Reply(text="meh")
    dialect = batches.dialects[0]
    shown = batches.reask(messages(1), reply, "label: wrong", dialect)
    assert shown == client.reask(messages(1), reply, "label: wrong", dialect)


async def test_a_client_that_chats_embeds_nothing(batches: Batches):
    with pytest.raises(UsageError, match="embed"):
        batches.embedding_line("a-0", ["text"])


async def test_an_unknown_batch_isnt_found(batches: Batches):
    for ask in (batches.state, batches.cancel):
        assert (await fails(ask("batch_0/../1?x"))).kind == "not_found"


async def test_results_that_are_gone_arent_found(stage: Stage, batches: Batches, tmp_path: Path):
    state = await ended(batches, (await make(batches, tmp_path)).id)
    stage.forgets(state)
    for known in (state, await batches.state(state.id)):
        error = await fails(come(batches, known, tmp_path))
        assert (error.kind, transient(error)) == ("not_found", False)


async def prepared(call: Call, stage: Stage, batches: Batches, folder: Path) -> Callable[[], Any]:
    """How the call is made, with all that goes before it done."""
    if call == "upload":
        lines = folder / "lines.jsonl"
        lines.write_bytes(batches.line("a-0", messages(1), batches.dialects[0]))
        return lambda: batches.upload(lines, intent="a")
    if call == "create":
        lines = folder / "lines.jsonl"
        lines.write_bytes(batches.line("a-0", messages(1), batches.dialects[0]))
        source = await batches.upload(lines, intent="a") if batches.uploads else lines
        return lambda: batches.create(source, intent="a")
    stage.hold()
    made = await make(batches, folder)
    if call == "results":
        stage.finish()
        state = await ended(batches, made.id)
        return lambda: come(batches, state, folder)
    since = time.time()
    calls: dict[Call, Callable[[], Any]] = {
        "state": lambda: batches.state(made.id),
        "cancel": lambda: batches.cancel(made.id),
        "list": lambda: batches.find("job-b-0", since=since, known=[made.id]),
    }
    return calls[call]


FAULTS: tuple[tuple[Step, str, bool], ...] = (
    (Status(500), "server", True),
    (Status(503), "server", True),
    (Status(429, retry_after=7), "rate_limit", True),
    (Status(401), "auth", False),
    (Reset(), "connection", True),
    (Cut(), "connection", True),
    (BadBody(), "server", True),
    (Html(), "server", True),
    (Html(502), "server", True),
    (Status(307, headers={"location": "http://127.0.0.1:9/elsewhere"}), "not_found", False),
)
"""Steps, the kinds that they have live, and whether the same call may succeed later."""


@pytest.mark.parametrize("call", ["upload", "create", "state", "list", "results", "cancel"])
async def test_a_fault_has_the_kind_that_it_has_live_at_every_call(
    stage: Stage, batches: Batches, tmp_path: Path, call: Call
):
    if call == "upload" and not batches.uploads:
        with pytest.raises(UsageError, match="create"):
            await batches.upload(tmp_path / "lines.jsonl", intent="a")
        return
    work = await prepared(call, stage, batches, tmp_path)
    for step, kind, again in FAULTS:
        if call == "results" and step in (BadBody(), Html()):
            continue
        stage.fault(call, step)
        error = await fails(work())
        assert (error.kind, transient(error)) == (kind, again), error.detail
        assert error.retry_after == (7 if kind == "rate_limit" else None)
        assert (error.__cause__, error.__context__) == (None, None), "headers stand there"
        assert not [*(tmp_path / "results").glob("*.jsonl")], "half a file is none"
    assert await work() != [], "one attempt each; whether there is another is the caller's decision"


@pytest.mark.parametrize("step", [BadBody(), Html()], ids=["broken", "page"])
async def test_lines_of_results_that_are_none_are_left_out(stage: Stage, batches: Batches, tmp_path: Path, step: Step):
    work = await prepared("results", stage, batches, tmp_path)
    stage.fault("results", step)
    assert all(isinstance(line.answer, Reply) for line in await work())


async def test_no_error_holds_the_key(stage: Stage, batches: Batches, tmp_path: Path):
    call: Call = "create"
    work = await prepared(call, stage, batches, tmp_path)
    stage.fault(call, Status(401, message=f"wrong key: {stage.key}"))
    error = await fails(work())
    assert error.kind == "auth"
    assert stage.key not in f"{error} {error!r} {error.detail} {error.__dict__} {batches!r} {stage.provider!r}"


async def test_nothing_works_before_the_start_or_after_the_end(stage: Stage, tmp_path: Path):
    batches = open_batches(stage.client())
    assert (await fails(batches.state("b"))).kind == "internal"
    await batches.start()
    await batches.start()
    await make(batches, tmp_path)
    await batches.close()
    await batches.close()
    assert (await fails(batches.state("b"))).kind == "internal"


async def test_a_lost_batch_is_found_by_its_intent(stage: Stage, batches: Batches, tmp_path: Path):
    since = time.time()
    other = await make(batches, tmp_path, intent="job-b-0")
    for step in (Reset(), Status(500), Cut()):
        stage.fault("create", step, lost=True)
        assert transient(await fails(make(batches, tmp_path, rows=1, intent=f"job-a-{type(step).__name__.lower()}")))
    assert stage.made == 4
    await ended(batches, other.id)
    for intent in ("job-a-reset", "job-a-status", "job-a-cut"):
        found = await batches.find(intent, since=since, known=[])
        assert found is not None
        state = await ended(batches, found.id)
        (line,) = await come(batches, state, tmp_path)
        assert line.custom_id.startswith(f"{intent}-")


async def test_a_batch_that_was_never_made_isnt_found(stage: Stage, batches: Batches, tmp_path: Path):
    since = time.time()
    assert await batches.find("job-a-0", since=since, known=[]) is None
    longer = await make(batches, tmp_path, intent="job-a-01")
    stage.fault("create", Reset())
    await fails(make(batches, tmp_path, intent="job-a-0"))
    await ended(batches, longer.id)
    assert await batches.find("job-a-0", since=since, known=[]) is None
    assert await batches.find("job-a-0", since=since, known=[longer.id]) is None


async def test_whose_a_running_batch_is_may_be_undecided_but_never_wrong(
    stage: Stage, batches: Batches, tmp_path: Path
):
    stage.hold()
    since = time.time()
    mine = await make(batches, tmp_path, intent="job-a-0")
    other = await make(batches, tmp_path, intent="job-b-0")
    if stage.name == "anthropic":
        with pytest.raises(UndecidedError, match="still runs"):
            await batches.find("job-a-0", since=since, known=[])
    else:
        found = await batches.find("job-a-0", since=since, known=[])
        assert found is not None
        assert found.id == mine.id
    assert await batches.find("job-c-0", since=since, known=[mine.id, other.id]) is None
    stage.finish()
    await asyncio.gather(ended(batches, mine.id), ended(batches, other.id))
    found = await batches.find("job-a-0", since=since, known=[other.id])
    assert found is not None
    assert found.id == mine.id
