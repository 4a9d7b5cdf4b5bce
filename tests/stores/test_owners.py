"""Processes that ask, seen from outside."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import pytest

from llmframe.stores.owners import Owner, is_gone, is_silent, parse_start, place, start_time, this_process

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows doesn't tell without ending the process")
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when a process started")


def finished() -> int:
    """The number of a process that is no more."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait(timeout=60)
    return done.pid


def test_this_process_lives():
    assert this_process() == Owner(place=place(), pid=os.getpid(), started=start_time(os.getpid()))
    assert not is_gone(this_process())


@posix
def test_a_process_that_ended_here_is_gone():
    assert is_gone(Owner(place=place(), pid=finished(), started=None))


def test_nothing_is_known_of_processes_elsewhere():
    assert not is_gone(Owner(place="0123456789abcdef", pid=finished(), started=None))


@posix
def test_a_process_of_another_user_lives():
    assert not is_gone(Owner(place=place(), pid=1, started=None))  # the first process of any system


@pytest.mark.parametrize("pid", [0, -1, 2**70])
def test_a_number_that_is_no_process_is_left_alone(pid):
    assert not is_gone(Owner(place=place(), pid=pid, started=None))


@linux
def test_a_number_that_was_given_to_another_process_since_is_gone():
    assert is_gone(dataclasses.replace(this_process(), started="1"))


@linux
def test_a_start_is_found_behind_any_name():
    fields = "S 1 7 7 0 -1 4194560 1 0 0 0 3 1 0 0 20 0 1 0 4711 1 2"  # the third field on; 4711 is the 22nd
    assert parse_start(f"7 (sh) {fields}") == "4711"
    assert parse_start(f"7 (a ) S 1 (b) {fields}") == "4711"
    assert parse_start("7 (sh) S 1") is None


@pytest.mark.parametrize(
    ("beat", "silent"), [(100.0, False), (40.1, False), (39.9, True), (159.0, False), (161.0, True)]
)
def test_silence_is_a_minute_without_a_sign_or_a_sign_from_the_future(beat, silent):
    assert is_silent(beat, 100.0) is silent
