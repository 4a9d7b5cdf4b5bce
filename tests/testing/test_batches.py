from __future__ import annotations

import asyncio
import itertools
import json

import openai
import pytest
from openai.types import Batch, FileObject

from llmframe.errors import UsageError
from llmframe.testing import (
    Cut,
    Delay,
    Hang,
    Provider,
    Refusal,
    Reset,
    Results,
    Status,
    Text,
    Truncated,
    digest,
    run_in_fake_time,
)


def strictly(model, value: dict) -> None:
    """It has every required field of the SDK's type, and none that it doesn't know, at any depth."""
    extra = model.model_validate(value, strict=True)
    todo = [extra]
    while todo:
        one = todo.pop()
        assert not one.model_extra, one
        for field in one.model_fields_set:
            inner = getattr(one, field)
            todo += [item for item in (inner if isinstance(inner, list) else [inner]) if hasattr(item, "model_extra")]


def test_a_batch_is_validated_worked_on_written_and_completed(with_batches):
    async def main(kit):
        kit.provider.batches.polls = 4
        kit.provider.when("row-3", Status(400, "context_length_exceeded", "too long", "messages"))
        batch = await kit.create(4, metadata={"intent": "i7"})
        assert (batch.status, batch.metadata, batch.endpoint) == (
            "validating",
            {"intent": "i7"},
            "/v1/chat/completions",
        )
        seen = [await kit.ended(batch) for _ in range(5)]
        assert [one.status for one in seen] == ["in_progress", "in_progress", "finalizing", "completed", "completed"]
        assert [one.request_counts.completed for one in seen] == [1, 2, 3, 3, 3]
        assert (seen[-1].request_counts.total, seen[-1].request_counts.failed) == (4, 1)
        rows = await kit.rows(seen[-1].output_file_id)
        assert [row["custom_id"] for row in rows] == ["a0", "a1", "a2"]
        (failed,) = await kit.rows(seen[-1].error_file_id)
        assert (failed["custom_id"], failed["error"], failed["response"]["status_code"]) == ("a3", None, 400)
        assert failed["response"]["body"]["error"]["code"] == "context_length_exceeded"
        assert (kit.provider.batches.lines, kit.provider.requests) == (3, 0)
        usage = seen[-1].usage
        assert usage.total_tokens == sum(row["response"]["body"]["usage"]["total_tokens"] for row in rows)

    with_batches(main)


def test_every_line_is_answered_as_the_same_live_request(with_batches):
    async def main(kit):
        form = {
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": "A",
                    "schema": {"type": "object", "properties": {"echo": {"type": "string"}, "x": {"type": "integer"}}},
                },
            }
        }
        prompts = ["row-1", "row-2 é漢", "plain", "none", "half", "shape"]
        kit.provider.when("none", Refusal("no"))
        kit.provider.when("half", Truncated())
        lines = [kit.line(f"b{i}", prompt, body=form) for i, prompt in enumerate(prompts)]
        lines[-1]["body"]["tools"] = [{"type": "function", "function": {"name": "A", "parameters": {"type": "object"}}}]
        batch = await kit.ended(await kit.create(lines))
        rows = await kit.rows(batch.output_file_id)
        for line, row in zip(lines, rows, strict=True):
            live = await kit.sdk.chat.completions.with_raw_response.create(**line["body"])
            assert row["response"]["body"] | {"id": ""} | {"choices": []} == json.loads(live.content) | {"id": ""} | {
                "choices": []
            }
            theirs, ours = row["response"]["body"]["choices"][0], json.loads(live.content)["choices"][0]
            for choice in (theirs, ours):
                for called in choice["message"].get("tool_calls") or ():
                    called.pop("id")
            assert theirs == ours

    with_batches(main)


def test_an_answer_function_and_chance_faults_decide_lines_too(with_batches):
    async def main(kit):
        batch = await kit.ended(await kit.create(40))
        failed = {row["custom_id"]: row["response"]["status_code"] for row in await kit.rows(batch.error_file_id)}
        assert 0 < len(failed) < 40
        assert set(failed.values()) == {503}
        rows = await kit.rows(batch.output_file_id)
        assert {row["response"]["body"]["choices"][0]["message"]["content"] for row in rows} == {"mine"}
        assert kit.provider.faults == {Status(503): len(failed)}

    with_batches(main, answer=lambda prompt, request: "mine", faults={Status(503): 0.3})


def test_what_the_api_tells_has_the_shape_of_the_sdks_types(with_batches):
    async def main(kit):
        batches = kit.provider.batches
        file = await kit.sdk.files.with_raw_response.create(file=("x", kit.jsonl([kit.line("a")])), purpose="batch")
        strictly(FileObject, json.loads(file.content))
        batches.polls = 3
        batches.ends("expired")
        made = [await kit.create(4), await kit.create(2), await kit.create(b"{"), await kit.create(2)]
        await kit.sdk.batches.cancel(made[3].id)
        for _, batch in itertools.product(range(4), made):
            raw = await kit.sdk.batches.with_raw_response.retrieve(batch.id)
            strictly(Batch, json.loads(raw.content))
        listed = await kit.sdk.batches.list()
        assert [one.status for one in listed.data] == ["cancelled", "failed", "completed", "expired"]
        for one in listed.data:
            strictly(Batch, one.to_dict())
        for one in (await kit.sdk.files.list(purpose="batch")).data:
            strictly(FileObject, one.to_dict())

    with_batches(main)


def test_an_expired_batch_keeps_and_charges_what_it_has_done(with_batches):
    async def main(kit):
        kit.provider.batches.ends("expired", done=0.5)
        batch = await kit.ended(await kit.create(5))
        assert (batch.status, batch.request_counts.completed, batch.completed_at) == ("expired", 2, None)
        assert batch.expired_at is not None
        assert [row["custom_id"] for row in await kit.rows(batch.output_file_id)] == ["a0", "a1"]
        late = await kit.rows(batch.error_file_id)
        assert [(row["custom_id"], row["response"], row["error"]["code"]) for row in late] == [
            (f"a{i}", None, "batch_expired") for i in (2, 3, 4)
        ]
        assert kit.provider.batches.paid == {"a0": 1, "a1": 1}
        assert (await kit.ended(await kit.create(5))).status == "completed"  # only the next one expires

    with_batches(main)


def test_a_cancelled_batch_keeps_and_charges_what_it_has_done(with_batches):
    async def main(kit):
        kit.provider.batches.hold(done=0.25)
        batch = await kit.create(8)
        assert [(await kit.ended(batch)).status for _ in range(3)] == ["in_progress"] * 3
        assert kit.provider.batches.lines == 2
        for _ in range(2):
            assert (await kit.sdk.batches.cancel(batch.id)).status == "cancelling"
        batch = await kit.ended(batch)
        assert (batch.status, batch.request_counts.completed, kit.provider.batches.lines) == ("cancelled", 4, 4)
        assert {row["error"]["code"] for row in await kit.rows(batch.error_file_id)} == {"batch_cancelled"}
        with pytest.raises(openai.ConflictError, match="cancelled"):
            await kit.sdk.batches.cancel(batch.id)

    with_batches(main)


def test_held_batches_end_when_they_are_finished(with_batches):
    async def main(kit):
        kit.provider.batches.hold()
        batches = [await kit.create(2), await kit.create(2)]
        await kit.ended(batches[0])
        assert (kit.provider.batches.running, kit.provider.batches.lines) == (2, 0)
        await asyncio.to_thread(kit.provider.batches.finish)
        assert (kit.provider.batches.running, kit.provider.batches.lines) == (0, 4)
        assert list(kit.provider.batches.statuses.values()) == ["completed", "completed"]

    with_batches(main)


def test_result_lines_come_in_any_order_twice_from_strangers_or_not_at_all(with_batches):
    async def main(kit):
        results = Results(reverse=True, double=True, unknown=1, blank_line=True, missing=lambda name: name == "a1")
        kit.provider.batches.returns(results, times=1)
        batch = await kit.ended(await kit.create(3))
        text = (await kit.sdk.files.content(batch.output_file_id)).text
        ids = [json.loads(line)["custom_id"] for line in text.splitlines() if line]
        assert ids == ["unknown-1", "a2", "a0"] * 2
        assert text.endswith("\n\n")
        assert kit.provider.batches.paid == {"a0": 1, "a2": 1}
        batch = await kit.ended(await kit.create(3))
        assert [row["custom_id"] for row in await kit.rows(batch.output_file_id)] == ["a0", "a1", "a2"]

    with_batches(main)


def test_there_may_be_only_an_error_file_or_no_file(with_batches):
    async def main(kit):
        kit.provider.when("row", Status(500), times=2)
        batch = await kit.ended(await kit.create(2))
        assert (batch.status, batch.output_file_id, batch.usage.total_tokens) == ("completed", None, 0)
        assert len(await kit.rows(batch.error_file_id)) == 2
        kit.provider.batches.returns(Results(missing=2))
        batch = await kit.ended(await kit.create(2))
        assert (batch.status, batch.output_file_id, batch.error_file_id) == ("completed", None, None)
        assert (batch.request_counts.total, batch.request_counts.completed) == (2, 0)

    with_batches(main)


def test_a_line_that_gets_no_answer_live_is_an_error_without_a_response(with_batches):
    async def main(kit):
        kit.provider.when("row-0", Hang())
        kit.provider.when("row-1", Reset())
        kit.provider.when("row-2", Delay(3600.0))
        batch = await kit.ended(await kit.create(3))
        rows = await kit.rows(batch.error_file_id)
        assert [(row["response"], row["error"]["code"]) for row in rows] == [
            (None, "request_timeout"),
            (None, "server_error"),
        ]
        assert batch.request_counts.completed == 1

    with_batches(main)


def test_too_many_tokens_at_once_fail_a_batch_after_it_was_made_and_not_for_ever(with_batches):
    async def main(kit):
        # "row-0" is 5 characters: 1 token, and 4 for the message, hence 10 for two lines
        kit.provider.batches.enqueued_tokens = 15
        first, second = await kit.create(2), await kit.create(2)
        assert second.status == "validating"
        second = await kit.ended(second)
        assert (second.status, second.errors.data[0].code) == ("failed", "token_limit_exceeded")
        assert (second.request_counts.total, second.output_file_id, second.usage) == (0, None, None)
        await kit.ended(first)
        again = await kit.ended(await kit.create_of(second.input_file_id))
        assert again.status == "completed"
        assert (kit.provider.batches.created, kit.provider.batches.lines) == (3, 4)

    with_batches(main)


def test_batches_may_be_refused_for_any_reason(with_batches):
    async def main(kit):
        kit.provider.batches.refuses("billing_hard_limit_reached", "No money left.")
        batch = await kit.ended(await kit.create())
        error = batch.errors.data[0]
        assert (batch.status, error.code, error.message) == ("failed", "billing_hard_limit_reached", "No money left.")
        assert (await kit.ended(await kit.create())).status == "completed"

    with_batches(main)


def test_states_nobody_knows_come_before_the_known_ones(with_batches):
    async def main(kit):
        kit.provider.batches.words = ("queued", "warming_up")
        batch = await kit.create()
        assert [(await kit.ended(batch)).status for _ in range(3)] == ["queued", "warming_up", "completed"]

    with_batches(main)


def test_a_new_file_is_unknown_for_a_while(with_batches):
    async def main(kit):
        kit.provider.batches.late_files = 2
        file = await kit.upload(kit.jsonl([kit.line("a")]))
        for _ in range(2):
            with pytest.raises(openai.NotFoundError):
                await kit.create_of(file.id)
        assert (await kit.create_of(file.id)).status == "validating"
        assert (kit.provider.batches.created, kit.provider.batches.calls["create"]) == (1, 3)

    with_batches(main)


def test_a_new_batch_is_missing_from_lists_for_a_while(with_batches):
    async def main(kit):
        kit.provider.batches.late_listing = 1
        batch = await kit.create()
        assert [[one.id for one in (await kit.sdk.batches.list()).data] for _ in range(2)] == [[], [batch.id]]

    with_batches(main)


def test_a_call_may_fail_before_its_work_or_after_it(with_batches):
    async def main(kit):
        batches = kit.provider.batches
        batches.fault("upload", Status(500))
        batches.fault("upload", Reset(), lost=True)
        for error in (openai.InternalServerError, openai.APIConnectionError):
            with pytest.raises(error):
                await kit.upload(b"{}")
        assert (batches.uploads, batches.calls["upload"]) == (1, 2)
        batches.fault("create", Status(503))
        batches.fault("create", Status(502), lost=True)
        for _ in range(2):
            with pytest.raises(openai.InternalServerError):
                await kit.create()
        assert batches.created == 1
        (made,) = (await kit.sdk.batches.list()).data
        batches.fault("state", Status(429), times=2)
        for _ in range(2):
            with pytest.raises(openai.RateLimitError):
                await kit.ended(made)
        made = await kit.ended(made)
        assert made.status == "completed"
        batches.fault("output", Cut())
        with pytest.raises(openai.APIConnectionError):
            await kit.rows(made.output_file_id)
        assert len(await kit.rows(made.output_file_id)) == 4

    with_batches(main)


def test_a_fault_names_a_call_and_a_step_that_fits():
    batches = Provider().batches
    with pytest.raises(UsageError, match=r"'poll'.*'upload', 'create', 'state'"):
        batches.fault("poll", Reset())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no reply"):
        batches.fault("state", Text("hello"))
    with pytest.raises(UsageError, match="'failed'"):
        batches.ends("failed")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"done=1\.5"):
        batches.ends("expired", done=1.5)


def test_what_was_paid_is_counted_by_id_and_by_prompt(with_batches):
    async def main(kit):
        for _ in range(2):
            await kit.ended(await kit.create([kit.line("one", "same"), kit.line("two", "same")]))
        await kit.ended(
            await kit.create(
                [{**kit.line("e"), "url": "/v1/embeddings", "body": {"model": "e", "input": ["same", "é"]}}],
                endpoint="/v1/embeddings",
            )
        )
        batches = kit.provider.batches
        assert batches.paid == {"one": 2, "two": 2, "e": 1}
        assert batches.paid_prompts == {digest("same"): 5, digest("é"): 1}
        assert batches.lines == 5
        kit.provider.reset()
        assert (batches.lines, batches.created, batches.calls, len(batches.statuses)) == (0, 0, {}, 3)

    with_batches(main)


def test_calls_are_logged_when_their_work_is_done_and_when_their_answer_has_gone_out(with_batches):
    async def main(kit):
        events = list[tuple[str, str]]()
        kit.provider.batches.log = lambda event, what: events.append((event, what))
        batch = await kit.ended(await kit.create())
        kit.provider.batches.fault("output", Cut())
        with pytest.raises(openai.APIConnectionError):
            await kit.rows(batch.output_file_id)
        await kit.sdk.batches.list()
        await kit.sdk.models.list()  # one more round of the loop
        about = {"upload": batch.input_file_id, "create": batch.id, "state": batch.id, "output": batch.output_file_id}
        assert events == [
            (event, about.get(call, "-"))
            for call in ("upload", "create", "state", "output", "list")
            for event in ((call,) if call == "output" else (call, f"{call}-replied"))
        ]

    with_batches(main)


def test_an_outage_a_wrong_key_and_a_hold_are_the_providers_own(with_batches):
    async def main(kit):
        batch = await kit.create()
        kit.provider.down(Status(503))
        with pytest.raises(openai.InternalServerError):
            await kit.ended(batch)
        kit.provider.up()
        with pytest.raises(openai.AuthenticationError):
            await kit.sdk.with_options(api_key="other").batches.retrieve(batch.id)
        kit.provider.hold()
        waiting = asyncio.ensure_future(kit.ended(batch))
        await asyncio.to_thread(kit.provider.batches.wait_calls, "state", 2)
        assert not waiting.done()
        kit.provider.release()
        assert (await waiting).status == "completed"
        kit.provider.down()
        with pytest.raises(openai.APIConnectionError):
            await kit.ended(batch)

    with_batches(main, check_key=True)


def test_waiting_for_calls_that_never_come_ends():
    with pytest.raises(TimeoutError, match="1 calls of 'state'; now 0"):
        Provider().batches.wait_calls("state", timeout=0.001)


def test_a_batch_takes_its_time_in_simulated_seconds():
    async def main() -> list[tuple[float, str]]:
        provider, seen = Provider(), list[tuple[float, str]]()
        provider.batches.seconds = 7200
        async with provider.serving(), openai.AsyncOpenAI(base_url=provider.base_url, api_key="k", timeout=None) as sdk:
            line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions"}
            line["body"] = {"model": "m", "messages": [{"role": "user", "content": "x"}]}  # type: ignore[assignment]
            file = await sdk.files.create(file=("x", json.dumps(line).encode()), purpose="batch")
            made = await sdk.batches.create(
                input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
            )
            for _ in range(3):
                await asyncio.sleep(3600)
                batch = await sdk.batches.retrieve(made.id)
                seen.append((round(asyncio.get_running_loop().time()), batch.status))
        return seen

    assert run_in_fake_time(main()) == [(3600, "in_progress"), (7200, "completed"), (10800, "completed")]


def test_files_may_be_gone_when_their_time_is_over(with_batches):
    async def main(kit):
        batch = await kit.ended(await kit.create())
        await asyncio.to_thread(kit.provider.batches.lose_files)
        with pytest.raises(openai.NotFoundError):
            await kit.rows(batch.output_file_id)
        assert (await kit.ended(batch)).status == "completed"

    with_batches(main)
