"""Keys are found, checked before they are sent, and never shown."""

from __future__ import annotations

import pytest

from llmframe.clients.keys import checked_key, find_key, key_digest
from llmframe.errors import UsageError

BAD = ["sk-SECRET\n", " sk-SECRET ", "sk- SECRET", "clé-SECRET", "sk-SECRET\x00", "ключ-SECRET", ""]


@pytest.mark.parametrize("key", BAD)
def test_a_key_that_cant_be_sent_is_refused_and_not_shown(key: str):
    with pytest.raises(UsageError) as caught:
        checked_key(key, source="api_key")
    assert "SECRET" not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"
    assert "api_key" in str(caught.value)


@pytest.mark.parametrize("key", [key for key in BAD if key])
def test_a_bad_key_in_the_environment_names_its_variable(key: str, monkeypatch: pytest.MonkeyPatch):
    if "\x00" in key:
        pytest.skip("the environment can't hold it")
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as caught:
        find_key(None, ("OPENAI_API_KEY",), whom="openai")
    assert "SECRET" not in str(caught.value)


def test_the_argument_goes_before_the_environment_and_variables_are_asked_in_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECOND_KEY", "two")
    assert find_key("one", ("SECOND_KEY",), whom="x") == "one"
    assert find_key(None, ("FIRST_KEY", "SECOND_KEY"), whom="x") == "two"


def test_a_missing_key_names_the_variable_and_says_when_it_is_empty(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(UsageError, match="no key for 'groq'; set the environment variable GROQ_API_KEY"):
        find_key(None, ("GROQ_API_KEY",), whom="groq")
    monkeypatch.setenv("GROQ_API_KEY", "")
    with pytest.raises(UsageError, match="GROQ_API_KEY is set, but empty"):
        find_key(None, ("GROQ_API_KEY",), whom="groq")


def test_a_digest_tells_accounts_apart_without_holding_the_key():
    assert key_digest("sk-a") == key_digest("sk-a") != key_digest("sk-b")
    assert "sk-a" not in key_digest("sk-a")
