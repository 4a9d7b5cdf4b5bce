"""The files that a simulated provider keeps."""

from __future__ import annotations

import itertools
import uuid
from dataclasses import dataclass
from typing import Any, Final

MAX_FILE_BYTES: Final = 512 * 2**20
"""Of one upload."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file; `created` in Unix seconds."""

    id: str
    name: str
    purpose: str
    data: bytes
    created: int

    def object(self) -> dict[str, Any]:
        """What the API tells about it."""
        return {
            "id": self.id,
            "object": "file",
            "bytes": len(self.data),
            "created_at": self.created,
            "filename": self.name,
            "purpose": self.purpose,
            "status": "processed",
            "expires_at": None,
            "status_details": None,
        }


class Files:
    """Files by their ids, the oldest first."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        # No two providers give the same id: a ledger that met both mustn't mistake one's file for the other's.
        self._mark = uuid.uuid4().hex[:8]
        self._files: dict[str, StoredFile] = {}

    def add(self, data: bytes, *, name: str, purpose: str, created: int) -> StoredFile:
        """Keep a file."""
        number = next(self._numbers)
        file = StoredFile(f"file-{self._mark}{number:04d}", name, purpose, data, created)
        self._files[file.id] = file
        return file

    def get(self, file_id: str) -> StoredFile | None:
        """The file of an id, unless it's gone."""
        return self._files.get(file_id)

    def newest(self, purpose: str | None) -> list[StoredFile]:
        """The files of a purpose, or all of them, the newest first."""
        return [file for file in reversed(self._files.values()) if purpose in (None, file.purpose)]

    def remove(self, file_id: str) -> None:
        """Forget a file."""
        del self._files[file_id]

    def clear(self) -> None:
        """Forget every file."""
        self._files.clear()
