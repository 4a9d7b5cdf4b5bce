"""Job files: the options of a run in TOML, to be checked into git."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from llmframe import option_values
from llmframe.cli.allowed import Allowed, allowed
from llmframe.cli.schemas import named_file, schema_from
from llmframe.cli.values import read_cache, read_fallback, read_prices
from llmframe.errors import UsageError, did_you_mean

_TEXTS: Final = (
    "input output prompt prompt_file system system_file schema model base_url output_mode priority format "
    "output_format exists prefix into on_null labels nested mode fallback confidence calibration"
).split()
_NUMBERS: Final = ("requests_per_minute", "tokens_per_minute", "timeout")
_WHOLE: Final = ("max_concurrency", "max_attempts", "reask", "batch_rows", "samples")
_TRUTHS: Final = ("hedge", "meta", "overwrite", "spreadsheet_safe", "distribution")
_TABLES: Final = ("params", "types")

Options = Mapping[str, tuple[Callable[[object], bool], str]]
"""Names, each with what tells whether a value fits, and what it has to be in words."""

_SECRET_NAME: Final = re.compile(
    r"(?i)(?:.*[_-])?(?:api[_-]?key|access[_-]?key|secret|secret[_-]?key|password|passwd|authorization|credentials?"
    r"|(?:auth|access|bearer)[_-]?token)|token"
)
_SECRET_VALUE: Final = re.compile(r"(?:(?:sk|pk|rk|xai)-|(?:gsk|hf|ghp)_|AIza|AKIA|Bearer\s+)[A-Za-z0-9_\-.]{12,}")
_KEYS_PLACE: Final = "a job file is checked into git; set OPENAI_API_KEY (or your provider's variable)"


@dataclass(frozen=True, slots=True)
class Job:
    """What a job file says.

    Parameters
    ----------
    path
        The file.
    values
        Options by name: paths absolute, the schema as an object, the others as they stand.
    """

    path: Path
    values: Mapping[str, Any] = field(repr=False)


def load_job(
    path: str | os.PathLike[str],
    *,
    root: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    said: Collection[str] = (),
    options: Options | None = None,
) -> Job:
    """Read a job file.

    Parameters
    ----------
    path
        A TOML file whose keys are the options of `llmframe map`.
    root
        What paths and addresses may lead to beside the file's own folder: folders, and remote addresses such as
        `s3://bucket/prefix` or `https://llm.example.com`.
    said
        Options that the command line says itself: a path, address or schema of the file is left out for them, and
        not looked at.
    options
        What the file may say; those of `llmframe map` unless said.

    Raises
    ------
    UsageError
        If the file can't be read, names what no option is called or a value of another type, holds a key, or leads
        to a place that isn't allowed; the message names the line.
    """
    file = Path(path)
    text = _read(file)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"job file {str(file)!r} isn't TOML: {error}") from None
    if root is None:
        roots: Iterable[str | os.PathLike[str]] = ()
    else:
        roots = [root] if isinstance(root, (str, os.PathLike)) else root
    places = allowed(Path(os.path.realpath(file.parent)), cast("Iterable[str]", roots))
    values: dict[str, Any] = {}
    for name, value in found.items():
        try:
            _check(name, value, OPTIONS if options is None else options)
            if name not in said or name not in _RESOLVED:
                values[name] = _RESOLVED[name](value, places) if name in _RESOLVED else value
        except UsageError as error:
            raise UsageError(f"job file {str(file)!r}{_line(text, name)}: {error}") from None
    return Job(file, MappingProxyType(values))


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except FileNotFoundError:
        near = did_you_mean(file.name, (each.name for each in file.parent.glob("*.toml")))
        raise UsageError(f"job file {str(file)!r} isn't there{near}") from None
    except UnicodeDecodeError:
        raise UsageError(f"job file {str(file)!r} isn't UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"job file {str(file)!r} can't be read: {getattr(error, 'strerror', None) or error}") from None


def _line(text: str, name: str) -> str:
    """`", line 3"` of a key or table; empty where it is written in another way."""
    begins = re.compile(rf"""\s*(?:\[\s*)?["']?{re.escape(name)}["']?\s*[\].=]""")
    number = next((at for at, line in enumerate(text.splitlines(), start=1) if begins.match(line)), None)
    return "" if number is None else f", line {number}"


def _check(name: str, value: object, options: Options) -> None:
    if _SECRET_NAME.fullmatch(name):
        raise UsageError(f"{name!r} has no place here: {_KEYS_PLACE}")
    if name not in options:
        raise UsageError(
            f"there is no option {name!r}{did_you_mean(name, options) or ';'} options: {', '.join(options)}"
        )
    fits, wanted = options[name]
    if not fits(value):
        raise UsageError(f"{name!r} is {_shown(value)}; it has to be {wanted}")
    _refuse_keys(name, value, named=name == "params")


def _shown(value: object) -> str:
    """A value of another type, without what may be secret in it."""
    if isinstance(value, (bool, int, float)):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "a table" if isinstance(value, dict) else "a date or time"


def _refuse_keys(name: str, value: object, *, named: bool) -> None:
    """Refuse what looks like a key, wherever it stands; it isn't quoted."""
    if isinstance(value, str) and _SECRET_VALUE.fullmatch(value.strip()):
        raise UsageError(f"the value of {name!r} looks like a key: {_KEYS_PLACE}")
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            if named and _SECRET_NAME.fullmatch(key):
                raise UsageError(f"{key!r} in {name!r} has no place here: {_KEYS_PLACE}")
            _refuse_keys(key, inner, named=named)
    if isinstance(value, list):
        for inner in cast("list[object]", value):
            _refuse_keys(name, inner, named=named)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _is_table_of(inner: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(map(inner, cast("dict[str, object]", value).values()))


def _either(*checks: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: any(check(value) for check in checks)


OPTIONS: Final[Options] = {
    **dict.fromkeys(_TEXTS, (_is_text, "a text")),
    **dict.fromkeys(_NUMBERS, (_is_number, "a number")),
    **dict.fromkeys(_WHOLE, (_is_whole, "a whole number")),
    **dict.fromkeys(_TRUTHS, (_is_truth, "true or false")),
    "params": (_is_table, "a table such as { temperature = 0 }"),
    "types": (_is_table_of(_is_text), 'a table of texts such as { postcode = "string" }'),
    "budget": (
        _either(_is_number, _is_table_of(_is_number)),
        "dollars such as 5.0, or a table such as { calls = 1000 }",
    ),
    "prices": (
        _either(_is_text, _is_table_of(_is_table)),
        'a file\'s path, or a table a model: [prices."my-model"] with input and output, in dollars a million tokens',
    ),
    "cache": (_either(_is_truth, _is_text), 'true, false, "refresh" or a path'),
}
"""The options of `llmframe map` that a job file may say."""

_OF_CHATS: Final = {
    *("prompt", "prompt_file", "system", "system_file", "schema", "output_mode", "labels", "nested", "reask", "hedge"),
    *("confidence", "samples", "distribution", "calibration"),
}

EMBED_OPTIONS: Final[Options] = {
    **dict.fromkeys(("column", "template"), (_is_text, "a text")),
    **{name: fact for name, fact in OPTIONS.items() if name not in _OF_CHATS},
    **dict.fromkeys(("dimensions", "batch_size"), (_is_whole, "a whole number")),
    "wait": (_is_number, "a number"),
}
"""Those of `llmframe embed`."""


def _data(value: str, places: Allowed) -> str:
    return places.data(value)


def _file(value: str, places: Allowed) -> str:
    return places.path(value)


def _server(value: str, places: Allowed) -> str:
    if any(_SECRET_NAME.fullmatch(part.partition("=")[0]) for part in re.split("[?&#]", value)[1:]):
        raise UsageError(f"the address holds a key: {_KEYS_PLACE}")
    return places.server(value)


def _schema(value: str, places: Allowed) -> Any:
    named = named_file(value)
    text = value if named is None else f"{places.path(named[0])}{named[1]}"
    return schema_from(text, base=places.base)


def _model(value: str, places: Allowed) -> str:
    """A model's name; weights in a file are a path like others."""
    provider, _, name = value.partition("/")
    is_file = provider == "local" and name.lower().endswith(".gguf")
    return f"{provider}/{places.path(name)}" if is_file else value


def _cache(value: bool | str, places: Allowed) -> bool | str:  # noqa: FBT001 - a value, not a switch
    found = read_cache(value) if isinstance(value, str) else value
    option_values.cache(found)
    return found if isinstance(found, bool) or found == "refresh" else places.path(found)


def _prices(value: Any, places: Allowed) -> Any:
    if isinstance(value, str):
        return read_prices(Path(places.path(value)))
    option_values.prices(value)
    return value


_RESOLVED: Final[Mapping[str, Callable[[Any, Allowed], Any]]] = {
    "fallback": lambda value, _: read_fallback(value),
    "input": _data,
    "output": _data,
    "prompt_file": _file,
    "system_file": _file,
    "calibration": _file,
    "schema": _schema,
    "model": _model,
    "base_url": _server,
    "cache": _cache,
    "prices": _prices,
}
"""Options whose text stands for something else: mostly, they lead somewhere."""
