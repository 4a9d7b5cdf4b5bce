"""Parsed JSON of unknown shape, told apart with types."""

from __future__ import annotations

import json
from typing import Any, TypeGuard, cast

JsonObject = dict[str, Any]

plain_json = json.JSONEncoder(ensure_ascii=False).encode
"""JSON text; `json.dumps` would make an encoder for every call."""


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Whether a parsed JSON value is an object."""
    return isinstance(value, dict)


def is_objects(value: object) -> TypeGuard[list[JsonObject]]:
    """Whether it is a list of objects."""
    return isinstance(value, list) and all(is_object(item) for item in cast("list[object]", value))


def as_object(value: object) -> JsonObject:
    """The object, or an empty one for anything else."""
    return value if is_object(value) else {}


def as_objects(value: object) -> list[JsonObject]:
    """The list of objects, or an empty one for anything else."""
    return value if is_objects(value) else []
