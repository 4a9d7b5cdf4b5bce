"""Several models as judges of the same rows, and their vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from llmframe.judge.task import Task

Vote = Literal["majority", "weighted", "dawid_skene"]
Models = Sequence[str] | Mapping[str, str | Mapping[str, object]]


def panelled(
    task: Task,
    models: Models | None,
    *,
    frame: object,
    options: Mapping[str, object],
    vote: Vote | None = None,
    gold: str | None = None,
) -> Task:
    """The task put to several models, and their vote; `task` itself when `models` is `None`.

    Each judge's columns stay, with its name before theirs (`<judge>_label`, `<judge>_error`, …). The panel's own come
    after them: the verdict, `confidence`, `confidence_source`, `votes`, `error`.

    Parameters
    ----------
    task
        What one model would be asked. Its `finish` runs once a judge, with the judge's prefix, and must leave every
        row in its place: what drops or multiplies rows comes after the panel.
    models
        Names of models; or for each judge's name a model, or sending options (`{"model": …, "base_url": …}`).
    frame
        The rows to be judged.
    options
        The call's own options.
    vote
        `"majority"`, also when `None`; `"weighted"` by each judge's accuracy on `gold`; `"dawid_skene"`.
    gold
        Name of a column of known verdicts, null where unknown.

    Raises
    ------
    UsageError
        Before anything is sent, for whatever can't work.
    """
    raise NotImplementedError
