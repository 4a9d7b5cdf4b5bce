"""Files of lines and of results on this machine's disk, for as long as a batch needs them."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from llmframe.errors import TROUBLE_BY_ERRNO, StoreError


@contextmanager
def on_disk() -> Generator[None]:
    """The system's errors about such a file as a `StoreError`."""
    try:
        yield
    except OSError as error:
        said = error.strerror or type(error).__name__
        raise StoreError(
            f"the lines of a batch can't be put on the disk for a while: {said}; make room, or name another folder by "
            "the environment variable TMPDIR. The same call goes on where this one stopped",
            reason=TROUBLE_BY_ERRNO.get(error.errno, "io"),
        ) from None


def new_folder() -> Path:
    """A folder of one's own among the system's temporary ones, which is the caller's to remove.

    Raises
    ------
    StoreError
        If there is none to be had.
    """
    with on_disk():
        return Path(tempfile.mkdtemp(prefix="llmframe-"))
    raise AssertionError
