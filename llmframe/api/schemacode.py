"""The code by which a schema judges replies, as text: where it's another, the same reply may be judged otherwise."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sysconfig
import types
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast, get_args, get_type_hints

from pydantic import BaseModel

_STANDARD: Final = Path(sysconfig.get_paths()["stdlib"]).resolve()
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
"""Where Python and packages lie: their code is no part of a schema, and would be endless."""

_LITERAL: Final = (str, bytes, int, float, complex, type(None))


def code_of(annotation: object) -> list[str]:
    """Sources of the classes and functions that a schema is made of, and the values that they use.

    Parameters
    ----------
    annotation
        A schema as `map` takes it.

    Returns
    -------
    list of str
        The same in every process; installed packages and built-in functions are left out. Empty for a schema without
        code of its own, such as `Literal[...]`.
    """
    return list(_Walk().texts(annotation))


class _Walk:
    """From a schema to whatever its validators call or look at, each once."""

    def __init__(self) -> None:
        self._seen: dict[int, object] = {}  # the objects too: a number alone may become another's

    def texts(self, value: object) -> Iterator[str]:
        """The texts of `value` and of what it uses."""
        if isinstance(value, _LITERAL):
            yield repr(value)
            return
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, re.Pattern):
            yield repr(cast("Any", value))
        elif isinstance(value, types.FunctionType):
            yield from self._of_function(value)
        elif isinstance(value, type):
            yield from self._of_class(value)
        else:
            for inner in _within(value):
                yield from self.texts(inner)

    def _of_function(self, function: types.FunctionType) -> Iterator[str]:
        if not _is_own(function):
            return
        yield from _source(function)
        for inner in (function.__defaults__, function.__kwdefaults__, getattr(function, "__wrapped__", None)):
            if inner is not None:
                yield from self.texts(inner)
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # nothing in it yet
                yield from self.texts(cell.cell_contents)
        names = sorted(set(_names(function.__code__)))
        for used in (function.__globals__[name] for name in names if name in function.__globals__):
            if not isinstance(used, types.ModuleType):
                yield from self.texts(used)
                continue
            for found in (vars(used)[name] for name in names if name in vars(used)):
                if not isinstance(found, types.ModuleType):
                    yield from self.texts(found)

    def _of_class(self, kind: type) -> Iterator[str]:
        own = [each for each in kind.__mro__ if _is_own(each)]
        for each in own:
            yield from _source(each)
            for member in vars(each).values():
                if isinstance(member, (types.FunctionType, classmethod, staticmethod, property)):
                    yield from self.texts(cast("object", member))
        if issubclass(kind, BaseModel):
            for field in kind.model_fields.values():
                yield from self.texts(field.annotation)
                yield from self.texts(field.metadata)
        elif own:
            with contextlib.suppress(Exception):  # names that can't be looked up: the source has them
                yield from self.texts(get_type_hints(cast("Any", kind), include_extras=True))


def _within(value: Any) -> Iterator[object]:
    """What a value is made of, as far as it is known how."""
    if isinstance(value, (classmethod, staticmethod, types.MethodType)):
        yield cast("Any", value).__func__
    elif isinstance(value, property):
        yield value.fget
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, (dict, types.MappingProxyType)):  # not `os.environ`, which is each process's own
        yield from chain.from_iterable(cast("Mapping[object, object]", value).items())
    elif isinstance(value, (list, tuple)):
        yield from cast("list[object]", value)
    elif isinstance(value, (set, frozenset)):
        yield from sorted(cast("set[object]", value), key=repr)
    elif type(value).__module__.partition(".")[0] == "pydantic":
        yield getattr(value, "func", None)  # `AfterValidator` and its like
    elif args := get_args(value):
        yield from args
    elif _is_own(type(value)):
        yield type(value)


def _is_own(code: Any) -> bool:
    """Whether a function or class is written by the schema's people."""
    if str(code.__module__).partition(".")[0] == "llmframe":
        return False
    try:
        file = Path(inspect.getfile(code)).resolve()
    except (OSError, TypeError):  # of a module that has no file: built in, or typed into an interpreter
        return code.__module__ == "__main__"
    return not (file.is_relative_to(_STANDARD) or _INSTALLED & {*file.parts})


def _source(code: Any) -> Iterator[str]:
    try:
        yield inspect.getsource(code)
    except (OSError, TypeError):  # built at run time
        if isinstance(code, types.FunctionType):
            yield code.__code__.co_code.hex()
            yield repr([each for each in code.__code__.co_consts if isinstance(each, _LITERAL)])


def _names(code: types.CodeType) -> Iterator[str]:
    """Names that a function looks up outside of itself, its inner functions included."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)
