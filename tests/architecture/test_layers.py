"""The import contracts: kept, and noticed when one is broken or deleted."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest
from grimp import Layer

ROOT = Path(__file__).parents[2]
CONTRACTS = {"layers", "pure", "sdks", "dataframes", "acyclic"}
"""The ids of the contracts in pyproject.toml."""

LAYERS = (
    ("cli", "__main__"),
    ("accessor",),
    ("judge",),
    ("api",),
    ("batch",),
    ("engine",),
    ("report", "testing"),
    ("clients", "stores", "frames"),
    ("core",),
    ("stats",),
    ("options", "datasets"),
    ("budget", "environment", "option_values", "words"),
    ("errors",),
)
"""Top first, written once more here: a contract that was loosened in pyproject.toml is still checked."""


def lint_imports(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the package that a test may spoil."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "llmframe", tmp_path / "llmframe", ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_package_keeps_every_contract():
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_contract_was_deleted():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert {contract["id"] for contract in contracts} == CONTRACTS


def test_imports_point_down_whatever_the_contract_says():
    graph = grimp.build_graph("llmframe", cache_dir=None)
    layers = tuple(Layer(*names, independent=True) for names in LAYERS)
    illegal = graph.find_illegal_dependencies_for_layers(layers, containers={"llmframe"})
    assert not {(found.importer, found.imported) for found in illegal}


def test_every_module_has_its_layer():
    graph = grimp.build_graph("llmframe", cache_dir=None)
    placed = {f"llmframe.{name}" for names in LAYERS for name in names}
    assert graph.find_children("llmframe") <= placed


@pytest.mark.parametrize(
    ("contract", "spoilt"),
    [
        ("layers", {"errors.py": "import llmframe.options"}),
        ("layers", {"frames/base.py": "import llmframe.clients.base"}),
        ("layers", {"elsewhere.py": ""}),
        ("pure", {"core/outcome.py": "import time"}),
        ("pure", {"core/outcome.py": "def late():\n    import pandas"}),
        ("pure", {"stats/__init__.py": "import random", "core/outcome.py": "import llmframe.stats"}),
        ("sdks", {"frames/base.py": "def late():\n    import openai"}),
        ("sdks", {"stores/__init__.py": "from instructor import Mode"}),
        ("dataframes", {"clients/base.py": "def late():\n    import polars"}),
        ("dataframes", {"options.py": "import pyarrow.parquet"}),
        ("acyclic", {"core/outcome.py": "import llmframe.core.reply"}),
    ],
    ids=[
        "layers: upwards",
        "layers: sideways",
        "layers: a module without a place",
        "pure: a clock",
        "pure: inside a function",
        "pure: by way of another module",
        "sdks: inside a function",
        "sdks: from-import",
        "dataframes: inside a function",
        "dataframes: a submodule",
        "acyclic: two siblings",
    ],
)
def test_a_forbidden_import_breaks_its_contract(house: Path, contract: str, spoilt: dict[str, str]):
    for name, line in spoilt.items():
        path = house / "llmframe" / name
        path.parent.mkdir(exist_ok=True)
        before = path.read_text() if path.exists() else '"""Spoilt."""\n'
        path.write_text(f"{before}\n{line}\n")
    result = lint_imports(house, "--contract", contract)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "0 kept, 1 broken" in result.stdout, result.stdout
