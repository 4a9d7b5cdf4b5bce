"""What decides an output, as a digest: a run that has the same may go on with another's parts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, cast

from llmframe.api.examples import examples_of
from llmframe.api.prepared import Asking
from llmframe.api.schemacode import code_of
from llmframe.clients.base import Client
from llmframe.core.request import KEY_VERSION, canonical_json

DIGEST_VERSION: Final = 1
"""Raised whenever the same job gets another digest."""

OF_THE_OUTPUT: Final = (
    *("on_null", "prefix", "into", "overwrite", "labels", "nested", "meta"),
    *("confidence", "votes", "distribution"),
)
"""Options that change what is written, beside what is asked."""


def job_digest(ask: Asking, client: Client, files: Mapping[str, object]) -> str | None:
    """The digest of a job; it holds no text of its prompt.

    Parameters
    ----------
    files
        How the files are read and written.

    Returns
    -------
    str or None
        64 hex digits; `None` when the prompt or `where` is a function, which nobody can compare.
    """
    said = ask.arguments
    if callable(said.prompt_template) or callable(said.where):
        return None
    told = {
        "version": [DIGEST_VERSION, KEY_VERSION],
        "question": asdict(ask.question(client).components()),
        "prompt": [said.prompt_template, said.system],
        "examples": examples_of(said.examples, ask.schema, template=said.prompt_template, series=False),
        "validators": code_of(said.schema),
        "output": {name: getattr(said, name) for name in OF_THE_OUTPUT},
        "columns": [str(part) for part in ask.layout.types],
        "calibration": None if ask.layout.calibration is None else ask.layout.calibration.to_json(),
        "where": None if said.where is None else _expression(said.where),
        "refresh": said.sending.cache == "refresh",
        "files": dict(files),
    }
    return hashlib.sha256(canonical_json(told).encode()).hexdigest()


def _expression(where: object) -> str:
    """A polars expression as text."""
    return cast("Any", where).meta.serialize().hex()
