"""The fingerprint of a request: equal questions, equal keys, on every machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

KEY_VERSION: Final = 1
"""Raised whenever the same question gets another key."""

TRANSPORT_PARAMS: Final = frozenset({"extra_headers", "extra_query", "stream", "stream_options", "timeout"})
"""Params that change how a request travels, not what is asked."""


def canonical_json(value: object) -> str:
    """`value` as JSON with sorted keys, no blanks and ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)


@dataclass(frozen=True, slots=True)
class Components:
    """Digests of what all requests of a map share (16 hex digits each): they tell later what has changed."""

    model: str
    params: str
    schema: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What all requests of a map share, as far as it decides the answer.

    Parameters
    ----------
    identity
        The client's: normalised base URL, provider name, or hash of embedded weights.
    schema
        Canonical JSON text of the schema, empty for free text.
    output_mode
        As requested, not as it was settled with the server.
    sample
        Number of the sample, from 0.
    """

    identity: str
    model: str
    params: Mapping[str, object]
    schema: str
    output_mode: str
    sample: int = 0

    def components(self) -> Components:
        """Digests of the components, so that a rerun can say what changed."""
        return Components(
            model=_digest(canonical_json([self.identity, self.model])),
            params=_digest(canonical_json([self._params(), self.sample])),
            schema=_digest(canonical_json([self.schema, self.output_mode])),
        )

    def fingerprints(self) -> Fingerprints:
        """The key maker for this question's messages."""
        constant = {
            "client": self.identity,
            "key_version": KEY_VERSION,
            "model": self.model,
            "output_mode": self.output_mode,
            "params": self._params(),
            "sample": self.sample,
            "schema": self.schema,
        }
        # "messages" sorts between "key_version" and "model": the constant parts before and after it are hashed once.
        head = canonical_json({k: v for k, v in constant.items() if k < "messages"})[:-1] + ',"messages":'
        tail = "," + canonical_json({k: v for k, v in constant.items() if k > "messages"})[1:]
        return Fingerprints(head.encode(), tail.encode())

    def _params(self) -> dict[str, object]:
        return {k: v for k, v in self.params.items() if k not in TRANSPORT_PARAMS}


class Fingerprints:
    """Makes SHA-256 keys over the canonical JSON of question and messages."""

    __slots__ = ("_head", "_tail")

    def __init__(self, head: bytes, tail: bytes) -> None:
        self._head = hashlib.sha256(head)
        self._tail = tail

    def key(self, messages: object) -> bytes:
        """The 32 bytes that stand for `messages` under this question."""
        return self.key_of(canonical_json(messages))

    def key_of(self, json_messages: str) -> bytes:
        """The same of messages that are canonical JSON already, or of what comes `after` their start."""
        digest = self._head.copy()
        digest.update(json_messages.encode() + self._tail)
        return digest.digest()

    def after(self, start: str) -> Fingerprints:
        """A key maker for messages whose canonical JSON begins with `start`, which `key_of` then leaves out."""
        follower = Fingerprints(b"", self._tail)
        follower._head = self._head.copy()
        follower._head.update(start.encode())
        return follower


def text_digest(messages: object) -> bytes:
    """8 bytes that stand for the messages alone, whatever model, params and schema they are sent with."""
    return hashlib.blake2b(canonical_json(messages).encode(), digest_size=8).digest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
