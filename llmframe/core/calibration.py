"""What turns a confidence into the share of answers that are right with it, as it was learnt from rows with gold."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from llmframe.errors import UsageError
from llmframe.stats.curves import interpolated, logit, moved, reweighted, sigmoid, tempered

Method = Literal["temperature", "platt", "isotonic"]

METHODS: Final[tuple[Method, ...]] = get_args(Method)

FORMAT: Final = 1
"""Version of the JSON form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How well confidences meet what was right.

    Attributes
    ----------
    log_loss
        Mean negative natural logarithm of the probability given to what happened, right or wrong.
    brier
        Mean squared difference between confidence and right (1) or wrong (0).
    ece
        Expected calibration error over ten bins of equal size: the mean distance between confidence and accuracy.
    """

    log_loss: float
    brier: float
    ece: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A calibration of confidences; `llmframe.calibrate` makes it, `map(..., calibration=...)` applies it.

    Attributes
    ----------
    method
        `"temperature"`, `"platt"` or `"isotonic"`.
    parameters
        Of a temperature `(T,)`; of Platt `(slope, intercept)` on the logit; of an isotonic one its knots' heights.
    knots
        Of an isotonic calibration the confidences where its heights stand, ascending; between them it's a line.
    labels
        The labels in the order of their probabilities; empty when it was learnt from confidences alone.
    weights
        Prior of each label over its share in the gold rows; empty without a stated prior.
    field
        The column of confidences that it was learnt from, without the prefix of its call.
    question
        Digest of the prompt and the model; `None`: not known.
    n, accuracy
        Rows with gold, an answer and a confidence, and the part of them that is right.
    folds, seed
        How the rows were parted for `before` and `after`.
    before, after
        Figures of the raw and of the calibrated confidences; each row's by a calibration learnt from other rows.
        Without the prior: the gold rows have shares of their own.
    notes
        What is to be known about it, in words.
    """

    method: Method
    parameters: tuple[float, ...]
    knots: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    field: str | None = None
    question: str | None = None
    n: int = 0
    accuracy: float | None = None
    folds: int = 0
    seed: int = 0
    before: Figures | None = None
    after: Figures | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise `UsageError` where the parameters can't be ones of the method."""
        _check(self)

    def apply(self, confidence: float | None, probabilities: Sequence[float], chosen: int | None) -> float | None:
        """The calibrated confidence of one value.

        Parameters
        ----------
        confidence
            The raw one, in [0, 1].
        probabilities
            Of all labels, with sum 1; empty where they aren't known.
        chosen
            Place of the answered label among them.

        Returns
        -------
        float or None
            In [0, 1]; `None` without a confidence, or where the calibration needs probabilities that aren't known.
        """
        if confidence is None:
            return None
        if not self.labels:
            return self._curve(confidence)
        if chosen is None:
            return None
        calibrated = self.apply_distribution(probabilities, chosen)
        return calibrated[chosen] if calibrated else None

    def apply_distribution(self, probabilities: Sequence[float], chosen: int | None = None) -> tuple[float, ...]:
        """The calibrated probabilities of all labels, with sum 1.

        Parameters
        ----------
        probabilities
            The raw ones, with sum 1; empty where they aren't known.
        chosen
            Place of the answered label: what is calibrated by its confidence alone (Platt, isotonic, or learnt without
            probabilities) gives it the calibrated one, and the others share the rest as before.

        Returns
        -------
        tuple of float
            Empty where they aren't known, or where `chosen` is needed and is `None`.
        """
        if not probabilities or (self.labels and len(probabilities) != len(self.labels)):
            return ()
        if self.method == "temperature" and self.labels:
            calibrated = tempered(probabilities, self.parameters[0])
        elif chosen is None:
            return ()
        else:
            calibrated = moved(probabilities, chosen, self._curve(probabilities[chosen]))
        return reweighted(calibrated, self.weights) if self.weights else calibrated

    def check(self, question: str, *, labels: Sequence[str] | None = None) -> None:
        """Raise `UsageError` when it was learnt from another question's answers, or for other labels.

        Parameters
        ----------
        question
            Digest of the prompt and the model that are to be calibrated.
        labels
            The labels of the schema in their order; `None`: not compared.
        """
        if self.question is not None and self.question != question:
            raise UsageError(
                f"this calibration belongs to question {self.question!r} (a prompt with its model), and this call asks "
                f"{question!r}: confidences of another prompt or model are off in another way; make a new one with "
                "`llmframe.calibrate(frame, gold)` from rows that this prompt and model have answered"
            )
        if self.labels and labels is not None and tuple(labels) != self.labels:
            raise UsageError(
                f"this calibration is one of the labels {list(self.labels)}, and the schema's are {list(labels)}; make "
                "a new one with `llmframe.calibrate(frame, gold)` from rows with these labels"
            )

    def __str__(self) -> str:
        """A few lines: what it was learnt from, and what it makes better."""
        found = ", ".join(f"{parameter:.3g}" for parameter in self.parameters)
        title = f"llmframe calibration · {self.method}" + (f" {found}" if not self.knots else "")
        lines = [title] if self.accuracy is None else [f"{title} · {self.n:,} rows, {100 * self.accuracy:.1f} % right"]
        if self.before is not None and self.after is not None:
            lines += [
                f"  {name:<10}{raw:.3f} -> {calibrated:.3f}"
                for name, raw, calibrated in (
                    ("log loss", self.before.log_loss, self.after.log_loss),
                    ("Brier", self.before.brier, self.after.brier),
                    ("ECE", self.before.ece, self.after.ece),
                )
            ]
        return "\n".join([*lines, *(f"  {'note':<10}{note}" for note in self.notes)])

    def to_json(self) -> str:
        """As JSON text: numbers, labels and the question's digest, no cell."""
        return json.dumps({"llmframe_calibration": FORMAT, **asdict(self)}, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """The calibration that `to_json` wrote; raises `UsageError` when it is anything else."""
        try:
            found: object = json.loads(text)
        except ValueError as error:
            raise UsageError(f"expected JSON as `Calibration.to_json()` writes it: {error}") from None
        if not isinstance(found, dict):
            raise UsageError("expected a JSON object as `Calibration.to_json()` writes it")
        values = cast("dict[str, Any]", found)
        version = values.pop("llmframe_calibration", None)
        if version != FORMAT:
            raise UsageError(
                f"expected a calibration of format {FORMAT}, got {version!r}: make a new one with `llmframe.calibrate`"
            )
        for name, value in values.items():
            if isinstance(value, list):
                values[name] = tuple(cast("list[object]", value))
        try:
            for name in ("before", "after"):
                values[name] = values.get(name) and Figures(**values[name])
            return cls(**values)
        except TypeError:
            raise UsageError(
                "this JSON lacks entries of a calibration, or has others: make a new one with `llmframe.calibrate`"
            ) from None

    def save(self, path: str | Path) -> None:
        """Write `to_json()` to a file, replacing what is there."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read what `save` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def _curve(self, confidence: float) -> float:
        if self.method == "isotonic":
            return interpolated(confidence, self.knots, self.parameters)
        if self.method == "platt":
            return sigmoid(self.parameters[0] * logit(confidence) + self.parameters[1])
        temperature = self.parameters[0]
        return confidence if temperature == 1.0 else sigmoid(logit(confidence) / temperature)


def _check(made: Calibration) -> None:
    if made.method not in METHODS:
        raise UsageError(f"`method` of a calibration is one of {', '.join(map(repr, METHODS))}, got {made.method!r}")
    count = {"temperature": 1, "platt": 2, "isotonic": len(made.knots)}[made.method]
    if len(made.parameters) != count or not count or not all(map(math.isfinite, (*made.parameters, *made.knots))):
        raise UsageError(f"a calibration by {made.method!r} can't have the parameters {list(made.parameters)}")
    if made.method == "temperature" and made.parameters[0] <= 0:
        raise UsageError(f"a temperature is above 0, got {made.parameters[0]!r}")
    if made.method == "platt" and made.parameters[0] < 0:
        raise UsageError(f"the slope by Platt is 0 or above, got {made.parameters[0]!r}: confidences keep their order")
    if made.weights and len(made.weights) != len(made.labels):
        raise UsageError("a calibration has a weight for each of its labels, or none")
