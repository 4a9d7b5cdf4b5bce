"""The alternative annotator test: whether a judge can replace one of several people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from llmframe.errors import UsageError
from llmframe.stats.extra import missing
from llmframe.stats.panels import Level
from llmframe.stats.sequences import known, known_rows

FEWEST: Final = 30
"""Fewest items that a person must have rated beside others; one with fewer is left out."""

SAME: Final = 1e-12
"""Scores that are nearer than this are equal: they are roots of the same sums in another order."""

HALF: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstPerson:
    """The judge against one person, by how near each is to all others.

    Attributes
    ----------
    place
        The person's place among the people, from 0.
    n
        Items that the person, another one and the judge rated.
    judge, person
        Part of them in which the judge, or the person, is at least as near to the others.
    p
        Of the test that the person is ahead by the margin or more.
    won
        Whether that is rejected, for all people together at the false discovery rate.
    """

    place: int
    n: int
    judge: float
    person: float
    p: float
    won: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AltTest:
    """The judge against each person.

    Attributes
    ----------
    people
        Those who rated enough items.
    winning_rate
        The part of them against whom the judge won; nan without any.
    advantage
        Mean part of items in which the judge is at least as near to the others as the person: to compare judges by.
    margin, rate
        As they were said.
    reason
        Why something is nan, otherwise empty.
    """

    people: tuple[AgainstPerson, ...]
    winning_rate: float
    advantage: float
    margin: float
    rate: float
    reason: str = ""

    @property
    def passed(self) -> bool:
        """Whether the judge won against half of the people or more."""
        return self.winning_rate >= HALF

    def to_dict(self) -> dict[str, object]:
        """Plain values; what is unknown is `None`."""
        known = {name: None if math.isnan(value) else value for name, value in self._rates().items()}
        return {**asdict(self), **known, "people": [asdict(each) for each in self.people], "passed": self.passed}

    def __str__(self) -> str:
        """`"passed, won against 2 of 3 people, margin 0.2"`."""
        if self.reason:
            return f"unknown: {self.reason}"
        won = sum(each.won for each in self.people)
        word = "passed" if self.passed else "not passed"
        return f"{word}, won against {won} of {len(self.people)} people, margin {self.margin:g}"

    def _rates(self) -> dict[str, float]:
        return {"winning_rate": self.winning_rate, "advantage": self.advantage}


def alt_test(
    judge: Sequence[Any],
    humans: Sequence[Sequence[Any]],
    *,
    scale: Level = "nominal",
    margin: float = 0.2,
    rate: float = 0.05,
) -> AltTest:
    """Compare a judge with each person by how near both are to all other people.

    Parameters
    ----------
    judge
        Its rating of each item; `None` or NaN where it has none.
    humans
        Items × people, each place the same person throughout; `None` where one gave no rating. At least two people,
        best three, and 50 to 100 items.
    scale
        `"nominal"`: near is the part of the others who gave the same label. Otherwise ratings are numbers, and near is
        a small root mean square of the differences.
    margin
        How far the judge may be behind, in [0, 1): what its answers are cheaper by. The authors take 0.2 against
        experts, 0.15 against skilled people, 0.1 against crowd workers.
    rate
        False discovery rate over the people, in (0, 1).

    Returns
    -------
    AltTest
        `.passed` where the judge won against half of the people.

    Raises
    ------
    UsageError
        If lengths differ, there is one person, or an argument is out of range.
    MissingExtraError
        Without scipy: `pip install 'llmframe[judge]'`.

    Notes
    -----
    Calderon, Reichart, Dror (2025), arXiv 2501.10970: a one-sided t test for each person with `FEWEST` items or more,
    with Benjamini and Yekutieli's control. t test and control are computed by scipy.
    """
    judge, humans = known(judge), known_rows(humans)
    _check(judge, humans, margin, rate)
    found = [
        (place, *wins)
        for place in range(max(map(len, humans), default=0))
        if len((wins := _wins(judge, humans, place, nominal=scale == "nominal"))[0]) >= FEWEST
    ]
    if not found:
        reason = f"nobody rated {FEWEST} items that the judge and another person rated, too"
        return AltTest(people=(), winning_rate=math.nan, advantage=math.nan, margin=margin, rate=rate, reason=reason)
    stats = _scipy()
    ps = [
        _p(stats, [of_person - of_judge for of_judge, of_person in zip(*both, strict=True)], margin)
        for _, *both in found
    ]
    adjusted: list[float] = stats.false_discovery_control(ps, method="by").tolist()
    people = tuple(
        AgainstPerson(
            place=place,
            n=len(of_judge),
            judge=sum(of_judge) / len(of_judge),
            person=sum(of_person) / len(of_person),
            p=p,
            won=corrected <= rate,
        )
        for (place, of_judge, of_person), p, corrected in zip(found, ps, adjusted, strict=True)
    )
    return AltTest(
        people=people,
        winning_rate=sum(each.won for each in people) / len(people),
        advantage=math.fsum(each.judge for each in people) / len(people),
        margin=margin,
        rate=rate,
    )


def _wins(
    judge: Sequence[Any], humans: Sequence[Sequence[Any]], place: int, *, nominal: bool
) -> tuple[list[bool], list[bool]]:
    """By item, whether the judge is at least as near to the others as the person, and the other way round."""
    of_judge: list[bool] = []
    of_person: list[bool] = []
    for said, item in zip(judge, humans, strict=True):
        others = [each for at, each in enumerate(item) if at != place and each is not None]
        if said is None or not others or place >= len(item) or item[place] is None:
            continue
        first, second = _near(said, others, nominal=nominal), _near(item[place], others, nominal=nominal)
        of_judge.append(first >= second - SAME)
        of_person.append(second >= first - SAME)
    return of_judge, of_person


def _near(rating: Any, others: Sequence[Any], *, nominal: bool) -> float:
    if nominal:
        return sum(rating == other for other in others) / len(others)
    return -math.sqrt(math.fsum((rating - other) ** 2 for other in others) / len(others))


def _p(stats: Any, leads: Sequence[int], margin: float) -> float:
    """That the person's mean lead is the margin or more."""
    if len(set(leads)) == 1:  # without spread there is no t
        return 0.0 if leads[0] < margin else 1.0
    return float(stats.ttest_1samp(np.array(leads, dtype=np.float64), margin, alternative="less").pvalue)


def _scipy() -> Any:
    try:
        from scipy import stats  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing("the alternative annotator test", "scipy") from None
    return stats


def _check(judge: Sequence[Any], humans: Sequence[Sequence[Any]], margin: float, rate: float) -> None:
    if len(judge) != len(humans):
        raise UsageError(f"`judge` has {len(judge)} items and `humans` {len(humans)}; give both for the same items")
    if humans and max(map(len, humans)) < 2:  # noqa: PLR2004 - one person and another
        raise UsageError("the test compares a judge and a person with other people: give the ratings of two or more")
    if not 0 <= margin < 1:
        raise UsageError(f"`margin` is in [0, 1), got {margin!r}")
    if not 0 < rate < 1:
        raise UsageError(f"`rate` is between 0 and 1, got {rate!r}")
