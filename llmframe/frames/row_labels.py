"""The labels that a frame's rows have beside their place."""

from __future__ import annotations

from typing import Any

from llmframe.frames.base import Frame


def row_labels(frame: Frame) -> list[object] | None:
    """pandas' index as Python values, tuples of a MultiIndex; `None` for what has no index."""
    index: Any = getattr(frame.native, "index", None)
    return None if index is None or callable(index) else index.tolist()  # a list's `index` is a method
