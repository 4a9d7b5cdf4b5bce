"""The storage that an address lies in."""

# pyright: reportUnknownMemberType=false
# fsspec ships no types: its values are Any at this seam.

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

from llmframe.errors import MissingExtraError, UsageError, did_you_mean
from llmframe.frames.files.local_storage import LocalStorage
from llmframe.frames.files.ports import Storage
from llmframe.frames.files.remote_storage import RemoteStorage

INSTALL_LINE = "pip install 'llmframe[files]'"

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://|[a-z]+::")
"""Two letters at least before the colon: one is a drive of Windows."""

_LOCAL = ("file://", "local://")


def storage_of(address: str | os.PathLike[str]) -> tuple[Storage, str]:
    """The storage of an address, with the path in its form.

    Parameters
    ----------
    address
        A path of this machine (`~` is the home folder), or an fsspec address such as `s3://bucket/folder`; a slash at
        its end is taken off.

    Raises
    ------
    UsageError
        If it is no path or names an unknown protocol.
    MissingExtraError
        If fsspec, or the package that it needs for the protocol, isn't installed.
    """
    text = _text(address)
    if text.startswith(_LOCAL):
        text = unquote(text.partition("://")[2])
        text = text[1:] if os.name == "nt" and re.match(r"/[A-Za-z]:", text) else text
    elif _SCHEME.match(text):
        return _remote(text)
    return LocalStorage(), str(Path(text).expanduser())


def is_folder_like(address: str | os.PathLike[str]) -> bool:
    """Whether an address ends with a slash: its user means a folder."""
    return _text(address).endswith(("/", os.sep))


def _text(address: object) -> str:
    if not isinstance(address, str | os.PathLike):
        raise UsageError(
            f"expected the path of a file or folder as text or `pathlib.Path`, got {type(address).__name__}"
        )
    text = os.fspath(cast("str | os.PathLike[Any]", address))
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"expected the path of a file or folder, got {text!r}")
    return text


def _remote(text: str) -> tuple[Storage, str]:
    try:
        import fsspec  # noqa: PLC0415 - an extra, loaded only for addresses
    except ImportError:
        raise MissingExtraError(f"{text!r} is an address for fsspec, which isn't installed: {INSTALL_LINE}") from None
    protocol = re.split(r"::|://", text)[0]
    try:
        system, path = cast("Any", fsspec).url_to_fs(text)
    except ImportError as error:
        said = str(error).strip().splitlines()[0]
        remedy = " s3fs" if protocol in {"s3", "s3a"} else ""
        line = f"pip install 'llmframe[files]'{remedy}" if remedy else said
        raise MissingExtraError(f"{text!r} needs a package that isn't installed: {line}") from None
    except ValueError:
        known = list(cast("Any", fsspec).available_protocols())
        raise UsageError(
            f"{text!r}: fsspec knows no protocol {protocol!r}{did_you_mean(protocol, known)}; a path of this machine "
            "has no `://`"
        ) from None
    return RemoteStorage(system), str(path).rstrip("/") or str(path)
