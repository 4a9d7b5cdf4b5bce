"""Columns from a language model, on pandas and polars.

`import llmframe` registers `.llm` on both libraries, whenever they are imported, and loads neither.
"""

from __future__ import annotations

from llmframe import datasets, errors, options, testing
from llmframe.accessor import register
from llmframe.api.runs import cancel, last_run
from llmframe.api.verbs import amap, map, plan  # noqa: A004 - the verb's name
from llmframe.core.template import Template
from llmframe.engine.progress import Progress
from llmframe.errors import (
    LlmframeError,
    LlmframeWarning,
    MissingExtraError,
    RowError,
    UsageError,
)
from llmframe.options import use
from llmframe.report import PlanReport, RunReport

__version__ = "0.1.0"

__all__ = [
    "LlmframeError",
    "LlmframeWarning",
    "MissingExtraError",
    "PlanReport",
    "Progress",
    "RowError",
    "RunReport",
    "Template",
    "UsageError",
    "__version__",
    "amap",
    "cancel",
    "datasets",
    "errors",
    "last_run",
    "map",
    "options",
    "plan",
    "register",
    "testing",
    "use",
]

register()
