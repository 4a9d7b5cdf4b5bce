"""Files by batches: all parts' requests first, then the parts as from the store; the file is the live one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest
from pydantic import BaseModel

import llmframe
from llmframe.testing import Provider, Refusal, Results, Status, Text
from tests.contracts.batches import PRICES, balanced, hurry, limits, often

pytestmark = pytest.mark.filterwarnings("ignore:.*rows failed:llmframe.errors.LlmframeWarning")


class Echo(BaseModel):
    id: str
    label: Literal["pos", "neg"]


ROWS = [f"row-{10 + number % 12}" if number % 7 else None for number in range(60)]
"""12 distinct requests, each in several of the six parts."""
N = 12


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pl.DataFrame({"t": ROWS}).write_parquet(path)
    return path


def mapped(provider: Provider, source: Path, name: str, **options: Any) -> pl.DataFrame:
    """The file of a map, in parts of ten rows."""
    target = source.with_name(f"{name}.parquet")
    options = {"model": "m", "prices": PRICES, "meta": True, "rows": 10, **options}
    options.setdefault("cache", source.with_name(f"{name}.sqlite"))
    llmframe.map_file(source, target, "J {t}", Echo, client=provider, **options)
    return pl.read_parquet(target)


def faulty(provider: Provider) -> None:
    provider.when("row-11", Status(400, "content_filter", "blocked"))
    provider.when("row-12", Refusal())
    provider.batches.returns(Results(reverse=True, double=True, unknown=2))


def healing(_: str, request: dict[str, Any]) -> Any:
    """One row's first reply is invalid, whoever asks; the others' say what they were asked, also at a second time."""
    messages = request["messages"]
    if messages[0]["content"] != "J row-13":
        return None
    return Text("{}") if len(messages) == 1 else {"id": "row-13", "label": "pos"}


@pytest.mark.parametrize("fallback", ["batch", "live", None])
def test_the_file_is_the_live_one_and_every_cost_is_told_once(
    source: Path, fallback: Any, monkeypatch: pytest.MonkeyPatch
):
    answer = None if fallback is None else healing
    with Provider(answer=answer) as provider:
        faulty(provider)
        live = mapped(provider, source, "live")
    with Provider(answer=answer) as provider, limits(monkeypatch, lines=5):
        faulty(provider)
        out = mapped(provider, source, "batch", mode="batch", fallback=fallback)
        assert out.drop("llm_meta").equals(live.drop("llm_meta"))
        balanced(provider, out["llm_meta"].to_list())
        run = llmframe.last_run()
        assert provider.batches.lines + provider.requests == N - (1 if fallback is None else 0)
        assert run.batches == (4 if fallback == "batch" else 3)
        assert run.failed == {"null": 9, "content_filter": 4, "refusal": 4}
        # the same call again reads the store, and asks only for what has failed
        again = mapped(provider, source, "batch", mode="batch", fallback=fallback, exists="replace")
        assert again.drop("llm_meta").equals(out.drop("llm_meta"))


def test_what_expires_is_asked_again_across_parts(source: Path, monkeypatch: pytest.MonkeyPatch):
    with Provider() as provider, limits(monkeypatch, lines=5):
        provider.batches.ends("expired", done=0.4, times=2)
        out = mapped(provider, source, "batch", mode="batch")
        assert out["error"].null_count() == sum(text is not None for text in ROWS)
        balanced(provider, out["llm_meta"].to_list())
        assert often(provider) == {1: N}


@pytest.mark.filterwarnings("ignore:no row was asked:llmframe.errors.LlmframeWarning")
def test_a_budget_that_ends_leaves_parts_to_a_later_call(source: Path):
    with Provider() as provider:
        with pytest.raises(FileNotFoundError):  # no part was asked about to its end
            mapped(provider, source, "batch", mode="batch", budget={"calls": 5})
        assert (provider.batches.lines, provider.requests) == (5, 0)
        out = mapped(provider, source, "batch", mode="batch")
        assert out["error"].null_count() == sum(text is not None for text in ROWS)
        assert often(provider) == {1: N}
