"""JSON text as models write it: fences, keys that stand twice, labels that are nearly right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

JsonSchema = dict[str, Any]

_FENCE = re.compile(r"(`{3,}|~{3,})(?:[\w+.-]*[ \t]*\r?\n|(?:json)?[ \t]*)(.*?)\s*\1", re.DOTALL)
_UNSEEN = "\ufeff\u200b\u2060"
"""Marks without a width that stand around some replies: a byte order mark, a blank and a joiner of no width."""


class DuplicateKeyError(ValueError):
    """A key stands twice in one object: two answers, and nobody knows which counts."""


class Number(str):
    """A number as it stands in the text, so that writing it again loses no digit."""

    __slots__ = ()


def unfenced(text: str) -> str:
    """What a fence holds when it wraps the whole text, else the text; without the blanks around it."""
    stripped = text.strip().strip(_UNSEEN).strip()
    wrapped = _FENCE.fullmatch(stripped)
    return stripped if wrapped is None else wrapped[2].strip()


def parse(text: str) -> object:
    """The value of a JSON text, its numbers as `Number`.

    Raises
    ------
    DuplicateKeyError
        If a key stands twice in one object.
    ValueError
        If the text isn't JSON.
    """
    return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=Number, object_pairs_hook=_object)


def write(node: object) -> str:
    """The JSON text of what `parse` returned."""
    if isinstance(node, Number):
        return str(node)
    if isinstance(node, dict):
        members = cast("dict[str, object]", node).items()
        return "{" + ", ".join(f"{_quoted(key)}: {write(value)}" for key, value in members) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(write(each) for each in cast("list[object]", node)) + "]"
    return _quoted(node)


def folded(node: object, schema: JsonSchema, defs: JsonSchema) -> object:
    """`node` with every nearly right label replaced by the allowed one.

    Parameters
    ----------
    node
        A parsed JSON value.
    schema
        The JSON schema it answers; only texts where it allows nothing but a closed list are touched.
    defs
        The schema's `$defs`.

    Returns
    -------
    object
        An equal value when there was nothing to replace. A text that differs only by case, blanks around it or one
        final full stop from exactly one allowed value becomes that value; from two, it stays.
    """
    shapes = list(_shapes(schema, defs))
    if isinstance(node, str):
        return node if isinstance(node, Number) else _label(node, shapes)
    if isinstance(node, dict):
        members = cast("dict[str, object]", node)
        for shape in shapes:
            known, rest = shape.get("properties", {}), shape.get("additionalProperties")
            rest = cast("JsonSchema", rest) if isinstance(rest, dict) else {}
            members = {key: folded(value, known.get(key, rest), defs) for key, value in members.items()}
        return members
    if isinstance(node, list):
        items = cast("list[object]", node)
        for shape in shapes:
            first, rest = shape.get("prefixItems", []), shape.get("items")
            rest = cast("JsonSchema", rest) if isinstance(rest, dict) else {}
            items = [folded(each, first[at] if at < len(first) else rest, defs) for at, each in enumerate(items)]
        return items
    return node


def bare_label(label: str) -> str:
    """A label without what `folded` passes over: case, blanks around it, one final full stop."""
    return label.strip().removesuffix(".").rstrip().casefold()


def _label(text: str, shapes: list[JsonSchema]) -> str:
    allowed: list[str] = []
    for shape in shapes:
        values = shape.get("enum", [shape["const"]] if "const" in shape else None)
        if values is not None:
            allowed += [value for value in values if isinstance(value, str)]
        elif shape.get("type", "string") == "string":
            return text  # any text is allowed here
    if text in allowed:
        return text
    near = {label for label in allowed if bare_label(label) == bare_label(text)}
    return near.pop() if len(near) == 1 else text


def _shapes(schema: JsonSchema, defs: JsonSchema) -> Iterator[JsonSchema]:
    """The alternatives of a schema, references followed."""
    if "$ref" in schema:
        yield from _shapes(defs[schema["$ref"].rsplit("/", 1)[-1]], defs)
        return
    parts = [part for word in ("anyOf", "oneOf", "allOf") for part in schema.get(word, ())]
    if not parts:
        yield schema
    for part in parts:
        yield from _shapes(part, defs)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise DuplicateKeyError(f"key {twice!r} stands twice")
    return members


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
