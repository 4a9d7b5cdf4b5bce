"""The runs of this process: the last one's report, and the way to cancel what goes on."""

from __future__ import annotations

import os
import time
import warnings
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from llmframe.budget import Budget, BudgetOption, budget_of
from llmframe.core.prices import PRIORITY, Price
from llmframe.engine.metrics import Metrics
from llmframe.engine.run import Run
from llmframe.errors import LlmframeWarning, Place, UsageError, callers_place
from llmframe.options import Prices
from llmframe.report import RunReport, failure_counts, unsure_counts

STALE_SECONDS: Final = 1.0
"""Seconds without a part after which another part means that a lazy query is collected again."""

_running: weakref.WeakSet[Run] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_running.clear)  # its parent's: cancelling them would wake the parent's loop
_last: Run | None = None
_looks_for_ties: ContextVar[bool] = ContextVar("llmframe_looks_for_ties", default=False)


def new_run(  # noqa: PLR0913 - one argument a fact of the run
    *,
    model: str,
    provider: str | None,
    rows: int | None,
    budget: BudgetOption | None = None,
    prices: Prices | None = None,
    tier: object = None,
    question: str | None = None,
) -> Run:
    """A run that begins now; `last_run()` tells of it from here on.

    Parameters
    ----------
    tier
        The parameter `service_tier`.
    question
        Digest of the prompt and the model.

    Raises
    ------
    UsageError
        If dollars are limited, and the model has no known price.
    """
    global _last  # noqa: PLW0603 - the last run is the process's own
    spending = budget_of(budget)
    price = price_of(provider, model, prices=prices, tier=tier, budget=spending)
    run = Run(Metrics(model=model, price=price), clock=time.monotonic, rows=rows, budget=spending)
    run.metrics.question = question
    _running.add(run)
    _last = run
    return run


def price_of(provider: str | None, model: str, *, prices: Prices | None, tier: object, budget: Budget | None) -> Price:
    """What a model's tokens cost in a service tier.

    Raises
    ------
    UsageError
        If `budget` limits dollars, and no price is known.
    """
    price = Price(provider, model, prices, tier=tier)
    if budget is not None and budget.usd is not None and not price.known:
        where = f" in the service tier {tier!r}" if tier == PRIORITY else ""
        raise UsageError(
            f"a budget of dollars needs the price of {model!r}{where}, which isn't known; give it in dollars per "
            f'million tokens, `prices={{"{model}": {{"input": 0.15, "output": 0.6}}}}`, or limit something else: '
            '`budget={"calls": 1_000}` or `{"tokens": 2_000_000}`'
        )
    return price


def runs_now(run: Run) -> None:
    """Have `last_run()` tell of `run`: a lazy query runs later than it was written."""
    global _last  # noqa: PLW0603 - as above
    _last = run


def last_run() -> RunReport:
    """The report of the process's last run, also of one that still goes on.

    Returns
    -------
    RunReport
        Counts by outcome, cached and shared rows, requests, tokens, dollars, seconds and latency quantiles;
        `.frame` after an interrupt.

    Raises
    ------
    UsageError
        If nothing has run yet.
    """
    if _last is None:
        raise UsageError("no run yet: call `.llm.map(...)` first")
    return _last.report()


def cancel() -> None:
    """Cancel all runs of the process, from any thread.

    Nothing more is sent, requests in flight are cancelled, and what came back stays: the running calls return
    their frames, with `cancelled` in the error column of unfinished rows.
    """
    for run in list(_running):
        if run.active:
            run.cancel()


@contextmanager
def looking_for_ties() -> Generator[None]:
    """Within it no warning counts tied votes: whoever asks twice to compare the answers looks for them."""
    token = _looks_for_ties.set(True)
    try:
        yield
    finally:
        _looks_for_ties.reset(token)


def warn_of_failures(run: Run, *, place: Place | None = None) -> None:
    """One warning that counts failed rows by kind and says why a run stopped; none when all rows are answered.

    Parameters
    ----------
    place
        The line it names, for a run whose caller isn't on the stack.
    """
    metrics = run.metrics
    filename, line = place or callers_place()
    if metrics.store_trouble is not None:
        text = f"answers were kept in this process only: {metrics.store_trouble}"
        warnings.warn_explicit(text, LlmframeWarning, filename, line)
    stopped = run.stop is not None and not run.interrupted and run.stop.kind != "cancelled"
    if not metrics.failed and stopped:
        text = f"no row was asked about to the end; sending stopped after: {run.stop}"
        warnings.warn_explicit(text, LlmframeWarning, filename, line)
    passed_over = {"tie"} if _looks_for_ties.get() else set[str]()
    if unsure := unsure_counts({each: rows for each, rows in metrics.confidences.items() if each not in passed_over}):
        warnings.warn_explicit(unsure, LlmframeWarning, filename, line)
    if not metrics.failed:
        return
    text = failure_counts(metrics.failed, metrics.rows - metrics.not_asked)
    if stopped:
        text += f"; sending stopped after: {run.stop}"
    # Without a registry it's shown every time: a run's failures are news, whatever the last one's were.
    warnings.warn_explicit(text, LlmframeWarning, filename, line)
