"""The scenarios by name, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable

from effort import Effort
from figures import Finding
from fleet import Fleet

from scenarios import (
    batches,
    confidence,
    duplicates,
    embeddings,
    faults,
    latency,
    limits,
    memory,
    outage,
    overhead,
    slowing,
)

Scenario = Callable[[Fleet, Effort], Finding]

SCENARIOS: dict[str, Scenario] = {
    "overhead": overhead.measure,
    "latency": latency.measure,
    "duplicates": duplicates.measure,
    "memory": memory.measure,
    "embeddings": embeddings.measure,
    "batches": batches.measure,
    "confidence": confidence.measure,
    "limits": limits.measure,
    "faults": faults.measure,
    "slowing": slowing.measure,
    "outage": outage.measure,
}
