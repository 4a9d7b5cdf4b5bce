"""What a card says of an audit."""

from __future__ import annotations

import math

from llmframe.report.audit import Audit, Finding
from llmframe.report.card_parts.bias_part import KEYS, bias_section
from llmframe.stats.estimate import Estimate, unknown

AUDIT = Audit(
    judge="pairwise",
    rows=100,
    failed=2,
    least=0.1,
    seed=0,
    findings=(
        Finding(
            probe="position",
            measure="share of first picks less a half",
            effect=Estimate(value=0.2, low=0.1, high=0.3, n=98),
            p=0.00001,
            q=0.00002,
            detectable=0.14,
            verdict="biased",
        ),
        Finding(
            probe="verbosity",
            measure="shift towards the longer",
            effect=Estimate(value=0.01, low=-0.05, high=0.07, n=98),
            p=0.4,
            q=0.4,
            detectable=0.08,
            verdict="clear at this power",
        ),
        Finding(
            probe="length",
            measure="growth of the log-odds",
            effect=Estimate(value=2.5, low=1.0, high=4.0, n=90),
            verdict="observational",
        ),
        Finding(probe="template", measure="shift", effect=unknown("no row"), verdict="unknown"),
    ),
)


def test_each_probe_has_its_effect_and_q_and_findings_are_counted():
    part = bias_section(AUDIT)
    assert part.values["bias_findings"] == 1
    assert part.values["bias_underpowered"] == 0
    assert (part.values["bias.position"], part.values["bias.position.low"]) == (0.2, 0.1)
    assert part.values["bias.verbosity.q"] == 0.4
    assert math.isnan(part.values["bias.template"])
    assert dict(part.lines)["biased"] == "position"
    assert len(part.tables[0].rows) == 4


def test_the_picture_tells_verdicts_by_marks_and_words():
    axes, beside = bias_section(AUDIT).pictures[0].draw().axes
    assert [tick.get_text() for tick in beside.get_yticklabels()] == ["+0.20, q < 0.001", "+0.01, q = 0.400", "unknown"]
    # what was observed is in the table alone
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["position", "verbosity", "template"]


def test_without_an_audit_the_part_is_absent_and_no_gate_on_it_passes():
    part = bias_section(None)
    assert part.absent
    assert "audit" in part.reason
    assert all(math.isnan(part.values[key]) for key in KEYS)
