"""The digest of a question: a prompt with its model, whatever rows it's asked about."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, cast

from llmframe.api.examples import examples_of
from llmframe.api.prepared import Asking
from llmframe.clients.base import Client
from llmframe.core.request import canonical_json
from llmframe.report import RunReport


def question_digest(ask: Asking, client: Client, *, series: bool) -> str | None:
    """16 hex digits for prompt, examples, schema, model, params and where confidences come from.

    Returns
    -------
    str or None
        `None` when the prompt is a function, which nobody can compare.

    Raises
    ------
    UsageError
        If confidences are to be calibrated by another question's answers.
    """
    said, calibration = ask.arguments, ask.layout.calibration
    digest = None
    if not callable(said.prompt_template):
        told = {
            "question": asdict(ask.question(client).components()),
            "prompt": [said.prompt_template, said.system],
            "examples": examples_of(said.examples, ask.schema, template=said.prompt_template, series=series),
            "confidence": [said.confidence, said.votes],
        }
        digest = hashlib.sha256(canonical_json(told).encode()).hexdigest()[:16]
    if calibration is not None and digest is not None:
        calibration.check(digest)
    return digest


def report_text(report: RunReport, native: object, columns: Iterable[str]) -> str:
    """A run's report as a frame keeps it, with `questions`: the digest that each column answers, earlier runs' too.

    Parameters
    ----------
    native
        The frame that was mapped; what its `attrs` tell of earlier runs stays.
    columns
        Those that the run writes.
    """
    text: object = getattr(native, "attrs", {}).get("llm")
    try:
        told: Any = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        told = None
    before: object = cast("dict[str, Any]", told).get("questions") if isinstance(told, dict) else None
    questions = {**cast("dict[str, Any]", before)} if isinstance(before, dict) else {}
    return json.dumps({**report.to_dict(), "questions": questions | dict.fromkeys(columns, report.question)})
