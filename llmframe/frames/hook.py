"""A callback for the moment when a module is first imported.

Sorted imports put `llmframe` before pandas and polars, so that what is registered on them has to wait for them; and it
must never import them itself.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

Callback = Callable[[], object]

_lock = threading.RLock()
_waiting: dict[str, list[Callback]] = {}


def on_import(module: str, callback: Callback) -> None:
    """Run `callback` once: now if `module` is loaded, else right after it is first imported.

    Parameters
    ----------
    module
        Full name, for instance `"pandas"`. It is never imported from here.
    callback
        Called without arguments, in the thread that imports. What it raises comes out of that import.

    Notes
    -----
    A module whose import fails keeps its callbacks waiting for the next try. One that is being imported at the moment
    (by another thread, or because it imports us) runs them when it is done.
    """
    with _lock:
        _waiting.setdefault(module, []).append(callback)
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
    _settle(module)


def _settle(module: str) -> None:
    """Run the callbacks of a module that is loaded; see to it that they run when it is half-way."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return
    spec = loaded.__spec__
    if spec is not None and getattr(spec, "_initializing", False):
        spec.__class__ = _WatchedSpec
        if getattr(spec, "_initializing", False):
            return
    _run(module)


def _run(module: str) -> None:
    with _lock:
        callbacks = _waiting.pop(module, [])
    for callback in callbacks:
        callback()


class _Finder(importlib.abc.MetaPathFinder):
    """Stands before the other finders; wraps the loader of modules that somebody waits for."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        for name in tuple(_waiting):  # a thread that had its loader just before we came is met at its next import
            if name != fullname:
                _settle(name)
        if fullname not in _waiting:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader(importlib.abc.Loader):
    """The module's own loader, and the callbacks afterwards."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:  # what `importlib.util.find_spec` hands out answers as the real one
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # From here on nobody meets the wrapper: resources, pickling and reload want the real loader.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _run(module.__name__)


class _WatchedSpec(importlib.machinery.ModuleSpec):
    """The spec of a module that was being imported when somebody began to wait.

    Its loader runs already, so that nothing is left to wrap; but the import system marks the end of a first import by
    clearing `_initializing`, whether it went well or not.
    """

    @property
    def _initializing(self) -> bool:
        return self.__dict__.get("_initializing", False)

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        self.__dict__["_initializing"] = value
        if not value and self.name in sys.modules:
            _run(self.name)


_FINDER = _Finder()
