"""The JSON schema that is sent: OpenAI's strict form where it can say all, else the plain one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

JsonSchema = dict[str, Any]

STRICT_KEYWORDS = frozenset(
    "type properties required additionalProperties items anyOf enum const description $ref $defs minimum maximum "
    "exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems pattern format".split()
)
STRICT_FORMATS = frozenset("date-time time date duration email hostname ipv4 ipv6 uuid".split())
STRICT_PROPERTIES, STRICT_LEVELS, STRICT_ENUM = 5000, 10, 1000
"""Most properties and nesting levels of a strict schema, most values of one enum."""

_LOOKS_AROUND = re.compile(r"\(\?(?:[=!]|<[=!]|P)|\\[1-9]")
_TYPE_NAMES: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_ONE = ("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else")
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs")

DECIMAL_PATTERN = r"^-?\d+(\.\d+)?$"
"""Plain digits, without the look-around of pydantic's own pattern, which made providers answer 5xx."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A JSON schema as it is sent; `obstacle` says why it isn't in strict form, `None` when it is."""

    schema: JsonSchema
    obstacle: str | None = None

    @property
    def strict(self) -> bool:
        """Whether `strict: true` may be sent with it."""
        return self.obstacle is None


class _Generator(GenerateJsonSchema):
    """Pydantic's schema, except where its words lead models astray.

    A zone isn't demanded of a datetime that must have none. A Decimal is asked for as text: a JSON number becomes a
    float on its way, which has 17 digits.
    """

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:  # noqa: ARG002 - pydantic calls it
        return {"type": "string", "pattern": DECIMAL_PATTERN}

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        if schema.get("tz_constraint") == "naive":
            return {"type": "string", "description": "ISO 8601 date and time without a zone"}
        return super().datetime_schema(schema)


def json_schema_of(model: type[BaseModel], *, by_alias: bool = True) -> JsonSchema:
    """The model's JSON schema in pydantic's words, an object at its root."""
    return _rooted(model.model_json_schema(by_alias=by_alias, schema_generator=_Generator, mode="validation"))


def wire_of(schema: JsonSchema) -> Wire:
    """Bring a JSON schema into the form that is sent.

    Parameters
    ----------
    schema
        A schema whose root is an object, as `json_schema_of` returns it. It isn't changed.

    Returns
    -------
    Wire
        Strict form: every property required, no further ones, `oneOf` as `anyOf`, references without siblings, no
        defaults and titles, no keyword that strict mode doesn't know (what they demand is checked when the reply is
        read). A schema that strict mode can't express (open dicts, `Any`, tuples, recursion) keeps its words, without
        titles and look-around patterns.
    """
    defs: JsonSchema = schema.get("$defs", {})
    obstacle = _obstacle(schema, defs)
    clean = _clean(schema, defs, strict=obstacle is None)
    used = set(_references(clean, clean.get("$defs", {})))
    kept = {name: each for name, each in clean.pop("$defs", {}).items() if name in used}
    return Wire({**clean, "$defs": kept} if kept else clean, obstacle)


def canonical_text(schema: JsonSchema) -> str:
    """One text for all schemas that ask the same, whatever pydantic calls things.

    Titles and names of definitions don't count; the order of the properties does, since a model writes them in it.
    """
    shape = _shape(schema, schema.get("$defs", {}), ())
    return json.dumps(shape, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _rooted(schema: JsonSchema) -> JsonSchema:
    """A recursive model's schema is a bare reference; the wire wants an object at the root."""
    if "$ref" not in schema:
        return schema
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**_resolved(schema["$ref"], schema["$defs"]), **rest}


def _resolved(reference: str, defs: JsonSchema) -> JsonSchema:
    return defs[reference.rsplit("/", 1)[-1]]


def _children(node: JsonSchema) -> Iterator[JsonSchema]:
    for key in _ONE:
        if isinstance(node.get(key), dict):
            yield node[key]
    for key in _MANY:
        yield from node.get(key, ())
    for key in ("properties", "patternProperties"):
        yield from node.get(key, {}).values()


def _mapped(node: JsonSchema, change: Callable[[JsonSchema], JsonSchema]) -> JsonSchema:
    out = dict(node)
    for key in _ONE:
        if isinstance(node.get(key), dict):
            out[key] = change(node[key])
    for key in _MANY:
        if key in node:
            out[key] = [change(each) for each in node[key]]
    for key in _NAMED:
        if key in node:
            out[key] = {name: change(each) for name, each in node[key].items()}
    return out


def _references(node: JsonSchema, defs: JsonSchema) -> Iterator[str]:
    """Names of the definitions that can be reached from `node`."""
    seen: set[str] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if "$ref" in each and (name := each["$ref"].rsplit("/", 1)[-1]) not in seen:
            seen.add(name)
            yield name
            waiting.append(defs[name])
        waiting.extend(_children(each))


def _obstacle(schema: JsonSchema, defs: JsonSchema) -> str | None:
    """What strict mode can't express, or `None`."""
    count = 0

    def look(node: JsonSchema, path: str, level: int, inside: tuple[str, ...]) -> str | None:
        nonlocal count
        if "$ref" in node:
            if node["$ref"] in inside:
                return f"{path or 'the schema'} is recursive"
            return look(_resolved(node["$ref"], defs), path, level, (*inside, node["$ref"]))
        if problem := _own_obstacle(node):
            return f"{path or 'the schema'} {problem}"
        properties: JsonSchema = node.get("properties", {})
        count += len(properties)
        level += "properties" in node
        if level > STRICT_LEVELS or count > STRICT_PROPERTIES:
            return f"{path or 'the schema'} is too large or too deep"
        named = [(f"{path}.{name}" if path else name, each) for name, each in properties.items()]
        others = [(path, each) for each in _children({**node, "properties": {}})]
        return next((found for at, each in (*named, *others) if (found := look(each, at, level, inside))), None)

    return look(schema, "", 0, ())


def _own_obstacle(node: JsonSchema) -> str | None:
    unnamed = node.get("type") == "object" and "properties" not in node  # a bare dict, before pydantic 2.10
    if node.get("additionalProperties") or "patternProperties" in node or unnamed:
        return "takes any keys"
    if "prefixItems" in node:
        return "is a tuple"
    if node.get("type") == "array" and not isinstance(node.get("items"), dict):
        return "is a list of anything"
    if len(node.get("enum", ())) > STRICT_ENUM:
        return f"has more than {STRICT_ENUM} values"
    if len(node.get("allOf", ())) > 1 or any(word in node for word in ("not", "if", "contains")):
        return "combines conditions"
    if not any(word in node for word in ("type", "enum", "const", "anyOf", "oneOf", "allOf")):
        return "may be anything"
    return None


def _clean(node: JsonSchema, defs: JsonSchema, *, strict: bool) -> JsonSchema:
    out = {key: value for key, value in node.items() if key not in {"title", "discriminator"}}
    if len(out.get("allOf", ())) == 1:  # older pydantic puts a reference with siblings so
        out = {**out.pop("allOf")[0], **out}
    if "oneOf" in out:
        out["anyOf"] = out.pop("oneOf")
    if _LOOKS_AROUND.search(str(out.get("pattern", ""))):
        del out["pattern"]
    if "const" in out:
        out.pop("enum", None)
    if strict:
        out = {key: value for key, value in out.items() if key in STRICT_KEYWORDS}
        if out.get("format", "date") not in STRICT_FORMATS:
            del out["format"]
        if "$ref" in out and len(out) > 1:
            return _clean({**_resolved(out.pop("$ref"), defs), **out}, defs, strict=True)
        if "properties" in out:
            out |= {"required": list(out["properties"]), "additionalProperties": False}
        _name_type(out)
    return _mapped(out, lambda each: _clean(each, defs, strict=strict))


def _name_type(node: JsonSchema) -> None:
    """Strict mode wants a type beside the values."""
    values: list[object] = node.get("enum", [node["const"]] if "const" in node else [])
    if values and "type" not in node:
        names = list(dict.fromkeys(_TYPE_NAMES[type(value)] for value in values if type(value) in _TYPE_NAMES))
        node["type"] = names[0] if len(names) == 1 else names


def _shape(node: JsonSchema, defs: JsonSchema, inside: tuple[str, ...]) -> JsonSchema:
    node = {key: value for key, value in node.items() if key not in {"title", "$defs"}}
    if "$ref" in node:
        name = node.pop("$ref")
        if name in inside:
            return {**node, "recursion": len(inside) - inside.index(name)}
        return {**_shape(_resolved(name, defs), defs, (*inside, name)), **node}
    out = _mapped(node, lambda each: _shape(each, defs, inside))
    if "properties" in out:
        out["properties"] = [[name, each] for name, each in cast("JsonSchema", out["properties"]).items()]
    if "const" in out:
        out["enum"] = [out.pop("const")]
    if "enum" in out:
        out.pop("type", None)
    if "required" in out:
        out["required"] = sorted(out["required"])
    return out
