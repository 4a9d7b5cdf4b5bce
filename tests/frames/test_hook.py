"""Modules of the tests' own are imported, each under a name used once."""

from __future__ import annotations

import importlib
import importlib.resources
import importlib.util
import itertools
import sys
import threading

import pytest

from llmframe.frames.hook import on_import

_numbers = itertools.count()


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A function that writes a module and gives its new name."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(code: str = "") -> str:
        name = f"llmframe_hooked_{next(_numbers)}"
        (tmp_path / f"{name}.py").write_text(code)
        importlib.invalidate_caches()
        return name

    return write


def test_a_loaded_module_is_answered_at_once(module):
    name = module()
    importlib.import_module(name)
    calls = []
    on_import(name, lambda: calls.append(name))
    assert calls == [name]


def test_a_later_import_calls_each_callback_once_when_the_module_is_complete(module):
    name = module("first = 1\nlast = 2")
    seen = []
    on_import(name, lambda: seen.append(sys.modules[name].last))
    on_import(name, lambda: seen.append("second"))
    assert seen == []
    importlib.import_module(name)
    assert seen == [2, "second"]
    importlib.import_module(name)
    importlib.reload(sys.modules[name])
    del sys.modules[name]
    importlib.import_module(name)
    assert seen == [2, "second"]


def test_the_module_keeps_its_own_loader(module):
    name = module()
    on_import(name, lambda: None)
    loaded = importlib.import_module(name)
    assert type(loaded.__loader__).__name__ == "SourceFileLoader"
    assert loaded.__spec__.loader is loaded.__loader__
    assert loaded.__spec__.origin == loaded.__file__


def test_looking_for_a_module_does_not_count_as_importing_it(module):
    name = module("x = 1")
    calls = []
    on_import(name, lambda: calls.append(1))
    spec = importlib.util.find_spec(name)
    assert spec.origin.endswith(f"{name}.py")
    assert spec.loader.get_source(name) == "x = 1"
    assert calls == []
    importlib.import_module(name)
    assert calls == [1]


def test_a_failing_import_fails_as_ever_and_the_callback_waits_for_the_next(module, tmp_path):
    name = module("raise ZeroDivisionError('mine')")
    calls = []
    on_import(name, lambda: calls.append(1))
    with pytest.raises(ZeroDivisionError, match="mine"):
        importlib.import_module(name)
    assert calls == []
    assert name not in sys.modules
    (tmp_path / f"{name}.py").write_text("fixed_at_last = True")
    importlib.invalidate_caches()
    importlib.import_module(name)
    assert calls == [1]


def test_an_absent_module_is_absent_as_ever():
    on_import("llmframe_absent", lambda: None)
    with pytest.raises(ModuleNotFoundError, match="llmframe_absent"):
        importlib.import_module("llmframe_absent")
    assert importlib.util.find_spec("llmframe_absent") is None


CALLS_BACK = """
import sys
from llmframe.frames.hook import on_import
early = []
on_import(__name__, lambda: early.append(last))
assert early == []
{rest}
last = 2
"""


def test_a_module_that_imports_us_half_way_is_answered_when_it_is_done(module):
    name = module(CALLS_BACK.format(rest=""))
    assert importlib.import_module(name).early == [2]


def test_half_way_in_a_failing_import_the_callback_waits_for_the_next(module, tmp_path):
    name = module("import llmframe_hooked_calls\nllmframe_hooked_calls.wait(__name__)\nraise ZeroDivisionError")
    calls = []
    (tmp_path / "llmframe_hooked_calls.py").write_text(
        "from llmframe.frames.hook import on_import\ncalls = []\n"
        "def wait(name):\n    on_import(name, lambda: calls.append(name))\n"
    )
    with pytest.raises(ZeroDivisionError):
        importlib.import_module(name)
    calls = sys.modules["llmframe_hooked_calls"].calls
    assert calls == []
    (tmp_path / f"{name}.py").write_text("fixed_at_last_and_longer_than_before_for_the_bytecode = True")
    importlib.invalidate_caches()
    importlib.import_module(name)
    assert calls == [name]


def test_a_module_that_another_thread_imports_is_answered_when_it_is_done(module):
    name = module("from threading import Event\nreached, go = Event(), Event()\nreached.set()\ngo.wait(30)\nlast = 2")
    calls = []
    thread = threading.Thread(target=importlib.import_module, args=(name,))
    thread.start()
    while not (loaded := sys.modules.get(name)) or not hasattr(loaded, "reached"):
        pass
    loaded.reached.wait(30)
    on_import(name, lambda: calls.append(loaded.last))
    assert calls == []
    loaded.go.set()
    thread.join(30)
    assert calls == [2]


def test_threads_that_import_at_once_call_once(module):
    name = module("total = sum(range(1000))")
    calls = []
    threads = [threading.Thread(target=importlib.import_module, args=(name,)) for _ in range(8)]
    waiters = [threading.Thread(target=on_import, args=(name, lambda at=at: calls.append(at))) for at in range(8)]
    for thread in itertools.chain(*zip(waiters, threads, strict=True)):
        thread.start()
    for thread in threads + waiters:
        thread.join(30)
    assert sorted(calls) == list(range(8))


def test_packages_keep_their_resources(tmp_path, monkeypatch):
    (tmp_path / "llmframe_hooked_package").mkdir()
    (tmp_path / "llmframe_hooked_package" / "__init__.py").write_text("from . import inner")
    (tmp_path / "llmframe_hooked_package" / "inner.py").write_text("")
    (tmp_path / "llmframe_hooked_package" / "text.txt").write_text("kept")
    monkeypatch.syspath_prepend(str(tmp_path))
    calls = []
    on_import("llmframe_hooked_package", lambda: calls.append(1))
    package = importlib.import_module("llmframe_hooked_package")
    assert importlib.resources.files(package).joinpath("text.txt").read_text() == "kept"
    assert calls == [1]
