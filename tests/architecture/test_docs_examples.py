"""Every Python block of the documentation runs, against a simulated provider."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from pytest_examples import CodeExample, find_examples

from llmframe.testing import Provider

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.filterwarnings("ignore::llmframe.LlmframeWarning")  # an example may show a row that fails
@pytest.mark.parametrize("example", list(find_examples(DOCS)), ids=str)
def test_a_block_runs(example: CodeExample, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # a reader's folder for trying is nobody's to clear away
    # Compiled here with its own file and line: pytest-examples 0.0.18 makes a traceback that pytest 9 dies of.
    source = "\n" * example.start_line + example.source
    code = compile(source, example.path, "exec", dont_inherit=True)
    with Provider() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", provider.api_key)
        exec(code, {"__name__": "example"})  # noqa: S102 - the documentation's own code
        assert provider.requests + provider.batches.created > 0
