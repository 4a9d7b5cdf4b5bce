"""The progress of a run as people see it."""

from __future__ import annotations

import dataclasses
import io
import subprocess
import sys
from collections.abc import Callable

import pytest

from llmframe.engine.progress import Bar, Progress, in_kernel, listener


class Stream(io.StringIO):
    """A stderr that is a terminal, or isn't."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Stream]:
    def replace(*, terminal: bool) -> Stream:
        stream = Stream(terminal=terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return replace


def at(done: int, *, rows: int | None = 10, in_flight: int = 0, usd: float | None = None, failed: int = 0) -> Progress:
    return Progress(rows=rows, done=done, cached=0, failed=failed, in_flight=in_flight, usd=usd)


def test_nothing_is_shown_where_nobody_looks(stderr: Callable[..., Stream]):
    stream = stderr(terminal=False)
    show, close = listener(None)
    assert show is None
    close(at(0))
    assert stream.getvalue() == ""


def test_nothing_is_shown_without_a_stderr(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", None)  # as under pythonw
    assert listener(None)[0] is None


def test_a_terminal_shows_a_bar(stderr: Callable[..., Stream]):
    stderr(terminal=True)
    show, close = listener(None)
    assert isinstance(show, Bar)
    close(at(0))


def test_a_terminal_shows_none_where_it_is_not_wanted(stderr: Callable[..., Stream]):
    stderr(terminal=True)
    assert listener(False)[0] is None


def test_a_bar_is_shown_in_a_file_when_it_is_asked_for(stderr: Callable[..., Stream]):
    stream = stderr(terminal=False)
    show, close = listener(True)
    assert show is not None
    show(at(4, in_flight=3, usd=0.00123, failed=1))
    show(at(9, in_flight=1, usd=0.00123, failed=1))
    close(at(10, usd=0.01, failed=1))
    text = stream.getvalue()
    assert "10/10" in text
    assert "failed=1" in text
    assert "$=0.0100" in text


def test_a_bar_shows_what_is_spent_of_a_budget(stderr: Callable[..., Stream]):
    stream = stderr(terminal=False)
    show, close = listener(True)
    assert show is not None
    last = dataclasses.replace(at(10, usd=0.3), spent_usd=0.42, budget_usd=1.0)
    show(dataclasses.replace(last, done=4, spent_usd=0.0))
    close(last)
    assert "$=0.00/1.00" in stream.getvalue()
    assert "$=0.42/1.00" in stream.getvalue()


def test_a_bar_ends_its_line_when_it_is_closed_half_way(stderr: Callable[..., Stream]):
    stream = stderr(terminal=True)
    show, close = listener(True)
    assert show is not None
    show(at(4))
    close(at(4))
    close(at(4))
    assert "4/10" in stream.getvalue()
    assert stream.getvalue().endswith("\n")


def test_news_after_the_end_go_on_from_there_in_a_bar_of_their_own(stderr: Callable[..., Stream]):
    stream = stderr(terminal=True)
    show, close = listener(True)
    assert show is not None
    show(at(0, rows=None))
    close(at(4, rows=None))
    first = stream.getvalue()
    show(at(4, rows=None))  # no news
    assert stream.getvalue() == first
    show(at(5, rows=None, in_flight=1))
    close(at(6, rows=None))
    assert first.count("\n") == 1
    assert "llm: 4row" in first
    second = stream.getvalue()[len(first) :]
    assert second.count("\n") == 1
    assert "llm: 4row" in second
    assert "llm: 6row" in second


def test_a_rate_that_changes_with_time_alone_is_no_news(stderr: Callable[..., Stream]):
    stream = stderr(terminal=True)
    show, close = listener(True)
    assert show is not None
    show(at(4))
    first = stream.getvalue()
    show(dataclasses.replace(at(4), rate=3.0, eta_seconds=2.0))
    assert stream.getvalue() == first
    close(at(4))


def test_a_bar_that_never_showed_anything_closes_without_a_trace(stderr: Callable[..., Stream]):
    stream = stderr(terminal=True)
    _, close = listener(True)
    close(at(0))
    assert stream.getvalue() == ""


@pytest.mark.parametrize("rows", [0, None])
def test_a_bar_over_no_rows_or_an_unknown_number_works(rows: int | None, stderr: Callable[..., Stream]):
    stderr(terminal=True)
    show, close = listener(True)
    assert show is not None
    show(at(0, rows=rows))
    show(at(0, rows=rows, in_flight=1))
    close(at(0, rows=rows))


def test_a_callable_is_called_as_it_is():
    seen: list[Progress] = []
    show, close = listener(seen.append)
    assert show is not None
    show(at(1))
    close(at(1))
    assert seen == [at(1)]


def test_without_widgets_there_is_a_text_bar_and_no_warning():
    """`tqdm.auto` warns at import in a kernel without ipywidgets; every warning is an error here."""
    code = """
import sys
sys.modules["ipywidgets"] = None
class Shell: pass
Shell.__name__ = "ZMQInteractiveShell"
import types
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: Shell(), version_info=(9, 0))
from llmframe.engine.progress import Progress, in_kernel, listener
assert in_kernel()
show, close = listener(None)
show(Progress(rows=2, done=2, cached=0, failed=0, in_flight=0, usd=None))
close(Progress(rows=2, done=2, cached=0, failed=0, in_flight=0, usd=None))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "2/2" in done.stderr


def test_no_bar_is_imported_before_one_is_shown():
    code = "import sys, llmframe.engine.progress as p; p.listener(True); print('tqdm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_a_script_is_no_kernel():
    assert not in_kernel()
