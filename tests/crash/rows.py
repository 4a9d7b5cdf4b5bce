"""What the crash tests ask about, and what is read of a store whose process was killed."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from llmframe.core.request import text_digest
from llmframe.stores.sqlite import SqliteStore

TEMPLATE = "Judge {text}"
PART_ROWS = 100
"""Rows of a part of a file."""


class Work:
    """A table that is mapped with a store in `folder`, by one library or another, or as a file."""

    def __init__(self, table: dict[str, list[Any]], folder: Path, **options: Any) -> None:
        folder.mkdir()
        self.folder, self.table = folder, table
        self.store = folder / "answers.sqlite"
        self.options = {"cache": str(self.store), **options}
        self.prompts = {TEMPLATE.format(text=text) for text in table["text"] if text is not None}

    def target(self, kind: str) -> Path:
        return self.folder / f"{kind}.parquet"

    def job(self, kind: str, **options: Any) -> dict[str, Any]:
        """For a `Forker`: map the table and write the target."""
        job = {"kind": kind, "template": TEMPLATE, "target": str(self.target(kind))}
        job["options"] = {**self.options, **options}
        if kind != "file":
            return job | {"columns": self.table}
        source = self.folder / "source.parquet"
        if not source.exists():
            pq.write_table(pa.table(self.table), source, row_group_size=PART_ROWS)
        job["options"]["rows"] = PART_ROWS
        return job | {"source": str(source)}


def columns(rows: int, distinct: int, name: str) -> dict[str, list[Any]]:
    """Texts that come again, a null among them, and a column that nobody asks about."""
    texts: list[str | None] = [f"{name}, row-{row * 7919 % distinct} «ünï»\n=1+1" for row in range(rows)]
    texts[rows // 3] = None
    return {"text": texts, "number": list(range(rows))}


def digests(texts: set[str]) -> set[str]:
    """As they stand in the server's log."""
    return {hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts}


def kept(work: Work) -> set[str]:
    """Log digests of the prompts that have an answer: in a copy, so that the file stays as the kill left it."""
    copy = work.folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for path in work.folder.glob(f"{work.store.name}*"):
        shutil.copy(path, copy)
    opened = SqliteStore(copy / work.store.name)
    known = {entry.prompt_digest for _, entry in opened.entries()}
    opened.close()
    return digests({text for text in work.prompts if text_digest([{"role": "user", "content": text}]) in known})
