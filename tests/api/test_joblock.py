"""A lock file that names its process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from llmframe.api.joblock import locked
from llmframe.errors import UsageError
from llmframe.stores.owners import this_process


def hold(path: Path) -> None:
    with locked(path, target="out.parquet"):
        pass


def test_it_is_there_while_it_is_held_and_gone_afterwards(tmp_path: Path):
    with locked(tmp_path / "lock", target="out.parquet"):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()
    assert list(tmp_path.iterdir()) == []


def test_it_is_given_up_after_an_error(tmp_path: Path):
    with pytest.raises(KeyError), locked(tmp_path / "lock", target="out.parquet"):
        raise KeyError
    hold(tmp_path / "lock")


def test_who_comes_second_is_told_who_holds_it_and_what_to_do(tmp_path: Path):
    with (
        locked(tmp_path / "lock", target="out.parquet"),
        pytest.raises(UsageError, match=f"'out.parquet' is being written by another run .process {os.getpid()}."),
    ):
        hold(tmp_path / "lock")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="nobody can ask there whether a process lives")
def test_that_of_a_process_which_is_gone_is_taken_over(tmp_path: Path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / "lock").write_text(json.dumps(asdict(replace(this_process(), pid=ended.pid))))
    with locked(tmp_path / "lock", target="out.parquet"):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x", "place": "", "started": null}'])
def test_one_that_cant_be_read_is_left_alone(tmp_path: Path, text: str):
    (tmp_path / "lock").write_text(text)
    with pytest.raises(UsageError, match="If nothing runs any more, delete"):
        hold(tmp_path / "lock")
    assert (tmp_path / "lock").read_text() == text


def test_one_of_another_machine_is_left_alone(tmp_path: Path):
    (tmp_path / "lock").write_text(json.dumps(asdict(replace(this_process(), place="elsewhere"))))
    with pytest.raises(UsageError, match="is being written by another run"):
        hold(tmp_path / "lock")


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_full_disk_leaves_no_file_behind(tmp_path: Path):
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from llmframe.api.joblock import locked\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))\n"
        "try:\n"
        "    with locked(Path(sys.argv[1]), target='out.parquet'): pass\n"
        "except OSError: sys.exit(7)\n"
    )
    ended = subprocess.run([sys.executable, "-B", "-c", code, tmp_path / "lock"], check=False, timeout=300)
    assert ended.returncode == 7
    assert list(tmp_path.iterdir()) == []
