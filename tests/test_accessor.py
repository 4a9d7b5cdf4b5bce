"""The `.llm` accessor: the verbs on every class, under a name that nobody else owns."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl
import pytest

import llmframe
from llmframe.accessor import KINDS, Verbs, register
from llmframe.errors import UsageError
from llmframe.testing import Provider

CLASSES = [pd.DataFrame, pd.Series, pl.DataFrame, pl.Series, pl.LazyFrame, pl.Expr]


@pytest.fixture
def ai() -> Iterator[None]:
    """The verbs under a second name, for one test."""
    register("ai")
    yield
    for kind in CLASSES:
        delattr(kind, "ai")
        getattr(kind, "_accessors", set()).discard("ai")


def test_every_class_of_the_list_carries_the_verbs():
    libraries = {"pandas": pd, "polars": pl}
    named = [getattr(libraries[library], kind) for library, kinds in KINDS.items() for kind in kinds]
    assert named == CLASSES
    assert all(kind.llm is Verbs for kind in CLASSES)


@pytest.mark.parametrize("verb", ["map", "amap", "stream", "astream", "submit", "plan"])
def test_a_verb_is_documented_and_written_out(verb: str):
    method = getattr(pd.DataFrame().llm, verb)
    assert method.__doc__ == getattr(llmframe, verb).__doc__
    parameters = inspect.signature(method).parameters
    assert {"prompt_template", "schema", "model", "client", "cache", "where"} < set(parameters)
    assert inspect.iscoroutinefunction(method) is (verb == "amap")


def test_every_argument_reaches_the_function():
    """A value that no argument takes is refused by name, through the accessor as by the function."""
    frame = pd.DataFrame({"t": ["a"]})
    wrong: dict[str, Any] = {
        "on_null": "x",
        "prefix": 3,
        "into": "",
        "overwrite": 1,
        "labels": "x",
        "nested": "x",
        "confidence": "x",
        "samples": "x",
        "distribution": 1,
        "calibration": 3,
        "on_error": "x",
        "mode": "x",
        "fallback": "x",
        "loop": "x",
        "meta": 1,
        "progress": "x",
        "model": 3,
        "base_url": 3,
        "api_key": 3,
        "params": 3,
        "max_concurrency": 0,
        "requests_per_minute": 0,
        "tokens_per_minute": 0,
        "priority": "x",
        "timeout": 0,
        "max_attempts": 0,
        "reask": -1,
        "hedge": "x",
        "budget": 0,
        "prices": 3,
        "cache": 3,
        "output_mode": "x",
    }
    for name, value in wrong.items():
        for verb in ("map", "stream", "astream", "submit", "plan"):
            with pytest.raises(UsageError, match=f"`{name}`"):
                getattr(frame.llm, verb)("J {t}", bool, **{"client": object(), name: value})
    left = set(inspect.signature(Verbs.map).parameters) - set(wrong)
    assert left == {"self", "prompt_template", "schema", "system", "examples", "where", "client", "unknown"}


@pytest.mark.usefixtures("ai")
def test_a_second_name_works_beside_the_first():
    with Provider() as provider:
        frame = pd.DataFrame({"t": ["a"]})
        out = frame.ai.map("J {t}", schema=bool, client=provider)
        assert out.equals(frame.llm.map("J {t}", schema=bool, client=provider))
        assert provider.requests == 1


@pytest.mark.usefixtures("ai")
def test_registered_again_nothing_happens():
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        register("ai")
        register()
    assert warned == []


@pytest.mark.parametrize("name", ["", "a b", "1a", "_llm", "__class__"])
def test_a_name_that_can_not_be_one_is_refused(name: str):
    with pytest.raises(UsageError, match="identifier"):
        register(name)


TAKEN = """
import warnings
import pandas as pd

class Other:
    def __init__(self, frame): pass
    def map(self): return "theirs"

Other.__module__ = "otherpackage.accessor"
pd.api.extensions.register_dataframe_accessor("llm")(Other)
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    import llmframe
    llmframe.register("ai")
frame = pd.DataFrame({"t": ["a"]})
assert frame.llm.map() == "theirs"
assert type(frame.ai) is type(frame["t"].llm) is llmframe.accessor.Verbs
for warning in warned:
    print(warning.message)
"""


def test_a_name_that_somebody_owns_stays_theirs_and_is_told_once():
    done = subprocess.run([sys.executable, "-c", TAKEN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("`pandas.DataFrame.llm` belongs to 'otherpackage'") == 1
    assert 'llmframe.register("ai")' in done.stdout
    assert "llmframe.map(frame, ...)" in done.stdout


SHOWN = "map, amap, stream, astream, submit, plan, embed, aembed"
PRESETS = (
    "classify, aclassify, extract, aextract, filter, afilter, score, ascore, pairwise, apairwise, cascade, acascade, "
    "audit, aaudit"
)


@pytest.mark.parametrize(
    ("owner", "text"),
    [
        (pd.DataFrame({"t": ["secret"]}), f"<llm verbs of DataFrame: {SHOWN}, {PRESETS}>"),
        (pd.Series(["secret"]), f"<llm verbs of Series: {SHOWN}>"),
        (pl.DataFrame({"t": ["secret"]}), f"<llm verbs of DataFrame: {SHOWN}, {PRESETS}>"),
        (
            pl.LazyFrame({"t": ["secret"]}),
            "<llm verbs of LazyFrame: map, classify, extract, filter, score, pairwise, cascade>",
        ),
        (pl.col("t"), "<llm verbs of Expr: map>"),
    ],
)
def test_the_namespace_shows_its_verbs(owner: Any, text: str):
    assert repr(owner.llm) == text


@pytest.mark.parametrize("preset", ["classify", "extract", "filter", "score"])
def test_a_preset_is_documented_and_written_out(preset: str):
    for name in (preset, f"a{preset}"):
        method = getattr(pd.DataFrame().llm, name)
        assert method.__doc__ == getattr(llmframe, name).__doc__
        assert {"models", "vote", "gold", "options"} < set(inspect.signature(method).parameters)
        assert inspect.iscoroutinefunction(method) is (name != preset)
