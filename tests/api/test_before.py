"""What was asked before the parts of a run is told on one row."""

from __future__ import annotations

from typing import Any

from llmframe.api.before import Told, settled_by
from llmframe.core.outcome import Failure, Usage
from llmframe.engine.settled import Settlement

ONE, TWO = Settlement(usage=Usage(1, 0, 0), source="live"), Settlement(usage=Usage(2, 0, 0))


class Batches:
    """Knows of one request, and remembers what it was told."""

    left = Failure("batch_missing", "none")

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def of(self, keys: list[bytes]) -> dict[bytes, Settlement]:
        return {key: TWO for key in keys if key == b"b"}

    def told(self, keys: list[bytes]) -> None:
        self.heard += keys


def test_what_is_told_once_is_shared_from_then_on():
    told = Told({b"a": ONE}, None)
    assert told.of([b"a", b"c"]) == {b"a": ONE}
    told.told([b"a"])
    assert told.of([b"a", b"c"]) == {}
    assert told.left is None


def test_batches_tell_the_rest_and_hear_of_all():
    batches = Batches()
    told = Told({b"a": ONE}, batches)
    assert told.of([b"a", b"b"]) == {b"a": ONE, b"b": TWO}
    told.told([b"a", b"b"])
    assert (batches.heard, told.left) == ([b"a", b"b"], batches.left)


def test_where_nothing_was_asked_the_batches_alone_tell():
    batches: Any = Batches()
    before: Any = type("Before", (), {"settled": {}})()
    assert settled_by(batches, None) is settled_by(batches, before) is batches
    assert settled_by(None, None) is None
