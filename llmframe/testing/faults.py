"""Faults that come by chance, the same ones in every run."""

from __future__ import annotations

import hashlib
import itertools
from bisect import bisect_right
from collections.abc import Mapping

from llmframe.errors import UsageError
from llmframe.testing.steps import Step

_DRAWS = 2.0**64


class Faults:
    """Steps with their shares of all requests.

    A draw depends on the seed, the request's messages and how often these came before, and on nothing else: the
    order in which requests arrive changes no draw.
    """

    def __init__(self, shares: Mapping[Step, float], *, seed: int) -> None:
        for step, share in shares.items():
            if not isinstance(step, Step):  # pyright: ignore[reportUnnecessaryIsInstance] - of a user
                msg = f"faults holds {step!r}, which is no step; give steps such as `Status(500)`"
                raise UsageError(msg)
            if not 0 <= share <= 1:
                msg = f"faults gives {step!r} the share {share!r}; shares lie in [0, 1]"
                raise UsageError(msg)
        self._steps = tuple(shares)
        self._edges = tuple(itertools.accumulate(shares.values()))
        if self._edges and self._edges[-1] > 1 + 1e-9:
            msg = f"the shares of faults add up to {self._edges[-1]:g}; at most 1 is there to share"
            raise UsageError(msg)
        self._seed = seed
        self._came: dict[int, int] = {}

    def draw(self, messages: int) -> Step | None:
        """The fault of the next request with the messages of this digest, or `None`."""
        if not self._steps:
            return None
        before = self._came.get(messages, 0)
        self._came[messages] = before + 1
        digest = hashlib.blake2b(f"{self._seed}:{messages}:{before}".encode(), digest_size=8).digest()
        at = bisect_right(self._edges, int.from_bytes(digest, "little") / _DRAWS)
        return self._steps[at] if at < len(self._steps) else None

    def forget(self) -> None:
        """Begin again: the next request of any messages is their first."""
        self._came.clear()
