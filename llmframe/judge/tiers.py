"""Which models are asked one after the other, and what decides that a row goes on to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Final, cast

from llmframe.errors import UsageError
from llmframe.judge.judges import Models, judges_of

SURE: Final = 1.0
"""The greatest confidence."""


@dataclass(frozen=True, slots=True)
class Cascade:
    """Models from the cheapest to the strongest: each next one is asked the rows that the one before it is unsure of.

    Parameters
    ----------
    models
        A list of models, or a dict of tiers' names with a model or sending options each (`{"model": …, "base_url":
        …}`); two or more.
    target_error
        Largest share of wrong answers among the rows that end before the last model, in (0, 1). The thresholds that
        keep it are found on the rows with gold.
    delta
        Probability, over the draw of the gold rows, that it is exceeded all the same, in (0, 1).
    threshold
        A confidence said by hand, or one for each model but the last: rows below it go on. Then nothing is certified.
    random
        Whether the rows with gold are a random sample of all rows; the certificate holds only if they are.
    tuned
        Whether anything was tuned on them, such as the prompt or its examples: such gold is refused.
    field
        Of several fields the one whose confidence decides and whose gold is known.

    Raises
    ------
    UsageError
        If a number is out of range.

    Examples
    --------
    >>> Cascade(["openai/gpt-4o-mini", "openai/gpt-4o"], target_error=0.03).target_error
    0.03
    """

    models: Models
    _: KW_ONLY
    target_error: float = 0.05
    delta: float = 0.1
    threshold: float | Sequence[float] | None = None
    random: bool = True
    tuned: bool = False
    field: str | None = None

    def __post_init__(self) -> None:
        """Refuse what can't work."""
        for name in ("target_error", "delta"):
            share = getattr(self, name)
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
                raise UsageError(f"`{name}` is between 0 and 1, got {share!r}; 0.05 is 5 %")
        for name in ("random", "tuned"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"`{name}` must be True or False, got {getattr(self, name)!r}")


Tiers = Sequence[str] | Mapping[str, str | Mapping[str, object]] | Cascade
"""What `cascade=` takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """One model of a cascade.

    Attributes
    ----------
    name
        What the column `tier` calls it: the model's name, or its name in the dict.
    short
        A name that columns can begin with.
    options
        Its sending options.
    threshold
        Said by hand; `None`: to be found, or the last tier, which has none.
    """

    name: str
    short: str
    options: Mapping[str, object]
    threshold: float | None = None


def cascade_of(said: object) -> Cascade:
    """What `cascade=` says.

    Raises
    ------
    UsageError
        If it is no list or dict of models, and no `Cascade`.
    """
    if isinstance(said, Cascade):
        return said
    if isinstance(said, str) or not isinstance(said, Sequence | Mapping):
        raise UsageError(
            "`cascade` is a list of models from the cheapest to the strongest, or a `llmframe.Cascade` with more to "
            f"say, got {said!r}"
        )
    return Cascade(cast("Models", said))


def cascade_with(models: object, **said: Any) -> Cascade:
    """A cascade of these models and arguments; one that is a `Cascade` already has its own, and takes no others.

    Raises
    ------
    UsageError
        If both say something, or as `Cascade`.
    """
    found = cascade_of(models)
    plain = Cascade(found.models)
    more = [name for name, value in said.items() if value != getattr(plain, name)]
    if isinstance(models, Cascade) and more:
        raise UsageError(f"`{more[0]}` is said beside a `Cascade`, which says it itself; leave it out, or pass a list")
    return replace(found, **said) if more else found


def tiers_of(cascade: Cascade) -> tuple[Tier, ...]:
    """The models of a cascade in order.

    Raises
    ------
    UsageError
        For fewer than two models, the same one twice, or thresholds that don't fit them.
    """
    found = judges_of(cascade.models, word="tier", of="cascade")
    named = isinstance(cascade.models, Mapping)
    models = [options.get("model") for options in found.values()]
    thresholds = _thresholds(cascade.threshold, len(found) - 1)
    return tuple(
        Tier(
            name=model if not named and isinstance(model, str) and models.count(model) == 1 else short,
            short=short,
            options=options,
            threshold=threshold,
        )
        for (short, options), model, threshold in zip(found.items(), models, thresholds, strict=True)
    )


def _thresholds(said: object, count: int) -> list[float | None]:
    """One for each tier but the last, which has none."""
    if said is None:
        return [None] * (count + 1)
    each = list(cast("Sequence[object]", said)) if isinstance(said, list | tuple) else [said] * count
    if len(each) != count:
        raise UsageError(f"`threshold` has {len(each)} numbers for {count} models before the last; give one for each")
    for number in each:
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= SURE:
            raise UsageError(f"`threshold` is a confidence from 0 to 1, or one for each model but the last: {number!r}")
    return [*cast("list[float]", each), None]
