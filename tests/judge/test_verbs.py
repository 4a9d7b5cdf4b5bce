"""The presets behind `df.llm`: every name calls its function with the frame in front."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pandas as pd
import polars as pl
import pytest

import llmframe
from llmframe.errors import UsageError
from llmframe.judge.verbs import PRESETS, PresetVerbs


def test_the_methods_are_the_presets_and_their_twins():
    methods = {name for name, _ in inspect.getmembers(PresetVerbs, inspect.isfunction)}
    assert methods == {*PRESETS, *(f"a{preset}" for preset in PRESETS)}


class Called(PresetVerbs):
    def __init__(self) -> None:
        self._frame = "frame"


@pytest.mark.parametrize("preset", PRESETS)
async def test_a_method_hands_its_frame_and_arguments_on(preset: str, monkeypatch: pytest.MonkeyPatch):
    async def twin(*arguments: object, **options: object) -> object:
        return arguments, options

    monkeypatch.setattr(llmframe, preset, lambda *arguments, **options: (arguments, options))
    monkeypatch.setattr(llmframe, f"a{preset}", twin)
    expected = (("frame", "x"), {"where": 1})
    assert getattr(Called(), preset)("x", where=1) == expected
    assert await getattr(Called(), f"a{preset}")("x", where=1) == expected


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("frame", [pd.Series(["a"]), pl.Series(["a"])])
async def test_a_series_is_refused_with_a_remedy(preset: str, frame: Any):
    with pytest.raises(UsageError, match="needs a frame with named columns, got a Series"):
        getattr(frame.llm, preset)(["x", "y"])
    with pytest.raises(UsageError, match="needs a frame with named columns, got a Series"):
        await getattr(frame.llm, f"a{preset}")(["x", "y"])


def test_an_expression_is_refused_with_a_remedy():
    column: Any = pl.col("a")
    with pytest.raises(UsageError, match="not an expression"):
        column.llm.classify(["x", "y"])


def test_no_preset_is_loaded_before_it_is_called():
    code = "import llmframe, sys; print(sorted(name for name in sys.modules if name.startswith('llmframe.judge')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['llmframe.judge', 'llmframe.judge.verbs']"
