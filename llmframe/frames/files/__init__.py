"""Files as sources and targets: parquet, CSV, JSON lines, Arrow IPC and Delta, here or behind fsspec."""

from __future__ import annotations

from llmframe.frames.files.ports import Target
from llmframe.frames.files.sources import Source, open_source
from llmframe.frames.files.targets import open_target
from llmframe.frames.files.touching import touches

__all__ = ["Source", "Target", "open_source", "open_target", "touches"]
