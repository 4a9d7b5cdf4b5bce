"""The statistics that can be used without a frame."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import llmframe
from llmframe import stats


@pytest.mark.parametrize("name", stats.__all__)
def test_a_public_name_is_there_and_says_what_it_is(name: str):
    value: Any = getattr(stats, name)
    assert isinstance(value, Callable)
    assert (value.__doc__ or "").strip()


def test_they_stand_beside_the_verbs():
    assert llmframe.stats is stats
    assert set(stats.__all__) <= set(dir(stats))
    with pytest.raises(AttributeError, match="has no attribute 'kappa'"):
        stats.kappa  # noqa: B018 - looking it up is the test


def test_looking_at_the_package_loads_no_library_of_statistics():
    code = "import sys, llmframe.stats; print([n for n in ('scipy', 'sklearn', 'statsmodels') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_old_logs_need_no_frame():
    # 3 of 4 agree; by chance 1/2: kappa = (3/4 - 1/2) / (1 - 1/2)
    assert stats.cohen_kappa(["a", "b", "a", "b"], ["a", "b", "b", "b"]) == pytest.approx(0.5)
