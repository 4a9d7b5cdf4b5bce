"""Every Python block of the README runs as written, one after the other, as a reader would."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_examples import find_examples

from llmframe.testing import Provider

README = Path(__file__).parents[2] / "README.md"


def test_the_blocks_run_in_order(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    namespace: dict[str, object] = {"__name__": "readme"}
    with Provider() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", provider.api_key)
        blocks = [block for block in find_examples(README) if "python" in block.prefix]
        assert len(blocks) >= 5
        for block in blocks:
            source = "\n" * block.start_line + block.source
            exec(compile(source, README, "exec", dont_inherit=True), namespace)  # noqa: S102 - the README's own code
        assert provider.requests > 0
    assert "nothing sent" in capsys.readouterr().out


def test_the_first_example_sends_what_the_text_says(monkeypatch: pytest.MonkeyPatch):
    first = next(block for block in find_examples(README) if "python" in block.prefix)
    namespace: dict[str, object] = {"__name__": "readme"}
    with Provider() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", provider.api_key)
        exec(compile(first.source, README, "exec", dont_inherit=True), namespace)  # noqa: S102 - the README's own code
        assert provider.requests == 2
        exec(compile(first.source, README, "exec", dont_inherit=True), namespace)  # noqa: S102 - the README's own code
        assert provider.requests == 2
