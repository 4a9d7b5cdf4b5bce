"""The likeliest strengths behind tables of who beat whom."""

from __future__ import annotations

from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDS: Final = 100
"""Most steps towards the likeliest strengths; ten do as a rule."""

EXACT: Final = 1e-10
"""Change of a strength at which they count as found."""

HALVINGS: Final = 40
"""Most times that one step is halved."""

ROUNDING: Final = 1e-12
"""Part of a likelihood by which two computations of it may differ."""


def likeliest(wins: Floats) -> Floats:
    """Log-strengths of several tables of wins at once, by Newton's method.

    Parameters
    ----------
    wins
        How often each system of a table beat each, shape (tables, systems, systems), its diagonal 0. Of every table
        each system must be `reached_by` each, or its strengths have no bound.

    Returns
    -------
    Floats
        With mean 0 in every table; shape (tables, systems).
    """
    theta: Floats = np.zeros(wins.shape[:2], dtype=np.float64)
    likelihood = _likelihood(wins, theta)
    for _ in range(ROUNDS):
        step = _step(wins, theta)
        if np.abs(step).max() < EXACT:
            return _sum(theta, step)
        length: Floats = np.ones((len(wins), 1), dtype=np.float64)
        for _ in range(HALVINGS):
            tried = _likelihood(wins, _sum(theta, length * step))
            worse = tried < likelihood - np.abs(likelihood) * ROUNDING
            if not worse.any():
                break
            length[worse] /= 2
        theta = _sum(theta, length * step)
        likelihood = _likelihood(wins, theta)
    return theta


def reached_by(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """From each system the ones that edges lead to, itself included, in several graphs at once.

    Parameters
    ----------
    edges
        Whether an edge leads from a system (second axis) to another (third axis); shape (graphs, systems, systems).
    """
    size = edges.shape[-1]
    reached = edges | np.eye(size, dtype=bool)
    steps = 1
    while steps < size:
        reached = np.matmul(reached.astype(np.float32), reached.astype(np.float32)) > 0
        steps *= 2
    return reached


def _step(wins: Floats, theta: Floats) -> Floats:
    """Newton's step from `theta`, of mean 0."""
    meetings, chances = wins + wins.transpose(0, 2, 1), _chances(theta)
    gradient = (wins - meetings * chances).sum(axis=2)
    bend = -meetings * chances * (1 - chances)
    bend = bend - np.eye(wins.shape[-1]) * bend.sum(axis=2)[..., None]
    # strengths are known up to a sum: adding one to every place settles it
    step = cast("Floats", np.linalg.solve(bend + 1.0, gradient[..., None])[..., 0])
    return step - step.mean(axis=1, keepdims=True)


def _sum(theta: Floats, step: Floats) -> Floats:
    return theta + step


def _likelihood(wins: Floats, theta: Floats) -> Floats:
    gaps = theta[:, None, :] - theta[:, :, None]
    return -(wins * np.logaddexp(0.0, gaps)).sum(axis=(1, 2))


def _chances(theta: Floats) -> Floats:
    """Probability that each beats each."""
    return np.exp(-np.logaddexp(0.0, theta[:, None, :] - theta[:, :, None]))
