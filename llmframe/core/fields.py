"""What a schema's annotations become: column types, and cells made from validated Python values."""

from __future__ import annotations

import dataclasses
from collections import abc, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from enum import Enum
from types import UnionType
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import (
    AwareDatetime,
    BaseModel,
    FutureDate,
    FutureDatetime,
    NaiveDatetime,
    PastDate,
    PastDatetime,
    RootModel,
    TypeAdapter,
)
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic_core import to_jsonable_python

from llmframe.core.columns import ColumnType, TypeKind
from llmframe.core.scalars import (
    INT64,
    Misfit,
    bool_cell,
    date_cell,
    duration_cell,
    float_cell,
    int_cell,
    json_text,
    naive_cell,
    text_cell,
    utc_cell,
)
from llmframe.errors import UsageError

Labels = Literal["enum", "string"]
Nested = Literal["native", "json"]
Cell = Callable[[Any], Any]

DECIMAL_DIGITS = 38
_KEY_MARKS = frozenset({"Required", "NotRequired", "ReadOnly"})

_DATETIMES: tuple[Any, ...] = (datetime, NaiveDatetime, PastDatetime, FutureDatetime)
_DATES: tuple[Any, ...] = (date, PastDate, FutureDate)
_LISTS: tuple[Any, ...] = (list, set, frozenset, deque, abc.Sequence, abc.MutableSequence, abc.Set, abc.Collection)


@dataclass(frozen=True, slots=True)
class FieldType:
    """How a field becomes a column: its type, the cell made from a value, and its values when it is closed.

    `allowed` holds what a Literal, Enum or bool may be, as it stands in JSON; empty for an open field.
    """

    type: ColumnType
    cell: Cell
    allowed: tuple[object, ...] = ()


class _RecursiveError(Exception):
    """A model that holds itself was met: the field around it becomes JSON text."""


def field_type(
    annotation: object, *, metadata: tuple[object, ...] = (), labels: Labels = "enum", nested: Nested = "native"
) -> FieldType:
    """The column of a field with this annotation.

    Parameters
    ----------
    annotation
        Any type that pydantic validates.
    metadata
        What stood beside it in `Annotated` or `Field`; `decimal_places` is read from it.
    labels
        `"string"` makes text of what would be an enum.
    nested
        `"json"` makes JSON text of what would be a list or a struct.
    """
    try:
        found = _of(annotation, metadata)
    except (_RecursiveError, RecursionError):  # the second: a type alias that names itself
        found = _JSON
    if nested == "json" and found.type.kind in {"list", "struct"}:
        found = FieldType(ColumnType("json"), json_text)
    return FieldType(_unlabelled(found.type), found.cell, found.allowed) if labels == "string" else found


def _of(annotation: Any, metadata: tuple[object, ...] = ()) -> FieldType:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _of(annotation.__origin__, (*metadata, *annotation.__metadata__))
    if (inner := getattr(annotation, "__supertype__", None)) is not None:  # NewType
        return _of(inner, metadata)
    if (value := getattr(annotation, "__value__", None)) is not None and origin is None:  # `type X = …`
        return _of(value, metadata)
    if isinstance(annotation, TypeVar):
        return _of(annotation.__bound__ or Any)
    if origin is Literal:
        return _closed(_literal_values(annotation))
    if origin in (Union, UnionType):
        return _union([_of(part, metadata) for part in get_args(annotation) if part is not type(None)])
    if origin in _LISTS or annotation in _LISTS:
        return _list(_of((get_args(annotation) or (Any,))[0]), unordered=(origin or annotation) in _UNORDERED)
    if origin is tuple:
        return _tuple([part for part in get_args(annotation) if part is not Ellipsis])
    if isinstance(annotation, type) and origin is None:
        return _class(annotation, metadata)
    return _by_json_schema(annotation)


def _class(kind: Any, metadata: tuple[object, ...]) -> FieldType:
    if kind is Decimal:
        return _decimal(metadata)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if issubclass(kind, Enum):
        _check_sayable(kind)
        return _closed([member.value for member in kind])
    if issubclass(kind, RootModel):
        root: Any = kind.model_fields["root"]
        if _is_recursive(kind):
            raise _RecursiveError
        inner = _of(root.annotation, tuple(root.metadata))
        return FieldType(inner.type, _through(lambda value: inner.cell(value.root)), inner.allowed)
    members = members_of(kind)
    return _by_json_schema(kind) if members is None else _struct(kind, members)


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a model, dataclass or TypedDict."""

    name: str
    annotation: Any
    metadata: tuple[object, ...] = ()


def members_of(kind: Any) -> list[Member] | None:
    """The fields of a model, dataclass or TypedDict in order; `None` for any other class."""
    infos: Any = None
    if issubclass(kind, BaseModel):
        infos = kind.model_fields
    elif dataclasses.is_dataclass(kind):
        infos = getattr(kind, "__pydantic_fields__", None)
    if infos is not None:
        return [Member(name, info.annotation, tuple(info.metadata)) for name, info in infos.items()]
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        return [Member(each.name, hints[each.name]) for each in dataclasses.fields(kind) if each.init]
    if is_typed_dict(kind):
        return [Member(name, _unmarked(hint)) for name, hint in get_type_hints(kind, include_extras=True).items()]
    return None


def is_optional(annotation: Any) -> bool:
    """Whether null may stand for a value of this type."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return is_optional(annotation.__origin__)
    if origin in (Union, UnionType):
        return any(is_optional(part) for part in get_args(annotation))
    return annotation is type(None) or (origin is Literal and None in get_args(annotation))


def is_typed_dict(kind: Any) -> bool:
    """Whether `kind` is a TypedDict, of `typing` or of `typing_extensions` (before 3.12 pydantic wants the latter)."""
    return hasattr(kind, "__optional_keys__") and isinstance(kind, type)


def optional_keys(kind: Any) -> set[str]:
    """The keys of a TypedDict that may be left out, also where its annotations are text."""
    marks = {name: _marks(hint) for name, hint in get_type_hints(kind, include_extras=True).items()}
    return {
        name
        for name, found in marks.items()
        if "NotRequired" in found or (name in kind.__optional_keys__ and "Required" not in found)
    }


def _marks(hint: Any) -> set[str]:
    mark: str = getattr(get_origin(hint), "_name", "")
    return {mark} | _marks(get_args(hint)[0]) if mark in _KEY_MARKS else set[str]()


def _unmarked(hint: Any) -> Any:
    """A TypedDict's hint without `Required`, `NotRequired`, `ReadOnly`."""
    while getattr(get_origin(hint), "_name", "") in _KEY_MARKS:
        hint = get_args(hint)[0]
    return hint


def _struct(kind: Any, members: list[Member]) -> FieldType:
    if not members:
        return _JSON
    if _is_recursive(kind):
        raise _RecursiveError
    found: list[tuple[str, FieldType]] = []
    for member in members:
        try:
            found.append((member.name, _of(member.annotation, member.metadata)))
        except _RecursiveError:
            found.append((member.name, _JSON))
    cells = [(name, each.cell) for name, each in found]

    def cell(value: Any) -> dict[str, object]:
        if isinstance(value, Mapping):
            return {name: read(value.get(name)) for name, read in cells}  # pyright: ignore[reportUnknownMemberType]
        return {name: read(getattr(value, name)) for name, read in cells}

    return FieldType(ColumnType("struct", fields=tuple((name, each.type) for name, each in found)), _through(cell))


def _is_recursive(kind: Any) -> bool:
    """Whether a model, dataclass or TypedDict can be reached from its own fields."""
    seen: set[int] = set()
    waiting = [member.annotation for member in members_of(kind) or ()]
    while waiting:
        each = waiting.pop()
        if each is kind or isinstance(each, ForwardRef):
            return True
        if id(each) in seen:
            continue
        seen.add(id(each))
        if get_origin(each) is not Literal:
            waiting.extend(get_args(each))
        if isinstance(each, type) and get_origin(each) is None:
            waiting.extend(member.annotation for member in members_of(each) or ())
    return False


def _through(cell: Cell) -> Cell:
    return lambda value: None if value is None else cell(value)


def _list(item: FieldType, *, unordered: bool = False) -> FieldType:
    read = item.cell

    def cell(value: Any) -> list[object]:
        cells = [read(each) for each in value]
        return _sorted(cells) if unordered else cells

    return FieldType(ColumnType("list", item=item.type), _through(cell))


def _sorted(cells: list[Any]) -> list[Any]:
    """Cells of a set in an order that doesn't differ from process to process."""
    try:
        return sorted(cells)
    except TypeError:
        return sorted(cells, key=repr)


def _tuple(parts: list[Any]) -> FieldType:
    found = [_of(part) for part in parts]
    if not found or any(each.type != found[0].type for each in found):
        return _JSON
    return _list(found[0])


def _union(parts: list[FieldType]) -> FieldType:
    if len(parts) == 1:
        return parts[0]
    kinds = {part.type.kind for part in parts}
    if kinds == {"int", "float"}:
        return _SCALARS[float]
    if kinds == {"enum"}:
        return _closed(list(dict.fromkeys(value for part in parts for value in part.allowed)))
    if kinds <= {"enum", "string"}:
        return _SCALARS[str]
    if len({part.type for part in parts}) == 1 and not kinds & {"list", "struct"}:
        return parts[0]
    return _JSON


def _literal_values(annotation: Any) -> list[Any]:
    plain = (value.value if isinstance(value, Enum) else value for value in get_args(annotation))
    return [value for value in plain if value is not None]


def _check_sayable(kind: type[Enum]) -> None:
    """Refuse an Enum that no reply can name: pydantic compares a JSON value with the members' own."""
    others = [member for member in kind if not isinstance(member.value, (str, int, float, type(None)))]
    if others and vars(kind).get("_missing_") is None:
        raise UsageError(
            f"Enum {kind.__name__} has the member {others[0].name!r} of type {type(others[0].value).__name__}, which "
            "no JSON reply can name; give its members texts, numbers or booleans as values"
        )


def _closed(values: list[Any]) -> FieldType:
    kinds: set[type[Any]] = {type(value) for value in values}
    if kinds and all(issubclass(kind, str) for kind in kinds):
        texts = tuple(str.__str__(value) for value in values)
        return FieldType(ColumnType("enum", labels=texts), text_cell, texts)
    fits = not any(isinstance(value, int) and not -INT64 <= value < INT64 for value in values)
    if len(kinds) == 1 and fits and (scalar := _SCALARS.get(next(iter(kinds)))):
        return FieldType(
            scalar.type, lambda value: scalar.cell(_member_value(value)), tuple(to_jsonable_python(values))
        )
    return FieldType(ColumnType("string"), text_cell, tuple(to_jsonable_python(values)))


def _member_value(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _decimal(metadata: tuple[object, ...]) -> FieldType:
    scale = _decimal_places(metadata)
    if scale is None or not 0 <= scale <= DECIMAL_DIGITS:
        return _SCALARS[str]
    unit, context = Decimal(1).scaleb(-scale), Context(prec=DECIMAL_DIGITS)

    def cell(value: Any) -> Decimal:
        try:
            return value.quantize(unit, context=context)
        except (InvalidOperation, AttributeError):
            raise Misfit(f"doesn't fit a decimal of {DECIMAL_DIGITS} digits, {scale} of them after the point") from None

    return FieldType(ColumnType("decimal", scale=scale), _through(cell))


def _decimal_places(metadata: tuple[object, ...]) -> int | None:
    for each in metadata:
        if isinstance(places := getattr(each, "decimal_places", None), int):
            return places
        nested = getattr(each, "metadata", None)  # a `Field(...)` inside `Annotated`
        if isinstance(nested, list) and (places := _decimal_places(tuple(nested))) is not None:  # pyright: ignore[reportUnknownArgumentType]
            return places
    return None


def _by_json_schema(annotation: Any) -> FieldType:
    """Types that pydantic knows and this module doesn't (UUID, Url, Path, time, …): by the JSON they serialise to."""
    try:
        kind: object = TypeAdapter(annotation).json_schema(mode="serialization").get("type")
    except (PydanticUserError, PydanticUndefinedAnnotation):
        return _JSON
    return _BY_JSON_TYPE.get(str(kind), _JSON)


def _unlabelled(kind: ColumnType) -> ColumnType:
    if kind.kind == "enum":
        return ColumnType("string")
    return dataclasses.replace(
        kind,
        item=None if kind.item is None else _unlabelled(kind.item),
        fields=tuple((name, _unlabelled(each)) for name, each in kind.fields),
    )


_JSON = FieldType(ColumnType("json"), json_text)
_UNORDERED: tuple[Any, ...] = (set, frozenset, abc.Set)


def _scalar(kind: TypeKind, cell: Cell, *, utc: bool = False) -> FieldType:
    return FieldType(ColumnType(kind, utc=utc), cell)


_SCALARS: dict[Any, FieldType] = {
    str: _scalar("string", text_cell),
    bool: FieldType(ColumnType("bool"), bool_cell, (False, True)),
    int: _scalar("int", int_cell),
    float: _scalar("float", float_cell),
    timedelta: _scalar("duration", duration_cell),
    AwareDatetime: _scalar("datetime", utc_cell, utc=True),
    **{kind: _scalar("date", date_cell) for kind in _DATES},
    **{kind: _scalar("datetime", naive_cell) for kind in _DATETIMES},
}
_BY_JSON_TYPE: dict[str, FieldType] = {
    "string": _SCALARS[str],
    "integer": _SCALARS[int],
    "number": _SCALARS[float],
    "boolean": _SCALARS[bool],
}
