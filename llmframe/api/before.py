"""What a run has asked before its parts, and what they have to know of it."""

from __future__ import annotations

from dataclasses import dataclass

from llmframe.core.outcome import Failure
from llmframe.engine.run import Run
from llmframe.engine.settled import Settled, Settlement
from llmframe.stores.base import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A run that has asked something before its parts.

    Parameters
    ----------
    run
        It goes on.
    store
        Where the answers are, and where the parts look.
    settled
        What was done, by fingerprint: what it took is told on the first row that asked for it.
    """

    run: Run
    store: Store
    settled: dict[bytes, Settlement]


class Told:
    """Settlements, each told once; later rows with the same request share what the store has. Satisfies `Settled`.

    Parameters
    ----------
    settlements
        By fingerprint; they are taken out as they're told.
    others
        Who knows of the rest.
    """

    def __init__(self, settlements: dict[bytes, Settlement], others: Settled | None) -> None:
        self._settlements, self._others = settlements, others

    @property
    def left(self) -> Failure | None:
        """The failure of a request without an answer that nobody tells of; as the others say."""
        return None if self._others is None else self._others.left

    def of(self, keys: list[bytes]) -> dict[bytes, Settlement]:
        """What is known of fingerprints."""
        known = {} if self._others is None else self._others.of(keys)
        for key in self._settlements.keys() & keys:
            known[key] = self._settlements[key]
        return known

    def told(self, keys: list[bytes]) -> None:
        """What these took stands on a row now."""
        for key in keys:
            self._settlements.pop(key, None)
        if self._others is not None:
            self._others.told(keys)


def settled_by(batches: Settled | None, before: Before | None) -> Settled | None:
    """Who tells what was done before the parts of a run; `None` when nothing was."""
    return batches if before is None or not before.settled else Told(before.settled, batches)
