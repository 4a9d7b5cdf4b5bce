"""Presets are thin: short modules that reach a model by one way, the asks put to `map`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

JUDGE = Path(__file__).parents[2] / "llmframe" / "judge"
PRESETS = ("classify", "extract", "filter", "score", "pairwise", "audit")
LONGEST = 150
"""Most lines of a preset; one that wants more does what `map` should do."""

NEVER = ("engine", "clients", "batch")
"""What sends, or waits; no module of the presets may know it."""

ONLY_ASKS = ("stores", "api.verbs", "api.planning", "api.prepared", "api.keeping", "budget")
"""Where a map is made; `asks` alone may."""

WORDS = {"api.arguments"}
"""What presets may know of `api`: the words of its arguments."""


def imported(module: str) -> set[str]:
    """Modules of llmframe that a module imports, wherever in it, without the package's name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((JUDGE / f"{module}.py").read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.removeprefix("llmframe.") for name in found if name.startswith("llmframe")}


def inside(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in packages)


MODULES = sorted(path.stem for path in JUDGE.glob("*.py"))
MADE = [preset for preset in PRESETS if preset in MODULES]


@pytest.mark.parametrize("module", MODULES)
def test_nothing_here_sends_or_waits(module: str):
    assert [name for name in imported(module) if inside(name, NEVER)] == []


@pytest.mark.parametrize("module", [module for module in MODULES if module != "asks"])
def test_only_the_asks_make_a_map(module: str):
    assert [name for name in imported(module) if inside(name, ONLY_ASKS)] == []


@pytest.mark.parametrize("preset", MADE)
def test_a_preset_is_short_and_asks_by_the_asks(preset: str):
    assert len((JUDGE / f"{preset}.py").read_text().splitlines()) <= LONGEST
    assert "judge.asks" in imported(preset)
    assert {name for name in imported(preset) if inside(name, ("api",))} <= WORDS
