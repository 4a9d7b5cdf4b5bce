"""How many parts may be begun, and the client that they have in common."""

from __future__ import annotations

import asyncio

import pytest

from llmframe.api.parts import HeldClient, window
from llmframe.testing import run_in_fake_time
from tests.engine.doubles import Client


@pytest.mark.parametrize(
    ("rows", "max_concurrency", "parts"),
    [
        (1000, 256, 4),  # one part is enough for 256 requests; the least there is
        (100, 256, 4),  # ceil(256 / 100) + 1
        (64, 256, 5),
        (10, 256, 27),
        (1, 256, 257),
        (1, 1, 4),
    ],
)
def test_the_window_has_rows_for_all_requests_and_one_part_more(rows: int, max_concurrency: int, parts: int):
    assert window(rows, max_concurrency) == parts


def test_a_held_client_is_started_once_and_not_closed():
    class Counted(Client):
        starts = closes = 0

        async def start(self) -> None:
            self.starts += 1
            await asyncio.sleep(1)

        async def close(self) -> None:
            self.closes += 1

    client = Counted()

    async def main() -> None:
        held = HeldClient(client)
        await asyncio.gather(held.start(), held.start())
        await held.start()
        await held.close()
        assert (held.identity, held.model, held.dialects) == (client.identity, "m", client.dialects)

    run_in_fake_time(main())
    assert (client.starts, client.closes) == (1, 0)


def test_a_held_client_that_could_not_start_is_started_again():
    class Late(Client):
        starts = 0

        async def start(self) -> None:
            self.starts += 1
            if self.starts == 1:
                raise OSError

    client = Late()

    async def main() -> None:
        held = HeldClient(client)
        with pytest.raises(OSError):  # noqa: PT011 - the double's own
            await held.start()
        await held.start()

    run_in_fake_time(main())
    assert client.starts == 2
