"""The script that serves, spoken to by its two lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from llmframe.clients import local_server
from llmframe.clients.local_server import Settings


def settings(weights: str, import_from: str) -> Settings:
    return Settings(
        weights=weights,
        alias="m",
        api_key="k",
        slots=1,
        context=128,
        threads=1,
        answer_tokens=8,
        chat_template="",
        embeds=False,
        stop=[],
        import_from=import_from,
    )


def serve(line: Settings, *flags: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, *flags, "-P", str(Path(local_server.__file__))]
    return subprocess.run(
        command, input=json.dumps(line).encode() + b"\n", capture_output=True, timeout=300, check=False
    )


def test_an_absent_llama_is_one_json_line_and_nothing_else(tmp_path: Path):
    done = serve(settings("x.gguf", str(tmp_path)), "-S")  # -S: no site-packages
    assert json.loads(done.stdout) == {"error": "No module named 'xllamacpp'"}
    assert done.stderr == b""
    assert done.returncode == 1


@pytest.mark.local_model
def test_weights_that_are_refused_give_llamas_own_reason(tmp_path: Path):
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 40)
    done = serve(settings(str(path), str(tmp_path)))
    reason = json.loads(done.stdout)["error"]
    assert "please check the input params" not in reason
    assert reason
    assert done.stderr == b""
