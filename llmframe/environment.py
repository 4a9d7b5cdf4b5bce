"""Sending options from the environment (`LLMFRAME_MODEL`, `LLMFRAME_TIMEOUT`, …)."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Mapping
from typing import Final, cast

from llmframe.errors import UsageError

PREFIX: Final = "LLMFRAME_"

_TYPO: Final = 0.8
"""Least likeness (`difflib`'s ratio) to an option's name at which a variable counts as its misspelling: one letter
wrong or two swapped. Others are left alone, they may be somebody else's."""


def from_environment() -> Mapping[str, object]:
    """The options that the environment says, by name; an empty variable says nothing.

    Raises
    ------
    UsageError
        If a variable can't be read as its option, or is an option's name misspelt. Never with its value: it may be a
        key.
    """
    values: dict[str, object] = {}
    for variable, text in dict(os.environ).items():
        if not text or not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name not in READERS or not variable.isupper():
            _refuse_typo(variable, name)
            continue
        read, example = READERS[name]
        try:
            values[name] = read(text)
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                f"environment variable {variable} can't be read as `{name}`; give it in the form {variable}={example}"
            ) from None
    return values


def _refuse_typo(variable: str, name: str) -> None:
    close = difflib.get_close_matches(name, READERS, n=1, cutoff=_TYPO)
    if close:
        raise UsageError(f"environment variable {variable} is no option; did you mean {PREFIX}{close[0].upper()}?")


def _flag(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.lower()]


def _cache(text: str) -> object:
    """A flag, `refresh`, or a path."""
    lower = text.lower()
    if lower == "refresh":
        return "refresh"
    return _flag(lower) if lower in {"true", "1", "false", "0"} else text


def _mapping(text: str) -> object:
    read: object = json.loads(text)
    if not isinstance(read, dict):
        raise TypeError
    return cast("object", read)


def _budget(text: str) -> object:
    """Dollars, or limits by name."""
    read: object = json.loads(text)
    if isinstance(read, bool) or not isinstance(read, (int, float, dict)):
        raise TypeError
    return cast("object", read)


READERS: Final[Mapping[str, tuple[Callable[[str], object], str]]] = {
    "model": (str, "openai/gpt-4o-mini"),
    "base_url": (str, "http://localhost:8000/v1"),
    "api_key": (str, "..."),
    "params": (_mapping, '{"temperature": 0}'),
    "max_concurrency": (int, "8"),
    "requests_per_minute": (float, "500"),
    "tokens_per_minute": (float, "90000"),
    "priority": (str, "low"),
    "timeout": (float, "30"),
    "max_attempts": (int, "5"),
    "reask": (int, "1"),
    "hedge": (_flag, "true"),
    "budget": (_budget, '{"usd": 1, "seconds": 600}'),
    "prices": (_mapping, '{"my-model": {"input": 0.15, "output": 0.6}}'),
    "cache": (_cache, "/data/answers.sqlite"),
    "output_mode": (str, "json"),
}
"""How the text of `LLMFRAME_<NAME>` is read, and an example of it; a `client` can't be said there."""
