"""`import llmframe`: light, silent, and `.llm` is there in any order of imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = [
    "aiohttp",
    "anthropic",
    "genai_prices",
    "google.genai",
    "instructor",
    "nest_asyncio",
    "nest_asyncio2",
    "openai",
    "pandas",
    "polars",
    "pyarrow",
    "rich",
    "tqdm",
    "typer",
    "xllamacpp",
]
"""What costs time or belongs to the user; each is imported by the first call that needs it."""


def run(code: str, *options: str) -> str:
    """What a fresh interpreter prints; warnings are errors in it."""
    command = [sys.executable, *options, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_the_import_loads_no_dataframe_library_and_no_sdk():
    assert run(f"import sys, llmframe; print([name for name in {HEAVY} if name in sys.modules])") == "[]"


def test_the_import_warns_of_nothing_and_says_nothing():
    assert run("import llmframe", "-W", "error") == ""


def test_the_import_touches_nothing_of_asyncio():
    names = (
        "run, asyncio.Task, asyncio.Future, asyncio.new_event_loop, asyncio.get_event_loop, asyncio.get_running_loop"
    )
    code = f"import asyncio; before = (asyncio.{names}); import llmframe; assert before == (asyncio.{names})"
    run(f"{code}; assert not hasattr(asyncio, '_nest_patched')")


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("order", ["{}, llmframe", "llmframe, {}"])
def test_llm_is_registered_in_either_order(library: str, order: str):
    code = (
        f"import {order.format(library)}; print(hasattr({library}.DataFrame, 'llm'), hasattr({library}.Series, 'llm'))"
    )
    assert run(code, "-W", "error") == "True True"


def test_llm_is_registered_for_a_library_that_is_imported_by_another():
    assert run("import llmframe; from pandas import DataFrame; print(hasattr(DataFrame, 'llm'))") == "True"


@pytest.mark.parametrize("name", ["LazyFrame", "Expr"])
def test_polars_has_llm_on_lazy_frames_and_expressions(name: str):
    assert run(f"import llmframe, polars; print(hasattr(polars.{name}, 'llm'))") == "True"


@pytest.mark.parametrize("library", ["pandas", "polars", "openai", "pyarrow"])
def test_the_import_works_where_a_library_is_absent(library: str):
    run(f"import sys; sys.modules['{library}'] = None; import llmframe")
