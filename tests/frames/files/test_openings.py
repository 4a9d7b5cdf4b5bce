"""Storages by their addresses."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from llmframe.errors import MissingExtraError, UsageError
from llmframe.frames.files.local_storage import LocalStorage
from llmframe.frames.files.openings import is_folder_like, storage_of
from llmframe.frames.files.remote_storage import RemoteStorage


def test_plain_paths_are_this_machines_and_load_no_fsspec(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    for address in ("r/x.csv", Path("r/x.csv"), "r/x.csv/"):
        storage, path = storage_of(address)
        assert isinstance(storage, LocalStorage)
        assert path == str(Path("r/x.csv"))


def test_a_file_address_is_a_plain_path_with_its_escapes_read():
    storage, path = storage_of("file:///data/my%20reviews.csv")
    assert isinstance(storage, LocalStorage)
    assert path == "/data/my reviews.csv"


def test_the_home_folder_is_meant_by_a_tilde():
    assert storage_of("~/x.csv")[1] == str(Path.home() / "x.csv")


def test_an_address_is_opened_by_fsspec():
    storage, path = storage_of("memory://openings/x.csv")
    assert isinstance(storage, RemoteStorage)
    assert storage.shown(path) == "memory:///openings/x.csv"


def test_an_address_without_fsspec_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'llmframe\[files\]'"):
        storage_of("memory://x.csv")


def test_s3_without_s3fs_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(importlib.import_module("fsspec.registry")._registry, "s3", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'llmframe\[files\]' s3fs"):
        storage_of("s3://bucket/x.csv")


def test_an_unknown_protocol_is_an_error_with_the_nearest():
    with pytest.raises(UsageError, match=r"no protocol 'memry'.*did you mean 'memory'"):
        storage_of("memry://x.csv")


@pytest.mark.parametrize("address", [3, None, "", "  ", b"x.csv", ["x.csv"]])
def test_what_is_no_path_is_refused(address):
    with pytest.raises(UsageError, match="expected the path"):
        storage_of(address)


def test_a_slash_at_the_end_means_a_folder():
    assert is_folder_like("out/")
    assert is_folder_like("s3://bucket/out/")
    assert not is_folder_like("out")
