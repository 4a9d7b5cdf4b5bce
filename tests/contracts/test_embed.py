"""`embed` as a user calls it, on every kind of frame."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import llmframe
from llmframe.core.vectors import numbers_of, vector_of
from llmframe.errors import LlmframeWarning, RowError, UsageError
from llmframe.testing import Provider, Status
from llmframe.testing.embeddings import vector
from tests.contracts.kinds import Kind

FOUR: dict[str, Any] = {"dimensions": 4, "progress": False}


def numbers(text: str, dimensions: int = 4) -> list[float]:
    return numbers_of(vector_of(vector(text, dimensions)))


def told(column: list[Any]) -> list[list[float] | None]:
    return [None if cell is None else list(map(float, cell)) for cell in column]


def test_vectors_stand_in_their_rows_and_null_and_empty_texts_are_errors(any_kind: Kind, provider: Provider):
    texts = ["a", "b", None, "", "a"]
    frame = any_kind.make({"text": texts, "n": [1, 2, 3, 4, 5]})
    with pytest.warns(LlmframeWarning, match="1 null.*1 empty|1 empty.*1 null"):
        out = llmframe.embed(frame, "text", client=provider, **FOUR)
    got = any_kind.to_dict(out)
    assert list(got) == ["text", "n", "embedding", "error"]
    assert got["n"] == [1, 2, 3, 4, 5]
    assert told(got["embedding"]) == [numbers("a"), numbers("b"), None, None, numbers("a")]
    assert [error and error.split(":")[0] for error in got["error"]] == [None, None, "null", "empty", None]
    assert provider.bodies[0]["input"] == ["a", "b"]
    assert provider.requests == 1


def test_a_column_is_named_or_filled_into_a_template(library: Kind, provider: Provider):
    frame = library.make({"title": ["t"], "body": ["b"], "a {b}": ["c"]})
    for column in ("title", "{title}: {body}", llmframe.Template("{{ body }}", syntax="jinja2")):
        llmframe.embed(frame, column, client=provider, prefix=f"{column}_", **FOUR)
    assert [body["input"] for body in provider.bodies] == [["t"], ["t: b"], ["b"]]


def test_a_series_gives_a_series_of_vectors(provider: Provider):
    series = pd.Series(["a", "b"], index=[5, 5], name="text")
    out = series.llm.embed(client=provider, **FOUR)
    assert out.name == "embedding"
    assert list(out.index) == [5, 5]
    assert told(out.tolist()) == [numbers("a"), numbers("b")]
    lone = pl.Series("text", ["a"]).llm.embed("Say {}", client=provider, **FOUR)
    assert lone.dtype == pl.Array(pl.Float32, 4)
    assert provider.bodies[-1]["input"] == ["Say a"]


def test_without_dimensions_the_answers_tell_the_width(provider: Provider):
    frame = pl.DataFrame({"text": ["a"]})
    wide = frame.llm.embed("text", client=provider, progress=False)
    assert wide["embedding"].dtype == pl.Array(pl.Float32, len(wide["embedding"][0]))
    assert "dimensions" not in provider.bodies[0]
    provider.always(Status(400))
    with pytest.warns(LlmframeWarning):
        none = pl.DataFrame({"text": ["new"]}).llm.embed("text", client=provider, progress=False)
    assert none["embedding"].dtype == pl.List(pl.Float32)  # of no size that anybody knows
    assert none["embedding"].to_list() == [None]


def test_requests_are_as_packed_and_the_second_call_asks_nothing(provider: Provider):
    frame = pl.DataFrame({"text": [f"text {number % 100}" for number in range(5_000)]})
    out = frame.llm.embed("text", client=provider, batch_size=40, meta=True, **FOUR)
    assert provider.requests == 3  # a hundred texts, 40 a request
    meta = out["llm_meta"].struct.unnest()
    assert meta["input_tokens"].sum() == llmframe.last_run().input_tokens == provider.prompt_tokens
    again = frame.llm.embed("text", client=provider, batch_size=7, **FOUR)
    assert provider.requests == 3
    assert again["embedding"].equals(out["embedding"])
    frame.llm.embed("text", client=provider, dimensions=5, progress=False)
    assert provider.requests == 4  # another question: a hundred texts in one request


def test_a_vector_from_a_file_is_the_one_that_came(provider: Provider, tmp_path: Path):
    frame = pl.DataFrame({"text": ["a", "b"]})
    stored = [frame.llm.embed("text", client=provider, cache=tmp_path / "s.db", **FOUR) for _ in range(2)]
    assert provider.requests == 1
    assert stored[0].equals(stored[1])


def test_chats_and_vectors_of_the_same_text_are_different_questions(provider: Provider):
    frame = pl.DataFrame({"text": ["a"]})
    frame.llm.map("{text}", client=provider, model="m", progress=False)
    frame.llm.embed("text", client=provider, model="m", **FOUR)
    assert provider.requests == 2


def test_where_and_overwrite_keep_what_is_not_asked(provider: Provider):
    frame = pl.DataFrame({"text": ["a", "b"]})
    first = frame.llm.embed("text", client=provider, where=pl.col("text") == "a", **FOUR)
    assert told(first["embedding"].to_list()) == [numbers("a"), None]
    assert first["error"].to_list() == [None, None]
    with pytest.raises(UsageError, match="already has columns 'embedding', 'error'"):
        first.llm.embed("text", client=provider, **FOUR)
    second = first.llm.embed("text", client=provider, where=pl.col("text") == "b", overwrite=True, **FOUR)
    assert told(second["embedding"].to_list()) == [numbers("a"), numbers("b")]
    renamed = first.llm.embed("text", client=provider, into="v", prefix="x_", **FOUR)
    assert renamed.columns[-2:] == ["x_v", "x_error"]


def test_many_calls_at_once_may_share_a_request(provider: Provider):
    async def main() -> list[Any]:
        rows = [[{"text": f"text {number}"}] for number in range(20)]
        return await asyncio.gather(
            *(llmframe.aembed(each, "text", client=provider, wait=60.0, batch_size=20, **FOUR) for each in rows)
        )

    outs = asyncio.run(main())
    assert [told([out[0]["embedding"]]) for out in outs] == [[numbers(f"text {number}")] for number in range(20)]
    assert provider.requests == 1  # the twentieth text filled it, nobody waited for a minute


def test_on_error_raise_names_the_row_and_holds_the_frame(provider: Provider):
    frame = pl.DataFrame({"text": ["a", ""]})
    with pytest.raises(RowError, match="row 1 failed: empty") as raised:
        frame.llm.embed("text", client=provider, on_error="raise", **FOUR)
    assert raised.value.frame.columns == ["text", "embedding", "error"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("column", "options", "says"),
    [
        ("txet", {}, "no column 'txet'; did you mean 'text'"),
        ("{txet}", {}, "did you mean 'text'"),
        (None, {}, "needs the column whose texts are embedded"),
        (7, {}, "`column` must be a column's name or a template"),
        ("text", {"dimensions": 0}, "`dimensions` must be a whole number from 1 up, got 0"),
        ("text", {"batch_size": True}, "`batch_size` must be a whole number"),
        ("text", {"wait": -1}, "`wait` must be seconds from 0 up"),
        ("text", {"into": ""}, "`into` must be the name of a column"),
        ("text", {"dimension": 3}, "did you mean 'dimensions'"),
        ("text", {"output_mode": "json"}, "output_mode"),
        ("text", {"params": {"dimensions": 3}}, "give `dimensions=`"),
    ],
)
def test_wrong_use_is_told_before_anything_is_sent(provider: Provider, column: Any, options: dict[str, Any], says: str):
    with pytest.raises(UsageError, match=says):
        pl.DataFrame({"text": ["a"]}).llm.embed(column, client=provider, **options)
    assert provider.requests == 0


def test_a_model_that_chats_is_never_taken_for_one_that_embeds():
    with llmframe.use(model="openai/gpt-4o-mini", params={"temperature": 0}), pytest.raises(UsageError, match="embeds"):
        llmframe.embed([{"text": "a"}], "text")
    with Provider() as provider, llmframe.use(client=provider, params={"temperature": 0}):
        llmframe.embed([{"text": "a"}], "text", progress=False)
        assert set(provider.bodies[0]) == {"model", "input", "encoding_format"}


def test_a_lazy_query_is_told_to_collect_first(provider: Provider):
    with pytest.raises(UsageError, match=r"lf\.collect\(\)\.llm\.embed"):
        llmframe.embed(pl.LazyFrame({"text": ["a"]}), "text", client=provider)


def test_frames_without_rows_keep_their_columns(any_kind: Kind, provider: Provider):
    out = llmframe.embed(any_kind.make({"text": []}), "text", client=provider, **FOUR)
    assert len(out) == 0
    assert provider.requests == 0


_PROVIDER = Provider()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=30), st.integers(1, 5))
def test_every_row_has_the_vector_of_its_own_text(texts: list[str | None], batch_size: int):
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn_explicit", lambda *_, **__: None)
        out = frame.llm.embed("text", client=_PROVIDER, batch_size=batch_size, **FOUR)
    assert told(out["embedding"].to_list()) == [numbers(text) if text else None for text in texts]
