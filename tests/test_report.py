"""The names of the report, where others import them from."""

from __future__ import annotations

import llmframe
from llmframe import report


def test_the_reports_of_a_run_and_of_a_plan_are_at_home_here():
    assert llmframe.RunReport is report.RunReport
    assert llmframe.PlanReport is report.PlanReport
    assert all(hasattr(report, name) for name in report.__all__)
