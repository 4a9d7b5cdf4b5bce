"""`kind` runs a test on every kind of frame, `any_kind` also on tables and lists of dicts."""

from __future__ import annotations

import pytest

from tests.contracts.kinds import ALL_KINDS, KINDS, Kind


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture(params=ALL_KINDS, ids=lambda kind: kind.name)
def any_kind(request: pytest.FixtureRequest) -> Kind:
    return request.param
