"""The presets as methods of what stands behind `df.llm`; each is documented by its function.

Nothing is imported until one is called, for `import llmframe` has these methods.
"""

from __future__ import annotations

import sys
from typing import Any, Final

PRESETS: Final = ("classify", "extract", "filter", "score", "pairwise")
"""Names of the presets; each has an async twin, whose name begins with `a`."""


class PresetVerbs:
    """The presets on one frame or lazy query, which `_frame` holds."""

    _frame: Any

    def classify(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return _functions().classify(self._frame, *arguments, **options)

    async def aclassify(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return await _functions().aclassify(self._frame, *arguments, **options)

    def extract(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return _functions().extract(self._frame, *arguments, **options)

    async def aextract(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return await _functions().aextract(self._frame, *arguments, **options)

    def filter(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return _functions().filter(self._frame, *arguments, **options)

    async def afilter(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return await _functions().afilter(self._frame, *arguments, **options)

    def score(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return _functions().score(self._frame, *arguments, **options)

    async def ascore(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return await _functions().ascore(self._frame, *arguments, **options)

    def pairwise(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return _functions().pairwise(self._frame, *arguments, **options)

    async def apairwise(self, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - as the module says
        return await _functions().apairwise(self._frame, *arguments, **options)


def _functions() -> Any:
    return sys.modules["llmframe"]
