"""The progress of a run as people see it: a tqdm bar, or a callable of theirs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ProgressOption = bool | Callable[["Progress"], None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands.

    Attributes
    ----------
    rows
        Rows in all; `None` in a lazy query.
    done, cached, failed
        Rows with an outcome; distinct requests answered from kept answers; distinct requests that failed.
    in_flight
        Requests being answered now.
    usd
        Dollars so far, `None` when the model has no known price.
    spent_usd, budget_usd
        Dollars spent of the run's budget, perhaps by other runs too, and its limit; `None` without one.
    waiting
        What is waited for at the provider in batch mode; empty when nothing is.
    rate
        Answered requests a second, of the last 30 s.
    eta_seconds
        Seconds that are left, by the tokens that are; `None` when unknown.
    """

    rows: int | None
    done: int
    cached: int
    failed: int
    in_flight: int
    usd: float | None
    spent_usd: float | None = None
    budget_usd: float | None = None
    waiting: str = ""
    # time alone changes these two: no news
    rate: float = field(default=0.0, compare=False)
    eta_seconds: float | None = field(default=None, compare=False)


class Bar:
    """A tqdm bar over rows; made when first needed, closed on every way out.

    News after its end make a new one, which goes on from there.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._shown: Progress | None = None
        self._done = 0

    def __call__(self, progress: Progress) -> None:
        """Show `progress` where it's news: without widgets, every refresh is another line of a notebook's output."""
        if progress == self._shown:
            return
        self._shown = progress
        if self._bar is None:
            self._bar = _new_bar(progress.rows, done=self._done)
        self._bar.update(progress.done - self._bar.n)
        notes = {"cached": progress.cached, "failed": progress.failed, "in flight": progress.in_flight}
        shown: dict[str, object] = {name: count for name, count in notes.items() if count}
        if progress.budget_usd:
            shown["$"] = f"{progress.spent_usd or 0.0:.2f}/{progress.budget_usd:.2f}"
        elif progress.usd:
            shown["$"] = f"{progress.usd:.4f}"
        if progress.waiting:
            self._bar.set_postfix_str(progress.waiting)
            return
        self._bar.set_postfix(shown, refresh=progress.in_flight == 0)

    def close(self, last: Progress) -> None:
        """Leave the bar as it stands at the end."""
        if self._bar is not None:
            self(last)
            self._bar.refresh()
            self._bar.close()
            self._done = self._bar.n
            self._bar = None


def listener(option: ProgressOption) -> tuple[Callable[[Progress], None] | None, Callable[[Progress], None]]:
    """The callable that shows progress under `option`, with the one for the end of it all.

    `None` shows a bar when somebody looks: a terminal on stderr, or a notebook.
    """
    if callable(option):
        return option, _ignore
    if option is False or (option is None and not _somebody_looks()):
        return None, _ignore
    bar = Bar()
    return bar, bar.close


def in_kernel() -> bool:
    """Whether this process is a Jupyter kernel."""
    return type(_shell()).__name__ == "ZMQInteractiveShell"


def cell_number() -> int | None:
    """The number of the notebook's cell that runs now; `None` outside notebooks."""
    return int(_shell().execution_count) if in_kernel() else None


def _shell() -> Any:
    return getattr(sys.modules.get("IPython"), "get_ipython", _nothing)()


def _somebody_looks() -> bool:
    return in_kernel() or (sys.stderr is not None and sys.stderr.isatty())


def _new_bar(rows: int | None, *, done: int) -> Any:
    # imported here: `tqdm.auto` warns at import without ipywidgets, and nobody may need a bar
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm  # noqa: PLC0415

        return tqdm(total=rows, initial=done, unit="row", desc="llm", leave=True)


def _nothing() -> None:
    return None


def _ignore(_: Progress) -> None:
    return None
