"""What the `schema` argument may be, as a model to ask for."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import unicodedata
import warnings
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, TypeAdapter, create_model, model_validator
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo

from llmframe.core.fields import is_typed_dict, members_of, optional_keys
from llmframe.errors import UsageError

ACCEPTED = (
    "a Pydantic model, Literal[...], an Enum, a list of labels, bool, int, float, str, list[T], a dataclass or "
    "TypedDict, or None for free text"
)
VALUE = "response"
"""The key on the wire, and the model's field, of an answer that is one value."""

NAME_CHARS = 64
"""Longest name of a function or response format that providers take."""

_ROOT: type[Any] = RootModel
_SCHEMA_ERRORS = (PydanticUserError, PydanticUndefinedAnnotation)


@dataclass(frozen=True, slots=True)
class Asked:
    """A model to ask for; `single` when it only wraps one value in the field `response`."""

    model: type[BaseModel]
    name: str
    single: bool


def asked_of(spec: object) -> Asked:
    """The model behind a `schema` argument.

    Raises
    ------
    UsageError
        If it is nothing that can be asked for.
    """
    given: Any = spec
    if isinstance(spec, (list, tuple)):
        return _one_value(_label_list(given), "list of labels")
    if isinstance(spec, (set, frozenset)):
        raise UsageError(f"schema is a set of labels, which has no order; pass a list: {sorted(map(str, given))!r}")
    if inspect.isclass(spec) and get_origin(spec) is None:
        return _of_class(given)
    if get_origin(spec) is not None or isinstance(spec, types.UnionType) or _names_a_type(spec):
        return _one_value(spec, spec)
    said = "a Pydantic object; pass its class" if isinstance(spec, BaseModel) else f"{_shown(spec)}; pass {ACCEPTED}"
    raise UsageError(f"schema is {said}")


def wire_name(name: str) -> str:
    """`name` in the letters that providers take (`^[a-zA-Z0-9_-]{1,64}$`); `"Response"` when nothing is left."""
    ascii_name = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", ascii_name).strip("_")[:NAME_CHARS] or "Response"


def wire_key(name: str, info: FieldInfo) -> str:
    """The key under which the JSON schema asks for a field."""
    alias = info.validation_alias
    for choice in alias.choices if isinstance(alias, AliasChoices) else [alias]:
        if isinstance(choice, str):
            return choice
    return name


def with_confidences(asked: Asked, names: dict[str, str | None]) -> Asked:
    """`asked` with one more required number in [0, 1] for each name, after its own fields.

    Parameters
    ----------
    asked
        The model so far.
    names
        The new fields' names, each with the field that it is about (`None`: the whole answer).
    """
    if not names:
        return asked
    fields: dict[str, Any] = {
        name: Annotated[
            float,
            Field(ge=0, le=1, description=f"Probability, from 0 to 1, that {about or 'the answer'} is right"),
        ]
        for name, about in names.items()
    }
    base = asked.model
    model = _made(base.__name__, fields, __base__=base, __module__=base.__module__, __doc__=base.__doc__)
    return dataclasses.replace(asked, model=model)


def _made(name: str, fields: dict[str, Any], **rest: Any) -> type[BaseModel]:
    create: Any = create_model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydantic's word on names like `copy`, which the user chose for columns
        return create(name, **rest, **fields)


def _of_class(kind: type[Any]) -> Asked:
    if issubclass(kind, BaseModel) and not issubclass(kind, _ROOT):
        return Asked(_with_fields(kind, kind), wire_name(kind.__name__), single=False)
    if _has_fields(kind):
        return Asked(_with_fields(_converted(kind), kind), wire_name(kind.__name__), single=False)
    if issubclass(kind, Enum) and not list(kind):
        raise UsageError(f"schema {kind.__name__} is an Enum without members; give it the labels to choose from")
    if kind is type(None):
        raise UsageError(f"schema is NoneType; pass {ACCEPTED}")
    return _one_value(kind, kind)


def _has_fields(kind: object) -> bool:
    return dataclasses.is_dataclass(kind) or is_typed_dict(kind)


def _one_value(annotation: Any, spec: object) -> Asked:
    try:
        model = _made("Response", {VALUE: (annotation, ...)})
        model.model_json_schema()
    except _SCHEMA_ERRORS as error:
        raise UsageError(
            f"schema {_shown(spec)} can't be put as a JSON schema ({_first_line(error)}); pass {ACCEPTED}"
        ) from None
    return Asked(model, "Response", single=True)


def _label_list(labels: list[object] | tuple[object, ...]) -> Any:
    if not labels:
        raise UsageError("schema is an empty list of labels; name the labels to choose from")
    others = [label for label in labels if not isinstance(label, str)]
    if others:
        raise UsageError(
            f"schema is a list with {others[0]!r} in it; a list of labels holds texts; for other values Literal[...]"
        )
    twice = sorted({str(label) for label in labels if labels.count(label) > 1})
    if twice:
        raise UsageError(f"schema names the label {twice[0]!r} twice; name each label once")
    return Literal[tuple(labels)]


def _with_fields(model: type[BaseModel], spec: type[Any]) -> type[BaseModel]:
    if not model.model_fields:
        raise UsageError(
            f"schema {spec.__name__} has no fields, so there is nothing to ask for; give it one field a column"
        )
    try:
        model.model_json_schema()
    except _SCHEMA_ERRORS as error:
        raise UsageError(
            f"schema {spec.__name__} can't be put as a JSON schema: {_broken_field(model)} ({_first_line(error)})"
        ) from None
    return model


def _broken_field(model: type[BaseModel]) -> str:
    for name, info in model.model_fields.items():
        annotation: Any = info.annotation
        try:
            TypeAdapter[Any](annotation).json_schema()
        except _SCHEMA_ERRORS:
            return f"field {name!r} is {_shown(info.annotation)}; give it a type that JSON can hold"
    return "it isn't fully defined; define the types it names before the call"


def _converted(kind: type[Any]) -> type[BaseModel]:
    """A model with the fields of a dataclass or TypedDict; a dataclass's own checks run after them."""
    fields: dict[str, Any] = {}
    try:
        for member in members_of(kind) or ():
            annotation = member.annotation
            fields[member.name] = (Annotated[(annotation, *member.metadata)] if member.metadata else annotation, ...)
        fields |= _defaults(kind, fields)
        checks: Any = {}
        if dataclasses.is_dataclass(kind) and (hasattr(kind, "__post_init__") or hasattr(kind, "__pydantic_fields__")):
            checks["llmframe_builds"] = model_validator(mode="after")(_builder(kind, list(fields)))
        doc = kind.__doc__
        return _made(
            kind.__name__,
            fields,
            __config__=getattr(kind, "__pydantic_config__", None) or ConfigDict(),
            __doc__=None if doc is None or doc.startswith(f"{kind.__name__}(") else doc,
            __module__=kind.__module__,
            __validators__=checks,
        )
    except (*_SCHEMA_ERRORS, NameError) as error:
        raise UsageError(f"schema {kind.__name__} can't be put as a JSON schema ({_first_line(error)})") from None


def _defaults(kind: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that have a default, as `create_model` takes them."""
    own: dict[str, FieldInfo] | None = getattr(kind, "__pydantic_fields__", None)
    if own is not None:
        return {name: (info.annotation, info) for name, info in own.items()}
    if is_typed_dict(kind):
        return {name: (fields[name][0] | None, None) for name in optional_keys(kind)}
    found: dict[str, Any] = {}
    for each in dataclasses.fields(kind):
        if each.name not in fields:
            continue
        if each.default is not dataclasses.MISSING:
            found[each.name] = (fields[each.name][0], each.default)
        elif each.default_factory is not dataclasses.MISSING:
            found[each.name] = (fields[each.name][0], Field(default_factory=each.default_factory))
    return found


def _builder(kind: Any, names: list[str]) -> Any:
    adapter = TypeAdapter(kind)
    infos: dict[str, FieldInfo] | None = getattr(kind, "__pydantic_fields__", None)
    # A pydantic dataclass is built by its aliases, a plain one by its names.
    keys = {name: name if infos is None else wire_key(name, infos[name]) for name in names}

    def build(self: BaseModel) -> BaseModel:
        values = {keys[name]: getattr(self, name) for name in names}
        built: Any = kind(**values) if infos is None else adapter.validate_python(values)
        for name in names:
            vars(self)[name] = getattr(built, name)  # what `__post_init__` made of it
        return self

    return build


def _names_a_type(spec: object) -> bool:
    """`Any`, a NewType or a `type X = …` alias."""
    return spec is Any or hasattr(spec, "__supertype__") or (hasattr(spec, "__value__") and not callable(spec))


def _shown(spec: object) -> str:
    if isinstance(spec, type) and not get_args(spec):
        return spec.__name__
    if callable(spec) and hasattr(spec, "__name__") and get_origin(spec) is None:
        return f"the function {spec.__name__}"
    if get_origin(spec) is None and not isinstance(spec, (str, int, float)):
        return f"an object of type {type(spec).__name__}"
    text = repr(spec)
    return text if len(text) <= NAME_CHARS else text[: NAME_CHARS - 1] + "…"


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0].rstrip(".")
