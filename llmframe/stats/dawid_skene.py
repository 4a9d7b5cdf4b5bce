"""Dawid and Skene's estimate of labels and judges from votes alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from llmframe.errors import UsageError
from llmframe.stats.sequences import known_rows, plain

L = TypeVar("L", bound=Hashable)

MIN_JUDGES: Final = 3
"""With two judges that disagree nothing tells which of them is right."""

SMOOTHING: Final = 0.01
"""Votes added to each cell of a judge's confusions, and items to each label, so that no probability is 0 or 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DawidSkene:
    """What votes tell about items and judges.

    Parameters
    ----------
    posteriors
        Items × labels: the probability of each label; nan for an item without a vote.
    confusions
        Judges × true labels × votes: the probability that the judge votes so of an item of that label.
    prior
        The labels' shares of the items.
    iterations
        How many times everything was estimated anew.
    converged
        Whether no posterior moved by more than the tolerance in the last of them.
    """

    posteriors: tuple[tuple[float, ...], ...]
    confusions: tuple[tuple[tuple[float, ...], ...], ...]
    prior: tuple[float, ...]
    iterations: int
    converged: bool

    @property
    def accuracies(self) -> tuple[float, ...]:
        """Of every judge the estimated probability that its vote is right."""
        return tuple(
            sum(share * row[label] for label, (share, row) in enumerate(zip(self.prior, judge, strict=True)))
            for judge in self.confusions
        )


def dawid_skene(
    votes: Sequence[Sequence[L | None]],
    labels: Sequence[L],
    *,
    iterations: int = 100,
    tolerance: float = 1e-6,
    smoothing: float = SMOOTHING,
) -> DawidSkene:
    """Labels and every judge's confusions by expectation maximisation, without one known label.

    Parameters
    ----------
    votes
        Items × judges; `None` where a judge gave no valid vote.
    labels
        All labels, at least two; their order is the results'.
    iterations
        Most rounds of the two steps, at least 1.
    tolerance
        It ends when no posterior moves by more.
    smoothing
        Votes added to each cell before shares are taken, above 0.

    Raises
    ------
    UsageError
        If there are fewer than three judges or two labels, or a vote is none of the labels.

    Notes
    -----
    Dawid and Skene (1979), Applied Statistics 28, p. 20. Posteriors begin as the shares of the votes, which decides
    between the solutions that differ in nothing but the names of the labels; there is no chance in it. Judges are
    taken to err independently given the label: models that are kin err together, and the posteriors are then too sure.
    """
    labels = plain(labels)
    codes = _codes(known_rows(votes), labels)
    voted = (codes >= 0).any(axis=1)
    cast, size = codes[voted], len(labels)
    posterior = _shares(cast, size)
    confusions, prior = _judged(cast, posterior, smoothing)
    rounds, converged = 0, not len(cast)
    while rounds < iterations and not converged:
        before, posterior = posterior, _posterior(cast, confusions, prior)
        confusions, prior = _judged(cast, posterior, smoothing)
        rounds += 1
        converged = float(np.abs(posterior - before).max()) <= tolerance
    everything = np.full((len(codes), size), np.nan)
    everything[voted] = posterior
    return DawidSkene(
        posteriors=tuple(map(tuple, everything.tolist())),
        confusions=tuple(tuple(map(tuple, judge)) for judge in confusions.tolist()),
        prior=tuple(prior.tolist()),
        iterations=rounds,
        converged=converged,
    )


def _codes(votes: Sequence[Sequence[Any]], labels: Sequence[Any]) -> NDArray[np.int64]:
    """Items × judges: the place of each vote among the labels, -1 for none."""
    places = {label: place for place, label in enumerate(labels)}
    if len(places) < 2:  # noqa: PLR2004 - a pair
        raise UsageError(f"Dawid and Skene's model needs at least two labels, got {len(places)}")
    judges = {len(item) for item in votes}
    if judges and min(judges) < MIN_JUDGES:
        raise UsageError(
            f"Dawid and Skene's model needs at least {MIN_JUDGES} judges, got {min(judges)}: of two that disagree "
            "nothing tells which is right; add a model, or weigh them by known labels"
        )
    try:
        rows = [[-1 if vote is None else places[vote] for vote in item] for item in votes]
    except KeyError:
        raise UsageError(f"a vote is none of the {len(places)} labels; name all labels that judges give") from None
    return np.array(rows, dtype=np.int64).reshape(len(rows), max(judges, default=MIN_JUDGES))


def _shares(votes: NDArray[np.int64], labels: int) -> NDArray[np.float64]:
    counts = np.stack([(votes == label).sum(axis=1) for label in range(labels)], axis=1).astype(np.float64)
    return counts / counts.sum(axis=1, keepdims=True)


def _judged(
    votes: NDArray[np.int64], posterior: NDArray[np.float64], smoothing: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The M step: each judge's confusions and the prior, from the posteriors."""
    size = posterior.shape[1]
    counts = np.full((votes.shape[1], size, size), smoothing)
    for judge in range(votes.shape[1]):
        for label in range(size):
            counts[judge, :, label] += posterior[votes[:, judge] == label].sum(axis=0)
    weights = posterior.sum(axis=0) + smoothing
    return counts / counts.sum(axis=2, keepdims=True), weights / weights.sum()


def _posterior(
    votes: NDArray[np.int64], confusions: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The E step: each item's posterior, from the confusions and the prior."""
    logs = np.tile(np.log(prior), (len(votes), 1))
    for judge, confusion in enumerate(np.log(confusions)):
        given = votes[:, judge] >= 0
        logs[given] += confusion.T[votes[given, judge]]
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
