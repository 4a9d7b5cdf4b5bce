"""The probes of an audit: which there are, what each asks, and what their results come to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from llmframe.errors import UsageError, did_you_mean
from llmframe.judge.audit_experiments import Probed, injection, order, position, stability, template, verbosity
from llmframe.judge.audit_judges import Judge, Kind
from llmframe.judge.audit_observed import compression, length, self_preference
from llmframe.judge.audit_rows import Answers, Beside
from llmframe.report.audit import LEVEL, Finding, Verdict
from llmframe.stats.multiplicity import false_discovery
from llmframe.stats.shifts import FEW_CLUSTERS

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What a probe takes.

    Parameters
    ----------
    kinds
        Judges that it is for.
    variants
        Questions that it asks beside the judge's own, by kind where they differ.
    ordered
        Whether a rubric needs an order.
    gold, authors
        Whether these have to be said.
    """

    kinds: tuple[Kind, ...] = KINDS
    variants: tuple[str, ...] = ()
    ordered: bool = False
    gold: bool = False
    authors: bool = False


PROBES: Final[Mapping[str, Probe]] = {
    "position": Probe(kinds=("pairwise",), variants=("swapped",)),
    "order": Probe(kinds=("classify",), variants=("turned",)),
    "verbosity": Probe(kinds=("pairwise", "score"), variants=("padded",), ordered=True),
    "length": Probe(kinds=("pairwise", "score"), variants=("swapped",), ordered=True, gold=True),
    "self_preference": Probe(kinds=("pairwise", "score"), variants=("swapped",), ordered=True, gold=True, authors=True),
    "template": Probe(variants=("again", "worded")),
    "stability": Probe(variants=("again",)),
    "compression": Probe(kinds=("score",), ordered=True, gold=True),
    "injection": Probe(variants=("injected",)),
}
"""In the order of the table."""


def chosen(said: Iterable[str] | None, judge: Judge, beside: Beside) -> tuple[str, ...]:
    """The probes of an audit: those that are named, or all that what was said suffices for.

    Raises
    ------
    UsageError
        If a named one isn't known, or can't be made; the message says what it lacks.
    """
    lacking = {name: _lacks(probe, judge, beside) for name, probe in PROBES.items()}
    if said is None:
        return tuple(name for name, lack in lacking.items() if not lack)
    named = [said] if isinstance(said, str) else list(said)
    if not named:
        raise UsageError(f"`probes` names none; probes: {list(PROBES)}, or None for all that can be made")
    for name in named:
        if name not in PROBES:
            near = did_you_mean(str(name), list(PROBES)) or ";"
            raise UsageError(f"`probes` has {name!r}, which isn't known{near} probes: {list(PROBES)}")
        if lacking[name]:
            raise UsageError(f"the probe {name!r} {lacking[name]}")
    return tuple(name for name in PROBES if name in named)


def variants_of(probes: Iterable[str]) -> tuple[str, ...]:
    """What these probes ask beside the judge's own question."""
    return tuple(dict.fromkeys(variant for name in probes for variant in PROBES[name].variants))


def findings_of(answers: Answers, probes: Sequence[str], beside: Beside, *, least: float) -> tuple[Finding, ...]:
    """What each probe found, weighed together."""
    found = {name: _probed(name, answers, beside, least) for name in probes}
    tested = [each.shift.p if each.decides else math.nan for each in found.values()]
    rates, tests = false_discovery(tested), sum(not math.isnan(p) for p in tested)
    return tuple(
        Finding(
            probe=name,
            measure=each.measure,
            effect=each.shift.effect,
            p=each.shift.p,
            q=rate,
            detectable=each.shift.detectable,
            verdict=verdict(each, rate, least=least, tests=tests),
            clusters=each.shift.clusters,
            facts=each.facts,
            note=each.note,
        )
        for (name, each), rate in zip(found.items(), rates, strict=True)
    )


def verdict(probed: Probed, q: float, *, least: float, tests: int) -> Verdict:
    """What a probe comes to; see `Finding`."""
    if not probed.decides:
        return "observational"
    if math.isnan(q):
        return "unknown"
    if q <= LEVEL:
        return "biased"
    enough = probed.shift.clusters >= FEW_CLUSTERS and probed.shift.detectable_among(tests) <= least
    return "clear at this power" if enough else "underpowered"


def _probed(name: str, answers: Answers, beside: Beside, least: float) -> Probed:
    if name == "stability":
        return stability(answers, least=least)
    if name == "self_preference":
        return self_preference(answers, own=beside.own or "")
    return {
        "position": position,
        "order": order,
        "verbosity": verbosity,
        "length": length,
        "template": template,
        "compression": compression,
        "injection": injection,
    }[name](answers)


def _lacks(probe: Probe, judge: Judge, beside: Beside) -> str:
    """What keeps a probe from being made, otherwise empty."""
    if judge.kind not in probe.kinds:
        return f"is for {' and '.join(probe.kinds)}, and this is {judge.kind}; leave it out"
    if probe.ordered and judge.rubric is not None and not judge.numbers:
        return "needs levels with an order, and the rubric is nominal; leave it out"
    if probe.gold and beside.gold is None:
        return "needs what is right: `gold=`, the name of a column"
    if probe.authors and not beside.authors:
        return "needs `authors=`, the columns that say who wrote each text, and `own=`, the judge's own author"
    return ""
