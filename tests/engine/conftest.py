"""Every test of the engine begins alike: with the same jitter, and with no endpoint that an earlier one has met."""

from __future__ import annotations

import pytest
from hypothesis import register_random

from llmframe.engine import dialects, patience, runner

SOURCES = (runner.JITTER, patience._CHANCE)
"""What spreads retries and looks, and thereby decides in which order requests of simulated time come."""

for source in SOURCES:
    register_random(source)  # every example of Hypothesis begins alike, too


@pytest.fixture(autouse=True)
def same_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed the jitter and forget which forms servers take: several tests call theirs by one name."""
    for source in SOURCES:
        source.seed(1)
    monkeypatch.setattr(dialects, "_remembered", {})
