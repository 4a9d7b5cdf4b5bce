"""The presets as methods of what stands behind `df.llm`; each is documented by its function.

Nothing is imported until one is called, for `import llmframe` has these methods.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from llmframe.errors import UsageError

PRESETS: Final = ("classify", "extract", "filter", "score", "pairwise", "cascade", "audit")
"""Names of the presets; each has an async twin, whose name begins with `a`."""

LAZY: Final = PRESETS[:-1]
"""Those that a lazy query has, too: an audit needs rows that are there."""


class PresetVerbs:
    """The presets on one frame or lazy query, which `_frame` holds."""

    _frame: Any

    def classify(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return _functions(self._frame).classify(self._frame, *arguments, **options)

    async def aclassify(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return await _functions(self._frame).aclassify(self._frame, *arguments, **options)

    def extract(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return _functions(self._frame).extract(self._frame, *arguments, **options)

    async def aextract(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return await _functions(self._frame).aextract(self._frame, *arguments, **options)

    def filter(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return _functions(self._frame).filter(self._frame, *arguments, **options)

    async def afilter(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return await _functions(self._frame).afilter(self._frame, *arguments, **options)

    def score(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return _functions(self._frame).score(self._frame, *arguments, **options)

    async def ascore(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return await _functions(self._frame).ascore(self._frame, *arguments, **options)

    def pairwise(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return _functions(self._frame).pairwise(self._frame, *arguments, **options)

    async def apairwise(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return await _functions(self._frame).apairwise(self._frame, *arguments, **options)

    def cascade(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return _functions(self._frame).cascade(self._frame, *arguments, **options)

    async def acascade(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return await _functions(self._frame).acascade(self._frame, *arguments, **options)

    def audit(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return _functions(self._frame).audit(self._frame, *arguments, **options)

    async def aaudit(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return await _functions(self._frame).aaudit(self._frame, *arguments, **options)


def _functions(frame: object) -> Any:
    kind = type(frame).__name__
    if kind == "Series":
        raise UsageError(
            "a preset needs a frame with named columns, got a Series: take the column's frame, or `.to_frame()`"
        )
    if kind == "Expr":
        raise UsageError("a preset writes several columns, so it needs a frame, not an expression: `frame.llm`")
    return sys.modules["llmframe"]
