"""Finding a provider's key, refusing one that can't be sent."""

from __future__ import annotations

import hashlib
import os

from llmframe.errors import UsageError

PLACEHOLDER = "none"
"""Sent to a server on this machine when no key was given; such servers ask for none."""

_FIRST, _LAST = "!", "~"
"""Keys are printable ASCII without blanks: whatever else can't stand in a header, and SDKs show it when they fail."""


def find_key(api_key: str | None, variables: tuple[str, ...], *, whom: str, needed: bool = True) -> str:
    """The key given, or the first of the environment `variables` that is set.

    Parameters
    ----------
    api_key
        The key given as an argument; it goes before the environment.
    variables
        Names of environment variables in order; one that is set but empty counts as absent.
    whom
        Who asks for the key, for the message (`"openai"`).
    needed
        Whether no key is an error; otherwise it is empty then.

    Raises
    ------
    UsageError
        If there is no key though it is needed, or it can't be sent. The message never shows it.
    """
    if api_key is not None:
        return checked_key(api_key, source="api_key")
    for name in variables:
        value = os.environ.get(name)
        if value:
            return checked_key(value, source=f"environment variable {name}")
    if not needed:
        return ""
    empty = [name for name in variables if os.environ.get(name) == ""]
    names = " or ".join(variables)
    said = f" ({empty[0]} is set, but empty)" if empty else ""
    raise UsageError(f"no key for {whom!r}{said}; set the environment variable {names}, or give `api_key=`")


def checked_key(key: str, *, source: str) -> str:
    """`key` itself, if it can stand in a header; `source` names it in the message.

    Raises
    ------
    UsageError
        If it is empty, or holds white space, a line break or a character outside ASCII. The message never shows it.
    """
    if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance] - comes from users
        raise UsageError(f"{source} must be text, got {type(key).__name__}")
    if not key:
        raise UsageError(f"{source} is empty; give a key, or leave it out to use the environment")
    if any(character.isspace() for character in key):
        where = "around" if len(key.split()) <= 1 else "inside"
        raise UsageError(f"{source} has white space or a line break {where} it; remove that (the key isn't shown)")
    if not all(_FIRST <= character <= _LAST for character in key):
        raise UsageError(f"{source} has characters that no key has (only printable ASCII can be sent); copy it again")
    return key


def key_digest(key: str) -> str:
    """A short name of `key` that doesn't reveal it, for limits shared by the same account."""
    return hashlib.sha256(b"llmframe account:" + key.encode()).hexdigest()[:16]
