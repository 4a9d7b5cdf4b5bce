"""The `.llm` accessor: one mixin of verbs, inherited by what pandas and polars register."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import AsyncGenerator, Generator, Mapping
from typing import TYPE_CHECKING, Any, Final

from llmframe.errors import LlmframeWarning, UsageError
from llmframe.frames.hook import on_import
from llmframe.judge.verbs import LAZY, PRESETS, PresetVerbs
from llmframe.options import UNSET, BudgetOption, CacheOption, OutputMode, Prices, Priority, Unset

if TYPE_CHECKING:
    import os
    from typing import Unpack

    from llmframe.api.arguments import Fallback, Labels, LoopOption, MapOptions, Mode, Nested, OnError
    from llmframe.api.embedding import EmbedOptions
    from llmframe.api.jobs import Job
    from llmframe.core.calibration import Calibration
    from llmframe.core.scoring import Confidence
    from llmframe.core.template import OnNull
    from llmframe.engine.progress import ProgressOption
    from llmframe.report import PlanReport


class Verbs(PresetVerbs):
    """The verbs on one frame, Series, lazy query or expression; no state beside it."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        if Verbs.map.__doc__ is None:
            _document()

    def __repr__(self) -> str:
        """The verbs by name; a lazy query has few, for its rows aren't there yet, and presets need a frame."""
        kind = type(self._frame).__name__
        verbs = ["map"] if kind in ("LazyFrame", "Expr") else list(_VERBS)
        presets = {"LazyFrame": LAZY, "DataFrame": tuple(f"{a}{each}" for each in PRESETS for a in ("", "a"))}
        return f"<llm verbs of {kind}: {', '.join([*verbs, *presets.get(kind, ())])}>"

    def map(  # noqa: D102, PLR0913 - documented by the function; written out, so that `df.llm.map?` helps
        self,
        prompt_template: object,
        schema: object = None,
        *,
        system: object = None,
        examples: object = None,
        where: object = None,
        on_null: OnNull = "skip",
        prefix: str = "",
        into: str | None = None,
        overwrite: bool = False,
        labels: Labels = "enum",
        nested: Nested = "native",
        confidence: Confidence | None = None,
        samples: int | None = None,
        distribution: bool = False,
        calibration: Calibration | str | os.PathLike[str] | None = None,
        on_error: OnError = "column",
        mode: Mode = "live",
        fallback: Fallback = "batch",
        loop: LoopOption = "thread",
        meta: bool = False,
        progress: ProgressOption = None,
        model: str | Unset | None = UNSET,
        base_url: str | Unset | None = UNSET,
        api_key: str | Unset | None = UNSET,
        client: object = UNSET,
        params: Mapping[str, object] | Unset = UNSET,
        max_concurrency: int | Unset = UNSET,
        requests_per_minute: float | Unset | None = UNSET,
        tokens_per_minute: float | Unset | None = UNSET,
        priority: Priority | Unset = UNSET,
        timeout: float | Unset = UNSET,
        max_attempts: int | Unset = UNSET,
        reask: int | Unset = UNSET,
        hedge: bool | Unset = UNSET,
        budget: BudgetOption | Unset | None = UNSET,
        prices: Prices | Unset = UNSET,
        cache: CacheOption | Unset = UNSET,
        output_mode: OutputMode | Unset = UNSET,
        **unknown: object,
    ) -> Any:
        return _verbs().map(
            self._frame,
            prompt_template,
            schema,
            system=system,
            examples=examples,
            where=where,
            on_null=on_null,
            prefix=prefix,
            into=into,
            overwrite=overwrite,
            labels=labels,
            nested=nested,
            confidence=confidence,
            samples=samples,
            distribution=distribution,
            calibration=calibration,
            on_error=on_error,
            mode=mode,
            fallback=fallback,
            loop=loop,
            meta=meta,
            progress=progress,
            model=model,
            base_url=base_url,
            api_key=api_key,
            client=client,
            params=params,
            max_concurrency=max_concurrency,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            priority=priority,
            timeout=timeout,
            max_attempts=max_attempts,
            reask=reask,
            hedge=hedge,
            budget=budget,
            prices=prices,
            cache=cache,
            output_mode=output_mode,
            **unknown,
        )

    async def amap(  # noqa: D102, PLR0913 - documented by the function; written out, so that `df.llm.amap?` helps
        self,
        prompt_template: object,
        schema: object = None,
        *,
        system: object = None,
        examples: object = None,
        where: object = None,
        on_null: OnNull = "skip",
        prefix: str = "",
        into: str | None = None,
        overwrite: bool = False,
        labels: Labels = "enum",
        nested: Nested = "native",
        confidence: Confidence | None = None,
        samples: int | None = None,
        distribution: bool = False,
        calibration: Calibration | str | os.PathLike[str] | None = None,
        on_error: OnError = "column",
        mode: Mode = "live",
        fallback: Fallback = "batch",
        loop: LoopOption = "thread",
        meta: bool = False,
        progress: ProgressOption = None,
        model: str | Unset | None = UNSET,
        base_url: str | Unset | None = UNSET,
        api_key: str | Unset | None = UNSET,
        client: object = UNSET,
        params: Mapping[str, object] | Unset = UNSET,
        max_concurrency: int | Unset = UNSET,
        requests_per_minute: float | Unset | None = UNSET,
        tokens_per_minute: float | Unset | None = UNSET,
        priority: Priority | Unset = UNSET,
        timeout: float | Unset = UNSET,
        max_attempts: int | Unset = UNSET,
        reask: int | Unset = UNSET,
        hedge: bool | Unset = UNSET,
        budget: BudgetOption | Unset | None = UNSET,
        prices: Prices | Unset = UNSET,
        cache: CacheOption | Unset = UNSET,
        output_mode: OutputMode | Unset = UNSET,
        **unknown: object,
    ) -> Any:
        return await _verbs().amap(
            self._frame,
            prompt_template,
            schema,
            system=system,
            examples=examples,
            where=where,
            on_null=on_null,
            prefix=prefix,
            into=into,
            overwrite=overwrite,
            labels=labels,
            nested=nested,
            confidence=confidence,
            samples=samples,
            distribution=distribution,
            calibration=calibration,
            on_error=on_error,
            mode=mode,
            fallback=fallback,
            loop=loop,
            meta=meta,
            progress=progress,
            model=model,
            base_url=base_url,
            api_key=api_key,
            client=client,
            params=params,
            max_concurrency=max_concurrency,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            priority=priority,
            timeout=timeout,
            max_attempts=max_attempts,
            reask=reask,
            hedge=hedge,
            budget=budget,
            prices=prices,
            cache=cache,
            output_mode=output_mode,
            **unknown,
        )

    def stream(  # noqa: D102 - documented by the function
        self,
        prompt_template: object,
        schema: object = None,
        *,
        rows: int = 1000,
        ordered: bool = False,
        **options: Unpack[MapOptions],
    ) -> Generator[Any]:
        return _verbs().stream(self._frame, prompt_template, schema, rows=rows, ordered=ordered, **options)

    def astream(  # noqa: D102 - documented by the function
        self,
        prompt_template: object,
        schema: object = None,
        *,
        rows: int = 1000,
        ordered: bool = False,
        **options: Unpack[MapOptions],
    ) -> AsyncGenerator[Any]:
        return _verbs().astream(self._frame, prompt_template, schema, rows=rows, ordered=ordered, **options)

    def submit(  # noqa: D102 - documented by the function
        self,
        prompt_template: object,
        schema: object = None,
        **options: Unpack[MapOptions],
    ) -> Job[Any]:
        return _verbs().submit(self._frame, prompt_template, schema, **options)

    def plan(  # noqa: D102, PLR0913 - documented by the function; written out, so that `df.llm.plan?` helps
        self,
        prompt_template: object,
        schema: object = None,
        *,
        system: object = None,
        examples: object = None,
        where: object = None,
        on_null: OnNull = "skip",
        prefix: str = "",
        into: str | None = None,
        overwrite: bool = False,
        labels: Labels = "enum",
        nested: Nested = "native",
        confidence: Confidence | None = None,
        samples: int | None = None,
        distribution: bool = False,
        calibration: Calibration | str | os.PathLike[str] | None = None,
        on_error: OnError = "column",
        mode: Mode = "live",
        fallback: Fallback = "batch",
        loop: LoopOption = "thread",
        meta: bool = False,
        progress: ProgressOption = None,
        model: str | Unset | None = UNSET,
        base_url: str | Unset | None = UNSET,
        api_key: str | Unset | None = UNSET,
        client: object = UNSET,
        params: Mapping[str, object] | Unset = UNSET,
        max_concurrency: int | Unset = UNSET,
        requests_per_minute: float | Unset | None = UNSET,
        tokens_per_minute: float | Unset | None = UNSET,
        priority: Priority | Unset = UNSET,
        timeout: float | Unset = UNSET,
        max_attempts: int | Unset = UNSET,
        reask: int | Unset = UNSET,
        hedge: bool | Unset = UNSET,
        budget: BudgetOption | Unset | None = UNSET,
        prices: Prices | Unset = UNSET,
        cache: CacheOption | Unset = UNSET,
        output_mode: OutputMode | Unset = UNSET,
        **unknown: object,
    ) -> PlanReport:
        return _verbs().plan(
            self._frame,
            prompt_template,
            schema,
            system=system,
            examples=examples,
            where=where,
            on_null=on_null,
            prefix=prefix,
            into=into,
            overwrite=overwrite,
            labels=labels,
            nested=nested,
            confidence=confidence,
            samples=samples,
            distribution=distribution,
            calibration=calibration,
            on_error=on_error,
            mode=mode,
            fallback=fallback,
            loop=loop,
            meta=meta,
            progress=progress,
            model=model,
            base_url=base_url,
            api_key=api_key,
            client=client,
            params=params,
            max_concurrency=max_concurrency,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            priority=priority,
            timeout=timeout,
            max_attempts=max_attempts,
            reask=reask,
            hedge=hedge,
            budget=budget,
            prices=prices,
            cache=cache,
            output_mode=output_mode,
            **unknown,
        )

    def embed(self, column: object = None, **options: Unpack[EmbedOptions]) -> Any:  # noqa: D102 - documented by the function
        return _verbs().embed(self._frame, column, **options)

    async def aembed(self, column: object = None, **options: Unpack[EmbedOptions]) -> Any:  # noqa: D102 - documented by the function
        return await _verbs().aembed(self._frame, column, **options)


_VERBS: Final = ("map", "amap", "stream", "astream", "submit", "plan", "embed", "aembed")
_WRITTEN_OUT: Final = ("map", "amap", "plan")


def _document() -> None:
    """Give the verbs the docstrings of the functions, and the written-out signatures to those that pass options on."""
    for name in (*_VERBS, *PRESETS, *(f"a{preset}" for preset in PRESETS)):
        method, function = getattr(Verbs, name), getattr(_verbs(), name)
        method.__doc__ = function.__doc__
        if name not in _WRITTEN_OUT:
            shown = inspect.signature(function)
            (own, *_), (_, *others) = inspect.signature(method).parameters.values(), shown.parameters.values()
            method.__signature__ = shown.replace(parameters=[own, *others])


def _verbs() -> Any:
    """The functions; each is loaded by its first use, so that `import llmframe` stays light."""
    return sys.modules["llmframe"]


KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "pandas": ("DataFrame", "Series"),
    "polars": ("DataFrame", "Series", "LazyFrame", "Expr"),
}
"""Classes of each library that carry the verbs."""


def register(name: str = "llm") -> None:
    """Put the verbs on pandas and polars under `name`, now or when the library is imported.

    `import llmframe` does it for `llm`. Where another package owns the name already, its accessor stays and one
    warning names it.

    Raises
    ------
    UsageError
        If `name` isn't an identifier, or begins with an underscore.
    """
    if not name.isidentifier() or name.startswith("_"):
        raise UsageError(f"`name` must be an identifier without a leading underscore, got {name!r}")
    for library in KINDS:
        on_import(library, lambda library=library: _register_on(library, name))


def _register_on(library: str, name: str) -> None:
    module: Any = sys.modules[library]
    extensions = module.api.extensions if library == "pandas" else module.api
    ending = "accessor" if library == "pandas" else "namespace"
    for kind in KINDS[library]:
        owner = getattr(getattr(module, kind), name, None)
        if owner is Verbs:
            continue
        if owner is not None:
            package = (getattr(owner, "__module__", None) or "another package").partition(".")[0]
            text = (
                f"`{library}.{kind}.{name}` belongs to {package!r} and stays so; for llmframe use "
                f'`llmframe.register("ai")` and `.ai`, or `llmframe.map(frame, ...)`'
            )
            warnings.warn(text, LlmframeWarning, stacklevel=2)
            continue
        getattr(extensions, f"register_{kind.lower()}_{ending}")(name)(Verbs)
