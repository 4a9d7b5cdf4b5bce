"""Whether a path lies on a network drive, where SQLite's shared memory doesn't work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

NETWORK_FILESYSTEMS: Final = frozenset(
    "9p afs ceph cifs coda glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs smb smb2 smb3 smbfs webdav".split()
)
"""Types of file systems, as Linux names them, that more than one machine may have mounted."""

NETWORK_FUSE: Final = frozenset("ceph davfs davfs2 gcsfuse glusterfs goofys rclone s3fs smbnetfs sshfs".split())
"""The same of those that come as `fuse.<name>`."""

_MOUNTINFO: Final = Path("/proc/self/mountinfo")
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")


def network_filesystem(path: Path) -> str | None:
    """The type of network drive that an absolute path lies on; `None` where it lies on this machine, or can't be told.

    Told on Linux by the table of mounts, on Windows by the name of a share.
    """
    if path.drive.startswith("\\\\"):
        return "share"
    try:
        kind = filesystem_type(_MOUNTINFO.read_text("utf-8", "surrogateescape"), str(path))
    except OSError:
        return None
    return kind if kind is not None and is_network(kind) else None


def is_network(kind: str) -> bool:
    """Whether a type of file system is one of a network.

    >>> is_network("nfs4"), is_network("fuse.sshfs"), is_network("ext4")
    (True, True, False)
    """
    return kind in NETWORK_FILESYSTEMS or kind.removeprefix("fuse.") in NETWORK_FUSE


def filesystem_type(mountinfo: str, path: str) -> str | None:
    """The type of the file system that holds `path`, by the text of Linux' `/proc/self/mountinfo`.

    Of mounts on one place the last one counts, for it hides the others.
    """
    best, length = None, -1
    for line in mountinfo.splitlines():
        place, separator, source = line.partition(" - ")
        fields = place.split(" ")
        if not separator or len(fields) < 5:  # noqa: PLR2004 - the mount point is the fifth
            continue
        point = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[4])
        if len(point) >= length and (path == point or path.startswith(point.rstrip("/") + "/")):
            best, length = source.split(" ")[0], len(point)
    return best
