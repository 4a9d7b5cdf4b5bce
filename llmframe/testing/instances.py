"""Instances of a JSON schema, derived from a seed."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from llmframe.testing.conjunction import Schema, SubSchema, join, rest
from llmframe.testing.scalars import Draw, number, string
from llmframe.testing.shapes import as_object, is_object

REF_DEPTH = 2
"""How often a definition may stand inside itself before choices turn to the shortest way out."""
REF_LIMIT = 40
"""At this depth there is no way out."""
NULL_SHARE = 0.25
"""How often a nullable field is null."""
UNIQUE_TRIES = 50
"""Draws for one more distinct item of an array with `uniqueItems`."""

_KEYWORD_TYPES = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "propertyNames"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def instance(schema: Schema, *, seed: int, echo: str | None = None) -> object:
    """A JSON value that the schema accepts.

    Parameters
    ----------
    schema
        JSON schema, drafts 7 to 2020-12; references within the schema only.
    seed
        Same seed and schema, same value.
    echo
        Text for string fields named `echo` or `id` (its digits for integer ones).

    Raises
    ------
    ValueError
        If a reference leads nowhere or no finite value exists.
    """
    return _Maker(schema, Draw(random.Random(seed), echo)).make(schema, "")  # noqa: S311 - test data, no secret


class _Maker:
    """One walk through a schema."""

    def __init__(self, root: Schema, draw: Draw) -> None:
        self._root = root
        self._draw = draw
        self._open: Counter[str] = Counter()

    def make(self, schema: SubSchema, name: str) -> object:
        opened: list[str] = []
        node: Schema = schema if isinstance(schema, dict) else {}
        try:
            while True:
                if "$ref" in node:
                    ref = str(node["$ref"])
                    opened.append(ref)
                    self._open[ref] += 1
                    if self._open[ref] > REF_LIMIT:
                        msg = f"no finite value: {ref!r} always holds itself"
                        raise ValueError(msg)
                    node = join(self._resolve(ref), rest(node, "$ref"))
                elif "allOf" in node:
                    parts: list[Schema] = node["allOf"]
                    node = rest(node, "allOf")
                    for part in parts:
                        node = join(node, part)
                elif "anyOf" in node or "oneOf" in node:
                    word = "anyOf" if "anyOf" in node else "oneOf"
                    node = join(rest(node, word), self._choose(node[word], name))
                elif isinstance(node.get("type"), list):
                    kinds: list[str] = node["type"]
                    node = {**node, "type": self._choose([{"type": kind} for kind in kinds], name)["type"]}
                else:
                    return self._leaf(node, name)
        finally:
            if opened:
                self._open.subtract(opened)

    def _leaf(self, node: Schema, name: str) -> object:
        if "const" in node:
            return node["const"]
        kind = node.get("type") or _implied_type(node)
        if "enum" in node:
            fitting = [
                value for value in node["enum"] if ("type" not in node or _is(value, kind)) and _within(value, node)
            ]
            return self._draw.choice(fitting or node["enum"])
        match kind:
            case "object":
                return self._object(node)
            case "array":
                return self._array(node)
            case "integer" | "number":
                return number(node, name, self._draw, whole=kind == "integer")
            case "boolean":
                return self._draw.below(2) == 1
            case "null":
                return None
            case _:
                return string(node, name, self._draw)

    def _object(self, node: Schema) -> dict[str, object]:
        out: dict[str, object] = {}
        required: list[str] = node.get("required", [])
        properties: Schema = node.get("properties", {})
        for key, part in properties.items():
            if part is not False and (key in required or not self._tired):
                out[key] = self.make(part, key)
        extra: SubSchema = node.get("additionalProperties", True)
        patterns: Schema = node.get("patternProperties", {})
        for key in required:
            if key not in out:
                out[key] = self.make(extra, key)
        if patterns:
            pattern, extra = next(iter(patterns.items()))
            names: Schema = {"type": "string", "pattern": pattern}
        else:
            names = node.get("propertyNames", {})
        wish = int(not properties and isinstance(extra, dict) and not self._tired)
        count = min(max(wish, node.get("minProperties", 0)), node.get("maxProperties", 1 << 30))
        for turn in range(UNIQUE_TRIES + count):
            if len(out) >= count or extra is False:
                break
            out.setdefault(str(self.make(names, "")) if names else f"k{turn + 1}", self.make(extra, ""))
        return out

    def _array(self, node: Schema) -> list[object]:
        prefix: list[Schema] = node.get("prefixItems", [])
        items: SubSchema
        if isinstance(node.get("items"), list):  # a tuple as draft 7 writes it
            prefix, items = node["items"], node.get("additionalItems", True)
        else:
            items = node.get("items", True)
        low: int = node.get("minItems", 0)
        high: int = node.get("maxItems", 1 << 30)
        out = [self.make(part, "") for part in prefix[:high]]
        if items is False or high <= len(out):
            return out
        if not prefix and not self._tired:
            low = max(low, 1)
        low = min(max(low, len(out)), high)
        count = low if prefix or self._tired else low + self._draw.below(min(high - low, 1) + 1)
        seen = {json.dumps(item, sort_keys=True) for item in out}
        for _ in range(UNIQUE_TRIES + count):
            if len(out) >= count:
                break
            item = self.make(items, "")
            key = json.dumps(item, sort_keys=True) if node.get("uniqueItems") else str(len(out))
            if key not in seen or not node.get("uniqueItems"):
                seen.add(key)
                out.append(item)
        return out

    def _choose(self, parts: list[Schema], name: str) -> Schema:
        real = [part for part in parts if part.get("type") != "null" and part.get("const", 0) is not None]
        nulls = [part for part in parts if part not in real]
        if not real:
            return nulls[0]
        if nulls and (self._tired or (not self._draw.echoes(name) and self._draw.share() < NULL_SHARE)):
            return nulls[0]
        if self._tired:
            still_open = frozenset(ref for ref, depth in self._open.items() if depth > 0)
            return min(real, key=lambda part: self._height(part, still_open))
        if [part.get("type") for part in real] == ["number", "string"]:
            return real[0]  # pydantic's Decimal: of its texts only those of numbers would be valid
        return self._draw.choice(real)

    @property
    def _tired(self) -> bool:
        return any(depth > REF_DEPTH for depth in self._open.values())

    def _height(self, node: SubSchema, seen: frozenset[str]) -> float:
        """Levels of the lowest value of a schema; infinite when it needs a definition in `seen`."""
        if not isinstance(node, dict) or "const" in node or "enum" in node:
            return 0
        if "$ref" in node:
            ref = str(node["$ref"])
            return float("inf") if ref in seen else self._height(self._resolve(ref), seen | {ref})
        if "allOf" in node:
            return max(self._heights(node["allOf"], seen))
        alternatives = node.get("anyOf") or node.get("oneOf")
        if alternatives:
            return min(self._heights(alternatives, seen))
        properties: Schema = node.get("properties", {})
        inner = [properties[key] for key in node.get("required", []) if key in properties]
        inner += node.get("prefixItems", [])
        if node.get("minItems", 0) > len(node.get("prefixItems", [])):
            inner.append(node.get("items", True))
        return 1 + max(self._heights(inner, seen)) if inner else 0

    def _heights(self, nodes: Iterable[SubSchema], seen: frozenset[str]) -> list[float]:
        return [self._height(node, seen) for node in nodes]

    def _resolve(self, ref: str) -> Schema:
        node: Any = self._root
        try:
            for part in unquote(ref.removeprefix("#")).split("/")[1:]:
                key = part.replace("~1", "/").replace("~0", "~")
                node = node[key] if is_object(node) else node[int(key)]
        except (KeyError, IndexError, TypeError, ValueError):
            msg = f"reference {ref!r} leads nowhere"
            raise ValueError(msg) from None
        return as_object(node)


def _implied_type(node: Schema) -> str:
    for kind, words in _KEYWORD_TYPES.items():
        if any(word in node for word in words):
            return kind
    return "string"


def _within(value: object, node: Schema) -> bool:
    """Whether a listed value keeps the bounds that stand beside the list."""
    if isinstance(value, str):
        return node.get("minLength", 0) <= len(value) <= node.get("maxLength", len(value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return node.get("minimum", value) <= value <= node.get("maximum", value)
    return True


def _is(value: object, kind: str) -> bool:
    match kind:
        case "integer" | "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, str)
