"""Schemas as a command line names them."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import keyword
import pkgutil
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from llmframe.core.schema import schema_of
from llmframe.core.schema_json import model_from_json_schema
from llmframe.core.schema_text import TYPES, parse_schema
from llmframe.errors import UsageError, did_you_mean

_OF_FILE: Final = re.compile(r"(?P<file>.+\.py):(?P<name>\w+(?:\.\w+)*)")
_OF_MODULE: Final = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_SHOWN_NAMES: Final = 8
"""Most names of a module that an error lists."""


def schema_from(text: str, *, base: Path) -> Any:
    """The schema that a text names.

    Parameters
    ----------
    text
        In this order: JSON (`{...}`), a file that ends in `.json`, `path/to/file.py:Name`, `module:Name`, or else a
        schema in a line (`label: positive|negative, confidence: float`). Without a blank after the colon
        `review:Sentiment` is a module, unless a type of the line stands there: `stars:int` is a field.
    base
        The folder that files are relative to, and where modules are looked for first. Naming a class runs its
        module, so the text has to come from the user: from the command line, or from a job file the user named.

    Returns
    -------
    object
        What `map(schema=...)` takes.

    Raises
    ------
    UsageError
        If there is no such file, module or name, or if it is no schema; the message names what is near.
    """
    stripped = text.strip()
    if stripped.startswith("{"):
        return _of_json(stripped, "the schema")
    if stripped.lower().endswith(".json") and "\n" not in stripped:
        return _of_json(_read(base / stripped, stripped), repr(stripped))
    if match := _OF_FILE.fullmatch(stripped):
        return _checked(_attribute(_from_file(base, match["file"]), match["name"], stripped), stripped)
    if module := named_module(stripped):
        found = _from_module(base, module, stripped)
        return _checked(_attribute(found, stripped.partition(":")[2], stripped), stripped)
    if stripped.endswith(".py"):
        raise UsageError(f"schema {text!r} is a file of Python; name the class in it: '{stripped}:Name'")
    schema = parse_schema(text)
    schema_of(schema)
    return schema


def named_module(text: str) -> str | None:
    """The module of `module:Name`; `None` for a field with its type (`stars:int`) and all else."""
    match = _OF_MODULE.fullmatch(text)
    if match is None or match["name"] in TYPES or any(map(keyword.iskeyword, re.split(r"[.:]", text))):
        return None
    return match["module"]


def named_file(text: str) -> tuple[str, str] | None:
    """The path in `schema.json` or `file.py:Name`, and what follows it; `None` where no file is named."""
    stripped = text.strip()
    if stripped.startswith("{") or "\n" in stripped:
        return None
    if stripped.lower().endswith(".json"):
        return stripped, ""
    match = _OF_FILE.fullmatch(stripped)
    return None if match is None else (match["file"], f":{match['name']}")


def _read(path: Path, said: str) -> str:
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        near = did_you_mean(path.name, (each.name for each in _siblings(path)))
        raise UsageError(f"schema {said!r} isn't there{near or ';'} looked for {str(path)!r}") from None
    except UnicodeDecodeError:
        raise UsageError(f"schema {said!r} isn't UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"schema {said!r} can't be read: {_reason(error)}") from None


def _siblings(path: Path) -> list[Path]:
    try:
        return list(path.parent.iterdir())
    except OSError:
        return []


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _of_json(text: str, said: str) -> Any:
    try:
        document: object = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise UsageError(f"{said} isn't JSON: {error.msg}, line {error.lineno}, column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{said} isn't JSON: {error}") from None
    if not isinstance(document, dict):
        raise UsageError(f"{said} holds a JSON {type(document).__name__}; a JSON schema is an object")
    inner: object = cast("dict[str, Any]", document).get("json_schema", cast("object", document))
    if isinstance(inner, Mapping) and "schema" in inner:  # as a request to OpenAI wraps it
        raise UsageError(f"{said} wraps its schema; keep only what stands below 'schema'")
    try:
        schema = model_from_json_schema(cast("dict[str, Any]", document))
        schema_of(schema)
    except UsageError as error:
        raise UsageError(f"{said}: {error}") from None
    return schema


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _from_file(base: Path, said: str) -> ModuleType:
    path = base / said
    if not path.is_file():
        near = did_you_mean(path.name, (each.name for each in _siblings(path)))
        raise UsageError(f"schema file {said!r} isn't there{near or ';'} looked for {str(path)!r}")
    name = path.stem if path.stem.isidentifier() and path.stem not in sys.modules else f"llmframe_schema_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"schema file {said!r} is no file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where pydantic looks for the names of postponed annotations
    try:
        with _importing(said, path.parent, own=name):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]  # half a module
        raise
    return module


def _from_module(base: Path, name: str, said: str) -> ModuleType:
    with _importing(said, base, own=name):
        return importlib.import_module(name)


@contextmanager
def _importing(said: str, folder: Path, *, own: str) -> Generator[None]:
    """The folder first on `sys.path` meanwhile; a module that isn't there is told with its neighbours."""
    before = list(sys.path)
    sys.path.insert(0, str(folder.resolve()))
    importlib.invalidate_caches()
    try:
        yield
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if own == missing or own.startswith(f"{missing}."):
            raise UsageError(_no_module(said, missing, folder)) from None
        raise UsageError(f"schema {said!r} imports {missing!r}, which isn't installed") from None
    except (ImportError, SyntaxError, SystemExit) as error:
        raise UsageError(f"schema {said!r} can't be imported: {type(error).__name__}: {error}") from None
    finally:
        sys.path[:] = before


def _no_module(said: str, missing: str, folder: Path) -> str:
    here = [module.name for module in pkgutil.iter_modules([str(folder)])]
    near = did_you_mean(missing, here)
    spaced = said.replace(":", ": ", 1)
    return (
        f"schema {said!r} names the module {missing!r}, which isn't there{near or ';'} looked in {str(folder)!r}, then "
        f"among the installed packages; if it's a field and its type, a blank follows the colon: {spaced!r}"
    )


def _attribute(module: ModuleType, name: str, said: str) -> object:
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            names = [each for each in vars(found) if not each.startswith("_")] if hasattr(found, "__dict__") else []
            classes = [each for each in names if inspect.isclass(getattr(found, each, None))]
            listed = ", ".join(classes[:_SHOWN_NAMES])
            known = f" classes there: {listed}" if listed else " there are no classes"
            raise UsageError(
                f"schema {said!r}: {module.__name__!r} has no {part!r}{did_you_mean(part, names) or ';'}{known}"
            )
        found = getattr(found, part)
    return found


def _checked(schema: object, said: str) -> object:
    """The schema, when `map` takes it."""
    if schema is None:
        raise UsageError(f"schema {said!r} is None; leave the schema out for free text")
    try:
        schema_of(schema)
    except UsageError as error:
        raise UsageError(f"schema {said!r} is none: {error}") from None
    return schema
