"""A rubric: what is judged, and the levels that a judge may choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from llmframe.api.arguments import one_of
from llmframe.core.columns import ColumnType
from llmframe.errors import UsageError, did_you_mean
from llmframe.judge.levels import Level, Scale, levels_of

ReasonPlace = Literal["after", "before"]


@dataclass(frozen=True, slots=True)
class Rubric:
    """What is judged, and the levels to choose from.

    Parameters
    ----------
    criterion
        The question that a judge answers, in a sentence or a paragraph.
    levels
        `{1: "unusable", ..., 5: "publishable"}`, names with their meanings; or names alone, as a list; or a range of
        whole numbers. 2 to 26 of them, all whole numbers or all texts.
    scale
        `"ordinal"`: in the given order, from first to last; whole numbers count as such, names as 1, 2, ….
        `"binary"`: two levels, names count as 0 and 1. `"nominal"`: names without an order, which have no score.
    anchors
        `(text, level)` pairs that show the model what a level looks like; with `reference` triples
        `(text, level, reference answer)`.
    reason
        `"after"` asks for a reason after the level, which can't change it: the level's distribution is the one
        without a reason. `"before"` lets the model think first: the level, and every confidence of it, then depends on
        the one reason that was written, and distributions get narrower. `None`: no reason.
    reference
        Name of a column with an answer that is known to be right.

    Attributes
    ----------
    steps
        The levels in order, with their codes.

    Raises
    ------
    UsageError
        If it can't be used; the message says why.

    Examples
    --------
    >>> from llmframe.judge.rubric import Rubric
    >>> [step.code for step in Rubric("Is it polite?", ["no", "yes"], scale="binary").steps]
    ['A', 'B']
    """

    criterion: str
    levels: Mapping[Any, str] | Sequence[Any]
    scale: Scale = field(default="ordinal", kw_only=True)
    anchors: Sequence[tuple[Any, ...]] = field(default=(), kw_only=True)
    reason: ReasonPlace | None = field(default=None, kw_only=True)
    reference: str | None = field(default=None, kw_only=True)
    steps: tuple[Level, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what can't work."""
        if not isinstance(self.criterion, str) or not self.criterion.strip():  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
            raise UsageError(f"`criterion` says in words what is judged, got {self.criterion!r}")
        one_of("scale", self.scale, get_args(Scale))
        one_of("reason", self.reason, (*get_args(ReasonPlace), None))
        if self.reference is not None and not isinstance(self.reference, str):  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
            raise UsageError(f"`reference` is the name of a column, got {self.reference!r}")
        object.__setattr__(self, "steps", levels_of(self.levels, self.scale))
        for number, anchor in enumerate(self.anchors, 1):
            self._check_anchor(number, anchor)

    @property
    def type(self) -> ColumnType:
        """Dtype of the column `level`."""
        if all(isinstance(step.value, int) for step in self.steps):
            return ColumnType("int")
        return ColumnType("enum", labels=tuple(str(step.value) for step in self.steps))

    def step_of(self, level: object) -> Level | None:
        """The level with this value."""
        return next((step for step in self.steps if step.value == level and type(step.value) is type(level)), None)

    def _check_anchor(self, number: int, anchor: Any) -> None:
        wanted = "(text, level)" if self.reference is None else "(text, level, reference answer)"
        items = cast("Sequence[Any]", anchor if isinstance(anchor, (tuple, list)) else ())
        if len(items) != wanted.count(",") + 1 or not all(isinstance(text, str) for text in (items[0], *items[2:])):
            raise UsageError(f"anchor {number} isn't {wanted}")
        if self.step_of(items[1]) is None:
            known = [step.value for step in self.steps]
            near = did_you_mean(str(items[1]), [str(value) for value in known])
            raise UsageError(
                f"anchor {number} has the level {items[1]!r}, which the rubric lacks{near or ';'} levels: {known}"
            )
