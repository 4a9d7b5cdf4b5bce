from __future__ import annotations

import openai
import pytest


@pytest.mark.parametrize(
    ("changed", "param"),
    [
        ({"completion_window": "1h"}, "completion_window"),
        ({"endpoint": "/v1/responses"}, "endpoint"),
        ({"metadata": {"k": "v" * 513}}, "metadata"),
        ({"metadata": {"k" * 65: "v"}}, "metadata"),
        ({"metadata": {str(i): "v" for i in range(17)}}, "metadata"),
        ({"metadata": {"k": 7}}, "metadata"),
        ({"input_file_id": None}, "input_file_id"),
    ],
)
def test_a_batch_that_makes_no_sense_is_refused_before_it_is_made(with_batches, changed, param: str):
    async def main(kit):
        request = {"input_file_id": "f", "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        with pytest.raises(openai.BadRequestError) as caught:
            await kit.sdk.batches.create(**(request | changed))
        assert caught.value.param == param
        assert kit.provider.batches.created == 0

    with_batches(main)


def test_a_file_that_is_not_there_or_not_for_batches_is_refused(with_batches):
    async def main(kit):
        with pytest.raises(openai.NotFoundError, match="file-none"):
            await kit.create_of("file-none")
        batch = await kit.ended(await kit.create(1))
        with pytest.raises(openai.BadRequestError, match="purpose"):
            await kit.create_of(batch.output_file_id)
        for ask in (kit.sdk.batches.retrieve, kit.sdk.batches.cancel):
            with pytest.raises(openai.NotFoundError, match="batch_none"):
                await ask("batch_none")

    with_batches(main)


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"", "empty_file"), (b"{\n", "invalid_json_line")],
)
def test_a_file_that_makes_no_sense_fails_its_batch_once_it_is_made(with_batches, data: bytes, code: str):
    async def main(kit):
        made = await kit.create(data)
        batch = await kit.ended(made)
        assert (made.status, batch.status, batch.errors.data[0].code) == ("validating", "failed", code)

    with_batches(main)


def test_a_list_has_the_latest_first_in_pages(with_batches):
    async def main(kit):
        file = await kit.upload(kit.jsonl([kit.line("a")]))
        made = [(await kit.create_of(file.id, metadata={"n": str(i)})).id for i in range(23)]
        first = await kit.sdk.batches.list()
        assert ([one.id for one in first.data], first.has_more) == (made[:2:-1], True)
        assert [one.id async for one in kit.sdk.batches.list(limit=7)] == made[::-1]
        assert kit.provider.batches.calls["list"] == 1 + 4
        last = await kit.sdk.batches.list(after=made[1])
        assert ([one.metadata for one in last.data], last.has_more) == ([{"n": "0"}], False)
        for wrong in ({"limit": 0}, {"limit": 101}, {"after": "batch_none"}):
            with pytest.raises(openai.BadRequestError):
                await kit.sdk.batches.list(**wrong)

    with_batches(main)


def test_other_paths_are_no_calls(make_provider, http_kit):
    provider = make_provider()
    for method, path in (("PUT", "/files"), ("POST", "/batches/b/stop"), ("GET", "/files/f/content/x")):
        assert http_kit.call(provider, method, path).status == 404
    assert provider.batches.calls == {}


def test_a_request_that_is_no_json_and_a_fault_of_the_tests_own_are_answers(make_provider, http_kit):
    provider = make_provider()
    assert http_kit.call(provider, "POST", "/batches", "{").status == 400
    provider.batches.log = lambda event, what: 1 / 0
    got = http_kit.call(provider, "GET", "/batches")
    assert (got.status, got.error["code"]) == (400, "testing")


def test_a_line_that_would_stream_or_is_refused_live_fails_alone(with_batches):
    async def main(kit):
        lines = [kit.line("a", body={"stream": True}), kit.line("b", body={"max_tokens": 3}), kit.line("c")]
        batch = await kit.ended(await kit.create(lines))
        rows = await kit.rows(batch.error_file_id)
        errors = [(row["custom_id"], row["response"]["body"]["error"]["param"]) for row in rows]
        assert errors == [("a", "stream"), ("b", "max_tokens")]
        assert [row["custom_id"] for row in await kit.rows(batch.output_file_id)] == ["c"]

    with_batches(main, refuses_params=("max_tokens",))


def test_fifty_thousand_lines_are_the_most_of_a_batch(with_batches):
    async def main(kit):
        batch = await kit.ended(await kit.create(b"{}\n" * 50_001))
        assert (batch.status, batch.errors.data[0].code) == ("failed", "too_many_tasks")
        batch = await kit.ended(await kit.create(b"{}\n" * 50_000))
        assert {error.code for error in batch.errors.data} == {"missing_required_parameter"}

    with_batches(main)


def test_thousands_of_lines_are_paid_once_each(with_batches):
    async def main(kit):
        line = kit.jsonl([kit.line("@", "row-@")])
        batch = await kit.ended(await kit.create(b"".join(line.replace(b"@", b"%d" % i) for i in range(3_000))))
        assert (batch.request_counts.completed, kit.provider.batches.lines) == (3_000, 3_000)
        assert len(await kit.rows(batch.output_file_id)) == 3_000
        assert max(kit.provider.batches.paid.values()) == 1

    with_batches(main)
