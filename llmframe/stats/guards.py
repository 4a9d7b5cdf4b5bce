"""What known answers must be before anything is concluded from them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

from llmframe.errors import UsageError

FEW_GOLD: Final = 100
"""Known answers below which a normal interval is too narrow by more than a point or two of coverage."""

FEW_CLUSTERS: Final = 15
"""Clusters below which an interval over clusters is too narrow."""

LEAST_DISCRIMINATION: Final = 1.1
"""Specificity plus sensitivity up to which a judge tells the classes too little apart; 1 is a coin."""


def check_gold(  # noqa: PLR0913 - the facts about known answers
    random: bool | None,  # noqa: FBT001 - the guard is named after it
    *,
    n: int,
    least: int = 2,
    tuned: bool = False,
    weighted: bool = False,
    by_class: bool = False,
    probability: bool = True,
    what: str = "a conclusion about all rows",
) -> None:
    """Raise `UsageError` where known answers can't carry a conclusion about other rows.

    Parameters
    ----------
    random
        Whether the rows with known answers are a random sample of all; `None`: nobody said.
    n
        How many known answers there are.
    least
        How many it takes.
    tuned
        Whether they were used for choosing the prompt, the model or the threshold.
    weighted
        Whether each row's probability of being picked is known, which makes up for a sample that isn't random.
    by_class
        Whether the statistic is one for gold that was picked by class, which needs no random sample.
    probability
        Whether the statistic can make up for a sample that isn't random by each row's probability of being picked.
    what
        What is concluded, as the subject of the message: `"a corrected estimate"`.

    Raises
    ------
    UsageError
        If gold was tuned on, isn't said to be random, isn't random, or is too little; the message says what to do.
    """
    if tuned:
        raise UsageError(
            f"{what} takes known answers that nothing was tuned on: those that chose the prompt, the model or the "
            "threshold flatter them; split the known rows in two before tuning, tune on the one half and pass the "
            "other, or label new ones"
        )
    if not random and not probability:
        said = "" if random is None else " (`random=False`)"
        raise UsageError(
            f"{what} takes known answers of a random sample of all rows{said}; say `random=True` if they are one, "
            "otherwise draw rows by chance and label those"
        )
    if random is None and not (weighted or by_class):
        raise UsageError(
            f"{what} holds only if the rows with known answers are a random sample of all rows; say `random=True` if "
            "they are, or pass the probabilities by which they were picked: `probability=...`; if neither is so, label "
            "the rows of `llmframe.pick_for_review(frame, budget)`"
        )
    if random is False and not (weighted or by_class):
        raise UsageError(
            f"{what} can't be had from known answers that aren't a random sample (`random=False`): nothing says what "
            "the other rows are like; label the rows of `llmframe.pick_for_review(frame, budget)`, or pass the "
            "probabilities by which they were picked: `probability=...`"
        )
    if n < least:
        raise UsageError(f"{what} takes at least {least:,} known answers, there are {n:,}; label more rows")


def check_classes(labels: Iterable[Hashable], *, what: str) -> None:
    """Raise `UsageError` where known answers have one class only: nothing tells how the other would be judged."""
    found = set(labels)
    if len(found) == 1:
        [only] = found
        raise UsageError(
            f"{what} takes known answers of two classes or more, all of these are {only!r}; label more rows, or pick "
            "some by class"
        )


def check_discrimination(specificity: float, sensitivity: float) -> None:
    """Raise `UsageError` where a judge is too near a coin for its answers to be corrected by its error rates.

    Parameters
    ----------
    specificity, sensitivity
        Shares of right answers among those of the other and of the counted class (q0 and q1), in [0, 1].
    """
    total = specificity + sensitivity
    if total <= LEAST_DISCRIMINATION:
        raise UsageError(
            f"this judge tells the classes too little apart to be corrected: its specificity {specificity:.2f} and "
            f"sensitivity {sensitivity:.2f} sum to {total:.2f}, and it takes more than {LEAST_DISCRIMINATION}; use the "
            'known answers alone (`method="gold"`), or a better judge'
        )


def few_gold(n: int) -> str:
    """A sentence where known answers are few, otherwise empty."""
    if n >= FEW_GOLD:
        return ""
    return f"{n:,} known answers are few: below {FEW_GOLD} an interval may be too narrow, so label more rows"


def few_clusters(count: int) -> str:
    """A sentence where clusters are few, otherwise empty."""
    if count >= FEW_CLUSTERS:
        return ""
    return f"{count:,} clusters are few: below {FEW_CLUSTERS} an interval may be too narrow, so label rows of others"
