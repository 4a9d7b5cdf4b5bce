"""What a run tells: numbers in, text, HTML and a picture out. No key, no cell."""

from llmframe.core.series import LimitMove, Series
from llmframe.report.plan_report import PlanReport
from llmframe.report.run_report import RunReport, RunState
from llmframe.report.wording import dollars, failure_counts, unsure_counts

__all__ = ["LimitMove", "PlanReport", "RunReport", "RunState", "Series", "dollars", "failure_counts", "unsure_counts"]
