"""What every test stands on: no key, no setting and no stored answer of whoever runs it."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A shared machine's speed decides nothing here, and a failing example must fail again for whoever looks.
settings.register_profile(
    "llmframe", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("llmframe")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so a shell starts what runs in its background
    signal.signal(signal.SIGINT, signal.default_int_handler)

KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY")
"""Environment variables by which a provider's SDK would find an account."""

SURROUNDINGS = ("FORCE_COLOR", "TTY_COMPATIBLE", "MPLBACKEND")
"""Environment variables by which output looks otherwise; proxies, whose names end alike, would get what is for us."""

for _name in list(os.environ):
    if _name in SURROUNDINGS or _name.startswith("TQDM_") or _name.lower().endswith("_proxy"):
        del os.environ[_name]  # before any test, for what modules and their children read once

_folder = tempfile.TemporaryDirectory(prefix="llmframe-tests-")
os.environ["XDG_CACHE_HOME"] = _folder.name  # for what begins before a test has a folder of its own


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave thousands of tests and all that they imported out of every collection of garbage to come."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what fixtures and children stored."""
    _folder.cleanup()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide keys and settings, forget what `use()` said, and send stored answers to a folder of this test's own."""
    for name in (*KEYS, *(name for name in os.environ if name.startswith("LLMFRAME_"))):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("llmframe.options._process_default", ())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
