from __future__ import annotations

import subprocess
import sys

from llmframe import testing


def test_the_public_names_are_these():
    """Frozen: users' tests import them."""
    assert sorted(testing.__all__) == [
        "Answer",
        "AnthropicProvider",
        "BadBody",
        "BatchService",
        "Cut",
        "Delay",
        "Drip",
        "Empty",
        "FakeTimeLoop",
        "Filtered",
        "Hang",
        "Html",
        "Logprobs",
        "Matcher",
        "NoChoices",
        "Object",
        "Provider",
        "Refusal",
        "Reset",
        "Results",
        "Stall",
        "Status",
        "Step",
        "StreamError",
        "Text",
        "ToolCalls",
        "Truncated",
        "Without",
        "digest",
        "instance",
        "run_in_fake_time",
    ]


def test_every_public_class_and_function_is_documented():
    types = {"Answer", "Matcher", "Step"}  # aliases, described where they stand
    for name in set(testing.__all__) - types:
        assert getattr(testing, name).__doc__


def test_importing_it_loads_no_sdk_and_no_dataframe_library():
    heavy = {"pandas", "polars", "openai", "instructor", "aiohttp"}
    code = f"import sys, llmframe.testing; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
