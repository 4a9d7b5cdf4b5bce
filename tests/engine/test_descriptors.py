"""Connections below the limit of open files."""

from __future__ import annotations

from math import inf

import pytest

from llmframe.engine.descriptors import connections_left, fitting

resource = pytest.importorskip("resource")


@pytest.mark.parametrize(("files", "connections"), [(1024, 960), (256, 192), (100, 50), (1, 1)])
def test_some_files_are_left_to_others(files: int, connections: int):
    assert fitting(files) == connections


def test_the_process_own_limit_counts(monkeypatch: pytest.MonkeyPatch):
    limits = {resource.RLIMIT_NOFILE: (256, 4096)}
    monkeypatch.setattr(resource, "getrlimit", limits.__getitem__)
    assert connections_left() == 192
    limits[resource.RLIMIT_NOFILE] = resource.RLIM_INFINITY, resource.RLIM_INFINITY
    assert connections_left() == inf
