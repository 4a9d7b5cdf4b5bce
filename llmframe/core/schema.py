"""What is asked for: a schema argument as JSON schema, columns, and the reader of its answers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from llmframe.core.columns import ColumnType
from llmframe.core.fields import FieldType, Labels, Nested, field_type, is_optional
from llmframe.core.outcome import Answer, Failure
from llmframe.core.reading import Plain, Reader, Slot, keys_of, quoted
from llmframe.core.scalars import Misfit
from llmframe.core.scores import Target
from llmframe.core.scoring import CONFIDENCES, Confidence, Scored, Scoring, scored_field
from llmframe.core.spec import VALUE, Asked, asked_of, wire_key, with_confidences
from llmframe.core.wire import JsonSchema, canonical_text, json_schema_of, wire_of
from llmframe.errors import UsageError, did_you_mean

CONFIDENCE = "confidence"
FREE_TEXT = "text"
"""The canonical text of no schema; JSON never looks like it."""

_NUMBERS = frozenset({"float", "int", "decimal"})
_BARE_LABELS = frozenset({"enum", "bool", "date", "datetime", "duration"})


@dataclass(frozen=True, slots=True)
class SchemaField:
    """An output column.

    Parameters
    ----------
    name
        The field's name (never its alias); one value: `into` or `"response"`.
    type
        The column's dtype.
    closed
        Whether only listed values may come: a Literal, an Enum or a bool.
    allowed
        Those values as they stand in JSON; empty when open.
    """

    name: str
    type: ColumnType
    closed: bool = False
    allowed: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Schema:
    """A schema argument, ready to send and to read with.

    Parameters
    ----------
    name
        The name on the wire, `^[a-zA-Z0-9_-]{1,64}$`.
    model
        The model whose JSON schema is sent; one value is its only field `response`. `None`: free text.
    wire
        The JSON schema as it is sent; empty for free text.
    strict
        Whether `strict: true` may be sent with it.
    obstacle
        Why not, or `None`.
    canonical
        One text for all schemas that ask the same: the fingerprint's part.
    fields
        The output columns in order.
    single
        One value, or free text.
    confidences
        Names of the columns that hold confidences; those that the model states are among `fields`.
    scoring
        What is scored in its answers, one entry for each of `confidences`; `None` when no confidence is wanted.
    reader
        What reads the answers; `None` for free text.
    """

    name: str
    model: type[BaseModel] | None
    wire: JsonSchema
    strict: bool
    obstacle: str | None
    canonical: str
    fields: tuple[SchemaField, ...]
    single: bool
    confidences: tuple[str, ...] = ()
    scoring: Scoring | None = None
    reader: Reader | None = dataclasses.field(default=None, repr=False)

    def read(self, text: str) -> Answer | Failure:
        """The answer in a reply's text, its values in the order of `fields`.

        Parameters
        ----------
        text
            JSON, perhaps in a fence that wraps all of it; one value also bare. Free text: anything.

        Returns
        -------
        Answer or Failure
            `Answer.text` reads as the same answer again. `Failure` is `empty`, `encoding` (free text), or `invalid`
            with what is wrong, the allowed values of a closed field and an excerpt of the text.
        """
        if self.reader is not None:
            return self.reader.read(text)
        if not text.strip():
            return Failure("empty", "the reply has no text")
        try:
            text.encode()
        except UnicodeEncodeError:
            return Failure("encoding", f"the reply holds half a surrogate pair: {quoted(text)}")
        return Answer(text, (text,))

    def answer_text(self, answer: object) -> str:
        """The text with which the model should have given `answer`: for few-shot examples.

        Parameters
        ----------
        answer
            A mapping by field name or alias, a model or dataclass instance; for one value also the value itself.
            JSON text stands for a list, dict or nested model. Free text: the text.

        Raises
        ------
        UsageError
            If the schema doesn't allow it; the message names the field.
        """
        if self.reader is None:
            if isinstance(answer, str) and answer.strip():
                return answer
            raise UsageError(f"an example's answer is {answer!r}; without a schema it has to be text")
        problem = ""
        for candidate in self._said(answer):
            found = self.reader.judge(_dumped(candidate))
            if isinstance(found, Answer):
                return self._normal(self.reader, found)
            problem = problem or found
        raise UsageError(f"an example's answer doesn't fit the schema: {problem}")

    def _said(self, answer: object) -> Iterator[dict[str, object]]:
        """The readings of an example's answer as an object on the wire, the likeliest first."""
        members = _members(answer)
        named = {slot.name: slot.attribute for slot in self.reader.slots} if self.reader else {}
        if members is not None and (not self.single or set(members) & {VALUE, self.fields[0].name}):
            members = {named.get(key, key): value for key, value in members.items()}
            self._check_names(members)
            yield members
            decoded = {key: _decoded(value) for key, value in members.items()}
            if decoded != members:
                yield decoded
        if self.single:
            yield {VALUE: answer}
            yield {VALUE: _decoded(answer)}
        elif members is None:
            names = ", ".join(repr(field.name) for field in self.fields)
            raise UsageError(f"an example's answer is {type(answer).__name__}; pass a dict with {names}")

    def _check_names(self, members: dict[str, object]) -> None:
        infos = self.model.model_fields if self.model else {}
        if self.model is None or self.single or self.model.model_config.get("extra") == "allow":
            return
        known = {*infos, *(wire_key(name, info) for name, info in infos.items())}
        for name in members:
            if name not in known:
                names = ", ".join(map(repr, infos))
                raise UsageError(
                    f"an example's answer names {name!r}, which the schema hasn't{did_you_mean(name, known) or ';'} "
                    f"fields: {names}"
                )

    def _normal(self, reader: Reader, answer: Answer) -> str:
        """All fields in the order of the wire under their wire names, as a model would write them."""
        instance = reader.instance(answer.text)
        infos = type(instance).model_fields
        for by_alias in (True, False):
            text = _dumped(
                {
                    wire_key(name, info): to_jsonable_python(getattr(instance, name), by_alias=by_alias)
                    for name, info in infos.items()
                }
            )
            again = reader.judge(text)
            if isinstance(again, Answer) and again.values == answer.values:
                return text
        return answer.text  # a serialiser of the user's own says it in another way than its validator reads


def schema_of(
    spec: object,
    *,
    into: str | None = None,
    labels: Labels = "enum",
    nested: Nested = "native",
    confidence: Confidence | None = None,
) -> Schema:
    """The schema behind the `schema` argument.

    Parameters
    ----------
    spec
        A Pydantic model, a dataclass or TypedDict; one value (`Literal[...]`, an Enum, a list of labels, `bool`,
        `int`, `float`, `str`, `list[T]`, …); `None` for free text.
    into
        Name of the column of one value or free text; `None`: `"response"`.
    labels
        `"string"` makes text columns of what would be enums.
    nested
        `"json"` makes JSON text of what would be lists and structs.
    confidence
        `"stated"`: the schema's own number `confidence` is checked to be in [0, 1], or one more number is asked for:
        `confidence`, with several closed fields one each (`<field>_confidence`). Where the schema has another field of
        that name, ours is `llm_confidence`. `"logprobs"`, `"votes"`, `"auto"`: columns of the same names beside the
        schema's, for closed fields, or where there is none for all fields.

    Raises
    ------
    UsageError
        If the spec is nothing that can be asked for, or another argument is out of range.
    """
    _check("labels", labels, get_args(Labels))
    _check("nested", nested, get_args(Nested))
    _check("confidence", confidence, (None, *CONFIDENCES))
    if into == "":
        raise UsageError("into is an empty text; name the column of the answer")
    if spec is None:
        return _free_text(into or VALUE, confidence)
    asked = asked_of(spec)
    types = _field_types(asked.model, labels, nested)
    added: dict[str, str | None] = {}
    checked: tuple[str, ...] = ()
    if confidence == "stated":
        added, checked = _confidences(asked, types, into)
        asked = with_confidences(asked, added)
        types |= {name: field_type(float) for name in added}
        types |= {name: dataclasses.replace(types[name], cell=_probability(types[name])) for name in (*checked, *added)}
    return _with_scoring(_built(asked, types, into=into or VALUE), types, confidence, stated=(*checked, *added))


def _with_scoring(
    schema: Schema, types: dict[str, FieldType], confidence: Confidence | None, *, stated: tuple[str, ...]
) -> Schema:
    if confidence is None or schema.model is None:
        return schema
    infos, names = schema.model.model_fields, list(types)
    if confidence == "stated":
        scored = tuple(Scored(Target(name, name), names.index(name)) for name in stated)
        return dataclasses.replace(schema, confidences=stated, scoring=Scoring(source=confidence, scored=scored))
    chosen = [name for name in names if types[name].allowed] or names
    scored = tuple(
        scored_field(
            Target(
                schema.fields[names.index(name)].name,
                wire_key(name, infos[name]),
                _options(types[name], infos[name].annotation),
            ),
            names.index(name),
            types[name].cell,
        )
        for name in chosen
    )
    columns = [CONFIDENCE] if len(chosen) == 1 else [f"{each.target.field}_{CONFIDENCE}" for each in scored]
    taken = {field.name for field in schema.fields}
    return dataclasses.replace(
        schema,
        confidences=tuple(f"llm_{name}" if name in taken else name for name in columns),
        scoring=Scoring(source=confidence, scored=scored),
    )


def _options(kind: FieldType, annotation: object) -> tuple[object, ...]:
    """What a closed field may be, null among it where it's optional; nothing for an open one."""
    return (*kind.allowed, None) if kind.allowed and is_optional(annotation) else kind.allowed


def _free_text(name: str, confidence: Confidence | None) -> Schema:
    if confidence == "stated":
        raise UsageError(
            "confidence='stated' needs something to be confident about; pass a schema, for example Literal[...]"
        )
    return Schema(
        name="Response",
        model=None,
        wire={},
        strict=False,
        obstacle="free text",
        canonical=FREE_TEXT,
        fields=(SchemaField(name, ColumnType("string")),),
        single=True,
        confidences=() if confidence is None else (CONFIDENCE if name != CONFIDENCE else f"llm_{CONFIDENCE}",),
        scoring=None if confidence is None else Scoring(source=confidence, scored=(Scored(Target(name, None), 0),)),
    )


def _built(asked: Asked, types: dict[str, FieldType], *, into: str) -> Schema:
    names = {name: into if asked.single and name == VALUE else name for name in types}
    raw = json_schema_of(asked.model)
    by_name = json_schema_of(asked.model, by_alias=False)
    shapes = (raw,) if raw == by_name else (raw, by_name)
    keys, open_ = keys_of(shapes)
    wire = wire_of(raw)
    return Schema(
        name=asked.name,
        model=asked.model,
        wire=wire.schema,
        strict=wire.strict,
        obstacle=wire.obstacle,
        canonical=canonical_text(wire.schema),
        fields=tuple(SchemaField(names[name], t.type, bool(t.allowed), t.allowed) for name, t in types.items()),
        single=asked.single,
        reader=Reader(
            model=asked.model,
            slots=tuple(Slot(name, names[name], each.cell) for name, each in types.items()),
            shapes=shapes,
            single=asked.single,
            plain=_plain(types[VALUE]) if asked.single else "no",
            keys=keys,
            open=open_,
        ),
    )


def _field_types(model: type[BaseModel], labels: Labels, nested: Nested) -> dict[str, FieldType]:
    return {
        name: field_type(info.annotation, metadata=tuple(info.metadata), labels=labels, nested=nested)
        for name, info in model.model_fields.items()
    }


def _plain(one: FieldType) -> Plain:
    if one.allowed or one.type.kind in _BARE_LABELS:
        return "label"
    return "text" if one.type.kind == "string" else "no"


def _confidences(
    asked: Asked, types: dict[str, FieldType], into: str | None
) -> tuple[dict[str, str | None], tuple[str, ...]]:
    """The confidence fields to add, each with what it is about, and those that the schema has itself."""
    if not asked.single and CONFIDENCE in types and types[CONFIDENCE].type.kind in _NUMBERS:
        return {}, (CONFIDENCE,)
    closed = [name for name, each in types.items() if each.allowed]
    wanted: dict[str, str | None] = {f"{name}_{CONFIDENCE}": name for name in closed}
    if len(closed) <= 1:
        wanted = {CONFIDENCE: None}
    own = {name for name in wanted if name in types and types[name].type.kind in _NUMBERS}
    taken = {into, *types, *(wire_key(name, info) for name, info in asked.model.model_fields.items())}
    added = {f"llm_{name}" if name in taken else name: about for name, about in wanted.items() if name not in own}
    return added, tuple(name for name in wanted if name in own)


def _probability(number: FieldType) -> Any:
    def cell(value: Any) -> Any:
        found = number.cell(value)
        if found is not None and not 0 <= found <= 1:
            raise Misfit("is outside 0 to 1")
        return found

    return cell


def _check(name: str, value: object, known: tuple[object, ...]) -> None:
    if value not in known:
        raise UsageError(f"{name} is {value!r}; pass one of {', '.join(map(repr, known))}")


def _members(answer: object) -> dict[str, object] | None:
    if isinstance(answer, Mapping):
        return {str(key): value for key, value in cast("Mapping[object, object]", answer).items()}
    if isinstance(answer, BaseModel) and "root" not in type(answer).model_fields:
        return {name: getattr(answer, name) for name in type(answer).model_fields}
    if dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        return {each.name: getattr(answer, each.name) for each in dataclasses.fields(answer)}
    return None


def _decoded(value: object) -> object:
    """What a JSON text of a list or object holds; other values as they are."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _dumped(members: Mapping[str, object]) -> str:
    try:
        return json.dumps(to_jsonable_python(members), ensure_ascii=False)
    except PydanticSerializationError as error:
        raise UsageError(f"an example's answer can't be put as JSON: {error}") from None
