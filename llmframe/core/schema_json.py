"""Pydantic models made from JSON schema documents."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Annotated, Any, ForwardRef, Literal, Union, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import SchemaError

from llmframe.core import json_keywords as keywords
from llmframe.core.json_document import check_size, resolved
from llmframe.core.json_keywords import Node, fault, step
from llmframe.core.schema_text import is_field_name
from llmframe.core.spec import wire_name
from llmframe.errors import UsageError


def model_from_json_schema(document: Mapping[str, Any]) -> Any:
    """The Pydantic model that a JSON schema describes.

    Parameters
    ----------
    document
        JSON Schema 2020-12 as `model_json_schema()` writes it: objects, lists, tuples, dicts, closed values, unions,
        `null`, references inside the document, bounds, lengths, patterns, formats, defaults and descriptions. Nothing
        is fetched.

    Returns
    -------
    type[pydantic.BaseModel] or a type
        A model, or the type of one value where the root is no object with properties: what `map(schema=...)` takes.
        What it asks is what the class asks that the document was made from, so both have the same answers in a
        store. Exceptions: a `Decimal` and a datetime that must have no zone, of which pydantic's document doesn't tell.
        A property whose name no field can have (`_id`) becomes a field without the underscore.

    Raises
    ------
    UsageError
        If a keyword isn't supported (`if`, `not`, `patternProperties`, `allOf` of several, references to other
        documents) or doesn't fit; the message holds its JSON pointer.

    Examples
    --------
    >>> model_from_json_schema({"enum": ["bug", "praise"]})
    typing.Literal['bug', 'praise']
    """
    if not isinstance(document, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - read from files
        raise fault("", f"a schema is an object, got {type(document).__name__}")
    return _Document(document).schema()


class _Document:
    """Reads one document: `models` by the pointers of their objects, and what is under way."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.models: dict[str, type[BaseModel]] = {}
        self.names: dict[str, str] = {}
        self.inside: list[str] = []
        self.defaults: list[tuple[str, str, str]] = []
        check_size(root)

    def schema(self) -> Any:
        """The root's model or type."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # pydantic's word on names like `copy`, chosen for columns
                found = self.annotation(self.root, "", nested=True)
                namespace = {self.names[pointer]: model for pointer, model in self.models.items()}
                for model in self.models.values():
                    model.model_rebuild(_types_namespace=namespace)
        except (PydanticUserError, SchemaError, TypeError) as error:
            raise UsageError(f"JSON schema: pydantic makes no model of it: {_first_line(error)}") from None
        self._check_defaults()
        return found

    def annotation(self, node: object, pointer: str, *, nested: bool) -> Any:
        """The type of what a node describes."""
        if node is True:
            return Any
        if node is False:
            raise fault(pointer, "false allows no value at all")
        if not isinstance(node, Mapping):
            raise fault(pointer, f"a schema is an object, got {type(node).__name__}")
        each = cast("Node", node)
        keywords.check_known(each, pointer)
        if "$ref" in each:
            return self._referred(each, pointer, nested=nested)
        if "allOf" in each:
            return self.annotation(self._only(each, pointer), pointer, nested=nested)
        if _is_model(each):
            self._check_model(each, pointer)
            return self._model(each, pointer)
        return keywords.with_notes(self._shape(each, pointer), each, pointer, nested=nested)

    def _shape(self, node: Node, pointer: str) -> Any:
        for word in ("anyOf", "oneOf"):
            if word in node:
                keywords.check_fits({key: node[key] for key in node if key != "type"}, [], pointer)
                return self._union(node[word], step(pointer, word))
        kinds = keywords.kinds(node, pointer)
        if "enum" in node or "const" in node:
            keywords.check_fits(node, [], pointer)
            return keywords.closed(node, kinds, pointer)
        keywords.check_fits(node, kinds, pointer)
        if not kinds:
            return Any
        return _either([self._typed(kind, node, pointer) for kind in kinds])

    def _typed(self, kind: str, node: Node, pointer: str) -> Any:
        if kind == "string":
            return keywords.string(node, pointer)
        if kind in ("integer", "number"):
            return keywords.number(kind, node, pointer)
        if kind == "array":
            return self._array(node, pointer)
        if kind == "object":
            return self._dict(node, pointer)
        return bool if kind == "boolean" else None

    def _union(self, branches: object, pointer: str) -> Any:
        listed = keywords.listed(branches, pointer)
        found: list[Any] = []
        at = 0
        while at < len(listed):
            if (both := keywords.decimal_of(listed[at : at + 2], pointer)) is not None:
                found.append(both)
                at += 2
                continue
            found.append(self.annotation(listed[at], step(pointer, at), nested=True))
            at += 1
        return _either(found)

    def _array(self, node: Node, pointer: str) -> Any:
        if "prefixItems" in node:
            parts = keywords.listed(node["prefixItems"], step(pointer, "prefixItems"))
            if not len(parts) == node.get("minItems") == node.get("maxItems") or "items" in node:
                raise fault(pointer, f"a tuple has a fixed length: minItems and maxItems of {len(parts)}, no items")
            found = [
                self.annotation(part, step(pointer, "prefixItems", at), nested=True) for at, part in enumerate(parts)
            ]
            return tuple[tuple(found)]
        held = self.annotation(node.get("items", True), step(pointer, "items"), nested=True)
        kind: Any = list[held]
        if node.get("uniqueItems", False) is True:
            if not _is_hashable(held):
                raise fault(step(pointer, "uniqueItems"), "only scalar values can be kept unique")
            kind = set[held]
        return keywords.sized(kind, node, ("minItems", "maxItems"), pointer)

    def _dict(self, node: Node, pointer: str) -> Any:
        if not node.get("additionalProperties", True):
            raise fault(step(pointer, "additionalProperties"), "an object without properties has no value")
        if node.get("required"):
            raise fault(step(pointer, "required"), "names properties that aren't described")
        names = node.get("propertyNames")
        key = str if names is None else self.annotation(names, step(pointer, "propertyNames"), nested=True)
        rest = node.get("additionalProperties", True)
        kind: Any = dict[key, self.annotation(rest, step(pointer, "additionalProperties"), nested=True)]
        return keywords.sized(kind, node, ("minProperties", "maxProperties"), pointer)

    def _referred(self, node: Node, pointer: str, *, nested: bool) -> Any:
        target = node["$ref"]
        where = step(pointer, "$ref")
        beside = {word: value for word, value in node.items() if word not in {"$ref", "$defs", "definitions"}}
        if target in self.inside:
            raise fault(where, "it refers to itself without an object between")
        found = resolved(self.root, target, where)
        place = str(target)[1:]
        if not isinstance(found, Mapping) or not _is_model(cast("Node", found)):
            merged = {**cast("Node", found), **beside} if isinstance(found, Mapping) else found
            self.inside.append(str(target))
            try:
                return self.annotation(merged, place, nested=nested)
            finally:
                self.inside.pop()
        keywords.check_known(cast("Node", found), place)
        keywords.check_fits(beside, [], pointer)
        self._check_model(cast("Node", found), place)
        before, self.inside = self.inside, []
        model = self._model(cast("Node", found), place)
        self.inside = before
        return keywords.with_notes(model, beside, pointer, nested=nested)

    def _only(self, node: Node, pointer: str) -> Node:
        parts = keywords.listed(node["allOf"], step(pointer, "allOf"))
        rest = {word: value for word, value in node.items() if word != "allOf"}
        if len(parts) != 1 or not isinstance(parts[0], Mapping) or set(rest) - keywords.NOTES:
            raise fault(step(pointer, "allOf"), "shapes can't be combined; write one object with all properties")
        return {**cast("Node", parts[0]), **rest}

    def _check_model(self, node: Node, pointer: str) -> None:
        for word in ("minProperties", "maxProperties", "propertyNames"):
            if word in node:
                raise fault(step(pointer, word), f"{word!r} beside properties isn't supported")
        keywords.check_fits(node, ["object"], pointer)
        if not isinstance(node["properties"], Mapping):
            raise fault(step(pointer, "properties"), "properties are an object")
        extra = node.get("additionalProperties", False)
        if not isinstance(extra, bool) and extra != {}:
            raise fault(step(pointer, "additionalProperties"), "a shape of further properties isn't supported")
        for name in keywords.listed(node.get("required", []), step(pointer, "required"), least=0):
            if name not in node["properties"]:
                raise fault(step(pointer, "required"), f"{name!r} isn't among the properties")

    def _model(self, node: Node, pointer: str) -> Any:
        if pointer in self.models:
            return self.models[pointer]
        if pointer in self.names:
            return ForwardRef(self.names[pointer])
        self.names[pointer] = f"LlmframeObject{len(self.names)}"
        required: list[object] = node.get("required", [])
        fields: dict[str, Any] = {}
        for key, each in cast("Node", node["properties"]).items():
            name = _field_name(key, {*node["properties"], *fields})
            where = step(pointer, "properties", key)
            kind = self.annotation(each, where, nested=False)
            said: dict[str, Any] = {} if name == key else {"alias": key}
            if key not in required:
                described = cast("Node", each if isinstance(each, Mapping) else {})
                if (
                    "default" not in described
                ):  # a property that may be left out is null then, of which its schema says nothing
                    said["default_factory"] = _nothing
                else:
                    said |= {"default": described["default"], "validate_default": True}
                    self.defaults.append((pointer, name, where))
            fields[name] = (kind, Field(**said))
        extra = node.get("additionalProperties")
        notes = {word: node[word] for word in node if word in ("description", "examples", "deprecated", "default")}
        create: Any = create_model
        self.models[pointer] = create(
            wire_name(str(node.get("title") or pointer.rsplit("/", 1)[-1] or "Response")),
            __config__=ConfigDict(
                extra="forbid" if extra is False else "ignore" if extra is None else "allow",
                json_schema_extra=notes,
                protected_namespaces=(),
            ),
            __doc__=node.get("description"),
            __module__=__name__,
            **fields,
        )
        return self.models[pointer]

    def _check_defaults(self) -> None:
        for pointer, name, where in self.defaults:
            info = self.models[pointer].model_fields[name]
            try:
                TypeAdapter[Any](cast("Any", Annotated)[(info.annotation, *info.metadata, Field())]).validate_python(
                    info.default
                )
            except ValidationError as error:
                raise fault(step(where, "default"), f"the default doesn't fit: {error.errors()[0]['msg']}") from None


def _nothing() -> None:
    return None


def _is_model(node: Node) -> bool:
    return "properties" in node and node.get("type", "object") == "object" and "enum" not in node


def _either(found: list[Any]) -> Any:
    return found[0] if len(found) == 1 else cast("Any", Union)[tuple(found)]


def _is_hashable(annotation: Any) -> bool:
    if getattr(annotation, "__metadata__", None) is not None:
        return _is_hashable(annotation.__origin__)
    parts = getattr(annotation, "__args__", ())
    if getattr(annotation, "__origin__", None) is Literal:
        return True
    if getattr(annotation, "__origin__", None) in (list, set, dict):
        return False
    if isinstance(annotation, ForwardRef) or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return False
    return all(_is_hashable(part) for part in parts)


def _field_name(key: str, taken: set[str]) -> str:
    """The property's name, or one like it that a field can have."""
    if is_field_name(key):
        return key
    name = key.lstrip("_") or "field"
    while not is_field_name(name) or name in taken:
        name += "_"
    return name


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
