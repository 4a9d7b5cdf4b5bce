"""Settling with a server how answers are asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from llmframe.clients.base import Dialect, RequestError
from llmframe.core.outcome import Failure
from llmframe.core.reply import Reply
from llmframe.engine.dialects import FIRST, NO_LOGPROBS, Negotiation
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import MODES, Client, refused, say

SCHEMA, TOOLS, JSON = MODES


class Server:
    """What a server says to each mode; anything else it takes."""

    def __init__(self, **says: RequestError) -> None:
        self.says = says
        self.asked: list[str] = []

    def ask(self) -> Callable[[Dialect], Awaitable[Reply]]:
        async def asking(dialect: Dialect) -> Reply:
            self.asked.append(dialect.mode)
            await asyncio.sleep(1)
            if dialect.mode in self.says:
                raise self.says[dialect.mode]
            return say("pos")

        return asking


def negotiation(client: Client | None = None) -> tuple[Negotiation, list[str]]:
    notes: list[str] = []
    return Negotiation(client or Client(dialects=MODES), note=notes.append), notes


def test_the_first_form_that_the_server_takes_holds_from_then_on():
    async def main() -> None:
        talk, notes = negotiation()
        server = Server(tools=refused("tools"))
        assert talk.dialect == SCHEMA
        assert await talk.refused(refused(), SCHEMA, server.ask()) == say("pos")
        assert server.asked == ["tools", "json"]
        assert talk.dialect == JSON
        assert notes == ["asked by json instead of json_schema, because the server refused (400)"]

    run_in_fake_time(main())


def test_refused_stream_options_are_left_out_and_the_note_says_what_that_costs():
    async def main() -> None:
        asking = replace(SCHEMA, asks_usage=True)
        talk, notes = negotiation(Client(dialects=(asking,)))
        error = refused("stream_options", "unknown_parameter")
        assert await talk.refused(error, asking, Server().ask()) == say("pos")
        assert talk.dialect == SCHEMA
        assert notes == ["sent no stream_options (usage is unknown), because the server refused (400)"]

    run_in_fake_time(main())


def test_a_refusal_that_speaks_of_something_else_is_the_rows_own():
    async def main() -> None:
        talk, notes = negotiation()
        server = Server()
        for error in (
            refused("temperature", "unsupported_value"),
            RequestError("context_length", "400", status=400, code="context_length_exceeded"),
            RequestError("auth", "401", status=401),
            RequestError("server", "500", status=500),
        ):
            assert await talk.refused(error, SCHEMA, server.ask()) is None
        assert (server.asked, notes, talk.dialect) == ([], [], SCHEMA)

    run_in_fake_time(main())


def test_after_an_answer_a_refusal_is_the_rows_own():
    async def main() -> None:
        talk, _ = negotiation()
        talk.settle(SCHEMA)
        assert await talk.refused(refused(), SCHEMA, Server().ask()) is None

    run_in_fake_time(main())


def test_an_answer_in_another_form_settles_nothing():
    async def main() -> None:
        talk, _ = negotiation()
        talk.settle(TOOLS)  # of a request that another run had sent
        assert await talk.refused(refused(), SCHEMA, Server().ask()) == say("pos")

    run_in_fake_time(main())


def test_one_row_refused_in_every_form_is_enough():
    async def main() -> None:
        talk, notes = negotiation()
        server = Server(tools=refused(None), json=refused(None))
        for _ in range(5):
            assert await talk.refused(refused(None), SCHEMA, server.ask()) is None
        assert server.asked == ["tools", "json"]
        assert talk.dialect == SCHEMA
        assert notes == ["tried tools and json after a refusal (400): refused alike"]

    run_in_fake_time(main())


def test_a_refused_token_limit_that_no_name_helps_is_told():
    async def main() -> None:
        talk, notes = negotiation(Client(dialects=(SCHEMA,)))
        error = refused("max_tokens", "unsupported_parameter")
        assert await talk.refused(error, SCHEMA, Server(json_schema=refused(None)).ask()) is None
        assert notes == ["tried max_completion_tokens after a refusal (400): refused alike"]

    run_in_fake_time(main())


def test_a_fault_of_a_try_is_raised_as_what_it_is():
    async def main() -> None:
        talk, _ = negotiation()
        with pytest.raises(RequestError) as caught:
            await talk.refused(refused(), SCHEMA, Server(tools=RequestError("timeout", "late")).ask())
        assert caught.value.kind == "timeout"
        assert talk.dialect == SCHEMA

    run_in_fake_time(main())


def test_rows_refused_at_the_same_time_probe_once_and_follow_together():
    async def main() -> float:
        talk, notes = negotiation()
        server = Server()
        replies = await asyncio.gather(*(talk.refused(refused(), SCHEMA, server.ask()) for _ in range(10)))
        assert replies == [say("pos")] * 10
        assert len(notes) == 1
        return asyncio.get_running_loop().time()

    assert run_in_fake_time(main()) == pytest.approx(2.0)  # one probe, then nine at once


def test_a_token_limit_is_renamed_in_the_same_form():
    async def main() -> None:
        talk, notes = negotiation()
        server = Server()
        await talk.refused(refused("max_tokens", "unsupported_parameter"), SCHEMA, server.ask())
        assert talk.dialect == Dialect("json_schema", "max_completion_tokens")
        assert notes == ["sent max_completion_tokens instead of max_tokens, because the server refused (400)"]

    run_in_fake_time(main())


def test_both_may_be_refused_one_after_the_other():
    async def main() -> None:
        talk, notes = negotiation()

        async def ask(dialect: Dialect) -> Reply:
            if dialect.mode == "json_schema":
                raise refused("response_format")
            return say("pos")

        await talk.refused(refused("max_tokens", "unsupported_parameter"), SCHEMA, ask)
        assert talk.dialect == Dialect("tools", "max_completion_tokens")
        (note,) = notes
        assert note == (
            "asked by tools instead of json_schema and sent max_completion_tokens instead of max_tokens, "
            "because the server refused (400)"
        )

    run_in_fake_time(main())


def test_what_was_settled_holds_for_later_runs_against_the_same_endpoint_and_model():
    async def main() -> None:
        client = Client(dialects=MODES)
        talk, _ = negotiation(client)
        await talk.refused(refused(), SCHEMA, Server().ask())
        assert negotiation(client)[0].dialect == TOOLS
        assert negotiation(Client(dialects=MODES))[0].dialect == SCHEMA
        assert negotiation(Client(dialects=MODES, identity=client.identity, model="other"))[0].dialect == SCHEMA
        chosen = Client(dialects=(SCHEMA,), identity=client.identity)
        assert negotiation(chosen)[0].dialect == SCHEMA  # `output_mode` was said

    run_in_fake_time(main())


def test_a_form_that_was_chosen_by_hand_is_not_left():
    async def main() -> None:
        talk, _ = negotiation(Client(dialects=(SCHEMA,)))
        assert await talk.refused(refused(), SCHEMA, Server().ask()) is None

    run_in_fake_time(main())


def test_only_the_first_few_ask_before_an_answer_shows_that_the_form_is_taken():
    async def main() -> tuple[int, int, int]:
        client = Client(dialects=MODES)
        talk, _ = negotiation(client)
        inside = 0

        async def ask() -> None:
            nonlocal inside
            async with talk.among_first():
                inside += 1
                await asyncio.sleep(1)

        asking = [asyncio.create_task(ask()) for _ in range(100)]
        await asyncio.sleep(0.5)
        at_first = inside
        await asyncio.sleep(1)  # whatever became of those, as many others
        then = inside
        talk.settle(SCHEMA)
        await asyncio.sleep(0.1)
        assert talk.open_to_all
        assert negotiation(client)[0].open_to_all  # a later run needn't find out
        await asyncio.gather(*asking)
        return at_first, then, inside

    assert run_in_fake_time(main()) == (FIRST, 2 * FIRST, 100)


def test_who_is_cancelled_among_the_first_leaves_the_place_to_another():
    async def main() -> None:
        talk, _ = negotiation()

        async def ask() -> None:
            async with talk.among_first():
                await asyncio.sleep(1000)

        asking = [asyncio.create_task(ask()) for _ in range(FIRST)]
        await asyncio.sleep(0)
        late = asyncio.create_task(talk.among_first().__aenter__())
        await asyncio.sleep(1)
        assert not late.done()
        asking[0].cancel()
        await asyncio.sleep(1)
        assert late.done()
        for task in asking:
            task.cancel()

    run_in_fake_time(main())


SCORED = replace(SCHEMA, top_logprobs=20)
UNSCORED = replace(SCHEMA, ends_run=True)


def halting(*dialects: Dialect) -> tuple[Negotiation, list[str], list[Failure]]:
    notes, ends = list[str](), list[Failure]()
    return Negotiation(Client(dialects=dialects), note=notes.append, halt=ends.append), notes, ends


def test_refused_logprobs_are_left_out_and_the_note_says_what_that_costs():
    async def main() -> None:
        talk, notes, ends = halting(SCORED, SCHEMA)
        assert await talk.refused(refused("logprobs"), SCORED, Server().ask()) == say("pos")
        assert (talk.dialect, ends) == (SCHEMA, [])
        assert notes == ["sent no logprobs (answers tell none), because the server refused (400)"]

    run_in_fake_time(main())


def test_fewer_top_logprobs_are_said_in_numbers():
    async def main() -> None:
        talk, notes, _ = halting(SCORED, SCHEMA)
        assert await talk.refused(refused("top_logprobs"), SCORED, Server().ask()) == say("pos")
        assert talk.dialect == replace(SCORED, top_logprobs=5)
        assert notes == ["sent top_logprobs=5, because the server refused (400)"]

    run_in_fake_time(main())


def test_an_answer_that_shows_that_logprobs_are_refused_ends_a_run_that_is_about_them():
    async def main() -> None:
        talk, _, ends = halting(SCORED, UNSCORED)
        server = Server()
        error = refused("logprobs")
        one, *others = await asyncio.gather(
            *(talk.refused(error, SCORED, server.ask()) for _ in range(5)), return_exceptions=True
        )
        assert (one, server.asked) == (say("pos"), ["json_schema"]), "one answer is enough to know"
        assert [each.kind for each in others if isinstance(each, RequestError)] == ["cancelled"] * 4
        assert ends == [NO_LOGPROBS]

    run_in_fake_time(main())


def test_a_row_that_is_refused_without_logprobs_too_ends_nothing():
    async def main() -> None:
        talk, _, ends = halting(SCORED, UNSCORED)
        assert await talk.refused(refused(None), SCORED, Server(json_schema=refused(None)).ask()) is None
        assert (ends, talk.dialect) == ([], SCORED)

    run_in_fake_time(main())


def test_the_next_run_asks_for_logprobs_again_where_the_last_one_ended():
    async def main() -> None:
        client = Client(dialects=(SCORED, UNSCORED))
        talk = Negotiation(client, note=list[str]().append)
        await talk.refused(refused("logprobs"), SCORED, Server().ask())
        assert Negotiation(client, note=list[str]().append).dialect == SCORED

    run_in_fake_time(main())
