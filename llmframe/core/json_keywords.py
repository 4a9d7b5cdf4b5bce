"""Keywords of a JSON schema: which are known, where each may stand, and what pydantic calls it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, cast
from uuid import UUID

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, SchemaError

from llmframe.core.wire import DECIMAL_PATTERN
from llmframe.errors import UsageError, did_you_mean

Node = Mapping[str, Any]

TYPE_NAMES: Final = ("string", "integer", "number", "boolean", "null", "array", "object")

NOTES: Final = frozenset(
    "title description default examples deprecated readOnly writeOnly contentMediaType contentEncoding $comment "
    "$schema $id $defs definitions".split()
)
"""Keywords that demand nothing of a value; they may stand anywhere."""

SHAPES: Final = frozenset("type enum const $ref anyOf oneOf allOf discriminator".split())

OF_TYPE: Final[Mapping[str, frozenset[str]]] = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "integer": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}),
    "boolean": frozenset(),
    "null": frozenset(),
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}),
    "object": frozenset(
        {"properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties"}
    ),
}

_NOT_SUPPORTED: Final = frozenset(
    "if then else not dependentRequired dependentSchemas dependencies patternProperties contains minContains "
    "maxContains unevaluatedItems unevaluatedProperties additionalItems contentSchema $anchor $dynamicRef "
    "$dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary".split()
)
_KNOWN: Final = NOTES | SHAPES | frozenset[str]().union(*OF_TYPE.values())

_ARGUMENTS: Final[Mapping[str, str]] = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
    "minProperties": "min_length",
    "maxProperties": "max_length",
}
_BOUNDS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})

_BY_FORMAT: Final[Mapping[str, Any]] = {
    "date": date,
    "date-time": datetime,
    "time": time,
    "duration": timedelta,
    "uuid": UUID,
}
"""Formats that are checked; of others the word is sent, and any text is taken."""

_OF_DECIMALS: Final = r"^(?!^[-+.]*$)[+-]?0*"
"""How the pattern begins that some versions of pydantic write for a Decimal as text."""

_PLACES: Final = re.compile(r"\\\.\\d\{0,(\d+)\}0\*\$\)?$")


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """Words that stand in the JSON schema of what they annotate, and check nothing."""

    words: Node

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Pydantic's schema with the words added."""
        return {**handler(schema), **self.words}


def fault(pointer: str, problem: str) -> UsageError:
    """The error for a place in the document, named by its JSON pointer."""
    return UsageError(f"JSON schema, at {pointer!r}: {problem}" if pointer else f"JSON schema, at its root: {problem}")


def step(pointer: str, *names: str | int) -> str:
    """The pointer of what is inside."""
    return "/".join([pointer, *(str(name).replace("~", "~0").replace("/", "~1") for name in names)])


def check_known(node: Node, pointer: str) -> None:
    """Refuse keywords that aren't understood: left out silently they would allow what they forbid."""
    for word in node:
        if word in _KNOWN or word.startswith("x-"):
            continue
        if word in _NOT_SUPPORTED:
            raise fault(pointer, f"{word!r} isn't supported; say it in a Pydantic model's validator")
        if word == "nullable":
            raise fault(pointer, '\'nullable\' is a word of OpenAPI; write "type": [..., "null"]')
        raise fault(pointer, f"{word!r} is no keyword of JSON schema{did_you_mean(word, _KNOWN)}")


def check_fits(node: Node, kinds: list[str], pointer: str) -> None:
    """Refuse keywords that demand something of another type."""
    fitting = frozenset[str]().union(*(OF_TYPE[kind] for kind in kinds))
    for word in node:
        if word not in fitting and word not in NOTES and word not in SHAPES and not word.startswith("x-"):
            raise fault(step(pointer, word), f"{word!r} says nothing about {' or '.join(kinds) or 'listed values'}")


def with_notes(annotation: Any, node: Node, pointer: str, *, nested: bool) -> Any:
    """The annotation with the description, and with what only describes.

    Parameters
    ----------
    nested
        Whether this is no property, so that its `default` is a mere note.
    """
    left_out = {"title", "description", "$schema", "$id", "$defs", "definitions"} | (
        set[str]() if nested else {"default"}
    )
    kept = {word: value for word, value in node.items() if word.startswith("x-") or word in NOTES - left_out}
    if "description" in node and not isinstance(node["description"], str):
        raise fault(step(pointer, "description"), f"a description is a text, got {node['description']!r}")
    about = [Field(description=node["description"])] if "description" in node else []
    marks = (*about, *([Said(kept)] if kept else []))
    return Annotated[(annotation, *marks)] if marks else annotation


def kinds(node: Node, pointer: str) -> list[str]:
    """The types that a node may be; empty where it says none."""
    said = node.get("type")
    if said is None:
        return ["array"] if {"items", "prefixItems"} & node.keys() else []
    named: list[object] = cast("list[object]", said) if isinstance(said, list) else [said]
    for kind in named:
        if kind not in TYPE_NAMES:
            raise fault(step(pointer, "type"), f"{kind!r} is no type; types: {', '.join(TYPE_NAMES)}")
    if "object" in named and "properties" in node:
        raise fault(step(pointer, "type"), "an object with properties or something else: write it as anyOf")
    return cast("list[str]", named)


def closed(node: Node, kinds: list[str], pointer: str) -> Any:
    """The annotation of listed values."""
    word = "enum" if "enum" in node else "const"
    values = listed(node["enum"], step(pointer, "enum")) if word == "enum" else [node["const"]]
    seen: list[tuple[type, object]] = []
    for value in values:
        if value is not None and not isinstance(value, (str, int, float)):
            raise fault(step(pointer, word), f"a closed value is a text, a number, true, false or null, got {value!r}")
        if (type(value), value) in seen:
            raise fault(step(pointer, word), f"{value!r} stands there twice")
        if kinds and not any(_is_of(value, kind) for kind in kinds):
            raise fault(step(pointer, word), f"{value!r} is no {' or '.join(kinds)}")
        seen.append((type(value), value))
    return Literal[tuple(values)] if values != [None] else None


def _is_of(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, (int, float)):
        return kind == "number" or (kind == "integer" and float(value).is_integer())
    return kind == ("null" if value is None else "string")


def listed(value: object, pointer: str, *, least: int = 1) -> list[object]:
    """A list as it has to be here."""
    if not isinstance(value, list) or len(cast("list[object]", value)) < least:
        raise fault(pointer, f"this is a list{' with something in it' * least}")
    return cast("list[object]", value)


def string(node: Node, pointer: str) -> Any:
    """The annotation of a text, or of what its format makes of it."""
    form = node.get("format")
    if form is not None and not isinstance(form, str):
        raise fault(step(pointer, "format"), f"a format is a text, got {form!r}")
    rest = sorted(set(node) & {"minLength", "maxLength", "pattern"})
    if form in _BY_FORMAT:
        if rest:
            raise fault(step(pointer, rest[0]), f"{rest[0]!r} beside the format {form!r} isn't supported")
        return _BY_FORMAT[form]
    pattern = node.get("pattern")
    if pattern == DECIMAL_PATTERN and rest == ["pattern"]:
        return Decimal
    marks: list[Any] = [] if pattern is None else _pattern(pattern, step(pointer, "pattern"))
    if limits := _arguments(node, ("minLength", "maxLength"), pointer):
        marks.append(Field(**limits))
    if form is not None:
        marks.append(Said({"format": form}))
    return Annotated[(str, *marks)] if marks else str


def number(kind: str, node: Node, pointer: str) -> Any:
    """The annotation of an integer or a number."""
    limits = _arguments(node, tuple(sorted(_BOUNDS)), pointer)
    if kind == "integer":
        for word in _BOUNDS & node.keys():
            if not float(node[word]).is_integer():
                raise fault(step(pointer, word), f"an integer's bound is a whole number, got {node[word]!r}")
    base = int if kind == "integer" else float
    marks: list[Any] = [Field(**limits)] if limits else []
    if "format" in node:
        marks.append(Said({"format": node["format"]}))
    return Annotated[(base, *marks)] if marks else base


def sized(annotation: Any, node: Node, words: tuple[str, str], pointer: str) -> Any:
    """The annotation of a list or dict with its least and most members."""
    limits = _arguments(node, words, pointer)
    return Annotated[annotation, Field(**limits)] if limits else annotation


def decimal_of(branches: list[object], pointer: str) -> Any:
    """A Decimal, where two branches are pydantic's words for it (a number, or text of digits); else `None`."""
    if len(branches) != len(("number", "text")) or not all(isinstance(each, Mapping) for each in branches):
        return None
    first, second = cast("list[Node]", branches)
    pattern = second.get("pattern")
    if first.get("type") != "number" or second.get("type") != "string" or not isinstance(pattern, str):
        return None
    if not pattern.startswith(_OF_DECIMALS):
        return None
    limits = _arguments(first, tuple(sorted(_BOUNDS)), pointer)
    if places := _PLACES.search(pattern):
        limits["decimal_places"] = int(places.group(1))
    return Annotated[Decimal, Field(**limits)] if limits else Decimal


def _pattern(pattern: object, pointer: str) -> list[Any]:
    if not isinstance(pattern, str):
        raise fault(pointer, f"a pattern is a text, got {pattern!r}")
    mark = Field(pattern=pattern)
    try:
        TypeAdapter(Annotated[str, mark])
    except SchemaError:  # pydantic's own engine knows no look-around and no back-references
        return [AfterValidator(_matching(pattern, pointer)), Said({"pattern": pattern})]
    return [mark]


def _matching(pattern: str, pointer: str) -> Callable[[str], str]:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise fault(pointer, f"the pattern can't be read: {error}") from None

    def check(text: str) -> str:
        if compiled.search(text) is None:
            raise ValueError(f"text should match pattern {pattern!r}")
        return text

    return check


def _arguments(node: Node, words: tuple[str, ...], pointer: str) -> dict[str, Any]:
    """The bounds of a node as `Field` takes them."""
    found: dict[str, Any] = {}
    for word in words:
        if word not in node:
            continue
        value = node[word]
        real = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) != math.inf
        if word in _BOUNDS and (not real or math.isnan(value) or (word == "multipleOf" and value <= 0)):
            raise fault(
                step(pointer, word), f"{word!r} is a number{' above 0' * (word == 'multipleOf')}, got {value!r}"
            )
        if word not in _BOUNDS and (not real or value < 0 or int(value) != value):
            raise fault(step(pointer, word), f"{word!r} is a whole number of 0 or more, got {value!r}")
        found[_ARGUMENTS[word]] = value
    return found
