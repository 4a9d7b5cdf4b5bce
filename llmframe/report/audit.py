"""What an audit of a judge found, as a table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from llmframe.errors import UsageError, did_you_mean
from llmframe.report.wording import html_rows, text_rows
from llmframe.stats.estimate import Estimate

Verdict = Literal["biased", "clear at this power", "underpowered", "observational", "unknown"]

LEVEL: Final = 0.05
"""Highest q of a finding."""

NAMES: Final = ("probe", "effect", "p", "q", "detectable", "rows", "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one probe found.

    Attributes
    ----------
    probe
        Its name.
    measure
        What the effect is, in words.
    effect
        With its interval, which counts the rows of a cluster as one, and the rows it is of.
    p
        Probability of an effect at least as large by chance alone; nan where it can't be told.
    q
        The same for all probes of the audit together (Benjamini and Hochberg).
    detectable
        Least effect that a test of this probe alone finds with power 0.8: (z(.975) + z(.8)) SE.
    verdict
        `"biased"`: q is at most 0.05. `"clear at this power"`: it isn't, though an effect of `Audit.least` would have
        been found in four of five audits, even as the only one among all their tests; and there are 15 items or
        clusters at least. `"underpowered"`: it isn't, and such an effect could have been
        missed. `"observational"`: no experiment, so nothing is decided. `"unknown"`: there is no p.
    facts
        Further numbers by name.
    note
        What is to be known about the probe.
    """

    probe: str
    measure: str
    effect: Estimate
    p: float = math.nan
    q: float = math.nan
    detectable: float = math.nan
    verdict: Verdict = "unknown"
    clusters: int = 0
    facts: Mapping[str, float] = field(default_factory=dict[str, float])
    note: str = ""

    def to_dict(self) -> dict[str, object]:
        """Plain values for logs and JSON; what is unknown is `None`."""
        return {
            "probe": self.probe,
            "measure": self.measure,
            "effect": self.effect.to_dict(),
            "p": _known(self.p),
            "q": _known(self.q),
            "detectable": _known(self.detectable),
            "verdict": self.verdict,
            "clusters": self.clusters,
            "facts": {name: _known(value) for name, value in self.facts.items()},
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """A judge's biases; `repr` is a table, notebooks show it as HTML.

    Attributes
    ----------
    judge
        What was audited: `"score"`, `"pairwise"` or `"classify"`.
    rows, failed
        Rows of the sample, and those without an answer to the judge's own question.
    findings
        One a probe; `audit["position"]` is the one of that name.
    least
        The smallest effect that matters, by which probes are clear or underpowered.
    seed
        What decided the sample.
    """

    judge: str
    rows: int
    failed: int
    findings: tuple[Finding, ...]
    least: float
    seed: int

    def __getitem__(self, probe: str) -> Finding:
        """What one probe found."""
        names = [finding.probe for finding in self.findings]
        if probe not in names:
            raise UsageError(f"probe {probe!r} isn't in this audit{did_you_mean(probe, names) or ';'} probes: {names}")
        return self.findings[names.index(probe)]

    @property
    def biased(self) -> tuple[str, ...]:
        """Probes whose verdict is that the judge is biased."""
        return tuple(finding.probe for finding in self.findings if finding.verdict == "biased")

    @property
    def title(self) -> str:
        """`"llmframe audit · score · 100 rows"`."""
        failed = f", {self.failed:,} failed" if self.failed else ""
        return f"llmframe audit · {self.judge} · {self.rows:,} rows{failed}"

    @property
    def names(self) -> tuple[str, ...]:
        """Heads of the table's columns."""
        return NAMES

    def table(self) -> list[list[str]]:
        """The table's cells, a list for each probe."""
        return [
            [
                finding.probe,
                str(finding.effect),
                probability(finding.p),
                probability(finding.q),
                "" if math.isnan(finding.detectable) else f"{finding.detectable:.2f}",
                f"{finding.effect.n:,}",
                finding.verdict,
            ]
            for finding in self.findings
        ]

    def notes(self) -> list[str]:
        """A sentence for each probe about what its effect is, with its further numbers."""
        return [_note(finding) for finding in self.findings]

    @property
    def rule(self) -> str:
        """How the verdicts come about."""
        return (
            f"biased: q <= {LEVEL:g}; clear at this power: not so, though an effect of {self.least:g} would have been "
            "found with power 0.8; underpowered: an effect of that size could have been missed"
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values for logs and JSON; what is unknown is `None`."""
        return {
            "judge": self.judge,
            "rows": self.rows,
            "failed": self.failed,
            "least": self.least,
            "seed": self.seed,
            "biased": list(self.biased),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict())

    def to_markdown(self) -> str:
        """The table and its notes in Markdown."""
        lines = [f"**{self.title}**", "", _row(self.names), _row(["---"] * len(self.names))]
        lines += [_row(cells) for cells in self.table()]
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes()), "", self.rule])

    def __repr__(self) -> str:
        """The table and its notes."""
        table = "\n".join(f"  {line}" for line in text_rows(self.names, self.table()).splitlines())
        return "\n".join([self.title, table, "", *(f"  {note}" for note in self.notes()), f"  {self.rule}"])

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        import html  # noqa: PLC0415 - for notebooks alone

        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes())
        head = f"<p>{html.escape(self.title)}</p>"
        return f"{head}{html_rows(self.names, self.table())}<ul>{notes}</ul><p>{html.escape(self.rule)}</p>"


def probability(p: float) -> str:
    """`"0.031"`, `"<0.001"`; empty where it is unknown."""
    if math.isnan(p):
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"  # noqa: PLR2004 - as far as it is told


def _note(finding: Finding) -> str:
    facts = ", ".join(f"{name} {_number(value)}" for name, value in finding.facts.items())
    told = [finding.measure, *([facts] if facts else []), *filter(None, (finding.effect.reason, finding.note))]
    return f"{finding.probe}: {'; '.join(told)}"


def _number(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "unknown" if math.isnan(value) else f"{value:.2f}"


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
