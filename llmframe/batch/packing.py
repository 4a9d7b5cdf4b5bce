"""Requests into shards: files of lines that keep a provider's limits."""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Final

from llmframe.batch.disk import on_disk
from llmframe.batch.drafts import Draft
from llmframe.clients.batch import SAFE_SHARE, BatchLimits
from llmframe.stores.jobs import LineRecord

DIGEST_CHARS: Final = 16
"""Hex digits of a line's own digest in its custom id."""


def new_intent() -> str:
    """A name for a shard: 16 characters that no other one has."""
    return secrets.token_hex(8)


def custom_id(intent: str, line: int, keys: list[bytes]) -> str:
    """`"<intent>-<line>-<digest>"`: by it an answer is known to be that of these fingerprints.

    >>> custom_id("00ff00ff00ff00ff", 7, [bytes(32)])
    '00ff00ff00ff00ff-7-0000000000000000'
    """
    return f"{intent}-{line}-{line_digest(keys)}"


def line_digest(keys: list[bytes]) -> str:
    """What stands for the fingerprints in a line: the only one's beginning, or a digest of all."""
    whole = keys[0] if len(keys) == 1 else sha256(b"".join(keys)).digest()
    return whole.hex()[:DIGEST_CHARS]


def parse_custom_id(text: str) -> tuple[str, int, str] | None:
    """Intent, line and digest; `None` for what is no custom id of ours.

    >>> parse_custom_id("00ff00ff00ff00ff-7-0000000000000000"), parse_custom_id("request-1")
    (('00ff00ff00ff00ff', 7, '0000000000000000'), None)
    """
    intent, _, rest = text.partition("-")
    line, dash, digest = rest.partition("-")
    if not dash or not line.isascii() or not line.isdigit():
        return None
    return intent, int(line), digest


@dataclass(slots=True)
class Pack:
    """A shard that is being filled.

    Parameters
    ----------
    path
        The file of its lines.
    records
        One a fingerprint.
    """

    intent: str
    path: Path
    file: IO[bytes]
    records: list[LineRecord] = field(default_factory=list[LineRecord])
    lines: int = 0
    bytes: int = 0
    tokens: int = 0

    def add(self, line: bytes, draft: Draft) -> None:
        """Add a line; `StoreError` when the disk has no room."""
        with on_disk():
            self.file.write(line)
        asked = zip(draft.keys, draft.digests, strict=True)
        self.records += [LineRecord(self.lines, place, key, digest) for place, (key, digest) in enumerate(asked)]
        self.lines += 1
        self.bytes += len(line)
        self.tokens += draft.tokens

    def has_room(self, limits: BatchLimits, size: int, inputs: int, tokens: int, most_tokens: float | None) -> bool:
        """Whether a line of `size` bytes with `inputs` texts still fits; the first one always does.

        Parameters
        ----------
        most_tokens
            What the provider lets be enqueued; `None` when that isn't known.
        """
        if not self.lines:
            return True
        if limits.inputs is not None and len(self.records) + inputs > limits.inputs:
            return False
        if most_tokens is not None and self.tokens + tokens > most_tokens:
            return False
        return self.lines < limits.lines and self.bytes + size <= SAFE_SHARE * limits.bytes

    def drop(self, keys: set[bytes]) -> set[bytes]:
        """Take out the lines, of a closed pack, that ask for any of these; the others keep their numbers.

        Returns all that these lines asked for.
        """
        out = {record.line for record in self.records if record.key in keys}
        kept, self.bytes = self.path.with_suffix(".kept"), 0
        numbers = dict.fromkeys(record.line for record in self.records)
        with on_disk():
            with self.path.open("rb") as lines, kept.open("xb") as file:
                for number, line in zip(numbers, lines, strict=True):
                    if number not in out:
                        self.bytes += file.write(line)
            kept.replace(self.path)
        dropped = {record.key for record in self.records if record.line in out}
        self.records = [record for record in self.records if record.line not in out]
        self.tokens = round(self.tokens * (1 - len(out) / self.lines))
        self.lines -= len(out)
        return dropped

    def close(self) -> None:
        """No further line; `StoreError` when the disk has no room for the last ones."""
        with on_disk():
            self.file.close()

    def remove(self) -> None:
        """The file isn't needed any more."""
        with contextlib.suppress(OSError):  # what isn't written yet isn't needed either
            self.file.close()
        self.path.unlink(missing_ok=True)


def begin_pack(folder: Path) -> Pack:
    """An empty shard, with its file in `folder`."""
    intent = new_intent()
    path = folder / f"{intent}.jsonl"
    with on_disk():
        return Pack(intent, path, path.open("xb"))
    raise AssertionError
