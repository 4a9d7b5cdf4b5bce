"""Answers without their rows, as a table."""

# pyright: reportUnknownMemberType=false
# pyarrow has no types: what it leaves open is Any at this seam.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow

pa: Any = pyarrow


def answers_table(fingerprints: Sequence[str], responses: Sequence[str | None], errors: Sequence[str | None]) -> Any:
    """A `pyarrow.Table` of text: `fingerprint`, `response`, `error`."""
    columns = {"fingerprint": fingerprints, "response": responses, "error": errors}
    return pa.table({name: pa.array(values, pa.large_string()) for name, values in columns.items()})
