"""The key is nowhere to be read: not in messages, logs, columns, chains of exceptions or reports."""

from __future__ import annotations

import logging
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl
import pytest

import llmframe
from llmframe.errors import UsageError
from llmframe.testing import Provider, Reset, Status

SECRET = "sk-S3CRET"
LOGGERS = ("", "llmframe", "openai", "httpx2", "httpcore2", "instructor", "aiohttp", "asyncio")


class Loud:
    """What was printed, logged and warned of, with every logger saying all it has to say."""

    def __init__(self, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
        self.records, self._caplog, self._capfd = caplog.records, caplog, capfd
        self.warned: list[warnings.WarningMessage] = []

    @property
    def text(self) -> str:
        out, err = self._capfd.readouterr()
        return "\n".join([out, err, self._caplog.text, *(str(warning.message) for warning in self.warned)])


@pytest.fixture
def loud(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Loud]:
    for name in LOGGERS:
        caplog.set_level(logging.DEBUG, name)
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    loud = Loud(caplog, capfd)
    with warnings.catch_warnings(record=True) as loud.warned:
        warnings.simplefilter("always")
        yield loud


def shown(error: BaseException) -> str:
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None:
        chain.append(at)
        at = at.__cause__ or at.__context__
    return "\n".join([*map(repr, chain), *map(str, chain), *traceback.format_exception(error)])


@pytest.mark.parametrize("key", [f"{SECRET}\n", f" {SECRET} ", f"{SECRET}\r\nX: y", f"clé-{SECRET}"], ids=repr)
@pytest.mark.parametrize("place", ["argument", "environment", "use"])
def test_a_key_that_can_not_be_sent_is_refused_without_showing_it(
    key: str, place: str, provider: Provider, loud: Loud, monkeypatch: pytest.MonkeyPatch
):
    options: dict[str, Any] = {"model": "m", "base_url": provider.base_url}
    if place == "environment":
        monkeypatch.setenv("OPENAI_API_KEY", key)
    elif place == "use":
        llmframe.use(api_key=key)
    else:
        options["api_key"] = key
    for frame in (pd.DataFrame({"t": ["a"]}), pl.DataFrame({"t": ["a"]}), pl.LazyFrame({"t": ["a"]})):
        with pytest.raises(UsageError, match="key") as caught:
            frame.llm.map("J {t}", schema=bool, **options)
        assert "S3CRET" not in shown(caught.value)
    assert provider.requests == 0
    assert "S3CRET" not in loud.text


@pytest.mark.parametrize(
    "step",
    [Status(401, message=f"Incorrect API key provided: {SECRET}"), Status(400, message=f"bad {SECRET}"), Reset(), None],
    ids=["401", "400", "reset", "fine"],
)
def test_a_key_that_was_sent_is_not_repeated(step: Any, provider: Provider, loud: Loud):
    provider.always(step)
    options = {"model": "m", "base_url": provider.base_url, "api_key": SECRET, "max_attempts": 1}
    out = pd.DataFrame({"t": ["a", "b"]}).llm.map("J {t}", schema=bool, meta=True, **options)
    assert provider.headers[0]["authorization"] == f"Bearer {SECRET}"
    assert "S3CRET" not in out.to_csv() + str(out.attrs)
    assert "S3CRET" not in repr(llmframe.last_run()) + llmframe.last_run().to_json()
    assert bool(loud.warned) is (step is not None)
    assert "S3CRET" not in loud.text


def test_a_key_is_not_shown_by_what_holds_it(provider: Provider):
    scope = llmframe.use(api_key=SECRET, base_url=provider.base_url, model="m")
    assert "S3CRET" not in repr(scope) + repr(llmframe.options.resolve_options({}))
    plan = pl.DataFrame({"t": ["a"]}).llm.plan("J {t}", schema=bool)
    assert "S3CRET" not in repr(plan)


def test_cells_are_logged_at_debug_at_most(provider: Provider, loud: Loud):
    provider.when("private-cell", Status(400, "context_length_exceeded"))
    pd.DataFrame({"t": ["private-cell", "other"]}).llm.map("J {t}", schema=bool, client=provider)
    above = [record.getMessage() for record in loud.records if record.levelno > logging.DEBUG]
    assert not [line for line in above if "private-cell" in line]


def test_an_exception_quotes_no_cell(provider: Provider):
    provider.always(Status(400, "context_length_exceeded"))
    with pytest.raises(llmframe.RowError) as caught:
        pd.DataFrame({"t": ["private-cell"]}).llm.map("J {t}", schema=bool, client=provider, on_error="raise")
    assert "private-cell" not in str(caught.value) + repr(caught.value)
