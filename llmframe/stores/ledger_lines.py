"""The ledger's lines: which requests stand in a shard, and what became of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from llmframe.core.outcome import Usage
from llmframe.errors import ErrorKind
from llmframe.stores.chunks import chunks
from llmframe.stores.connections import Connection
from llmframe.stores.jobs import OPEN, LineOutcome, LineRecord, LineState
from llmframe.stores.ledger_tables import SHARD_BITS, text, well_formed

STATES: Final[tuple[LineState, ...]] = ("open", "kept", "failed", "expired", "cancelled", "missing")
"""A state is kept as its place in here; only ever to be added to."""

QUOTING: Final[frozenset[ErrorKind | None]] = frozenset({"refusal", "invalid", "tool_call", "truncated"})
"""Errors whose words may quote what a cell or the model said: of them the kind alone is kept."""

OURS: Final[frozenset[ErrorKind | None]] = frozenset({"batch_expired", "batch_missing", "cancelled"})
"""Errors in words of our own. Of the others what stands before the colon is kept, the status and the code: providers
quote what they refuse."""

_KEY_BYTES: Final = 32
_HEAD_BYTES: Final = 8
_MOST: Final = 1 << SHARD_BITS

_OPEN_SHARD: Final = f"s.execution IN {OPEN} AND s.collection IN ('none', 'partial')"
_SUPERSEDE: Final = (
    "UPDATE lines SET later = 1 WHERE id IN (SELECT old.id FROM lines AS new CROSS JOIN lines AS old"  # noqa: S608
    " ON old.head = new.head AND old.rest = new.rest WHERE new.id BETWEEN ? AND ? AND old.id < ?"
    f" AND (old.id >> {SHARD_BITS}) IN (SELECT id FROM shards WHERE job = ?))"
)
"""Marks the earlier lines of a job that ask the same as those of a new shard."""

_SETTLE: Final = "UPDATE lines SET state = ?, kind = ?, detail = ?, input = ?, output = ?, cached = ? WHERE state = 0"


def insert_lines(connection: Connection, shard: int, job: str, lines: Sequence[LineRecord]) -> None:
    """Write the lines of a new shard, all of them open."""
    if len(lines) > _MOST:
        raise ValueError(f"a shard has at most {_MOST} requests, this one {len(lines)}")
    first, last = _span(shard)
    # In the order of their keys, so that the index takes them page by page.
    rows = sorted((*_split(each.key), each.line, each.place, each.digest) for each in lines)
    connection.executemany(
        "INSERT INTO lines (id, state, later, head, rest, line, place, digest) VALUES (?, 0, 0, ?, ?, ?, ?, ?)",
        ((first + rank, *row) for rank, row in enumerate(rows)),
    )
    connection.execute(_SUPERSEDE, (first, last, first, job))


def read_lines(connection: Connection, shard: int) -> list[LineRecord]:
    """The lines of a shard, in their order."""
    select = "SELECT line, place, head, rest, digest FROM lines WHERE id BETWEEN ? AND ? ORDER BY line, place"
    return [
        LineRecord(line, place, _join(head, rest), digest)
        for line, place, head, rest, digest in connection.execute(select, _span(shard))
    ]


def find_open(connection: Connection, keys: Sequence[bytes]) -> dict[bytes, str]:
    """The open lines of `keys` in shards that may still come to something; of several the one planned first."""
    return _find(connection, keys, f"l.state = 0 AND {_OPEN_SHARD}")


def find_taken(connection: Connection, keys: Sequence[bytes], seen: int) -> set[bytes]:
    """Those of `keys` that are open in such a shard, or were answered by one whose number is above `seen`."""
    kept = f"l.state = {STATES.index('kept')} AND s.id > ?"
    return set(_find(connection, keys, f"(l.state = 0 AND {_OPEN_SHARD} OR {kept})", seen))


def _find(connection: Connection, keys: Sequence[bytes], which: str, *values: int) -> dict[bytes, str]:
    wanted = set(keys)
    found: dict[bytes, str] = {}
    for marks, lot in chunks([_split(key)[0] for key in wanted]):
        statement = (
            "SELECT l.head, l.rest, s.intent FROM lines AS l JOIN shards AS s"  # noqa: S608 - our own words and marks
            f" ON s.id = l.id >> {SHARD_BITS} WHERE l.head IN ({marks}) AND {which} ORDER BY l.id DESC"
        )
        for head, rest, intent in connection.execute(statement, (*lot, *values)):
            found[_join(head, rest)] = intent.decode()
    return {key: intent for key, intent in found.items() if key in wanted}


def settle_lines(connection: Connection, shard: int, outcomes: Sequence[tuple[bytes, LineOutcome]]) -> None:
    """Say what became of lines of a shard; those that are settled stay as they are."""
    first, last = _span(shard)
    ids: dict[bytes, list[int]] = {}
    for marks, lot in chunks([_split(key)[0] for key, _ in outcomes]):
        statement = (
            "SELECT id, head, rest FROM lines"  # noqa: S608 - only question marks
            f" WHERE head IN ({marks}) AND id BETWEEN {first} AND {last}"
        )
        for number, head, rest in connection.execute(statement, lot):
            ids.setdefault(_join(head, rest), []).append(number)
    rows = [(*_values(outcome), number) for key, outcome in outcomes for number in ids.get(key, ())]
    connection.executemany(f"{_SETTLE} AND id = ?", rows)


def settle_span(connection: Connection, shard: int, outcome: LineOutcome) -> int:
    """Settle all open lines of a shard in the same way; returns how many."""
    return connection.execute(f"{_SETTLE} AND id BETWEEN ? AND ?", (*_values(outcome), *_span(shard))).rowcount


def read_outcomes(connection: Connection, job: str, keys: Sequence[bytes]) -> dict[bytes, LineOutcome]:
    """What became of requests in a job, by the latest of their lines that is settled."""
    intents = dict(connection.execute("SELECT id, intent FROM shards WHERE job = ?", (job,)).fetchall())
    wanted = set(keys)
    latest: dict[bytes, tuple[Any, ...]] = {}
    for marks, lot in chunks([_split(key)[0] for key in wanted]):
        statement = (
            "SELECT id, head, rest, state, kind, detail, input, output, cached FROM lines"  # noqa: S608
            f" WHERE head IN ({marks}) AND state > 0 ORDER BY id"
        )
        for number, head, rest, *values in connection.execute(statement, lot):
            if number >> SHARD_BITS in intents:
                latest[_join(head, rest)] = (number, *values)
    return {key: _outcome(row, intents) for key, row in latest.items() if key in wanted}


def count_lines(connection: Connection, job: str) -> dict[LineState, int]:
    """Requests of a job by what became of the latest of their lines."""
    totals: dict[LineState, int] = {}
    for (shard,) in connection.execute("SELECT id FROM shards WHERE job = ?", (job,)).fetchall():
        select = "SELECT state, count(*) FROM lines WHERE id BETWEEN ? AND ? AND later = 0 GROUP BY state"
        for place, count in connection.execute(select, _span(shard)):
            state: LineState = STATES[int(place)]
            totals[state] = totals.get(state, 0) + count
    return totals


def sum_usage(connection: Connection, job: str) -> Usage:
    """The tokens that a job's settled lines took."""
    total = Usage(0, 0, 0)
    for (shard,) in connection.execute("SELECT id FROM shards WHERE job = ?", (job,)).fetchall():
        select = "SELECT sum(input), sum(output), sum(cached) FROM lines WHERE id BETWEEN ? AND ?"
        total += Usage(*connection.execute(select, _span(shard)).fetchone())
    return total


def delete_lines(connection: Connection, shard: int) -> None:
    """Remove the lines of a shard."""
    connection.execute("DELETE FROM lines WHERE id BETWEEN ? AND ?", _span(shard))


def _span(shard: int) -> tuple[int, int]:
    """The first and the last number that a line of a shard may have."""
    return shard << SHARD_BITS, (shard << SHARD_BITS) + _MOST - 1


def _split(key: bytes) -> tuple[int, bytes]:
    if len(key) != _KEY_BYTES:
        raise ValueError(f"a key has {_KEY_BYTES} bytes, this one {len(key)}")
    return int.from_bytes(key[:_HEAD_BYTES], "big", signed=True), key[_HEAD_BYTES:]


def _join(head: int, rest: bytes) -> bytes:
    return head.to_bytes(_HEAD_BYTES, "big", signed=True) + rest


def _values(outcome: LineOutcome) -> tuple[Any, ...]:
    usage = outcome.usage
    detail = None if outcome.kind in QUOTING or outcome.detail is None else well_formed(outcome.detail)
    if detail is not None and outcome.kind not in OURS:
        detail = detail.partition(": ")[0]
    state = STATES.index(outcome.state)
    return state, outcome.kind, detail, usage.input_tokens, usage.output_tokens, usage.cached_tokens


def _outcome(row: tuple[Any, ...], intents: dict[int, bytes]) -> LineOutcome:
    number, state, kind, detail, input_, output, cached = row
    return LineOutcome(
        state=STATES[int(state)],
        kind=cast("ErrorKind | None", text(kind)),
        detail=text(detail),
        usage=Usage(input_, output, cached),
        intent=intents[number >> SHARD_BITS].decode(),
    )
