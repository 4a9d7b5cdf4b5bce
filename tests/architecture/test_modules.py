"""Modules: short, and each with its test."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "llmframe"
LONGEST = 400
"""Most lines of a module; one that wants more has two subjects."""

TESTED_ELSEWHERE = {
    # ports: what keeps them is tested
    "clients/base.py": "clients/test_client_contract.py",
    "clients/batch.py": "clients/test_batches_contract.py",
    "frames/base.py": "contracts/test_frames.py",
    # values only: tested by what makes and reads them
    "core/tokens.py": "core/test_confidence.py",
    "core/scores.py": "core/test_confidence.py",
    "judge/task.py": "judge/test_asks.py",
    # one attempt: tested as what workers do with it
    # parts of the verbs: tested as what a user calls, on every kind of frame
    "__init__.py": "architecture/test_public.py",
    "api/answering.py": "contracts/test_map.py",
    "api/arguments.py": "contracts/test_map_usage.py",
    "api/eager.py": "contracts/test_map.py",
    "api/keeping.py": "contracts/test_map_cache.py",
    "api/lazy.py": "contracts/test_map_lazy.py",
    "api/planning.py": "contracts/test_map_prompts.py",
    "api/prepared.py": "contracts/test_map.py",
    "api/runs.py": "contracts/test_map_stop.py",
    "api/streaming.py": "contracts/test_stream.py",
    "api/verbs.py": "architecture/test_public.py",
    "api/stream_verbs.py": "architecture/test_public.py",
}
"""Modules without a test file of their own, and where they are tested; this list may only shrink."""

MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def has_code(module: str) -> bool:
    """A package's `__init__` that holds only its docstring has nothing to test."""
    text = (PACKAGE / module).read_text().strip()
    return not (
        module.endswith("__init__.py") and text.startswith('"""') and text.count('"""') == 2 and text[-3:] == '"""'
    )


def test_file(module: str) -> Path:
    path = Path(module)
    stem = path.parent.name if path.stem == "__init__" else path.stem
    folder = path.parent.parent if path.stem == "__init__" else path.parent
    return ROOT / "tests" / folder / f"test_{stem}.py"


test_file.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_short(module: str):
    lines = len((PACKAGE / module).read_text().splitlines())
    assert lines <= LONGEST, f"llmframe/{module} has {lines} lines: it has two subjects"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_its_subject_first(module: str):
    first = (PACKAGE / module).read_text().splitlines()[0]
    assert first.startswith('"""')
    assert first.rstrip('"').endswith("."), f"llmframe/{module}: the first line is one whole sentence"


@pytest.mark.parametrize(
    "module", [module for module in MODULES if has_code(module) and module not in TESTED_ELSEWHERE]
)
def test_a_module_has_its_test_file(module: str):
    assert test_file(module).is_file(), f"llmframe/{module} wants {test_file(module).relative_to(ROOT)}"


@pytest.mark.parametrize("module", TESTED_ELSEWHERE)
def test_the_list_of_modules_tested_elsewhere_only_shrinks(module: str):
    assert (PACKAGE / module).is_file(), f"{module} is gone: take it off the list"
    assert not test_file(module).is_file(), f"{module} has its own test now: take it off the list"
    assert (ROOT / "tests" / TESTED_ELSEWHERE[module]).is_file()
