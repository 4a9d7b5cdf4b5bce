"""The public names, and the same signature for a verb wherever it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pandas as pd
import polars as pl
import pytest

import llmframe

PUBLIC = [
    "Agreement",
    "Audit",
    "Budget",
    "Calibration",
    "Cascade",
    "CascadeReport",
    "Comparison",
    "EstimateReport",
    "Job",
    "LlmframeError",
    "LlmframeWarning",
    "MissingExtraError",
    "PlanReport",
    "Progress",
    "Ranking",
    "ReportCard",
    "RowError",
    "Rubric",
    "RunReport",
    "Selection",
    "Template",
    "UsageError",
    "__version__",
    "aaudit",
    "acascade",
    "aclassify",
    "aembed",
    "aembed_file",
    "aextract",
    "afilter",
    "agreement",
    "amap",
    "amap_file",
    "apairwise",
    "ascore",
    "astream",
    "audit",
    "calibrate",
    "cancel",
    "card",
    "cascade",
    "classify",
    "compare_runs",
    "datasets",
    "embed",
    "embed_file",
    "errors",
    "estimate",
    "extract",
    "filter",
    "from_review_file",
    "job",
    "jobs",
    "last_cascade",
    "last_run",
    "map",
    "map_file",
    "options",
    "pairwise",
    "pick_for_review",
    "plan",
    "plan_file",
    "rank",
    "register",
    "score",
    "select",
    "stats",
    "stream",
    "submit",
    "testing",
    "to_review_file",
    "use",
]
"""What `import llmframe` promises; a change here is a line in CHANGELOG.md."""

FRAMES = {
    "pandas.DataFrame": pd.DataFrame({"text": ["a"]}),
    "pandas.Series": pd.Series(["a"], name="text"),
    "polars.DataFrame": pl.DataFrame({"text": ["a"]}),
    "polars.Series": pl.Series("text", ["a"]),
    "polars.LazyFrame": pl.LazyFrame({"text": ["a"]}),
    "polars.Expr": pl.col("text"),
}
PRESETS = ["classify", "extract", "filter", "score", "cascade"]
EAGER = ["audit"]
VERBS = (
    {kind: ["map", "amap", "stream", "astream", "submit", "plan", "embed", "aembed"] for kind in FRAMES}
    | {
        kind: [*PRESETS, *EAGER, *(f"a{preset}" for preset in (*PRESETS, *EAGER))]
        for kind in ("pandas.DataFrame", "polars.DataFrame")
    }
    | {"polars.LazyFrame": ["map", *PRESETS], "polars.Expr": ["map"]}
)
"""A lazy query runs when it is collected, so it has neither an async twin nor parts nor a plan."""


def parameters(verb: Callable[..., object]) -> list[tuple[str, object, object]]:
    """Name, kind and default of each parameter but the frame itself."""
    return [(p.name, p.kind, p.default) for p in list(inspect.signature(verb).parameters.values())[1:]]


def test_the_public_names_are_these():
    assert sorted(llmframe.__all__) == PUBLIC


def test_every_public_name_is_there_and_has_a_docstring():
    assert [name for name in PUBLIC if not inspect.getdoc(getattr(llmframe, name))] == []


@pytest.mark.parametrize(("kind", "verb"), [(kind, verb) for kind, verbs in VERBS.items() for verb in verbs])
def test_a_verb_has_the_same_parameters_as_function_and_on_a_frame(kind: str, verb: str):
    namespace = type(FRAMES[kind].llm)
    assert hasattr(namespace, verb), f"{kind}.llm has no {verb!r}"
    assert parameters(getattr(namespace, verb)) == parameters(getattr(llmframe, verb))


def test_map_and_amap_take_the_same():
    assert parameters(llmframe.map) == parameters(llmframe.amap)


@pytest.mark.parametrize("preset", [*PRESETS, *EAGER])
def test_a_preset_and_its_async_twin_take_the_same_but_for_the_plan(preset: str):
    taken = [each for each in parameters(getattr(llmframe, preset)) if each[0] != "plan"]
    assert taken == parameters(getattr(llmframe, f"a{preset}"))


def test_the_streams_take_what_map_takes_and_how_the_parts_are_cut():
    of_map, own = parameters(llmframe.map), parameters(llmframe.stream)
    assert own == parameters(llmframe.astream)
    assert [name for name, _, _ in own[:5]] == ["prompt_template", "schema", "rows", "ordered", "system"]
    assert own[:2] + own[4:] == of_map


@pytest.mark.parametrize("verb", ["map", "amap", "stream", "astream", "submit", "plan"])
def test_a_verb_takes_all_but_prompt_and_schema_by_keyword(verb: str):
    kinds = {name: kind for name, kind, _ in parameters(getattr(llmframe, verb))}
    by_position = [name for name, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert by_position == ["prompt_template", "schema"]
    # Whatever else is said lands in `unknown`, which is refused with the nearest name.
    assert [name for name, kind in kinds.items() if kind is inspect.Parameter.VAR_KEYWORD] == ["unknown"]
    assert inspect.Parameter.VAR_POSITIONAL not in kinds.values()


def test_dir_lists_the_public_names_and_no_others():
    listed = sorted(name for name in dir(llmframe) if not name.startswith("__"))
    assert listed == [name for name in PUBLIC if name != "__version__"]
    assert {"__doc__", "__version__"} <= set(dir(llmframe))
