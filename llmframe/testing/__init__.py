"""Public doubles for tests: a simulated provider, the faults it can be told, and simulated time."""

from __future__ import annotations

from llmframe.testing.anthropic import AnthropicProvider
from llmframe.testing.batch_faults import Results
from llmframe.testing.batch_lines import digest
from llmframe.testing.batches import BatchService
from llmframe.testing.clock import FakeTimeLoop, run_in_fake_time
from llmframe.testing.desk import Answer
from llmframe.testing.instances import instance
from llmframe.testing.provider import Provider
from llmframe.testing.script import Matcher
from llmframe.testing.steps import (
    BadBody,
    Cut,
    Delay,
    Drip,
    Empty,
    Filtered,
    Hang,
    Html,
    NoChoices,
    Object,
    Refusal,
    Reset,
    Stall,
    Status,
    Step,
    StreamError,
    Text,
    ToolCalls,
    Truncated,
    Without,
)
from llmframe.testing.telling import Logprobs

__all__ = [
    "Answer",
    "AnthropicProvider",
    "BadBody",
    "BatchService",
    "Cut",
    "Delay",
    "Drip",
    "Empty",
    "FakeTimeLoop",
    "Filtered",
    "Hang",
    "Html",
    "Logprobs",
    "Matcher",
    "NoChoices",
    "Object",
    "Provider",
    "Refusal",
    "Reset",
    "Results",
    "Stall",
    "Status",
    "Step",
    "StreamError",
    "Text",
    "ToolCalls",
    "Truncated",
    "Without",
    "digest",
    "instance",
    "run_in_fake_time",
]
