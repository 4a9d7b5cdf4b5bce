"""The package of clients shows one door and loads no SDK behind it."""

from __future__ import annotations

import subprocess
import sys

from llmframe import clients


def test_the_package_has_one_public_name():
    assert clients.__all__ == ["open_client"]


def test_opening_a_client_loads_no_sdk():
    code = (
        "import sys, os; os.environ['OPENAI_API_KEY'] = 'sk-x'\n"
        "from types import SimpleNamespace\n"
        "from llmframe.clients import open_client\n"
        "open_client(model='gpt-4o-mini', base_url=None, api_key=None, client=None, params={},\n"
        "            schema=SimpleNamespace(model=None), output_mode='auto')\n"
        "print(sorted({'openai', 'instructor', 'aiohttp', 'anthropic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
