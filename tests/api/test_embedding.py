"""What one `embed` asks, and how its column or template is understood."""

from __future__ import annotations

from typing import Any

import pytest

from llmframe.api.embedding import EmbedAsking, EmbedOptions, embed_asking
from llmframe.clients.embeddings import EmbeddingClient
from llmframe.core.columns import ColumnType
from llmframe.errors import UsageError
from llmframe.testing import Provider


def asked(column: object = "text", **options: Any) -> EmbedAsking:
    plain: dict[str, Any] = {"into": "embedding", "dimensions": None, "batch_size": None, "wait": 0.0}
    return embed_asking(column, {**plain, **options}, verb="embed")


def client_of(ask: EmbedAsking) -> EmbeddingClient:
    return ask.client(sends=False)


def texts(ask: EmbedAsking, names: list[str], row: list[object], *, series: bool = False) -> object:
    prompt = ask.prompt(names, series=series)
    (rendered,) = prompt.render([[row[position]] for position in prompt.positions])
    return rendered


def test_a_name_is_the_column_whatever_it_looks_like():
    names = ["text", "{odd}", "two words"]
    row: list[object] = ["a", "b", "c"]
    assert texts(asked("text"), names, row) == "a"
    assert texts(asked("{odd}"), names, row) == "b"
    assert texts(asked("two words"), names, row) == "c"
    with pytest.raises(UsageError, match="'text' is there 2 times"):
        texts(asked("text"), ["text", "text"], row)
    assert texts(asked("{text}, {two words}"), names, row) == "a, c"
    assert texts(asked(None), ["text"], ["a"], series=True) == "a"
    assert texts(asked("text"), ["text"], ["a"], series=True) == "a"


def test_the_question_holds_model_dimensions_and_params_and_nothing_of_packing():
    provider = Provider()

    def key(**options: Any) -> bytes:
        ask = asked(client=provider, **options)
        return ask.question(client_of(ask)).fingerprints().key("a")

    plain = key()
    assert key(batch_size=3, wait=1.0, into="v", max_concurrency=2) == plain
    others = [key(dimensions=3), key(model="other"), key(params={"input_type": "query"})]
    assert len({plain, *others}) == 4


def test_bounds_are_the_providers_and_the_calls_own():
    ask = asked(client=Provider(), batch_size=7)
    assert (ask.bounds(client_of(ask)).inputs, ask.bounds(client_of(ask)).alone) == (7, 8192)
    ask = asked(model="bge", base_url="http://localhost:1/v1", batch_size=9_999)
    assert (ask.bounds(client_of(ask)).inputs, ask.bounds(client_of(ask)).alone) == (2048, None)


def test_the_columns_are_known_before_an_answer():
    ask = asked(dimensions=5, prefix="x_", meta=True, client=Provider())
    assert [name for name, _ in ask.layout.types] == ["x_embedding", "x_error", "x_llm_meta"]
    assert ask.layout.types[0][1] == ColumnType("vector", size=5)


def test_options_of_chat_are_unknown_here():
    assert not {"reask", "hedge", "output_mode", "schema", "system"} & set(EmbedOptions.__annotations__)
    with pytest.raises(UsageError, match="reask"):
        asked(reask=2)
