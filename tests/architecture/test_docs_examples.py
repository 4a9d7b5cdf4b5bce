"""Every Python block of the documentation runs, against a simulated provider."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

from llmframe.testing import Provider

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("example", list(find_examples(DOCS)), ids=str)
def test_a_block_runs(example: CodeExample, eval_example: EvalExample, monkeypatch: pytest.MonkeyPatch):
    with Provider() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", provider.api_key)
        eval_example.run(example)
