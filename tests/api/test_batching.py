"""What a map by batches needs before anything is sent, and by what its jobs are told apart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest

from llmframe.api.arguments import Arguments
from llmframe.api.batching import Batching, batching, drawn
from llmframe.api.keeping import Renewed
from llmframe.api.prepared import asking, prepare
from llmframe.core.outcome import Usage
from llmframe.errors import UsageError
from llmframe.frames import wrap
from llmframe.options import SendOptions
from llmframe.stores.base import MemoryStore, Stored
from llmframe.testing import Provider, run_in_fake_time
from tests.engine.doubles import new_run

ROWS = pd.DataFrame({"t": ["a", None, "b", "a"]})


@pytest.fixture
def provider() -> Provider:
    """Never started: nothing is sent here."""
    return Provider()


def arguments(provider: Provider, **options: Any) -> Arguments:
    local = {name: options.pop(name) for name in ("system", "fallback", "mode") if name in options}
    sending = SendOptions(client=provider, model="m", **{"cache": True, **options})
    values: dict[str, Any] = {"mode": "batch", "schema": Literal["pos", "neg"], **local}
    return Arguments(prompt_template=values.pop("prompt", "J {t}"), sending=sending, **values)


def made(provider: Provider, **options: Any) -> Batching | None:
    prompt = options.pop("prompt", None)
    said = arguments(provider, **options)
    if prompt is not None:
        said = Arguments(**{**{n: getattr(said, n) for n in said.__slots__}, "prompt_template": prompt})
    ask = asking(said)
    return batching(ask, ask.client())


def question(provider: Provider, **options: Any) -> str:
    """By what an unfinished job is found again."""
    found = made(provider, **options)
    assert found is not None

    async def main() -> str:
        stage = found.filling(new_run(), drawn([]), rows=0)
        return stage.filling._order.question

    return run_in_fake_time(main())


def test_a_live_map_has_no_batches(provider: Provider):
    assert made(provider, mode="live") is None


@pytest.mark.parametrize(
    ("options", "word"),
    [({"cache": False}, "cache=False"), ({"params": {"stream": True}}, "stream")],
    ids=["no store", "pieces"],
)
def test_what_cannot_be_a_batch_is_told(provider: Provider, options: dict[str, Any], word: str):
    with pytest.raises(UsageError, match=word):
        made(provider, **options)


def test_a_store_without_a_place_for_jobs_is_told(provider: Provider):
    class Own:
        def get_many(self, keys: Any) -> dict[bytes, Any]:
            return {}

        def put_many(self, entries: Any) -> None:
            del entries

    with pytest.raises(UsageError, match="'Own' has no place"):
        made(provider, cache=Own())


def test_the_same_question_is_the_same_job(provider: Provider):
    assert question(provider) == question(provider)


@pytest.mark.parametrize(
    "options",
    [
        {"prompt": "K {t}"},
        {"system": "Be brief."},
        {"params": {"temperature": 0}},
        {"output_mode": "tools"},
        {"cache": "refresh"},
    ],
    ids=["template", "system", "params", "form", "refresh"],
)
def test_another_question_is_another_job(provider: Provider, options: dict[str, Any]):
    assert question(provider, **options) != question(provider)


def test_what_does_not_change_what_is_asked_leaves_the_job(provider: Provider):
    assert question(provider, fallback="live", reask=0, timeout=7.0) == question(provider)


def test_a_refresh_reads_a_store_that_counts_what_is_new(provider: Provider, tmp_path: Path):
    found = made(provider, cache="refresh")
    assert found is not None
    assert isinstance(found.store, Renewed)


def test_answers_that_are_old_or_no_longer_fit_are_unanswered(provider: Provider):
    found = made(provider, cache=MemoryStore())
    assert found is not None
    ask = found.asking
    (chunk,) = prepare(ask, wrap(ROWS), verb="map").plan().draw()
    first, second = chunk
    assert found._unanswered(chunk, 0.0) == chunk
    entry = Stored('{"response":"pos"}', Usage(1, 1, 0), created=50.0)
    found.store.put_many([(first.key, entry), (second.key, Stored('{"response":"odd"}', Usage(1, 1, 0)))])
    assert found._unanswered(chunk, 0.0) == [second]
    assert found._unanswered(chunk, 60.0) == chunk


def test_requests_are_drawn_anew_each_time(provider: Provider):
    prepared = prepare(asking(arguments(provider)), wrap(ROWS), verb="map")
    requests = drawn([prepared, prepared])

    async def main() -> list[list[str]]:
        return [[each.messages[-1]["content"] for each in chunk] async for chunk in requests()]

    assert asyncio.run(main()) == asyncio.run(main()) == [["J a", "J b"], ["J a", "J b"]]
