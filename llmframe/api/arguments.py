"""What a call said, checked before a frame is looked at."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, Literal, TypedDict, cast, get_args

from llmframe.core.calibration import Calibration
from llmframe.core.scoring import CONFIDENCES, Confidence
from llmframe.core.template import OnNull
from llmframe.engine.progress import ProgressOption
from llmframe.errors import UsageError, did_you_mean
from llmframe.options import (
    SENDING_OPTIONS,
    BudgetOption,
    CacheOption,
    OutputMode,
    Prices,
    Priority,
    SendOptions,
    Unset,
    refuse_unknown,
    resolve_options,
)

Labels = Literal["enum", "string"]
Nested = Literal["native", "json"]
OnError = Literal["column", "raise"]
LoopOption = Literal["thread", "current"]
Mode = Literal["live", "batch"]
SAMPLES: Final = 5
"""Votes of a request when nothing is said."""

Fallback = Literal["batch", "live"] | None
"""What becomes of rows that a batch left without a valid answer."""


class PresetOptions(TypedDict, total=False):
    """The keyword arguments of `map` that every preset passes on."""

    where: object
    on_null: OnNull
    prefix: str
    into: str | None
    overwrite: bool
    nested: Nested
    confidence: Confidence | None
    samples: int | None
    distribution: bool
    calibration: Calibration | str | os.PathLike[str] | None
    on_error: OnError
    mode: Mode
    fallback: Fallback
    loop: LoopOption
    meta: bool
    progress: ProgressOption
    model: str | Unset | None
    base_url: str | Unset | None
    api_key: str | Unset | None
    client: object
    params: Mapping[str, object] | Unset
    max_concurrency: int | Unset
    requests_per_minute: float | Unset | None
    tokens_per_minute: float | Unset | None
    priority: Priority | Unset
    timeout: float | Unset
    max_attempts: int | Unset
    reask: int | Unset
    hedge: bool | Unset
    budget: BudgetOption | Unset | None
    prices: Prices | Unset
    cache: CacheOption | Unset
    output_mode: OutputMode | Unset


class MapOptions(PresetOptions, total=False):
    """The keyword arguments of `map`, for the verbs that pass them on."""

    system: object
    examples: object
    labels: Labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of one call, each of a kind that can work, with its sending options decided."""

    prompt_template: object
    schema: object
    sending: SendOptions
    system: object = None
    examples: object = None
    where: object = None
    on_null: OnNull = "skip"
    prefix: str = ""
    into: str | None = None
    overwrite: bool = False
    labels: Labels = "enum"
    nested: Nested = "native"
    confidence: Confidence | None = None
    samples: int | None = None
    distribution: bool = False
    calibration: Calibration | str | os.PathLike[str] | None = None
    on_error: OnError = "column"
    mode: Mode = "live"
    fallback: Fallback = "batch"
    loop: LoopOption = "thread"
    meta: bool = False
    progress: ProgressOption = None

    def __post_init__(self) -> None:
        """Refuse what can't work."""
        one_of("on_null", self.on_null, get_args(OnNull))
        one_of("labels", self.labels, get_args(Labels))
        one_of("nested", self.nested, get_args(Nested))
        one_of("on_error", self.on_error, get_args(OnError))
        one_of("loop", self.loop, get_args(LoopOption))
        one_of("mode", self.mode, get_args(Mode))
        one_of("fallback", self.fallback, ("batch", "live", None))
        for name in ("overwrite", "meta", "distribution"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"`{name}` must be True or False, got {getattr(self, name)!r}")
        if not isinstance(self.prefix, str):  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
            raise UsageError(f"`prefix` must be text, got {self.prefix!r}")
        if self.into is not None and (not isinstance(self.into, str) or not self.into):  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
            raise UsageError(f"`into` must be the name of a column, got {self.into!r}")
        if self.progress is not None and not isinstance(self.progress, bool) and not callable(self.progress):
            raise UsageError(f"`progress` must be True, False, None or a callable, got {self.progress!r}")
        one_of("confidence", self.confidence, (None, *CONFIDENCES))
        check_samples(self)
        if self.distribution and self.confidence in (None, "stated"):
            raise UsageError(
                f"`distribution=True` tells the labels' probabilities; confidence={self.confidence!r} has none: "
                'give `confidence="logprobs"`, "votes" or "auto"'
            )
        if self.calibration is not None and self.confidence is None:
            raise UsageError("`calibration` corrects a confidence, and none is asked for; give `confidence=` as well")

    @property
    def votes(self) -> int:
        """Samples a request may get: 1, unless votes decide or may have to; in batches nobody votes."""
        if self.confidence not in ("votes", "auto") or _is_cold(self) or self.mode == "batch":
            return 1
        return self.samples or SAMPLES


def _is_cold(said: Arguments) -> bool:
    """Whether all samples would be the same."""
    params = said.sending.params
    extra = params.get("extra_body")
    beside: Mapping[str, object] = cast("Mapping[str, object]", extra) if isinstance(extra, Mapping) else {}
    temperature = params.get("temperature", beside.get("temperature"))
    return isinstance(temperature, int | float) and temperature == 0


def check_samples(said: Arguments) -> None:
    """Refuse samples that nobody counts, or that would all be the same.

    Raises
    ------
    UsageError
        With the remedy.
    """
    samples = said.samples
    if samples is not None and (isinstance(samples, bool) or not isinstance(samples, int) or samples < 1):  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
        raise UsageError(f"`samples` must be a whole number of 2 or more, got {samples!r}; leave it out for {SAMPLES}")
    if samples not in (None, 1) and said.confidence not in ("votes", "auto"):
        raise UsageError(
            f'`samples={samples}` are votes, and confidence={said.confidence!r} counts none; give `confidence="votes"`'
        )
    if said.confidence != "votes":
        return
    if samples == 1:
        raise UsageError("`samples=1` is one vote, which is always of one mind; give 3 or more, or leave it out for 5")
    if _is_cold(said):
        raise UsageError(
            'votes with params={"temperature": 0} are one answer several times over, and paid as often; leave the '
            'temperature out, or use `confidence="logprobs"`'
        )
    if said.mode == "batch":
        raise UsageError(
            'votes stop as soon as they are settled, which a batch can\'t; use `confidence="logprobs"` with '
            '`mode="batch"`, or votes with `mode="live"`'
        )


LOCAL_ARGUMENTS: Final = tuple(
    f.name for f in fields(Arguments) if f.name not in ("prompt_template", "schema", "sending")
)
"""Keyword arguments that say what becomes of rows and columns."""


def arguments(
    prompt_template: object,
    schema: object,
    options: Mapping[str, object],
    *,
    verb: str = "map",
    also: tuple[str, ...] = (),
) -> Arguments:
    """The checked arguments of a call; `also` names those that the verb has beside `map`'s, for its errors.

    Raises
    ------
    UsageError
        For an unknown argument, a provider's word outside `params`, or a value that can't work.
    """
    known = ("prompt_template", "schema", *also, *LOCAL_ARGUMENTS, *SENDING_OPTIONS)
    refuse_unknown({name: value for name, value in options.items() if name not in known}, known, verb=verb)
    sending = resolve_options({name: value for name, value in options.items() if name in SENDING_OPTIONS})
    local = {name: value for name, value in options.items() if name in LOCAL_ARGUMENTS}
    return Arguments(
        prompt_template=prompt_template,
        schema=schema,
        sending=sending,
        **local,  # pyright: ignore[reportArgumentType] - checked by `__post_init__`
    )


def one_of(name: str, value: object, known: tuple[object, ...]) -> None:
    """Refuse a value that isn't one of the `known` words."""
    if value not in known:
        near = did_you_mean(str(value), [word for word in known if isinstance(word, str)])
        raise UsageError(f"`{name}` must be one of {', '.join(map(repr, known))}, got {value!r}{near}")


def lazy_kind(frame: object) -> str | None:
    """`"LazyFrame"` or `"Expr"` for what polars runs later; told by name, for nobody has to load polars."""
    kind = type(frame)
    return (
        kind.__name__ if kind.__module__.split(".")[0] == "polars" and kind.__name__ in ("LazyFrame", "Expr") else None
    )


def calibration_of(said: Calibration | str | os.PathLike[str] | None) -> Calibration | None:
    """The calibration that a call says, read where it is a file's path; raises `UsageError` where it can't be."""
    if said is None or isinstance(said, Calibration):
        return said
    if not isinstance(said, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance] - said by users
        raise UsageError(f"`calibration` must be a Calibration or the path of one, got {type(said).__name__}")
    try:
        return Calibration.from_json(Path(said).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"`calibration`={os.fspath(said)!r} can't be read: {error.strerror}") from None
