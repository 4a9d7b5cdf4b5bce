"""Network drives, told by the table of mounts."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath

import pytest

from llmframe.stores.mounts import filesystem_type, is_network, network_filesystem

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:41 / /home rw,relatime shared:2 master:7 - nfs4 files:/home rw,vers=4.2
41 40 8:2 / /home/local rw - xfs /dev/sda2 rw
42 22 0:50 / /mnt/my\\040drive rw - cifs //server/share rw
43 22 0:51 / /mnt/far rw - fuse.sshfs me@far:/ rw
44 22 8:3 / /data rw - ext4 /dev/sdb1 rw
45 44 0:52 / /data rw - smb3 //server/data rw
a line of another form
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/cache", "ext4"),
        ("/", "ext4"),
        ("/home/me/.cache/answers.sqlite", "nfs4"),
        ("/homely/me", "ext4"),  # begins alike, lies elsewhere
        ("/home/local/answers.sqlite", "xfs"),
        ("/mnt/my drive/answers.sqlite", "cifs"),
        ("/mnt/far", "fuse.sshfs"),
        ("/data/answers.sqlite", "smb3"),  # mounted later on the same place
    ],
)
def test_the_mount_nearest_to_a_path_holds_it(path, kind):
    assert filesystem_type(MOUNTS, path) == kind


def test_nothing_is_said_without_a_table():
    assert filesystem_type("", "/home") is None


def test_drives_of_a_network_are_known_by_their_type():
    yes = ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuse.rclone", "fuse.glusterfs", "lustre"]
    no = ["ext4", "xfs", "btrfs", "overlay", "tmpfs", "apfs", "fuse.mergerfs", "fuseblk"]
    assert [kind for kind in yes + no if is_network(kind)] == yes


def test_a_windows_share_is_a_network_drive():
    assert network_filesystem(PureWindowsPath(r"\\server\share\answers.sqlite")) == "share"


def test_this_tests_folder_is_answered_for(tmp_path: Path):
    kind = network_filesystem(tmp_path)
    assert kind is None or is_network(kind)
