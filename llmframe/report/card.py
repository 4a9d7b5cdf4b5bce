"""The report card of a judge: whether its answers can be used, on one page."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from llmframe.errors import UsageError, did_you_mean
from llmframe.report.card_page import card_html, card_page
from llmframe.report.card_parts.section import Section, Value
from llmframe.report.card_text import card_markdown, card_text
from llmframe.report.gates import BrokenGate, broken_gates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE: Final = "llmframe report card"

_WHY: Final = "why."
"""Before the name of an absent part, in JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCard:
    """What is known of a judge; `repr` is text, notebooks show it with its pictures. No prompt, no key, no row.

    Attributes
    ----------
    title
        What was judged against what.
    sections
        Its parts in order, those too that are absent, with why.

    Examples
    --------
    >>> import llmframe
    >>> rows = [{"label": label, "human": human} for label, human in zip("aabbab" * 10, "aabbba" * 10)]
    >>> card = llmframe.card(rows, "label", "human")
    >>> card["accuracy"]
    0.6666666666666666
    >>> print(*card.check(min={"accuracy": 0.8}))
    accuracy is 0.6667, less than 0.8
    """

    title: str
    sections: tuple[Section, ...]

    @property
    def values(self) -> dict[str, Value]:
        """Every number by its flat key, such as `kappa.low`; what is unknown is nan."""
        return {key: value for section in self.sections for key, value in section.values.items()}

    @property
    def pictures(self) -> tuple[str, ...]:
        """Names of the pictures that `plot` draws."""
        return tuple(picture.name for section in self.sections for picture in section.pictures)

    def __getitem__(self, key: str) -> Value:
        """A number by its flat key."""
        values = self.values
        if key not in values:
            raise UsageError(f"this card has no {key!r}{did_you_mean(key, values)}; keys: {', '.join(values)}")
        return values[key]

    def check(
        self,
        *,
        min: Mapping[str, float] | None = None,  # noqa: A002 - as it reads
        max: Mapping[str, float] | None = None,  # noqa: A002 - as it reads
    ) -> list[BrokenGate]:
        """The gates that this card doesn't pass; an empty list: it passes all.

        Parameters
        ----------
        min, max
            What numbers must be at least and at most, by flat key: `min={"kappa.low": 0.6}`. An unknown number passes
            no gate.

        Raises
        ------
        UsageError
            If a key is unknown or a bound is no finite number.
        """
        reasons = {key: section.reasons.get(key, section.reason) for section in self.sections for key in section.values}
        return broken_gates(self.values, reasons, least=min or {}, most=max or {})

    def plot(self, name: str) -> Figure:
        """One of `pictures`, drawn.

        Raises
        ------
        UsageError
            If this card has no such picture.
        MissingExtraError
            Without matplotlib: `pip install 'llmframe[judge]'`.
        """
        found = {picture.name: picture for section in self.sections for picture in section.pictures}
        if name not in found:
            raise UsageError(f"this card has no picture {name!r}{did_you_mean(name, found)}; pictures: {list(found)}")
        return found[name].draw()

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The card as one page with its pictures inside; it loads nothing from anywhere.

        Parameters
        ----------
        path
            The file to write it to, in UTF-8; `None`: none is written.
        """
        return _written(card_page(self.title, self.sections), path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The card as Markdown, without pictures; `path` as in `to_html`."""
        return _written(card_markdown(self.title, self.sections), path)

    def to_dict(self) -> dict[str, Value]:
        """Every number by its flat key, and `why.<part>` for absent parts; what is unknown is `None`."""
        told: dict[str, Value] = {"title": self.title}
        told |= {key: _known(value) for key, value in self.values.items()}
        return told | {f"{_WHY}{section.name}": section.reason for section in self.sections if section.absent}

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The same as one JSON object of flat keys; `path` as in `to_html`."""
        return _written(json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n", path)

    def __repr__(self) -> str:
        """The card as text."""
        return card_text(self.title, self.sections)

    def _repr_html_(self) -> str:
        """The card with its pictures, for notebooks."""
        return card_html(self.title, self.sections)


def _known(value: Any) -> Value:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        Path(path).expanduser().write_text(text, encoding="utf-8")
    return text
