"""Where the paths and addresses of a job file may lead.

A job file may come from somebody else: with a repository, a pull request, a mail. What it names is read, written and
sent to with the rights and keys of whoever runs it. So it may name what is in its own folder, and what the user named
beside it on the command line.
"""

from __future__ import annotations

import glob
import ipaddress
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from llmframe.errors import UsageError

_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
_PATTERN: Final = re.compile(r"[*?\[]")
_LOCAL_SCHEMES: Final = frozenset({"file", "local"})
_WEB: Final = frozenset({"http", "https"})


@dataclass(frozen=True, slots=True)
class _Address:
    """A remote place: scheme, bucket or host with its port, and the parts of the path."""

    scheme: str
    place: str
    parts: tuple[str, ...]

    def holds(self, other: _Address) -> bool:
        """Whether `other` is this place or below it."""
        same = (self.scheme, self.place) == (other.scheme, other.place)
        return same and other.parts[: len(self.parts)] == self.parts


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a job file may name.

    Parameters
    ----------
    base
        The job file's folder, which its relative paths start from.
    folders, addresses
        What paths may be below: resolved folders, remote places.
    """

    base: Path
    folders: tuple[Path, ...]
    addresses: tuple[_Address, ...] = ()

    def path(self, text: str) -> str:
        """The absolute path of a local file, folder or pattern, every link in it resolved.

        Raises
        ------
        UsageError
            If it leads out of what is allowed, or can't be a path.
        """
        if not text.strip() or "\0" in text or "::" in text or "://" in text:
            raise UsageError(f"{text!r} is no path of a file")
        if text.startswith("~"):
            raise UsageError(f"{text!r} begins with somebody's home; write a path from the job file's folder")
        fixed, pattern = _parted(text)
        try:
            resolved = Path(os.path.realpath(self.base / fixed))
            self._check(resolved, text)
            for found in self._found(resolved, pattern):
                self._check(Path(os.path.realpath(found)), text)
        except UsageError:
            raise
        except (OSError, ValueError) as error:
            raise UsageError(f"{text!r} can't be a path: {error}") from None
        return os.path.join(resolved, pattern) if pattern else str(resolved)  # noqa: PTH118 - `Path` would shorten `**`

    def data(self, text: str) -> str:
        """A path as above, or a remote address below one that the user named."""
        if "://" not in text:
            return self.path(text)
        address = _address(text)
        if any(each.holds(address) for each in self.addresses):
            return text
        raise UsageError(
            f"{text!r} is a remote address, and a job file may come from others: give it on the command line, or "
            f"allow it by --root {address.scheme}://{address.place}"
        )

    def server(self, url: str) -> str:
        """The address of a model's server: on this machine, or below one that the user named.

        Raises
        ------
        UsageError
            If it is another: the prompts and the user's key would go there.
        """
        address = _address(url)
        if address.scheme not in _WEB:
            raise UsageError(f"{url!r} is no address of a server; it begins with https://")
        if is_loopback(url) or any(each.holds(address) for each in self.addresses):
            return url
        raise UsageError(
            f"{url!r} is another machine, where your rows and your key would go, and a job file may come from others: "
            f"give it by --base-url, or allow it by --root {address.scheme}://{address.place}"
        )

    def _check(self, resolved: Path, text: str) -> None:
        if not any(resolved.is_relative_to(folder) for folder in self.folders):
            named = ", ".join(repr(str(folder)) for folder in self.folders)
            raise UsageError(
                f"{text!r} leads to {str(resolved)!r}, out of {named}: give it on the command line, or allow its "
                "folder by --root DIR"
            )

    def _found(self, resolved: Path, pattern: str) -> Iterator[str]:
        """What a pattern matches today, and the links in folders: each may lead elsewhere."""
        matches: Iterable[str] = [str(resolved)]
        if pattern:
            matches = glob.iglob(os.path.join(glob.escape(str(resolved)), pattern), recursive=True)  # noqa: PTH118, PTH207 - `Path.glob` is no match for a text with `**` in 3.11
        for match in matches:
            yield match
            for folder, inner, files in os.walk(match):
                yield from (path for name in (*inner, *files) if Path(path := f"{folder}{os.sep}{name}").is_symlink())


def allowed(base: Path, roots: Iterable[str | os.PathLike[str]]) -> Allowed:
    """What a job file in the folder `base` may name when the user named `roots` beside it.

    Parameters
    ----------
    roots
        Folders; remote addresses such as `s3://bucket/prefix` or `https://llm.example.com`.

    Raises
    ------
    UsageError
        If a root is no folder and no address.
    """
    folders = [Path(os.path.realpath(base))]
    addresses: list[_Address] = []
    for root in roots:
        text = os.fspath(root)
        if "://" in text:
            address = _address(text)
            kept = address.parts[:-1] if address.parts[-1:] == ("",) else address.parts
            addresses.append(_Address(address.scheme, address.place, kept))
            continue
        folder = Path(os.path.realpath(text))
        if not folder.is_dir():
            raise UsageError(f"--root {text!r} is no folder")
        folders.append(folder)
    return Allowed(base, tuple(folders), tuple(addresses))


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine, by name or number."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _parted(text: str) -> tuple[str, str]:
    """The path up to its first part with a wildcard, and the rest."""
    parts = re.split(r"(?<=[/\\])" if os.sep == "\\" else "(?<=/)", text)
    at = next((at for at, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
    pattern = "".join(parts[at:])
    if ".." in re.split(r"[/\\]", pattern):
        raise UsageError(f"{text!r} goes up after a wildcard; write it without `..`")
    return "".join(parts[:at]) or ".", pattern


def _address(text: str) -> _Address:
    match = _ADDRESS.fullmatch(text)
    if match is None or "::" in match[3] or "\\" in text or any(not char.isprintable() or char == " " for char in text):
        raise UsageError(f"{text!r} is no address that a job file can hold")
    scheme, place, path = match[1].lower(), match[2], match[3]
    if scheme in _LOCAL_SCHEMES:
        raise UsageError(f"{text!r} is on this machine: write a path without {scheme}://")
    if "@" in place:
        raise UsageError("an address with a user or a password has no place in a job file, which is checked into git")
    if scheme in _WEB:
        place, path = place.lower(), path.partition("?")[0].partition("#")[0]
    if not place:
        raise UsageError(f"{text!r} names no bucket and no host")
    parts = tuple(path.split("/")[1:])
    if any(_decoded(part) in {".", ".."} or "/" in _decoded(part) for part in parts):
        raise UsageError(f"{text!r} goes up by `..`; write the address without it")
    return _Address(scheme, place, parts)


def _decoded(part: str) -> str:
    """A part of a path without its percent signs, however often they were put."""
    while (plain := unquote(part)) != part:
        part = plain
    return part
