"""Answers in a store's tables: looked up, kept, compared with what is asked now."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final

from llmframe.core.outcome import Usage
from llmframe.core.request import Components
from llmframe.stores.base import Change, Stored
from llmframe.stores.chunks import chunks
from llmframe.stores.connections import Connection

_BARE: Final = "key, prompt, question, created, input, output, cached, model, finish, checksum, text"

COLUMNS: Final = f"{_BARE}, evidence"

_UPDATE: Final = (
    " ON CONFLICT (key) DO UPDATE SET prompt = excluded.prompt, question = excluded.question,"
    " created = excluded.created, input = excluded.input, output = excluded.output, cached = excluded.cached,"
    " model = excluded.model, finish = excluded.finish, checksum = excluded.checksum, text = excluded.text,"
    " evidence = excluded.evidence"
)

_PUT_BARE: Final = (
    f"INSERT INTO answers ({_BARE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - nothing of anybody's
    + _UPDATE
)

_PUT: Final = (
    f"INSERT INTO answers ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - nothing of anybody's
    + _UPDATE
)

_CHECKSUM: Final = 9
"""Its place among the columns."""

_SEAL_DIGITS: Final = 8
"""Hexadecimal digits in front of evidence: a checksum of its answer and itself."""

_DIGEST_BYTES: Final = 8

_NAMED_FIRST: Final[tuple[Change, ...]] = ("schema", "model", "params")


def look_up(connection: Connection, keys: Sequence[bytes]) -> dict[bytes, Stored]:
    """The answers that are there, by key; one that isn't what was written counts as missing, and so is asked again."""
    found: dict[bytes, Stored] = {}
    for marks, lot in chunks(keys):
        statement = f"SELECT {COLUMNS} FROM answers WHERE key IN ({marks})"  # noqa: S608 - only question marks
        for row in connection.execute(statement, lot):
            entry = stored(connection, row)
            if entry is not None:
                found[row[0]] = entry
    return found


def keep(connection: Connection, entries: Sequence[tuple[bytes, Stored]]) -> None:
    """Keep answers, each in the place of an older one, and give up the claims on them, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    new = put(connection, entries)
    connection.execute("COMMIT")
    connection.file.question_ids.update(new)  # not before: a number that was rolled back may become another's


def put(connection: Connection, entries: Sequence[tuple[bytes, Stored]]) -> dict[Components, int]:
    """The same within a transaction that the caller has begun; returns the numbers of new questions."""
    new: dict[Components, int] = {}
    rows = [_row(key, entry, _question_id(connection, entry.components, new)) for key, entry in entries]
    if any(entry.evidence is not None for _, entry in entries):
        connection.executemany(
            _PUT, [(*row, _sealed(entry, row)) for row, (_, entry) in zip(rows, entries, strict=True)]
        )
    else:
        connection.executemany(_PUT_BARE, rows)
    if connection.execute("SELECT EXISTS (SELECT 1 FROM claims)").fetchone()[0]:
        connection.executemany("DELETE FROM claims WHERE key = ?", [(key,) for key, _ in entries])
    return new


def stored(connection: Connection, row: tuple[Any, ...]) -> Stored | None:
    """The entry of a row of `COLUMNS`, whose texts are bytes still; `None` if it isn't what was written."""
    key, prompt, question, created, input_, output, cached, model, finish, checksum, text, evidence = row
    try:
        if zlib.crc32(text, zlib.crc32(key)) != checksum:
            return None
        if evidence is not None and _seal(evidence[_SEAL_DIGITS:], checksum) != evidence[:_SEAL_DIGITS]:
            return None
        return Stored(
            text=text.decode(),
            usage=Usage(input_, output, cached),
            model=None if model is None else model.decode(),
            finish_reason=None if finish is None else finish.decode(),
            created=created / 1000,
            components=None if question is None else _components(connection, question),
            prompt_digest=None if prompt is None else prompt.to_bytes(_DIGEST_BYTES, "big", signed=True),
            evidence=None if evidence is None else evidence[_SEAL_DIGITS:].decode(),
        )
    except (AttributeError, TypeError, UnicodeDecodeError):
        return None  # values of other types


def changes(connection: Connection, digests: Sequence[bytes], components: Components) -> list[Change]:
    """What has changed since the texts with these digests were answered, as the port says."""
    asked = [_digest(digest) for digest in digests]
    known: dict[int, Change] = {}
    rank: dict[int, tuple[int, int]] = {}
    for marks, lot in chunks(list(dict.fromkeys(asked))):
        statement = (
            f"SELECT DISTINCT prompt, question FROM answers WHERE prompt IN ({marks})"  # noqa: S608 - only question marks
            " AND question IS NOT NULL"
        )
        for prompt, question in connection.execute(statement, lot):
            old = _components(connection, question)
            if old is None:
                continue
            change, distance = difference(old, components)
            order = (distance, _NAMED_FIRST.index(change))
            if prompt not in rank or order < rank[prompt]:
                known[prompt], rank[prompt] = change, order
    return [known.get(prompt, "text") for prompt in asked]


def difference(old: Components, new: Components) -> tuple[Change, int]:
    """What to call the change from `old` to `new`, and in how many components they differ.

    Without any it's the schema's: its digest leaves out what only validates a reply.
    """
    differing: list[Change] = [name for name in _NAMED_FIRST if getattr(old, name) != getattr(new, name)]
    return (differing or ["schema"])[0], len(differing)


def _row(key: bytes, entry: Stored, question: int | None) -> tuple[Any, ...]:
    usage = entry.usage
    return (
        key,
        None if entry.prompt_digest is None else _digest(entry.prompt_digest),
        question,
        round(entry.created * 1000),
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        entry.model,
        entry.finish_reason,
        zlib.crc32(entry.text.encode(), zlib.crc32(key)),
        entry.text,
    )


def _sealed(entry: Stored, row: tuple[Any, ...]) -> str | None:
    """Evidence as it's written beside the values of `row`."""
    if entry.evidence is None:
        return None
    evidence = entry.evidence.encode()
    return (_seal(evidence, row[_CHECKSUM]) + evidence).decode()


def _seal(evidence: bytes, checksum: int) -> bytes:
    """Goes on from the checksum of the text, for an older llmframe reads the text and knows no evidence.

    Where one has put another text this doesn't fit any more, and the answer counts as missing.
    """
    return b"%08x" % zlib.crc32(evidence, checksum)


def _digest(digest: bytes) -> int:
    """Eight bytes as SQLite keeps them smallest."""
    if len(digest) != _DIGEST_BYTES:
        raise ValueError(f"a digest of a prompt has {_DIGEST_BYTES} bytes, this one {len(digest)}")
    return int.from_bytes(digest, "big", signed=True)


def _question_id(connection: Connection, components: Components | None, new: dict[Components, int]) -> int | None:
    """The number of what an answer was asked with; it gets one when it's new, kept in `new`."""
    if components is None:
        return None
    known = connection.file.question_ids.get(components) or new.get(components)
    if known is not None:
        return known
    values = (components.model, components.params, components.schema)
    connection.execute("INSERT OR IGNORE INTO questions (model, params, schema) VALUES (?, ?, ?)", values)
    select = "SELECT id FROM questions WHERE model = ? AND params = ? AND schema = ?"
    number = new[components] = int(connection.execute(select, values).fetchone()[0])
    return number


def _components(connection: Connection, question: int) -> Components | None:
    """What an answer was asked with; questions are never removed, so what was read once stays right."""
    known = connection.file.questions.get(question)
    if known is None:
        select = "SELECT model, params, schema FROM questions WHERE id = ?"
        for model, params, schema in connection.execute(select, (question,)):
            known = connection.file.questions[question] = Components(model.decode(), params.decode(), schema.decode())
    return known
