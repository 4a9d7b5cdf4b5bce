"""Columns from a language model, on pandas and polars.

`import llmframe` registers `.llm` on both libraries, whenever they are imported, and loads neither; what a call needs
is loaded by the first use of a name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from llmframe import errors, options
from llmframe.accessor import register
from llmframe.budget import Budget
from llmframe.errors import (
    LlmframeError,
    LlmframeWarning,
    MissingExtraError,
    RowError,
    UsageError,
)
from llmframe.options import use

if TYPE_CHECKING:
    from llmframe import datasets, stats, testing
    from llmframe.api.embed import aembed, embed
    from llmframe.api.embed_files import aembed_file, embed_file
    from llmframe.api.files import amap_file, map_file, plan_file
    from llmframe.api.joblist import job, jobs
    from llmframe.api.jobs import Job, submit
    from llmframe.api.runs import cancel, last_run
    from llmframe.api.stream_verbs import astream, stream
    from llmframe.api.verbs import amap, map, plan  # noqa: A004 - the verb's name
    from llmframe.core.calibration import Calibration
    from llmframe.core.template import Template
    from llmframe.engine.progress import Progress
    from llmframe.judge.agreement import agreement
    from llmframe.judge.audit import aaudit, audit
    from llmframe.judge.calibrate import calibrate
    from llmframe.judge.card import card
    from llmframe.judge.cascade import acascade, cascade
    from llmframe.judge.classify import aclassify, classify
    from llmframe.judge.compare import compare_runs
    from llmframe.judge.course import last_cascade
    from llmframe.judge.estimating import estimate
    from llmframe.judge.extract import aextract, extract
    from llmframe.judge.filter import afilter, filter  # noqa: A004 - the preset's name
    from llmframe.judge.pairwise import apairwise, pairwise
    from llmframe.judge.ranking import rank
    from llmframe.judge.review import pick_for_review
    from llmframe.judge.review_files import from_review_file, to_review_file
    from llmframe.judge.rubric import Rubric
    from llmframe.judge.score import ascore, score
    from llmframe.judge.selecting import select
    from llmframe.judge.tiers import Cascade
    from llmframe.report import PlanReport, RunReport
    from llmframe.report.agreement import Agreement
    from llmframe.report.audit import Audit
    from llmframe.report.card import ReportCard
    from llmframe.report.comparison import Comparison
    from llmframe.report.estimates import EstimateReport
    from llmframe.report.ranked import Ranking
    from llmframe.report.selection import Selection
    from llmframe.report.tier_report import CascadeReport

__version__ = "0.1.0"

__all__ = [
    "Agreement",
    "Audit",
    "Budget",
    "Calibration",
    "Cascade",
    "CascadeReport",
    "Comparison",
    "EstimateReport",
    "Job",
    "LlmframeError",
    "LlmframeWarning",
    "MissingExtraError",
    "PlanReport",
    "Progress",
    "Ranking",
    "ReportCard",
    "RowError",
    "Rubric",
    "RunReport",
    "Selection",
    "Template",
    "UsageError",
    "__version__",
    "aaudit",
    "acascade",
    "aclassify",
    "aembed",
    "aembed_file",
    "aextract",
    "afilter",
    "agreement",
    "amap",
    "amap_file",
    "apairwise",
    "ascore",
    "astream",
    "audit",
    "calibrate",
    "cancel",
    "card",
    "cascade",
    "classify",
    "compare_runs",
    "datasets",
    "embed",
    "embed_file",
    "errors",
    "estimate",
    "extract",
    "filter",
    "from_review_file",
    "job",
    "jobs",
    "last_cascade",
    "last_run",
    "map",
    "map_file",
    "options",
    "pairwise",
    "pick_for_review",
    "plan",
    "plan_file",
    "rank",
    "register",
    "score",
    "select",
    "stats",
    "stream",
    "submit",
    "testing",
    "to_review_file",
    "use",
]

# Loaded by need: together they take as long to import as pandas (0.3 s of CPU), and `import llmframe` 0.03 s.
_HOMES = {
    "Agreement": "llmframe.report.agreement",
    "Audit": "llmframe.report.audit",
    "Calibration": "llmframe.core.calibration",
    "Cascade": "llmframe.judge.tiers",
    "CascadeReport": "llmframe.report.tier_report",
    "Comparison": "llmframe.report.comparison",
    "EstimateReport": "llmframe.report.estimates",
    "Job": "llmframe.api.jobs",
    "PlanReport": "llmframe.report",
    "Progress": "llmframe.engine.progress",
    "Ranking": "llmframe.report.ranked",
    "ReportCard": "llmframe.report.card",
    "Rubric": "llmframe.judge.rubric",
    "RunReport": "llmframe.report",
    "Selection": "llmframe.report.selection",
    "Template": "llmframe.core.template",
    "aaudit": "llmframe.judge.audit",
    "acascade": "llmframe.judge.cascade",
    "aclassify": "llmframe.judge.classify",
    "aembed": "llmframe.api.embed",
    "aembed_file": "llmframe.api.embed_files",
    "aextract": "llmframe.judge.extract",
    "afilter": "llmframe.judge.filter",
    "agreement": "llmframe.judge.agreement",
    "amap": "llmframe.api.verbs",
    "amap_file": "llmframe.api.files",
    "apairwise": "llmframe.judge.pairwise",
    "ascore": "llmframe.judge.score",
    "astream": "llmframe.api.stream_verbs",
    "audit": "llmframe.judge.audit",
    "calibrate": "llmframe.judge.calibrate",
    "cancel": "llmframe.api.runs",
    "card": "llmframe.judge.card",
    "cascade": "llmframe.judge.cascade",
    "classify": "llmframe.judge.classify",
    "compare_runs": "llmframe.judge.compare",
    "embed": "llmframe.api.embed",
    "embed_file": "llmframe.api.embed_files",
    "estimate": "llmframe.judge.estimating",
    "extract": "llmframe.judge.extract",
    "filter": "llmframe.judge.filter",
    "from_review_file": "llmframe.judge.review_files",
    "job": "llmframe.api.joblist",
    "jobs": "llmframe.api.joblist",
    "last_cascade": "llmframe.judge.course",
    "last_run": "llmframe.api.runs",
    "map": "llmframe.api.verbs",
    "map_file": "llmframe.api.files",
    "pairwise": "llmframe.judge.pairwise",
    "pick_for_review": "llmframe.judge.review",
    "plan": "llmframe.api.verbs",
    "plan_file": "llmframe.api.files",
    "rank": "llmframe.judge.ranking",
    "score": "llmframe.judge.score",
    "select": "llmframe.judge.selecting",
    "stream": "llmframe.api.stream_verbs",
    "submit": "llmframe.api.jobs",
    "to_review_file": "llmframe.judge.review_files",
}
_MODULES = ("datasets", "stats", "testing")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"llmframe.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'llmframe' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


register()
