"""`kind`: every kind of frame; `any_kind`: tables and lists of dicts too; `library`: one of each library."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from llmframe.api import keeping
from llmframe.testing import Provider
from tests.contracts.kinds import ALL_KINDS, KINDS, Kind


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture(params=ALL_KINDS, ids=lambda kind: kind.name)
def any_kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture(params=[KINDS[0], KINDS[-1]], ids=lambda kind: kind.library)
def library(request: pytest.FixtureRequest) -> Kind:
    """One kind a library, for what depends on no dtype."""
    return request.param


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A simulated provider; what another one on the same port may have answered is forgotten."""
    keeping._process_store.clear()
    with Provider() as provider:
        yield provider
