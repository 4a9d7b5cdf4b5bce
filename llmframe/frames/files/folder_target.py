"""A target that is a folder of part files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmframe.frames.files.formats import Named
from llmframe.frames.files.ports import Storage
from llmframe.frames.files.sinks import check_columns
from llmframe.frames.files.workspace import Workspace

_NAMED_STRANGERS = 3
"""Files of others that a message names."""


class FolderTarget(Workspace):
    """A folder whose files are the parts themselves, there as soon as they are written. Satisfies the `Target` port."""

    single = False

    def __init__(self, storage: Storage, path: str, kind: Named, *, safe: bool = False) -> None:
        super().__init__(storage, path, kind, safe=safe)
        self.address = storage.shown(path)
        self.format = str(kind.format)

    def check(self, schema: Any) -> None:
        """Raise `UsageError` for a column that the format can't hold."""
        check_columns(schema, self._kind)

    def occupied(self) -> str | None:
        """Files that aren't this run's, in words; part files without a run's state are somebody else's."""
        strangers = self.strangers()
        if not strangers:
            return None
        count, shown = len(strangers), ", ".join(map(repr, strangers[:_NAMED_STRANGERS]))
        more = ", …" if count > _NAMED_STRANGERS else ""
        return f"a folder with {count} other {'file' if count == 1 else 'files'} ({shown}{more})"

    def publish(self, names: Sequence[str], schema: Any, *, mode: str = "error", token: str | None = None) -> None:
        """Remove parts that aren't among `names`; without any, write one part without rows.

        `mode` and `token` are for Delta only.
        """
        del mode, token
        if not names:
            names = [self.part_name(0)]
            self.write_part(names[0], schema.empty_table())
        for name in self.parts():
            if name not in names:
                self.remove_part(name)

    def clean(self) -> None:
        """Remove what a killed run was just writing; the parts and the state, which tells them from others', stay."""
        self.sweep()
