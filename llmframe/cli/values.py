"""What the text of an option means."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from llmframe import option_values
from llmframe.budget import LIMITS
from llmframe.errors import UsageError, did_you_mean


def read_params(texts: Iterable[str]) -> dict[str, object]:
    """`temperature=0` and its like; a value that is no JSON is text.

    Raises
    ------
    UsageError
        If there is no `=`, no name, or a name comes twice.

    Examples
    --------
    >>> read_params(["temperature=0", 'stop=["."]', "service_tier=flex"])
    {'temperature': 0, 'stop': ['.'], 'service_tier': 'flex'}
    """
    return {name: _json_or_text(value) for name, value in _pairs(texts, "--param", "temperature=0").items()}


def read_types(texts: Iterable[str]) -> dict[str, str]:
    """`postcode=string` and its like: the types of a CSV file's columns."""
    return _pairs(texts, "--type", "postcode=string")


def read_budget(text: str) -> float | dict[str, float]:
    """Dollars, or `usd=5,calls=1000`.

    Raises
    ------
    UsageError
        If it's neither; a value that is no number above 0 included.

    Examples
    --------
    >>> read_budget("2.50"), read_budget("usd=5,calls=1000")
    (2.5, {'usd': 5.0, 'calls': 1000})
    """
    if "=" not in text:
        return _amount(text.strip().removeprefix("$"), text)
    amounts: dict[str, float] = {}
    for name, value in _pairs(text.split(","), "--budget", "usd=5").items():
        if name not in LIMITS:
            near = did_you_mean(name, LIMITS)
            raise UsageError(f"--budget {text!r} counts {name!r}{near or ';'} known: {', '.join(LIMITS)}")
        amount = _amount(value, text)
        amounts[name] = int(amount) if name in ("tokens", "calls") and amount.is_integer() else amount
    return amounts


def read_cache(text: str) -> bool | str:
    """`off`, `on`, `refresh`, or a path.

    Examples
    --------
    >>> read_cache("off"), read_cache("refresh"), read_cache("answers.sqlite")
    (False, 'refresh', 'answers.sqlite')
    """
    return {"off": False, "on": True}.get(text.strip().lower(), text)


def read_fallback(text: str) -> str | None:
    """`batch`, `live`, or `none`.

    Examples
    --------
    >>> read_fallback("live"), read_fallback("none")
    ('live', None)
    """
    return None if text == "none" else text


def read_prices(path: Path) -> option_values.Prices:
    """A TOML file with a table a model: `["my-model"]`, then `input = 0.15` and `output = 0.6`.

    Raises
    ------
    UsageError
        If it isn't there, isn't TOML, or has another form.
    """
    example = '`["my-model"]`, below it `input = 0.15` and `output = 0.6` (dollars per million tokens)'
    try:
        tables: Mapping[str, object] = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"--prices {str(path)!r} can't be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--prices {str(path)!r} isn't TOML: {error}; a price is {example}") from None
    try:
        option_values.prices(tables)
    except UsageError as error:
        raise UsageError(f"--prices {str(path)!r}: {error}") from None
    return cast("option_values.Prices", tables)


def read_age(text: str, option: str = "--older-than", example: str = "30d") -> float:
    """Seconds of `30d`, `12h`, `45m` or `90s`.

    Examples
    --------
    >>> read_age("30d")
    2592000.0
    """
    return _measured(text, {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}, option, example)


def read_size(text: str) -> int:
    """Bytes of `2GB`, `500MB` or `800kB`.

    Examples
    --------
    >>> read_size("2GB")
    2000000000
    """
    units = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30}
    return int(_measured(text, units, "--max-size", "2GB"))


def _measured(text: str, units: Mapping[str, int], option: str, example: str) -> float:
    folded = text.strip().lower()
    number = folded.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = folded[len(number) :]
    amount = _number(number.strip())
    if unit not in units or amount is None or amount < 0:
        raise UsageError(f"{option} must be a number and a unit ({', '.join(units)}) such as {example}, got {text!r}")
    return amount * units[unit]


def _pairs(texts: Iterable[str], option: str, example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise UsageError(f"{option} must be name=value such as {example}, got {text!r}")
        if name in pairs:
            raise UsageError(f"{option} gives {name!r} twice: {pairs[name]!r} and {value!r}")
        pairs[name] = value
    return pairs


def _json_or_text(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _amount(value: str, text: str) -> float:
    amount = _number(value)
    if amount is None or amount <= 0:
        raise UsageError(f"--budget must be dollars such as 5, or usd=5,calls=1000, got {text!r}")
    return amount


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
