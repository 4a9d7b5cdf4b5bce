"""Addresses are normalised once; the tables of providers agree with instructor's."""

from __future__ import annotations

import pytest
from instructor.v2.core.provider_specs import ALIAS_TO_PROVIDER

from llmframe.clients import endpoints
from llmframe.clients.endpoints import (
    FOREIGN,
    Foreign,
    identity_of,
    is_loopback,
    need_packages,
    price_name,
    sending_url,
)
from llmframe.errors import MissingExtraError, UsageError


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000",
        "http://localhost:8000/",
        "http://localhost:8000/v1",
        "http://localhost:8000/v1/",
        " http://LOCALHOST:8000/v1/ ",
        "http://localhost:8000/v1/chat/completions",
    ],
)
def test_one_server_has_one_identity_however_its_address_is_written(url: str):
    assert identity_of(sending_url(url)) == "http://localhost:8000/v1"


def test_an_identity_holds_no_user_and_no_query():
    assert identity_of("http://user:SECRET@localhost:8000/v1?key=SECRET") == "http://localhost:8000/v1"


def test_a_default_port_falls_away_and_a_path_stays():
    assert identity_of("https://Host.Example:443/serving/") == "https://host.example/serving"
    assert identity_of("http://[::1]:8080/v1") == "http://[::1]:8080/v1"
    assert sending_url("https://host.example/proxy/openai/") == "https://host.example/proxy/openai"


def test_a_providers_own_address_is_sent_as_it_is():
    assert sending_url("https://api.perplexity.ai") == "https://api.perplexity.ai"


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host/v1", "", "http://", "/v1", "http://h:99999", "http://[::1"]
)
def test_an_address_that_isnt_one_is_refused(url: str):
    with pytest.raises(UsageError, match="absolute URL"):
        sending_url(url)


@pytest.mark.parametrize(
    ("url", "remedy"),
    [
        ("http://host/v1?api-version=SECRET", "extra_query"),
        ("http://host?a=SECRET", "extra_query"),
        ("http://host/v1#SECRET", "extra_query"),
        ("http://user:SECRET@host/v1", "extra_headers"),
    ],
)
def test_what_an_address_cannot_carry_is_refused_with_its_own_place_and_never_shown(url: str, remedy: str):
    with pytest.raises(UsageError, match=remedy) as caught:
        sending_url(url)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.2/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://0.0.0.0:1/v1", True),
        ("http://10.0.0.1/v1", False),
        ("https://localhost.example/v1", False),
    ],
)
def test_only_this_machine_is_loopback(url: str, *, here: bool):
    assert is_loopback(url) is here


def test_the_host_tells_whose_prices_hold():
    assert price_name("https://api.openai.com/v1") == "openai"
    assert price_name("https://mine.openai.azure.com/openai/") == "azure"
    assert price_name("http://localhost:11434/v1") is None


def test_every_provider_that_instructor_names_is_known():
    assert set(ALIAS_TO_PROVIDER) == set(endpoints.ENDPOINTS) | set(endpoints.FOREIGN)


def test_a_missing_package_is_named_with_its_install_line():
    absent = Foreign(modules=("absent.sdk",), packages="absent-sdk", price_name="absent")
    with pytest.raises(MissingExtraError, match="pip install absent-sdk"):
        need_packages("absent", absent)
    need_packages("anthropic", FOREIGN["anthropic"])


def test_anthropics_package_is_an_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("llmframe.clients.endpoints._is_installed", lambda _module: False)
    with pytest.raises(MissingExtraError, match=r"`pip install 'llmframe\[anthropic\]'`"):
        need_packages("anthropic", FOREIGN["anthropic"])
