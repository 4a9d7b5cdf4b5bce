"""Two JSON schemas joined into one that asks what both ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

SubSchema = Schema | bool
"""A schema inside another; `True` accepts everything, `False` nothing."""


def join(a: Schema, b: SubSchema) -> Schema:
    """A schema that asks what both ask, as far as the keywords known here can say it."""
    if not isinstance(b, dict):
        return a
    out = dict(a)
    for word, theirs in b.items():
        if word not in out or out[word] == theirs:
            out[word] = theirs
        elif word in _APPLICATORS:
            out["allOf"] = [*out.get("allOf", []), {word: theirs}]
        else:
            out[word] = _COMBINED.get(word, _theirs)(out[word], theirs)
    return out


def rest(node: Schema, word: str) -> Schema:
    """The schema without one keyword."""
    return {key: value for key, value in node.items() if key != word}


def _theirs(ours: Any, theirs: Any) -> Any:  # noqa: ARG001 - one signature for all combiners
    return theirs


def _united(ours: list[Any], theirs: list[Any]) -> list[Any]:
    return [*ours, *(item for item in theirs if item not in ours)]


def _shared(ours: list[Any], theirs: list[Any]) -> list[Any]:
    return [item for item in ours if item in theirs]


def _by_name(ours: Schema, theirs: Schema) -> Schema:
    return {**ours, **{name: _both(ours.get(name), part) for name, part in theirs.items()}}


def _both(ours: SubSchema | None, theirs: SubSchema) -> SubSchema:
    if ours is False or theirs is False:
        return False
    if not isinstance(ours, dict):
        return theirs
    return ours if not isinstance(theirs, dict) else {"allOf": [ours, theirs]}


def _common_type(ours: str | list[str], theirs: str | list[str]) -> str | list[str]:
    left, right = (([kinds] if isinstance(kinds, str) else kinds) for kinds in (ours, theirs))
    common = [kind for kind in left if kind in right or (kind == "integer" and "number" in right)]
    if not common and "integer" in right and "number" in left:
        common = ["integer"]
    return common[0] if len(common) == 1 else common or theirs


_APPLICATORS = frozenset({"$ref", "anyOf", "oneOf", "items"})
"""Keywords that can't be joined in place; they stand side by side under `allOf`."""

_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "properties": _by_name,
    "patternProperties": _by_name,
    "required": _united,
    "allOf": _united,
    "enum": _shared,
    "type": _common_type,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
